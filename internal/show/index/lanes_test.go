package index

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// truth goes over the records of a timeline as they are shown: those of rows, each with its number and its instant. None is before those
// of its component, or its host, that came before it.
func (x *timeline) truth(see func(event int64, at int64, r *trace.TimelineEvent)) (origin, last int64) {
	event := int64(0)
	components, hosts := map[any]int64{}, map[int]int64{}
	for i := range x.records {
		r := &x.records[i]
		if x.schema.Streams[r.Stream].Kind == trace.Bounds {
			continue
		}
		if event == 0 {
			origin = int64(r.Time)
		}
		own := min(clock.Sub(r.Time, clock.TimelineTime(origin)), far)
		component := any("as recorded")
		if r.Map >= 0 {
			component = x.schema.Maps[r.Map].Component
		}
		at := max(own, components[component], hosts[r.Host])
		if own >= 0 && r.Phase == trace.Instant && x.schema.Streams[r.Stream].Kind == trace.Messages {
			at = own
		}
		components[component], hosts[r.Host], last = max(components[component], at), max(hosts[r.Host], at), max(last, at)
		see(event, at, r)
		event++
	}
	return origin, last
}

// wanted is what the lanes of a timeline must hold, found from its records.
type wanted struct {
	instants, slices         map[[2]int64]item // by row and event
	counts                   map[int64][]float64
	events, last             int64
	reused, unended, unbegun int
}

func (x *timeline) wanted() (w wanted) {
	w = wanted{instants: make(map[[2]int64]item), slices: make(map[[2]int64]item), counts: make(map[int64][]float64)}
	type begun struct{ event, at int64 }
	open := make(map[[2]int64][]begun) // by row and number of the slice
	_, w.last = x.truth(func(event, at int64, r *trace.TimelineEvent) {
		w.events++
		key := [2]int64{int64(r.Stream), int64(r.Slice)}
		switch r.Phase {
		case trace.Begin:
			if s := open[key]; r.Slice != 0 && len(s) > 0 {
				w.reused++
				w.slices[[2]int64{key[0], s[0].event}] = item{at: s[0].at, to: at, other: -1, flags: noEnd}
				open[key] = nil
			}
			open[key] = append(open[key], begun{event, at})
		case trace.End:
			s := open[key]
			if len(s) == 0 {
				w.unbegun++
				w.slices[[2]int64{key[0], event}] = item{to: at, other: event, flags: noBegin}
				return
			}
			w.slices[[2]int64{key[0], s[len(s)-1].event}] = item{at: s[len(s)-1].at, to: at, other: event}
			open[key] = s[:len(s)-1]
		case trace.Counter:
			c := &x.schema.Classes[r.Class]
			for i := range r.Values[:max(0, len(r.Values)-c.Context)] {
				v, ok := r.Values[i].Number()
				if ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
					w.counts[event] = append(w.counts[event], v)
				}
			}
			if len(w.counts[event]) == 0 {
				w.instants[[2]int64{key[0], event}] = item{at: at, class: uint32(r.Class)}
			}
		default:
			w.instants[[2]int64{key[0], event}] = item{at: at, class: uint32(r.Class)}
		}
	})
	for key, s := range open {
		for _, b := range s {
			w.unended++
			w.slices[[2]int64{key[0], b.event}] = item{at: b.at, to: w.last, other: -1, flags: noEnd}
		}
	}
	return w
}

// take checks the items of an index's lanes and takes them out of w. It returns the counters' values by event.
func (w *wanted) take(t *rapid.T, x *Index) (counts map[int64][]float64) {
	counts = make(map[int64][]float64)
	for n := range x.lanes {
		l := &x.lanes[n]
		if l.kind == messages {
			continue
		}
		before := int64(0)
		for _, it := range everything(t, x, n) {
			key := [2]int64{int64(l.owner), it.event}
			if inAnyOrder := l.kind == instants && x.about.Rows[l.owner].Kind == trace.Messages.String(); it.at < before && !inAnyOrder {
				t.Fatalf("lane %d: %+v begins before %d", n, it, before)
			}
			before = it.at
			switch l.kind {
			case instants:
				if i, ok := w.instants[key]; !ok || i.at != it.at || i.class != it.class {
					t.Fatalf("instant %+v, wanted %+v", it, i)
				}
				delete(w.instants, key)
			case counter:
				counts[it.event] = append(counts[it.event], it.value())
			case sliced:
				s, ok := w.slices[key]
				if it.flags == noBegin {
					s.at = it.at // the instant of its end, or the first
					ok = ok && (it.at == it.to || it.at == 0)
				}
				if !ok || s.at != it.at || s.to != it.to || s.other != it.other || s.flags != it.flags {
					t.Fatalf("slice %+v, wanted %+v", it, s)
				}
				delete(w.slices, key)
				before = it.to
			}
		}
	}
	return counts
}

