//go:build !race

package viewtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
	"meridian/internal/show/view"
	"meridian/trace"
)

// Classes of the timeline that is folded.
const (
	longCall = iota
	shortCall
	beat
	turn
)

// foldedTimeline is a host with a process over three threads, and eight processors that take turns. Times are in us:
//
//	process   instants at 0 and 100,000
//	thread 1  one call from 10,000 to 90,000
//	thread 2  4,000 beats from 2,000 to 4,000
//	thread 3  1,000 calls of 0.5 between 95,000 and 96,000, one each
//	CPU i     a turn from 10,000·i to 10,000·(i+1)
func foldedTimeline(t *testing.T) *view.Timeline {
	t.Helper()
	l := &trace.Schema{Hosts: []string{"a"}, Classes: []trace.Class{{Name: "long"}, {Name: "short"}, {Name: "beat"}, {Name: "turn"}}}
	row := func(name string, kind trace.StreamKind, parent int) {
		l.Streams = append(l.Streams, trace.Stream{Name: name, Host: "a", Kind: kind, ID: int64(len(l.Streams)), Parent: parent})
	}
	row("process", trace.Process, -1)
	for i := range 3 {
		row(fmt.Sprint("thread ", i+1), trace.Thread, 0)
	}
	for i := range 8 {
		row(fmt.Sprint("CPU ", i), trace.CPU, -1)
	}
	var records []trace.TimelineEvent
	add := func(ns int64, row, class int, phase trace.Phase) {
		at := clock.HostTime(int64(1e18) + ns)
		records = append(records, trace.TimelineEvent{Event: trace.Event{Time: at, Stream: row, Class: class, Phase: phase}, Map: -1, Time: clock.TimelineTime(at), Low: clock.TimelineTime(at), High: clock.TimelineTime(at)})
	}
	add(0, 0, beat, trace.Instant)
	add(100e6, 0, beat, trace.Instant)
	add(10e6, 1, longCall, trace.Begin)
	add(90e6, 1, longCall, trace.End)
	for i := range int64(4000) {
		add(2e6+500*i, 2, beat, trace.Instant)
	}
	for i := range int64(1000) {
		add(95e6+1000*i, 3, shortCall, trace.Begin)
		add(95e6+1000*i+500, 3, shortCall, trace.End)
	}
	for i := range int64(8) {
		add(10e6*i, 4+int(i), turn, trace.Begin)
		add(10e6*(i+1), 4+int(i), turn, trace.End)
	}
	slices.SortStableFunc(records, func(a, b trace.TimelineEvent) int { return int(a.Time - b.Time) })
	return timelineOf(t, indextest.Build(t, l, "", nil, func(b *index.Builder) error {
		for i := range records {
			if err := b.Write(&records[i]); err != nil {
				return err
			}
		}
		return nil
	}))
}

// strip tells what the strip of a line has at an instant, so many pixels above its foot: "" for nothing, else the
// class whose colour it is, or "how many".
const strip = `const strip = (id, at, above) => {
	const { line } = document.getElementById("line-" + id), lane = line.lanes.find((l) => l.kind === "summary") ?? { y: 2, h: 20 };
	const y = document.getElementById("line-" + id).getBoundingClientRect().top + lane.y + lane.h - 1 - above, x = meridian.plot.left + meridian.x(at);
	const seen = pixel("rows", x, y), under = css(line.type === "host" ? meridian.theme.panel : line.type === "kind" ? meridian.theme.lane : meridian.theme.ground);
	const mixed = (c, a) => css(c).map((v, i) => v * a / 255 + under[i] * (1 - a / 255));
	if (near(seen, under, 6)) return "";
	const classes = meridian.about.classes.map((c, i) => near(seen, mixed(meridian.color(i), 200), 6) ? c.name : "").filter(Boolean);
	return classes[0] ?? (near(seen, mixed(meridian.theme.accent, 90), 6) || near(seen, mixed(meridian.theme.accent, 190), 6) ? "how many" : "? " + seen);
};`

// stripSpot is an instant of a line's strip, so far above its foot, and what strip tells of it.
type stripSpot struct {
	Line      string
	At, Above float64
	Want      string
}

