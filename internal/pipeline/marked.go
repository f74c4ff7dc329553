package pipeline

import (
	"cmp"
	"io"
	"slices"

	"meridian/trace"
)

// marked brings what lists say of a clock beside messages: its part in collectives and broadcasts.
type marked struct {
	marks  []mark
	name   string
	n      int
	sorted bool
	values [1]trace.Value
}

// kinds of marks, by the number of their class.
var markKinds = []string{"enters", "leaves", "hears"}

func (x *marked) Next(e *trace.Event) error {
	if !x.sorted {
		x.marks, x.sorted = slices.Clone(x.marks), true
		slices.SortStableFunc(x.marks, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
	}
	if x.n >= len(x.marks) {
		return io.EOF
	}
	m := &x.marks[x.n]
	x.n++
	*e = trace.Event{Time: m.at, Class: slices.Index(markKinds, m.what)}
	x.values[0] = trace.OfText(m.name)
	return nil
}

func (x *marked) Values() []trace.Value { return x.values[:] }
func (x *marked) Streams() []trace.Stream {
	return []trace.Stream{{Name: x.name, Kind: trace.Messages, Parent: -1}}
}

func (x *marked) Classes() []trace.Class {
	var all []trace.Class
	for _, kind := range markKinds {
		all = append(all, trace.Class{Name: kind, Category: "operations", Fields: []trace.Field{{Name: "operation", Type: trace.Type{Kind: trace.Text}}}})
	}
	return all
}
func (x *marked) Close() error { return nil }
