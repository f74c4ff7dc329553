//go:build !race

package viewtest

import (
	"path/filepath"
	"testing"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
	"meridian/internal/show/view"
	"meridian/trace"
)

// TestFirstRows runs what says which rows there are, and in what order.
func TestFirstRows(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{
		{"RowsWithoutEventsInSightAreLeftOut", b.RowsWithoutEventsInSightAreLeftOut},
		{"ALaneHoldsWhatTouchesTheStretch", b.ALaneHoldsWhatTouchesTheStretch},
		{"TheBusiestThreadsStandFirst", b.TheBusiestThreadsStandFirst},
		{"LongGapsAreCutFromTheFirstView", b.LongGapsAreCutFromTheFirstView},
	})
}

func (b *panelBrowser) RowsWithoutEventsInSightAreLeftOut(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	p.still()
	p.key("x")
	p.until(names+` === "client app web worker db engine load"`, "the row without events stands")
	p.until(`document.querySelector("#line-h1 .idle").textContent === "−1" && !document.querySelector("#line-h0 .idle")`, "how many are left out is not said")
	p.until(`/[&]idle=1/.test(location.hash)`, "the address does not say so")
	// At 50 us the client sends nothing yet; the counter has no value; the others begin later.
	value[bool](p.logic, `meridian.setView(0, 50_000) ?? true`)
	p.until(names+` === "client web db"`, "rows stand whose events are out of sight")
	value[bool](p.logic, `meridian.setView(0, 120_000) ?? true`)
	p.until(names+` === "client app web db load"`, "rows whose events come into sight do not come back")
	// A slice that has begun before and goes on holds its row.
	value[bool](p.logic, `meridian.setView(270_000, 280_000) ?? true`)
	p.until(names+` === "client web worker db engine load"`, "rows within slices are left out")
	// What is gone to is shown, whatever is left out.
	value[bool](p.logic, `(meridian.reveal(2), true)`)
	p.until(names+`.includes("CPU 0")`, "a row that is gone to is not shown")
	p.key("x")
	p.until(names+` === "client app web worker CPU 0 db engine load"`, "not all rows come back")
	p.until(`!/idle/.test(location.hash)`, "the address still says so")
	// An address brings it with it.
	q := b.open(t, newScene(""), "dark", viewed+"&idle=1")
	q.until(names+` === "client app web worker db engine load" && document.getElementById("do-idle").getAttribute("aria-pressed") === "true"`, "the address does not leave rows out")
	q.shots("idle")
	// The first view leaves them out, and the switch brings them back.
	r := b.open(t, newScene(""), "light", "")
	r.until(names+` === "client app web worker db engine load" && document.getElementById("do-idle").getAttribute("aria-pressed") === "true"`, "a row without events is in the first view")
	r.click("#do-idle", "")
	r.until(names+` === "client app web worker CPU 0 db engine load" && /[#&]v=1/.test(location.hash) && !/idle/.test(location.hash)`, "the switch does not bring them back")
}

// holds is held against the definition: an instant in [from, to), a slice or bin that overlaps it.
func (b *panelBrowser) ALaneHoldsWhatTouchesTheStretch(t *testing.T) {
	l := b.load(t)
	got := value[string](l, `(() => {
		let seed = 7; const random = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % n; }, wrong = [];
		for (let round = 0; round < 3000; round++) {
			const tile = { from: random(50) * 100, width: 1 + random(9) }, mode = [0, 1, 4, 5][random(4)], n = random(5), at = [], length = [];
			for (let i = 0, t = mode < 4 ? tile.from : 0; i < n; i++) { t += 1 + random(20); at.push(t); length.push(random(15)); if (mode < 4) t += length[i]; }
			const from = tile.from + random(120) - 10, to = from + 1 + random(30), lane = { mode, n, at, before: null, ...(mode === 1 ? { length } : {}) };
			let want = false;
			for (let i = 0; i < n; i++) {
				const begin = mode < 4 ? at[i] : tile.from + at[i] * tile.width, end = begin + (mode === 1 ? length[i] : mode < 4 ? 0 : tile.width);
				for (let t = from; t < to; t++) want ||= t === begin || (t >= begin && t < end);
			}
			if (Idle.holds(lane, tile, from, to) !== want) wrong.push(JSON.stringify([lane, tile, from, to, want]));
		}
		return wrong.slice(0, 3).join("\n");
	})()`)
	if got != "" {
		t.Errorf("lanes that hold nothing, or do:\n%s", got)
	}
}