// strips waits until all spots have what they should.
func (p *panelPage) strips(spots ...stripSpot) {
	p.t.Helper()
	wrong := value[[]string](p.logic, fmt.Sprintf(`new Promise((done) => { %s %s
		const until = performance.now() + 100000, spots = %s;
		(function look() {
			const wrong = spots.map((s) => [s, strip(s.Line, s.At, s.Above)]).filter(([s, got]) => got !== s.Want);
			if (!wrong.length || performance.now() > until) done(wrong.map(([s, got]) => s.Line + " at " + s.At + ", " + s.Above + " above its foot, has '" + got + "', not '" + s.Want + "'"));
			else requestAnimationFrame(look);
		})();
	})`, canvas, strip, literal(spots)))
	if len(wrong) > 0 {
		p.shot("failed-strip")
		p.t.Fatal(strings.Join(wrong, "\n"))
	}
}

// What is folded is summed up in a strip, at every zoom, from what would be seen unfolded.
func (b *panelBrowser) WhatIsFoldedIsSummedUpAtEveryZoom(t *testing.T) {
	d := foldedTimeline(t)
	for kind, open := range map[string]func(*testing.T, view.Data, string, string) *panelPage{"served": b.serve, "file": b.file} {
		p := open(t, d, "light", "#v=1")
		p.still()
		p.click("#line-0 .fold", "")
		p.click(`#line-k0\.cpu .fold`, "")
		p.until(names+` === "a process 8 CPUs"`, kind+": the rows are not folded")
		for _, c := range []struct {
			from, to float64
			long     []float64 // instants of the long call
			short    []float64 // where calls of thread 3 are
			beats    []float64
			none     []float64 // where the process has nothing
		}{
			{-2e6, 102e6, []float64{10.5e6, 50e6, 89.5e6}, []float64{95.5e6}, []float64{2.1e6, 3.9e6}, []float64{1e6, 7e6, 93e6, 98e6}},
			{40e6, 60e6, []float64{40.5e6, 50e6, 59e6}, nil, nil, nil},
			{50e6, 50.01e6, []float64{50.001e6, 50.009e6}, nil, nil, nil},
			{94.9e6, 96.1e6, nil, []float64{95.1e6, 95.9e6}, nil, []float64{94.95e6, 96.05e6}},
			{95.1e6, 95.11e6, nil, []float64{95.1002e6, 95.1092e6}, nil, []float64{95.1007e6, 95.1097e6}},
			{1.5e6, 2.5e6, nil, nil, []float64{2.02e6, 2.49e6}, []float64{1.95e6}},
			{9.99e6, 10.01e6, []float64{10.002e6}, nil, nil, []float64{9.998e6}},
		} {
			p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`void meridian.setView(%v, %v)`, c.from, c.to)))
			p.shows(c.from, c.to, kind+": the view is elsewhere")
			p.still()
			var spots []stripSpot
			for want, list := range map[string][]float64{"long": c.long, "short": c.short, "how many": c.beats, "": c.none} {
				for _, at := range list {
					spots = append(spots, stripSpot{"0", at, 0, want})
				}
			}
			// One of eight processors is busy: some of the strip, not all of it.
			for _, at := range []float64{c.from + 0.533*(c.to-c.from), c.from + 0.713*(c.to-c.from)} {
				spots = append(spots, stripSpot{"k0.cpu", at, 0, map[bool]string{true: "turn"}[at < 80e6]}, stripSpot{"k0.cpu", at, 14, ""})
			}
			p.strips(spots...)
			p.shot(fmt.Sprintf("strip-%s-%v", kind, c.to-c.from))
		}
		// What is switched off is not summed up, and a host that is folded sums up all of its rows.
		p.do(chromedp.Evaluate[chromedp.Void](`void meridian.setView(-2e6, 102e6)`))
		p.shows(-2e6, 102e6, kind+": the view is elsewhere")
		value[bool](p.logic, fmt.Sprintf(`(meridian.setHidden("classes", %d, true), true)`, longCall))
		p.strips(stripSpot{"0", 50e6, 0, ""})
		value[bool](p.logic, fmt.Sprintf(`(meridian.setHidden("classes", %d, false), true)`, longCall))
		p.strips(stripSpot{"0", 50e6, 0, "long"})
		p.click("#line-h0 .fold", "")
		p.until(names+` === "a"`, kind+": the host is not folded")
		p.strips(stripSpot{"h0", 85e6, 0, "long"}, stripSpot{"h0", 3e6, 10, "how many"}, stripSpot{"h0", 95.5e6, 0, "short"}, stripSpot{"h0", 98e6, 0, ""})
		value[bool](p.logic, `(meridian.setHidden("rows", 1, true), true)`)
		p.strips(stripSpot{"h0", 85e6, 0, ""})
	}
}
