//go:build !race

package viewtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
	"meridian/internal/show/view"
	"meridian/trace"
)

// How far below a row's top its lanes are drawn: instants, then slices by depth; instants alone are lower.
const (
	onInstants, onFirst, onSecond = 4.0, 23.0, 40.0
	alone                         = 6.0
	handled, rendered             = 8, 10 // classes of slices
)

func (b *panelBrowser) EventsAreMarksAndSlicesAreBars(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	p.still()
	for _, is := range []string{
		colored(1, 20_300_000, onFirst, handled), "!" + colored(1, 20_130_000, onFirst, handled), "!" + colored(1, 20_640_000, onFirst, handled),
		colored(1, 20_560_000, onSecond, rendered), "!" + colored(1, 20_400_000, onSecond, rendered),
		colored(0, sendRequest, alone, 0), colored(1, getRows, onInstants, 5), "!" + colored(0, sendRequest-20_000, alone, 0),
	} {
		p.draws(is, "the picture is another one")
	}
	// The steps of a counter: 10, 15, 20, 25, and down again.
	p = b.open(t, newScene(""), "light", "#v=1&t=15900000,20900000")
	p.still()
	heights := drawnNow[[]float64](p, `[16.5, 17.5, 18.5, 19.5, 20.5].map((ms) => { let n = 0; const { height } = meridian.rowY(4);
		for (let y = 0; y < height; y++) if (!near(pixel("rows", ...place(ms * 1e6, 4, y)), css(meridian.theme.ground), 8)) n++; return n; })`)
	if !(heights[0] < heights[1] && heights[1] < heights[2] && heights[2] < heights[3] && heights[4] == heights[0]) {
		t.Errorf("the counter's steps are %v pixels high", heights)
	}
	p.shot("marks")
}

func (b *panelBrowser) MessagesAreArrowsWithTheirDelay(t *testing.T) {
	p := b.open(t, newScene(""), "light", "#v=1&t=20080000,20180000")
	p.still()
	if got := p.written(); !strings.Contains(got, "46 µs") {
		t.Errorf("the delay is not written: %s", got)
	}
	const middle = `(() => { const x = (at, row) => meridian.x(at, meridian.clockOf(row)), y0 = meridian.endY(0), y1 = meridian.endY(1), part = 0.2;
		return [meridian.plot.left + x(20100000, 0) + part * (x(20146000, 1) - x(20100000, 0)), meridian.plot.top + y0 + part * (y1 - y0)]; })()`
	p.draws(fmt.Sprintf(`inked(meridian.theme.message, ...%s) > 0.5`, middle), "there is no arrow")
	at := drawnNow[[]float64](p, middle)
	p.mouse(chromedp.MouseMoved, at[0], at[1], nil)
	p.until(`/message/.test(document.querySelector("#tip .lead").textContent) && !document.getElementById("tip").hidden`, "an arrow under the pointer is not told")
	for _, want := range []string{"client", "worker", "46.00 µs", "40 µs … 52 µs"} { // both clocks are within 5 us of one another
		p.until(fmt.Sprintf(`document.getElementById("tip").textContent.includes(%s)`, literal(want)), "what is told of a message is another thing")
	}
	p.shot("arrow")
	p = b.open(t, newScene(""), "dark", "#v=1&t=20300000,20500000")
	p.still()
	if got := p.written(); !strings.Contains(got, "−100 µs") {
		t.Errorf("a delay that goes back in time is not written: %s", got)
	}
}

func (b *panelBrowser) WhatIsSwitchedOffIsNotDrawn(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	p.still()
	slice := colored(1, 20_300_000, onFirst, handled)
	p.draws(slice, "there is no slice")
	p.key("e")
	p.typed(`section[aria-label="Event types"] input[type=search]`, "handle")
	p.click(`section[aria-label="Event types"] .items .check`, "")
	p.draws("!"+slice, "a type that is off is still drawn")
	p.click(`section[aria-label="Event types"] .items .check`, "")
	p.draws(slice, "a type that is on again is not drawn")
	link := `meridian.about.links.length === 4 && [...Array(40)].some((_, i) => near(pixel("rows", place(20123000, 0, 0)[0] + i - 20, meridian.plot.top + (meridian.endY(0) + meridian.endY(1)) / 2), css(meridian.theme.message), 60))`
	p.draws(link, "there is no arrow")
	p.click(`section[aria-label="Messages"] button`, "none: hide all messages")
	p.draws("!("+link+")", "messages that are off are still drawn")
	p.click(`section[aria-label="Rows"] button`, "none: hide all rows")
	p.until(`document.querySelectorAll(".name.row").length === 0`, "rows that are off are still there")
	p.shot("switched-off")
	p.do(chromedp.Focus(chromedp.CSS("#over")))
	p.key("H")
	p.draws(slice+" && "+link, "H does not show all again")
}

func (b *panelBrowser) ManyEventsAreDrawnAsHowManyTheyAre(t *testing.T) {
	d := busyTimeline(t, 60_000)
	for kind, open := range map[string]func(*testing.T, view.Data, string, string) *panelPage{"served": b.serve, "file": b.file} {
		p := open(t, d, "light", "")
		p.still()
		filled := drawnNow[[]float64](p, `(() => { const row = meridian.rowY(0), list = [];
			for (const y of [6, 10, 14]) { let n = 0; for (let x = 40; x < meridian.plot.width - 40; x += 3) if (!near(pixel("rows", meridian.plot.left + x, meridian.plot.top + row.top + y), css(meridian.theme.ground), 6)) n++; list.push(n / ((meridian.plot.width - 80) / 3)); }
			return list; })()`)
		if filled[1] < 0.5 {
			t.Errorf("%s: of a busy processor %v are drawn", kind, filled)
		}
		p.shot("many-" + kind)
		// Down to single events: what was a bin becomes slices with names.
		for range 14 {
			p.key("+")
		}
		p.still()
		if got := p.written(); !strings.Contains(got, "running") && !strings.Contains(got, "request") && !strings.Contains(got, "read") {
			t.Errorf("%s: no slice has a name: %s", kind, got)
		}
		p.shot("few-" + kind)
	}
}

