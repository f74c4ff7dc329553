package sensor

import "meridian/clock"

// The events of up to four fields; those of more are in events_more.go. Each is the same in its number of fields, written out so
// that every one is a straight line of code: all sizes but those of text are constants, and calls that are too large for
// the inliner as generic functions are cut away before they are compiled.

// Event0 is a type of events with no fields.
type Event0 struct{ class }

// NewEvent0 declares one.
func NewEvent0(category, name string) *Event0 {
	return declare(category, name, "", nil, nil,
		func(v *Event0) *class { return &v.class })
}

// Emit writes an event, if they are switched on.
func (v *Event0) Emit() {
	if raced || *v.on != 0 {
		v.emit()
	}
}

func (v *Event0) emit() {
	if raced && !v.open() {
		return
	}
	n := eventHead
	s := enter()
	if s == nil {
		if s = enterNew(); s == nil {
			return
		}
	}
	if p := s.Reserve(n); p != nil {
		now := clock.Cycles()
		if slow {
			now = clock.Monotonic.Now()
		}
		putHead(p, now, v.number, n)
		s.Commit(n, now)
	}
	leave(s)
}

// Event1 is a type of events with one field.
type Event1[A Field] struct{ class }

// NewEvent1 declares one.
func NewEvent1[A Field](category, name, nameA string) *Event1[A] {
	return declare(category, name, "", nil, []member{memberOf[A](nameA)},
		func(v *Event1[A]) *class { return &v.class })
}

// Emit writes an event, if they are switched on.
func (v *Event1[A]) Emit(a A) {
	if raced || *v.on != 0 {
		v.emit(a)
	}
}

func (v *Event1[A]) emit(a A) {
	if raced && !v.open() {
		return
	}
	if isLong(a) {
		a = fit(a)
	}
	n := eventHead + size(a)
	s := enter()
	if s == nil {
		if s = enterNew(); s == nil {
			return
		}
	}
	if p := s.Reserve(n); p != nil {
		now := clock.Cycles()
		if slow {
			now = clock.Monotonic.Now()
		}
		p = putHead(p, now, v.number, n)
		if isLong(a) {
			putLong(p, a)
		} else {
			put(p, a)
		}
		s.Commit(n, now)
	}
	leave(s)
}

// Event2 is a type of events with two fields.
type Event2[A, B Field] struct{ class }

// NewEvent2 declares one.
func NewEvent2[A, B Field](category, name, nameA, nameB string) *Event2[A, B] {
	return declare(category, name, "", nil, []member{memberOf[A](nameA), memberOf[B](nameB)},
		func(v *Event2[A, B]) *class { return &v.class })
}

// Emit writes an event, if they are switched on.
func (v *Event2[A, B]) Emit(a A, b B) {
	if raced || *v.on != 0 {
		v.emit(a, b)
	}
}

func (v *Event2[A, B]) emit(a A, b B) {
	if raced && !v.open() {
		return
	}
	if isLong(a) {
		a = fit(a)
	}
	if isLong(b) {
		b = fit(b)
	}
	n := eventHead + size(a) + size(b)
	s := enter()
	if s == nil {
		if s = enterNew(); s == nil {
			return
		}
	}
	if p := s.Reserve(n); p != nil {
		now := clock.Cycles()
		if slow {
			now = clock.Monotonic.Now()
		}
		p = putHead(p, now, v.number, n)
		if isLong(a) {
			p = putLong(p, a)
		} else {
			p = put(p, a)
		}
		if isLong(b) {
			putLong(p, b)
		} else {
			put(p, b)
		}
		s.Commit(n, now)
	}
	leave(s)
}

// Event3 is a type of events with three fields.
type Event3[A, B, C Field] struct{ class }

// NewEvent3 declares one.
func NewEvent3[A, B, C Field](category, name, nameA, nameB, nameC string) *Event3[A, B, C] {
	return declare(category, name, "", nil, []member{memberOf[A](nameA), memberOf[B](nameB), memberOf[C](nameC)},
		func(v *Event3[A, B, C]) *class { return &v.class })
}

// Emit writes an event, if they are switched on.
func (v *Event3[A, B, C]) Emit(a A, b B, c C) {
	if raced || *v.on != 0 {
		v.emit(a, b, c)
	}
}

func (v *Event3[A, B, C]) emit(a A, b B, c C) {
	if raced && !v.open() {
		return
	}
	if isLong(a) {
		a = fit(a)
	}
	if isLong(b) {
		b = fit(b)
	}
	if isLong(c) {
		c = fit(c)
	}
	n := eventHead + size(a) + size(b) + size(c)
	s := enter()
	if s == nil {
		if s = enterNew(); s == nil {
			return
		}
	}
	if p := s.Reserve(n); p != nil {
		now := clock.Cycles()
		if slow {
			now = clock.Monotonic.Now()
		}
		p = putHead(p, now, v.number, n)
		if isLong(a) {
			p = putLong(p, a)
		} else {
			p = put(p, a)
		}
		if isLong(b) {
			p = putLong(p, b)
		} else {
			p = put(p, b)
		}
		if isLong(c) {
			putLong(p, c)
		} else {
			put(p, c)
		}
		s.Commit(n, now)
	}
	leave(s)
}

// Event4 is a type of events with four fields.
type Event4[A, B, C, D Field] struct{ class }

// NewEvent4 declares one.
func NewEvent4[A, B, C, D Field](category, name, nameA, nameB, nameC, nameD string) *Event4[A, B, C, D] {
	return declare(category, name, "", nil, []member{memberOf[A](nameA), memberOf[B](nameB), memberOf[C](nameC), memberOf[D](nameD)},
		func(v *Event4[A, B, C, D]) *class { return &v.class })
}

// Emit writes an event, if they are switched on.
func (v *Event4[A, B, C, D]) Emit(a A, b B, c C, d D) {
	if raced || *v.on != 0 {
		v.emit(a, b, c, d)
	}
}

func (v *Event4[A, B, C, D]) emit(a A, b B, c C, d D) {
	if raced && !v.open() {
		return
	}
	if isLong(a) {
		a = fit(a)
	}
	if isLong(b) {
		b = fit(b)
	}
	if isLong(c) {
		c = fit(c)
	}
	if isLong(d) {
		d = fit(d)
	}
	n := eventHead + size(a) + size(b) + size(c) + size(d)
	s := enter()
	if s == nil {
		if s = enterNew(); s == nil {
			return
		}
	}
	if p := s.Reserve(n); p != nil {
		now := clock.Cycles()
		if slow {
			now = clock.Monotonic.Now()
		}
		p = putHead(p, now, v.number, n)
		if isLong(a) {
			p = putLong(p, a)
		} else {
			p = put(p, a)
		}
		if isLong(b) {
			p = putLong(p, b)
		} else {
			p = put(p, b)
		}
		if isLong(c) {
			p = putLong(p, c)
		} else {
			p = put(p, c)
		}
		if isLong(d) {
			putLong(p, d)
		} else {
			put(p, d)
		}
		s.Commit(n, now)
	}
	leave(s)
}