func (b *panelBrowser) TheBusiestThreadsStandFirst(t *testing.T) {
	l := b.load(t)
	got := value[string](l, `(() => {
		const row = (host, kind, parent, events) => ({ host, kind, parent, events, name: "", lanes: [], clock: -1 });
		Layout.open({ hosts: [{}, {}], links: [], live: false, rows: [
			row(0, "process", -1, 1), row(0, "thread", 0, 5), row(0, "thread", 0, 9), row(0, "cpu", -1, 1), row(0, "cpu", -1, 8),
			row(0, "process", -1, 0), row(0, "thread", 5, 40), row(1, "thread", -1, 2), row(1, "thread", -1, 2), row(1, "thread", -1, 3)] });
		return Layout.busiest().join(" ");
	})()`)
	if want := "5 2 1 3 4 0 6 9 7 8"; got != want {
		t.Errorf("rows stand in the order %s, want %s", got, want)
	}
}

// A stray event an hour before all others does not make a line of them; nothing is cut where something lasts, or an address says
// what to show.
func (b *panelBrowser) LongGapsAreCutFromTheFirstView(t *testing.T) {
	const second = int64(1e9)
	timeline := func(lasts bool) *view.Timeline {
		s := &trace.Schema{Title: "gaps", Hosts: []string{"web"}, Streams: []trace.Stream{{Name: "worker", Host: "web", Kind: trace.Thread, ID: 1, Parent: -1}},
			Classes: []trace.Class{{Name: "stray"}, {Name: "work"}}}
		return timelineOf(t, indextest.Build(t, s, filepath.Join(t.TempDir(), "gaps.mvx"), nil, func(b *index.Builder) error {
			at := func(ns int64, class int, phase trace.Phase) error {
				e := trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(ns), Class: class, Phase: phase}, Time: clock.TimelineTime(ns), Low: clock.TimelineTime(ns), High: clock.TimelineTime(ns), Map: -1}
				return b.Write(&e)
			}
			first := trace.Instant
			if lasts {
				first = trace.Begin
			}
			if err := at(0, 0, first); err != nil {
				return err
			}
			for i := range int64(99) {
				if err := at(3600*second+i*second/100, 1, trace.Instant); err != nil {
					return err
				}
			}
			if lasts {
				return at(3601*second, 0, trace.End)
			}
			return nil
		}))
	}
	p := b.serve(t, timeline(false), "light", "")
	p.until(`meridian.view.from > 3599.9e9 && meridian.view.to < 3601.1e9`, "the gap is in the first view")
	p.until(`/with 99 % of the events/.test(document.getElementById("notice").textContent)`, "what is left out is not said")
	p.shots("gap")
	p.key("0")
	p.until(`meridian.view.from < 0 && meridian.view.to > 3600e9`, "not all can be shown")

	p = b.serve(t, timeline(false), "light", "#v=1&t=0,2000000000")
	p.still()
	p.shows(0, 2e9, "an address does not say what to show")
	p = b.serve(t, timeline(true), "light", "")
	p.still()
	p.until(`meridian.view.from < 0 && meridian.view.to > 3600e9`, "a slice that lasts is taken for a gap")

	l := b.load(t)
	got := value[string](l, `[[1, 0, 0, 0, 0, 0, 0, 0, 2, 3], [1, 0, 1, 0, 1], [0, 0, 5], [0, 0, 0], [9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]].map((c) => { const f = Gaps.densest(c, c.map(() => 0)); return [f.first, f.last, f.share.toFixed(2)]; }).join(" ") + " " + Gaps.densest([1, 0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 1, 1]).last`)
	if want := "8,9,0.83 0,4,1.00 2,2,1.00 2,2,1.00 0,0,0.75 6"; got != want {
		t.Errorf("densest %s, want %s", got, want)
	}
	if got, want := value[string](l, `[3600.2e9, 60e9, 86400e9, -86400.5e9].map(Time.mark).join(" ")`), "+01:00:00.2 +00:01:00 +1 d −1 d 00:00:00.5"; got != want {
		t.Errorf("ticks %s, want %s", got, want)
	}
	// An instant with most of the events, such as one of definitions, or a part with the fewer of them, shows nothing of what goes on.
	got = value[string](l, `[[600, 0, 0, 0, 0, 0, 0, 0, 1, 2], [1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 7, 1, 9]].map((c) => Gaps.worth(Gaps.densest(c, c.map(() => 0)))).join(" ")`)
	if want := "false false true"; got != want {
		t.Errorf("what is worth seeing alone: %s, want %s", got, want)
	}
}
