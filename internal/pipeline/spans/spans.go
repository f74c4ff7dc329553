// Package spans puts copies of spans on the timeline. In goes what files of spans hold, as OTLP has it, and for each host the map of its clock.
// The times of the spans change in place: starts, ends and events come to their estimated places.
//
// Estimates of two clocks may still leave a child a little outside of its parent: by a step of their stamps, or by what an assumption allows.
// Where the bounds allow it, starts and ends move until children lie within their parents (nest.go):
//
//	parent  |-----------------|            parent  |-----------------|
//	child |-----------|              -->   child   |---------|
//	     [ low .. high ] of its start              start = the parent's, within [low, high]
//
// The child of a message (a client's server, a producer's consumer) lies within its parent as far as causality says: a server starts after its client and ends before it,
// unless the client failed; a consumer starts after its producer. A child of the same clock lies within its parent where it did as recorded. What bounds forbid stays,
// and is marked and counted. Attributes of each span state its bounds and its recorded times. The cost is O(n) in spans; memory is some 200 bytes for each.
package spans

import (
	"math"

	v1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"meridian/clock"
)

// Place is an instant of a host on the timeline: the estimate, and the interval of its true place if that is bounded, ns since 1970.
type Place struct {
	Time, Low, High clock.TimelineTime
	Bounded         bool
}

// Clock places the instants of a host. Number tells clocks apart; Component numbers the time base that a clock shares, and is written if Several is true.
// Aligned is false for a clock whose stamps stay as they were recorded: its spans get no attributes.
type Clock struct {
	Number, Component int
	Several, Aligned  bool
	Place             func(clock.HostTime) Place
	// Wanted says whether a span from start to end is written; nil stands for all.
	Wanted func(start, end clock.TimelineTime) bool
}

// Tally counts what became of the spans.
type Tally struct {
	Written  int64
	LeftOut  int64 // not wanted
	Timeless int64 // left out: no start, or times out of range
	Outside  int64 // written, outside of their parents, as bounds do not allow more
}

// span is one span on its way.
type span struct {
	*v1.Span
	clock      *Clock
	recorded   [2]clock.HostTime // start and end; the latter is 0 where there is none
	begin, end Place
	events     []Place
	nesting
}

type spanKey struct{ trace, id string }

// Correct puts the spans of all resources on the timeline, in place, and leaves out those that are not wanted or have no time. ClockOf returns the clock of a resource,
// nil for one whose spans are to be left out. Spans in different resources, and files, may be parents of each other.
func Correct(resources []*v1.ResourceSpans, clockOf func(*v1.ResourceSpans) *Clock) Tally {
	var tally Tally
	var all []*span
	of := make(map[spanKey]*span)
	for _, rs := range resources {
		c := clockOf(rs)
		for _, ss := range rs.ScopeSpans {
			kept := ss.Spans[:0]
			for _, s := range ss.Spans {
				switch x, ok := placed(s, c); {
				case c == nil:
					tally.LeftOut++
				case !ok:
					tally.Timeless++
				default:
					all, kept = append(all, x), append(kept, s)
					if key := (spanKey{string(s.TraceId), string(s.SpanId)}); of[key] == nil {
						of[key] = x
					}
				}
			}
			clear(ss.Spans[len(kept):])
			ss.Spans = kept
		}
	}
	nestAll(all, of)
	unwanted := make(map[*v1.Span]bool)
	for _, s := range all {
		if s.clock.Wanted != nil && !s.clock.Wanted(s.begin.Time, max(s.begin.Time, s.end.Time)) {
			unwanted[s.Span] = true
			tally.LeftOut++
			continue
		}
		tally.Written++
		if s.outside {
			tally.Outside++
		}
		s.write()
	}
	drop(resources, unwanted)
	return tally
}

// drop removes spans.
func drop(resources []*v1.ResourceSpans, unwanted map[*v1.Span]bool) {
	if len(unwanted) == 0 {
		return
	}
	for _, rs := range resources {
		for _, ss := range rs.ScopeSpans {
			kept := ss.Spans[:0]
			for _, s := range ss.Spans {
				if !unwanted[s] {
					kept = append(kept, s)
				}
			}
			clear(ss.Spans[len(kept):])
			ss.Spans = kept
		}
	}
}

// stamp returns a stamp of OTLP as one of a clock; false for none and for one out of range.
func stamp(ns uint64) (clock.HostTime, bool) {
	return clock.HostTime(min(ns, math.MaxInt64)), ns > 0 && ns < uint64(clock.Limit)
}

// placed places the instants of a span.
func placed(s *v1.Span, c *Clock) (*span, bool) {
	start, ok := stamp(s.StartTimeUnixNano)
	if !ok || c == nil {
		return nil, false
	}
	x := &span{Span: s, clock: c, begin: c.Place(start)}
	x.recorded[0] = start
	if end, ok := stamp(s.EndTimeUnixNano); ok {
		x.recorded[1], x.end = end, c.Place(end)
	} else if s.EndTimeUnixNano != 0 {
		return nil, false
	}
	for _, e := range s.Events {
		at, ok := stamp(e.TimeUnixNano)
		if !ok {
			x.events = append(x.events, Place{})
			continue
		}
		x.events = append(x.events, c.Place(at))
	}
	return x, true
}

func (s *span) ended() bool { return s.recorded[1] != 0 }
