package sensor

import "meridian/clock"

// Slice is a type of stretches of time, with a begin and an end: a request, a lock held, a phase. They may nest, overlap,
// and end in another goroutine than they began in, since each has a number.
//
//	var handle = sensor.NewSlice("http", "handle")
//
//	s := handle.Begin()
//	defer s.End()
type Slice struct {
	class
	end *Event1[sliceEnd]
}

// Slice1 is one that says something at its begin.
type Slice1[A Field] struct {
	class
	end *Event1[sliceEnd]
}

// Slice2 is one that says two things at its begin.
type Slice2[A, B Field] struct {
	class
	end *Event1[sliceEnd]
}

// Slice3 is one that says three things at its begin.
type Slice3[A, B, C Field] struct {
	class
	end *Event1[sliceEnd]
}

// sliceEnd is the number in the event that ends a slice.
type sliceEnd uint64

// Span is one stretch that has begun. The zero Span is one that was not recorded: its End does nothing.
type Span struct {
	end *Event1[sliceEnd]
	id  uint64
}

func newEnd(category, name string) *Event1[sliceEnd] {
	return declare(category, name, ":end", []member{sliceMember}, nil, func(e *Event1[sliceEnd]) *class { return &e.class })
}

var sliceContext = []member{sliceMember}

// NewSlice declares slices.
func NewSlice(category, name string) *Slice {
	end := newEnd(category, name)
	return declare(category, name, ":begin", sliceContext, nil, func(s *Slice) *class { s.end = end; return &s.class })
}

// NewSlice1 declares slices with a field.
func NewSlice1[A Field](category, name, nameA string) *Slice1[A] {
	end := newEnd(category, name)
	return declare(category, name, ":begin", sliceContext, []member{memberOf[A](nameA)},
		func(s *Slice1[A]) *class { s.end = end; return &s.class })
}

// NewSlice2 declares slices with two fields.
func NewSlice2[A, B Field](category, name, nameA, nameB string) *Slice2[A, B] {
	end := newEnd(category, name)
	return declare(category, name, ":begin", sliceContext, []member{memberOf[A](nameA), memberOf[B](nameB)},
		func(s *Slice2[A, B]) *class { s.end = end; return &s.class })
}

// NewSlice3 declares slices with three fields.
func NewSlice3[A, B, C Field](category, name, nameA, nameB, nameC string) *Slice3[A, B, C] {
	end := newEnd(category, name)
	return declare(category, name, ":begin", sliceContext, []member{memberOf[A](nameA), memberOf[B](nameB), memberOf[C](nameC)},
		func(s *Slice3[A, B, C]) *class { s.end = end; return &s.class })
}

// Begin begins a slice.
func (e *Slice) Begin() Span {
	if !e.open() {
		return Span{}
	}
	return e.begin()
}

// Begin begins a slice.
func (e *Slice1[A]) Begin(a A) Span {
	if !e.open() {
		return Span{}
	}
	return e.begin(a)
}

// Begin begins a slice.
func (e *Slice2[A, B]) Begin(a A, b B) Span {
	if !e.open() {
		return Span{}
	}
	return e.begin(a, b)
}

// Begin begins a slice.
func (e *Slice3[A, B, C]) Begin(a A, b B, c C) Span {
	if !e.open() {
		return Span{}
	}
	return e.begin(a, b, c)
}

// End ends it, unless it was begun when slices of its type were switched off.
func (s Span) End() {
	if s.end != nil && s.end.open() {
		s.end.emit(sliceEnd(s.id))
	}
}

// ID returns the number of the slice, which no other of this process has; 0 for one that is not recorded.
func (s Span) ID() uint64 { return s.id }

func (e *Slice) begin() (span Span) {
	const n = eventHead + 8
	s := enter()
	if s == nil {
		if s = enterNew(); s == nil {
			return span
		}
	}
	if p := s.Reserve(n); p != nil {
		span = Span{e.end, s.nextSlice()}
		now := clock.Cycles()
		if slow {
			now = clock.Monotonic.Now()
		}
		put(putHead(p, now, e.number, n), span.id)
		s.Commit(n, now)
	}
	leave(s)
	return span
}

func (e *Slice1[A]) begin(a A) (span Span) {
	if isLong(a) {
		a = fit(a)
	}
	n := eventHead + 8 + size(a)
	s := enter()
	if s == nil {
		if s = enterNew(); s == nil {
			return span
		}
	}
	if p := s.Reserve(n); p != nil {
		span = Span{e.end, s.nextSlice()}
		now := clock.Cycles()
		if slow {
			now = clock.Monotonic.Now()
		}
		p = put(putHead(p, now, e.number, n), span.id)
		putAny(p, a)
		s.Commit(n, now)
	}
	leave(s)
	return span
}

func (e *Slice2[A, B]) begin(a A, b B) (span Span) {
	if isLong(a) {
		a = fit(a)
	}
	if isLong(b) {
		b = fit(b)
	}
	n := eventHead + 8 + size(a) + size(b)
	s := enter()
	if s == nil {
		if s = enterNew(); s == nil {
			return span
		}
	}
	if p := s.Reserve(n); p != nil {
		span = Span{e.end, s.nextSlice()}
		now := clock.Cycles()
		if slow {
			now = clock.Monotonic.Now()
		}
		p = put(putHead(p, now, e.number, n), span.id)
		p = putAny(p, a)
		putAny(p, b)
		s.Commit(n, now)
	}
	leave(s)
	return span
}

func (e *Slice3[A, B, C]) begin(a A, b B, c C) (span Span) {
	if isLong(a) {
		a = fit(a)
	}
	if isLong(b) {
		b = fit(b)
	}
	if isLong(c) {
		c = fit(c)
	}
	n := eventHead + 8 + size(a) + size(b) + size(c)
	s := enter()
	if s == nil {
		if s = enterNew(); s == nil {
			return span
		}
	}
	if p := s.Reserve(n); p != nil {
		span = Span{e.end, s.nextSlice()}
		now := clock.Cycles()
		if slow {
			now = clock.Monotonic.Now()
		}
		p = put(putHead(p, now, e.number, n), span.id)
		p = putAny(p, a)
		p = putAny(p, b)
		putAny(p, c)
		s.Commit(n, now)
	}
	leave(s)
	return span
}
