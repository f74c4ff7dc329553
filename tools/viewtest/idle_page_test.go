//go:build !race

package viewtest

import (
	"testing"
)

// TestFirstRows runs what says which rows there are, and in what order.
func TestFirstRows(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{
		{"RowsWithoutEventsInSightAreLeftOut", b.RowsWithoutEventsInSightAreLeftOut},
		{"ALaneHoldsWhatTouchesTheStretch", b.ALaneHoldsWhatTouchesTheStretch},
		{"TheBusiestThreadsStandFirst", b.TheBusiestThreadsStandFirst},
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
