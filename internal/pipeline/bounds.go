package pipeline

import (
	"io"

	"meridian/clock"
	"meridian/trace"
)

// bounds brings how wrong a clock may be as a counter over its trace.
type bounds struct {
	m           *clock.Map
	first, last int64
	n           int
	name        string
	values      [1]trace.Value
}

// boundPoints is how often the counter is set: a bound is a smooth curve between few bends.
const boundPoints = 512

var boundClasses = []trace.Class{{Name: "clock bound", Category: "clocks", Fields: []trace.Field{
	{Name: "bound_ns", Type: trace.Type{Kind: trace.Int}},
}}}

func (x *bounds) Next(e *trace.Event) error {
	if x.n > boundPoints {
		return io.EOF
	}
	at := x.first + clock.MulDiv(clock.Sub(x.last, x.first), int64(x.n), boundPoints, clock.Nearest)
	x.n++
	if x.last == x.first {
		x.n = boundPoints + 1
	}
	*e = trace.Event{Time: at, Phase: trace.Counter}
	width, _ := x.m.Error(at)
	x.values[0] = trace.OfInt(width)
	return nil
}

func (x *bounds) Values() []trace.Value { return x.values[:] }
func (x *bounds) Streams() []trace.Stream {
	return []trace.Stream{{Name: x.name, Kind: trace.Bounds, Parent: -1}}
}
func (x *bounds) Classes() []trace.Class { return boundClasses }
func (x *bounds) Close() error           { return nil }
