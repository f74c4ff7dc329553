package sensor

// sliceEnd is the number in the event that ends a slice.
type sliceEnd uint64

// Span is a slice that has begun. The zero Span is one that was not recorded: its End does nothing.
type Span struct {
	end *Event1[sliceEnd]
	id  uint64
}

// End ends the slice, unless it was begun when slices of its type were switched off.
func (s Span) End() {
	if s.end != nil && s.end.open() {
		s.end.emit(sliceEnd(s.id))
	}
}

// ID returns the number of the slice, which no other of this process has; 0 for a slice that is not recorded.
func (s Span) ID() uint64 { return s.id }

func newEnd(category, name string) *Event1[sliceEnd] {
	return declare(category, name, ":end", []member{sliceMember}, nil, func(e *Event1[sliceEnd]) *class { return &e.class })
}

var sliceContext = []member{sliceMember}