// evenTimeline has 900 instants and 900 short slices in equal steps over one and a half tiles of 2^30 ns: the first tile has bins of
// both, the second each by itself. Classes take turns.
func evenTimeline(t *testing.T) *view.Timeline {
	t.Helper()
	s := &trace.Schema{Hosts: []string{"a"}, Classes: []trace.Class{{Name: "odd"}, {Name: "even"}},
		Streams: []trace.Stream{{Name: "instants", Host: "a", Kind: trace.Thread, ID: 1, Parent: -1}, {Name: "slices", Host: "a", Kind: trace.Thread, ID: 2, Parent: -1}}}
	return timelineOf(t, indextest.Build(t, s, "", nil, func(b *index.Builder) error {
		const step = 1 << 30 / 600
		for i := range int64(900) {
			for j, phase := range []trace.Phase{trace.Instant, trace.Begin, trace.End} {
				at := clock.HostTime(i*step + map[trace.Phase]int64{trace.End: 300_000}[phase])
				e := trace.TimelineEvent{Event: trace.Event{Time: at, Stream: min(j, 1), Class: int(i % 2), Phase: phase}, Map: -1, Time: clock.TimelineTime(at), Low: clock.TimelineTime(at), High: clock.TimelineTime(at)}
				if err := b.Write(&e); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

func (b *panelBrowser) ALaneOfOneDensityLooksTheSameOnBothSidesOfATilesEnd(t *testing.T) {
	for _, scheme := range []string{"light", "dark"} {
		p := b.serve(t, evenTimeline(t), scheme, "#v=1&t=0,1610612736")
		p.still()
		for row, below := range []float64{8, 8} {
			// How much a pixel differs from the ground, on 200 pixels on either side of the tile's end.
			got := drawnNow[[]float64](p, fmt.Sprintf(`[-204, 4].map((side) => {
				const [x, y] = place(2 ** 30, %d, %v), ground = css(meridian.theme.ground);
				let sum = 0;
				for (let dx = 0; dx < 200; dx++) sum += pixel("rows", x + side + dx, y).slice(0, 3).reduce((all, v, i) => all + Math.abs(v - ground[i]), 0);
				return sum / 200;
			})`, row, below))
			if got[0] < 5 || got[1] < 0.9*got[0] || got[1] > 1.1*got[0] {
				t.Errorf("%s, row %d: %.1f before the tile's end, %.1f behind it", scheme, row, got[0], got[1])
			}
		}
		p.shot("density-" + scheme)
	}
}

// crossed is a timeline of three hosts: 40 messages go from the first to the last, over a slice of the second that lasts all the time.
func crossed(t *testing.T) view.Data {
	t.Helper()
	s := &trace.Schema{Hosts: []string{"a", "b", "c"}, Classes: []trace.Class{{Name: "send"}, {Name: "busy"}}}
	for i, host := range s.Hosts {
		s.Streams = append(s.Streams, trace.Stream{Name: host, Host: host, Kind: trace.Thread, ID: int64(i + 1), Parent: -1})
	}
	return timelineOf(t, indextest.Build(t, s, "", nil, func(b *index.Builder) error {
		write := func(at int64, host, class int, e trace.Event) error {
			e.Time, e.Stream, e.Class = clock.HostTime(at), host, class
			return b.Write(&trace.TimelineEvent{Event: e, Host: host, Map: -1, Time: clock.TimelineTime(at), Low: clock.TimelineTime(at), High: clock.TimelineTime(at)})
		}
		if err := write(0, 1, 1, trace.Event{Phase: trace.Begin}); err != nil {
			return err
		}
		for i := range int64(40) {
			if err := write(1000+i*20_000, 0, 0, trace.Event{Flow: uint64(i + 1), Role: trace.Sends}); err != nil {
				return err
			}
			if err := write(11_000+i*20_000, 2, 0, trace.Event{Flow: uint64(i + 1), Role: trace.Receives}); err != nil {
				return err
			}
		}
		return write(820_000, 1, 1, trace.Event{Phase: trace.End})
	}))
}

// What a thread did is not crossed out by messages between others.
func (b *panelBrowser) LinesOfMessagesLieBehindSlices(t *testing.T) {
	p := b.serve(t, crossed(t), "light", "#v=1&t=0,820000")
	p.still()
	// A line is thin: what lies right and left of it is not of it. Delays are written in boxes.
	counts := drawnNow[[]int](p, `[[4, css(meridian.color(1))], [60, css(meridian.theme.ground)]].map(([below, around]) => {
		const [x, y] = place(0, 1, below), is = (dx) => near(pixel("rows", x + dx, y), around);
		let lines = 0;
		for (let dx = 5; dx < meridian.plot.width - 5; dx++) if (!is(dx) && is(dx - 3) && is(dx + 3)) lines++;
		return lines;
	})`)
	if counts[0] > 0 || counts[1] < 20 {
		t.Errorf("%d columns of a slice are crossed by a message, %d between rows", counts[0], counts[1])
	}
	p.shot("crossed")
}
