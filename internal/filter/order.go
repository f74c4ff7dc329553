package filter

import (
	"math"

	"meridian/clock"
	"meridian/trace"
)

// Clock is what of a host's clock decides how sure its stamps are.
type Clock struct {
	Step      int64 // of its stamps, ns: a stamp stands for all that the clock showed from it to a step later; 0 is 1
	Component int   // its stamps cannot be compared with those of another component
	Set       bool  // it was set meanwhile: what it showed later may be less
}

// Order is the answer to "was the first before the second?", by the rule that docs/viewer.md has for the viewer too; examples
// that both are held to are in testdata/order.json. Of one clock that was not set, stamps decide that are a step apart;
// else the intervals in which both happened, if they do not meet. Margin is by how much that is so; where it is not so, by
// how much it fails, negative; absent where nothing can be said.
type Order struct {
	Answer string `json:"answer"` // yes, no or unknown
	Margin *int64 `json:"margin_ns,omitempty"`
}

// stamp is an event's time, as far as its order depends on it.
type stamp struct {
	time         clock.TimelineTime
	recorded     clock.HostTime
	low, high    clock.TimelineTime // in between it happened, the step of the stamp included
	host, number int                // number is that of its map; -1 for a stamp that stayed as it was recorded
	bounded      bool
	clock        Clock
}

// stampOf returns the stamp of a record. Without a map, a stamp is true but for its step.
func (f *Filter) stampOf(r *trace.TimelineEvent) stamp {
	s := stamp{time: r.Time, recorded: r.Event.Time, low: r.Low, high: r.High, host: r.Host, number: r.Map, bounded: r.Bounded}
	if f.o.Clock != nil {
		s.clock = f.o.Clock(r.Host, r.Map)
	}
	if r.Map < 0 {
		s.low, s.high, s.bounded = r.Time, clock.Add(r.Time, max(s.clock.Step, 1)-1), true
	}
	return s
}

// sameClock reports whether stamps themselves tell the order.
func (s *stamp) sameClock(o *stamp) bool {
	return s.host == o.host && s.number == o.number && s.number >= 0 && !s.clock.Set
}

// comparable reports whether two intervals are of one time.
func (s *stamp) comparable(o *stamp) bool {
	return s.clock.Component == o.clock.Component && s.bounded && o.bounded
}

// order answers whether s was before o.
func (s *stamp) order(o *stamp) Order {
	said := func(answer string, margin int64) Order { return Order{answer, &margin} }
	if s.sameClock(o) {
		d, step := clock.Sub(o.recorded, s.recorded), max(s.clock.Step, 1)
		switch {
		case d >= step:
			return said("yes", d)
		case d <= -step:
			return said("no", -d)
		}
		return said("unknown", max(d, -d)-step)
	}
	if !s.comparable(o) {
		return Order{Answer: "unknown"}
	}
	before, after := clock.Sub(o.low, s.high), clock.Sub(s.low, o.high)
	switch {
	case before > 0:
		return said("yes", before)
	case after > 0:
		return said("no", after)
	}
	return said("unknown", max(before, after))
}

// between returns between which durations it truly was from s to o, whose stamps are d apart on the timeline.
func (s *stamp) between(o *stamp, d int64) (low, high int64, bounded bool) {
	switch {
	case s.sameClock(o):
		more := max(s.clock.Step, 1) - 1
		return clock.Sub(d, more), clock.Add(d, more), true
	case s.comparable(o):
		return clock.Sub(o.low, s.high), clock.Sub(o.high, s.low), true
	}
	return math.MinInt64, math.MaxInt64, false
}
