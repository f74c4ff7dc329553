package source

import (
	"io"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// boundSource is the bound of a clock as a counter.
type boundSource struct {
	row
	clock       *clock.Map
	first, last clock.HostTime
	gaps        []clock.HostInterval
	n           int
	values      [1]trace.Value
}

// BoundIntervals is into how many intervals the trace of a clock is divided: its bound is counted at each of their ends.
// A bound is a smooth curve between few knots.
const BoundIntervals = 512

var boundClasses = []trace.Class{{Name: "clock bound", Category: "clocks", Fields: []trace.Field{
	{Name: "bound_ns", Type: trace.Type{Kind: trace.Int}},
}}}

// Bounds returns the largest possible error of a clock from its first to its last stamp, as a counter on a row. In the gaps,
// where nothing bounds the clock, it has no value.
func Bounds(name string, m *clock.Map, first, last clock.HostTime, gaps []clock.HostInterval) trace.Source {
	return &boundSource{row: newRow(name, trace.Bounds, boundClasses), clock: m, first: first, last: last, gaps: gaps}
}

func (x *boundSource) Next(e *trace.Event) error {
	if x.n > BoundIntervals {
		return io.EOF
	}
	at := x.first + clock.HostTime(clock.MulDiv(clock.Sub(x.last, x.first), int64(x.n), BoundIntervals, clock.Nearest))
	x.n++
	if x.last == x.first {
		x.n = BoundIntervals + 1
	}
	*e = trace.Event{Time: at, Phase: trace.Counter}
	x.values[0] = trace.Value{}
	if !slices.ContainsFunc(x.gaps, func(g clock.HostInterval) bool { return g.Holds(at) }) {
		width, _ := x.clock.Error(at)
		x.values[0] = trace.OfInt(width)
	}
	return nil
}

func (x *boundSource) Values() []trace.Value { return x.values[:] }
