package order

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// emission is a record that a Sorter emitted. Its fields are copied.
type emission struct {
	trace.TimelineEvent
	Note
}

// emissions collects what a Sorter emits.
type emissions []emission

func (c *emissions) take(r *trace.TimelineEvent, n Note) error {
	e := emission{*r, n}
	e.Values = nil
	for i := range r.Values {
		e.Values = append(e.Values, r.Values[i].Clone())
	}
	*c = append(*c, e)
	return nil
}

// numbered returns an event that carries a number, at an instant of its host's clock and of the timeline.
func numbered(number, host, stream int, at clock.TimelineTime) trace.TimelineEvent {
	return trace.TimelineEvent{
		Event: trace.Event{Time: clock.HostTime(at), Stream: stream}, Time: at, Host: host, Low: at - 5, High: at + 5, Bounded: true,
		Values: []trace.Value{trace.OfInt(int64(number))},
	}
}

func number(e *trace.TimelineEvent) int { return int(e.Values[0].Int()) }

func mustPush(t interface{ Fatal(...any) }, s *Sorter, r trace.TimelineEvent) {
	if err := s.Push(&r); err != nil {
		t.Fatal(err)
	}
}

// arrival is an event, and when it comes.
type arrival struct {
	event trace.TimelineEvent
	at    clock.TimelineTime
}

// drawArrivals draws the events of some streams, each in the order of its stamps unless disorder, and when they come: those of
// a stream in order. The numbers of events are their indices.
func drawArrivals(t *rapid.T, disorder bool) []arrival {
	origin := clock.TimelineTime(rapid.SampledFrom([]int64{0, -1000, 1_700_000_000_000_000_000}).Draw(t, "origin"))
	var all []arrival
	for stream := range rapid.IntRange(1, 6).Draw(t, "streams") {
		at, comes := origin, origin
		for range rapid.IntRange(0, 20).Draw(t, "events") {
			at += clock.TimelineTime(rapid.IntRange(0, 10).Draw(t, "gap"))
			instant := at
			if disorder && rapid.IntRange(0, 3).Draw(t, "stray") == 0 {
				instant -= clock.TimelineTime(rapid.IntRange(0, 20).Draw(t, "back"))
			}
			comes = max(comes, instant.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "delay"))))
			all = append(all, arrival{numbered(0, stream%3, stream, instant), comes})
		}
	}
	slices.SortStableFunc(all, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	for i := range all {
		all[i].event.Values[0] = trace.OfInt(int64(i))
	}
	return all
}

// drawFlows makes some of the events ends of messages, whose sending may be lost.
func drawFlows(t *rapid.T, all []arrival) {
	if len(all) == 0 {
		return
	}
	for flow := range uint64(rapid.IntRange(0, 12).Draw(t, "flows")) {
		role := trace.Sends
		if rapid.IntRange(0, 5).Draw(t, "lost") == 0 {
			role = trace.Receives
		}
		for range rapid.IntRange(1, 3).Draw(t, "ends") {
			e := &all[rapid.IntRange(0, len(all)-1).Draw(t, "end")].event
			if e.Flow == 0 {
				e.Flow, e.Role = flow+1, role
				role = trace.Receives
			}
		}
	}
}

func TestWithAnInfiniteFrameTheOutputIsTheSortedInput(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		all := drawArrivals(t, true)
		s := NewSorter(SorterOptions{Frame: math.MaxInt64})
		var got emissions
		for _, a := range all {
			mustPush(t, s, a.event)
			if err := s.Advance(a.at, got.take); err != nil {
				t.Fatal(err)
			}
		}
		if len(got) > 0 {
			t.Fatalf("%d events were emitted within the frame", len(got))
		}
		if err := s.Flush(got.take); err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(all)
		slices.SortStableFunc(want, func(a, b arrival) int {
			return cmp.Or(cmp.Compare(a.event.Time, b.event.Time), cmp.Compare(a.event.Host, b.event.Host), cmp.Compare(a.event.Stream, b.event.Stream))
		})
		if len(got) != len(want) {
			t.Fatalf("%d events of %d", len(got), len(want))
		}
		for i := range want {
			if !reflect.DeepEqual(got[i].TimelineEvent, want[i].event) {
				t.Fatalf("event %d is %+v, want %+v", i, got[i].TimelineEvent, want[i].event)
			}
			if n := got[i].Note; n.Late || n.Moved != 0 || n.Forced || n.TimedOut {
				t.Fatalf("event %d: %+v", i, n)
			}
		}
	})
}

// drawSorter draws options of a Sorter. Its times are small, as those of drawArrivals.
func drawSorter(t *rapid.T) SorterOptions {
	span := func(name string, least int) time.Duration {
		return time.Duration(rapid.IntRange(least, 40).Draw(t, name))
	}
	o := SorterOptions{
		Frame: span("frame", 1), LeastFrame: span("least", 1), MostFrame: span("most", 1), HalveAfter: span("halve", -1), ReasonTimeout: span("timeout", -1),
		MinDelay: span("delay", 0) / 8,
	}
	if rapid.Bool().Draw(t, "little memory") {
		o.MostEvents = rapid.IntRange(1, 20).Draw(t, "most events")
	}
	return o
}

