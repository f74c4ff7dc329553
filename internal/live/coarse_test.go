package live

import (
	"testing"
	"time"

	"meridian/clock"
	"meridian/internal/testneed"
	"meridian/order"
	"meridian/trace"
)

// TestEventsOfCoarseStampsAreWithinTrueBounds cuts stamps off to a step that no trace states. Messages then seem to arrive before they were sent, by up to
// a step: nobody set a clock.
func TestEventsOfCoarseStampsAreWithinTrueBounds(t *testing.T) {
	t.Parallel()
	tests := [][2]int64{{1_000_000, 1_000_000}, {1_000_000, 1}, {1, 1_000_000}, {10_000, 4_000_000}}
	for _, steps := range tests[:testneed.Cases(len(tests))] {
		const seconds = 6
		hosts := talk(seconds, 17)
		var exact [2][]clock.HostTime
		for i := range hosts {
			for k := range hosts[i].events {
				e := &hosts[i].events[k]
				exact[i] = append(exact[i], e.Event.Time)
				e.Event.Time -= e.Event.Time % clock.HostTime(steps[i])
				e.Time = clock.TimelineTime(e.Event.Time)
			}
		}
		s, got := followBeside(t, hosts, seconds, Options{Sorter: order.SorterOptions{Frame: 100 * time.Millisecond}}, 2)
		follows := reference(got, s)
		tight, most := 0, clock.TimelineTime(4*(steps[0]+steps[1])+500_000) // a rate is known to two steps in a second at first
		for _, x := range got {
			if !x.bounded {
				continue
			}
			i := hostNamed(s.Schema().Hosts[x.host])
			// In a list that is sorted by exact stamps, an event keeps its number.
			truth := int64(exact[i][position(&hosts[i], x.n)])
			if i == 1 {
				truth = invertB(truth)
			}
			if follows == "b" {
				truth = clockB(truth)
			}
			if int64(x.low) > truth+1 || int64(x.high) < truth-1 {
				t.Fatalf("steps %v: event %d of host %d: truth %d is outside of %d to %d", steps, x.n, x.host, truth, x.low, x.high)
			}
			if x.high-x.low <= most {
				tight++
			}
		}
		if o := s.Outcome(); reversed(got) != int(o.Inverted+o.Violations) {
			t.Errorf("steps %v: %d messages are shown reversed; told: %d and %d", steps, reversed(got), o.Inverted, o.Violations)
		}
		if o := s.Outcome(); tight < len(got)*3/4 || len(o.Set) > 0 || o.Violations > 0 {
			t.Errorf("steps %v: %d of %d events have bounds of %d ns at most; %d violations; set: %s", steps, tight, len(got), most, o.Violations, o.SetText())
		}
	}
}

// TestAnEventWhoseStampsStepGoesBeyondTheBoundsHasNone takes events on both sides of the last instant from which a step of their stamps is within bounds.
func TestAnEventWhoseStampsStepGoesBeyondTheBoundsHasNone(t *testing.T) {
	t.Parallel()
	const step = 10_000_000
	hosts := talk(4, 19)
	s, _ := followBeside(t, hosts, 4, Options{Sorter: order.SorterOptions{Frame: 100 * time.Millisecond}}, 0)
	tried := 0
	for _, in := range s.inputs {
		bounded := func(at int64) bool { p := s.place(in.number, clock.HostTime(at)); return p.Bounded }
		low, high := int64(in.event.Time), int64(in.event.Time)+3600_000_000_000
		if !bounded(low) || bounded(high) { // the reference has bounds for ever
			continue
		}
		for low+1 < high {
			if middle := low + (high-low)/2; bounded(middle) {
				low = middle
			} else {
				high = middle
			}
		}
		for late := range int64(2) {
			at := clock.HostTime(low - (step - 1) + late)
			p := s.place(in.number, at)
			e := trace.TimelineEvent{Time: p.At, Map: s.mapOf(in, &p), Bounded: p.Bounded, Low: p.Low, High: p.High}
			s.reachStep(&e, in.number, at, step)
			if want := late == 0; e.Bounded != want || want && e.High.Sub(p.High) < step*9/10 {
				t.Errorf("the step ends %d ns behind the last bounds: bounded is %v, the high bound went from %d to %d", late, e.Bounded, p.High, e.High)
			}
			tried++
		}
	}
	if tried == 0 {
		t.Error("no clock has bounds that end")
	}
}

// reversed counts the messages that are shown received before they were sent.
func reversed(all []taken) (n int) {
	sent := make(map[uint64]clock.TimelineTime)
	for _, x := range all {
		if x.role == trace.Sends {
			sent[x.flow] = x.at
		}
	}
	for _, x := range all {
		if at, any := sent[x.flow]; any && x.role == trace.Receives && x.at < at {
			n++
		}
	}
	return n
}

func hostNamed(name string) int {
	if name == "b" {
		return 1
	}
	return 0
}

// position returns where in its host's list an event is, by its field.
func position(h *host, n int64) int {
	if k := int(n); h.events[k].Values[0].Int() == n {
		return k
	}
	for k := range h.events {
		if h.events[k].Values[0].Int() == n {
			return k
		}
	}
	return -1
}
