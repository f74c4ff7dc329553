package pipeline

import (
	"context"
	"testing"
	"time"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/internal/show/view"
	"meridian/internal/sim"
)

// Where a clock was set back, what the viewer is told leads from each event's instant to what the clock showed, before
// the step and behind it.
func TestRawTimeIsWhatTheClockShowedThoughItWasSetBack(t *testing.T) {
	begin := clock.TimelineTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	s := sim.Scenario{
		Hosts: 3, Topology: sim.Full, Start: begin, Span: 10 * time.Second, Rate: 30, Jitter: 20 * time.Microsecond,
		MinDelay: [2]time.Duration{30 * time.Microsecond, 40 * time.Microsecond}, MaxOffset: time.Second, MaxSkewPPM: 50, Seed: 1,
		Steps: []sim.HostStep{{Host: 1, Step: sim.Step{At: begin + 4e9, By: -2e9}}},
	}
	_, inputs := captured(t, s)
	timeline, _, err := View(context.Background(), inputs, Options{}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer timeline.Close()
	a := timeline.About()
	several, worst := 0, int64(0)
	for i := range a.Rows {
		if len(a.Rows[i].Clocks) > 1 {
			several++
		}
	}
	for _, e := range allEvents(t, timeline) {
		row := &a.Rows[e.Row]
		shown := e.At + shownAhead(a, row.ClockAt(e.At), e.At)
		if off := shown - clock.Sub(e.Recorded, clock.HostTime(a.Origin)); max(off, -off) > worst {
			worst = max(off, -off)
			if worst > 100 {
				t.Errorf("event %d of row %s at %d is shown raw %d ns from its stamp", e.Event, row.Name, e.At, off)
			}
		}
	}
	if several == 0 {
		t.Errorf("no row has events by several clocks: %+v", a.Rows)
	}
}

// shownAhead is by how much a clock was ahead of the timeline at an instant, as the page takes it from the corners.
func shownAhead(a *index.About, number int, at int64) int64 {
	if number < 0 {
		return 0
	}
	c := a.Clocks[number].Corners
	for i := len(c) - 1; i >= 0; i-- {
		switch {
		case c[i].At > at && i > 0:
			continue
		case c[i].At > at || i == len(c)-1:
			return c[i].Recorded
		}
		part := float64(at-c[i].At) / float64(c[i+1].At-c[i].At)
		return c[i].Recorded + int64(part*float64(c[i+1].Recorded-c[i].Recorded))
	}
	return 0
}

func allEvents(t *testing.T, timeline *view.Timeline) (all []index.Event) {
	t.Helper()
	for n := timeline.About().Events; int64(len(all)) < n; {
		some, err := timeline.Events(int64(len(all)), 1024)
		if err != nil || len(some) == 0 {
			t.Fatalf("%d events of %d: %v", len(all), n, err)
		}
		all = append(all, some...)
	}
	return all
}