// run sends arrivals through a Sorter. Maps that change put a stream's events back by up to 8 ns.
func run(t *rapid.T, s *Sorter, all []arrival, got *emissions) {
	for i := range all {
		a := &all[i]
		if rapid.IntRange(0, 7).Draw(t, "another map") == 0 {
			a.event.Time -= clock.TimelineTime(rapid.IntRange(0, 8).Draw(t, "by"))
		}
		err := s.Push(&a.event)
		if err == ErrSorterFull {
			if err := s.Advance(a.at, got.take); err != nil {
				t.Fatal(err)
			}
			err = s.Push(&a.event)
		}
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "advance") {
			if err := s.Advance(a.at, got.take); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Flush(got.take); err != nil {
		t.Fatal(err)
	}
}

func TestEveryEventIsEmittedOnceAndEveryInversionIsNotedAsLate(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		all := drawArrivals(t, true)
		drawFlows(t, all)
		s := NewSorter(drawSorter(t))
		var got emissions
		run(t, s, all, &got)
		seen := make([]bool, len(all))
		latest := clock.TimelineTime(math.MinInt64)
		var late, moved, repaired, timedOut, forced int64
		for i := range got {
			e := &got[i]
			k := number(&e.TimelineEvent)
			if seen[k] {
				t.Fatalf("event %d came twice", k)
			}
			seen[k] = true
			want := all[k].event
			want.Time = want.Time.Add(e.Moved)
			if !reflect.DeepEqual(e.TimelineEvent, want) || e.Moved < 0 || e.Behind < 0 || e.Latency < 0 {
				t.Fatalf("event %d is %+v, want %+v", k, e.TimelineEvent, want)
			}
			if e.Time < latest && (!e.Late || e.Behind != latest.Sub(e.Time)) {
				t.Fatalf("event %d at %d comes after %d: %+v", k, e.Time, latest, e.Note)
			}
			latest = max(latest, e.Time)
			for _, c := range []struct {
				is    bool
				count *int64
			}{{e.Late, &late}, {e.Repaired, &repaired}, {e.Moved > 0 && !e.Repaired, &moved}, {e.TimedOut, &timedOut}, {e.Forced, &forced}} {
				if c.is {
					*c.count++
				}
			}
		}
		if len(got) != len(all) {
			t.Fatalf("%d events of %d", len(got), len(all))
		}
		st := s.Stats()
		if st.Emitted != int64(len(all)) || st.Late != late || st.Moved != moved || st.Repaired != repaired || st.TimedOut != timedOut || st.Forced != forced || st.Held != 0 || st.HeldBytes != 0 || st.Latency.Count() != st.Emitted {
			t.Fatalf("%+v; late %d, moved %d, repaired %d, timed out %d, forced %d", st, late, moved, repaired, timedOut, forced)
		}
	})
}

func TestNoConsequencePrecedesItsReasonUnlessItTimedOut(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		all := drawArrivals(t, false)
		drawFlows(t, all)
		o := drawSorter(t)
		s := NewSorter(o)
		var got emissions
		run(t, s, all, &got)
		sent := map[uint64]clock.TimelineTime{}
		for i := range got {
			e := &got[i]
			switch at, ok := sent[e.Flow]; {
			case e.Role == trace.Sends:
				sent[e.Flow] = e.Time
			case e.Role != trace.Receives || e.TimedOut:
			case !ok:
				t.Fatalf("event %d comes before its reason: %+v", number(&e.TimelineEvent), e.Note)
			case e.Time < at.Add(o.MinDelay):
				t.Fatalf("event %d, received at %d, was sent at %d: %+v", number(&e.TimelineEvent), e.Time, at, e.Note)
			}
		}
	})
}

// The order of a stream's stamps is that of its emission, but for events noted as late.
func TestAStreamNeverGoesBackUnlessNotedAsLate(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		all := drawArrivals(t, false)
		drawFlows(t, all)
		s := NewSorter(drawSorter(t))
		var got emissions
		run(t, s, all, &got)
		shown, stamps := map[int]clock.TimelineTime{}, map[int]clock.HostTime{}
		for i := range got {
			e := &got[i]
			at, ok := shown[e.Stream]
			if ok && !e.Late && (e.Time < at || e.Event.Time < stamps[e.Stream]) {
				t.Fatalf("event %d at %d (stamp %d) comes after %d (stamp %d): %+v", number(&e.TimelineEvent), e.Time, e.Event.Time, at, stamps[e.Stream], e.Note)
			}
			shown[e.Stream], stamps[e.Stream] = max(e.Time, at), max(e.Event.Time, stamps[e.Stream])
			if !ok {
				shown[e.Stream], stamps[e.Stream] = e.Time, e.Event.Time
			}
		}
	})
}

func TestHeldBytesCountWhatEventsTake(t *testing.T) {
	if n := unsafe.Sizeof(heldEvent{}); n != slotBytes {
		t.Errorf("a slot has %d bytes", n)
	}
	if n := unsafe.Sizeof(cell{}); n != cellBytes {
		t.Errorf("a cell has %d bytes", n)
	}
}