func TestLanesHoldWhatTheRecordsSay(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		records := drawTimeline(t, 600)
		x := records.build(t, Options{})
		defer x.Close()
		w := records.wanted()
		for n, say := range map[*int]string{&w.unbegun: "slices have no begin", &w.unended: "slices have no end and are shown to the last",
			&w.reused: "slices have no end and are shown until another"} {
			if said := contains(fmt.Sprint(x.about.Warnings), fmt.Sprintf("%d %s", *n, say)); said != (*n > 0) {
				t.Fatalf("%d %s, warnings %q", *n, say, x.about.Warnings)
			}
		}
		if x.about.Span != w.last || x.about.Events != w.events {
			t.Fatalf("%d events over %d, wanted %d over %d", x.about.Events, x.about.Span, w.events, w.last)
		}
		got := w.take(t, x)
		if len(w.instants) > 0 || len(w.slices) > 0 {
			t.Fatalf("missing: instants %v, slices %v", w.instants, w.slices)
		}
		for event, numbers := range w.counts {
			g := got[event]
			slices.Sort(g)
			slices.Sort(numbers)
			if !slices.Equal(g, numbers) {
				t.Fatalf("event %d counts %v, wanted %v", event, g, numbers)
			}
		}
	})
}

func TestSlicesNestInTheOrderInWhichTheyBegan(t *testing.T) {
	l := &trace.Schema{Hosts: []string{"a"}, Streams: []trace.Stream{{Name: "r", Host: "a", Parent: -1}}, Classes: make([]trace.Class, 4)}
	x := &timeline{schema: l}
	add := func(at int64, class int, phase trace.Phase, slice uint64) {
		x.records = append(x.records, trace.TimelineEvent{Event: trace.Event{Class: class, Phase: phase, Slice: slice}, Time: clock.TimelineTime(at), Map: -1})
	}
	add(0, 0, trace.Begin, 0)
	add(10, 1, trace.Begin, 0)
	add(20, 1, trace.End, 0)
	add(20, 2, trace.Begin, 7) // overlaps what follows
	add(30, 3, trace.Begin, 0)
	add(40, 2, trace.End, 7)
	add(50, 3, trace.End, 0)
	add(60, 0, trace.End, 0)
	n := x.build(t, Options{})
	defer n.Close()
	depths := map[uint32]int{}
	for _, l := range n.about.Rows[0].Lanes {
		for _, it := range everything(t, n, l.Lane) {
			depths[it.class] = l.Depth
		}
	}
	for class, depth := range map[uint32]int{0: 0, 1: 1, 2: 1, 3: 2} {
		if depths[class] != depth {
			t.Errorf("the slice of class %d lies at %d, not %d", class, depths[class], depth)
		}
	}
}

func TestMoreSlicesThanCanBeShownAreCountedAndTheOthersStayWhole(t *testing.T) {
	for _, named := range []bool{false, true} {
		l := &trace.Schema{Hosts: []string{"a"}, Streams: []trace.Stream{{Name: "r", Host: "a", Parent: -1}}, Classes: make([]trace.Class, 1)}
		x := &timeline{schema: l}
		const n = deepest + 50
		for i := range 2 * n {
			r := trace.TimelineEvent{Event: trace.Event{Phase: trace.Begin}, Time: clock.TimelineTime(i), Map: -1}
			if named {
				r.Slice = uint64(i%n) + 1
			}
			if i >= n {
				r.Phase = trace.End
			}
			x.records = append(x.records, r)
		}
		n2 := x.build(t, Options{})
		whole := 0
		for i := range n2.lanes {
			for _, it := range everything(t, n2, i) {
				if it.flags == 0 {
					whole++
				}
			}
		}
		if whole != deepest {
			t.Errorf("named %v: %d slices are whole, not %d", named, whole, deepest)
		}
		if len(n2.about.Warnings) == 0 || n2.about.Warnings[len(n2.about.Warnings)-1][:2] != "50" {
			t.Errorf("named %v: warnings %q", named, n2.about.Warnings)
		}
		n2.Close()
	}
}
