package sensor

import "meridian/clock"

// Event5 is a type of events with five fields.
type Event5[A, B, C, D, E Field] struct{ class }

// NewEvent5 declares one.
func NewEvent5[A, B, C, D, E Field](category, name, nameA, nameB, nameC, nameD, nameE string) *Event5[A, B, C, D, E] {
	return declare(category, name, "", nil, []member{memberOf[A](nameA), memberOf[B](nameB), memberOf[C](nameC), memberOf[D](nameD),
		memberOf[E](nameE)},
		func(v *Event5[A, B, C, D, E]) *class { return &v.class })
}

// Emit writes an event, if they are switched on.
func (v *Event5[A, B, C, D, E]) Emit(a A, b B, c C, d D, e E) {
	if raced || *v.on != 0 {
		v.emit(a, b, c, d, e)
	}
}

func (v *Event5[A, B, C, D, E]) emit(a A, b B, c C, d D, e E) {
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
	if isLong(e) {
		e = fit(e)
	}
	n := eventHead + size(a) + size(b) + size(c) + size(d) + size(e)
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
			p = putLong(p, d)
		} else {
			p = put(p, d)
		}
		if isLong(e) {
			putLong(p, e)
		} else {
			put(p, e)
		}
		s.Commit(n, now)
	}
	leave(s)
}

// Event6 is a type of events with six fields.
type Event6[A, B, C, D, E, F Field] struct{ class }

// NewEvent6 declares one.
func NewEvent6[A, B, C, D, E, F Field](category, name, nameA, nameB, nameC, nameD, nameE, nameF string) *Event6[A, B, C, D, E, F] {
	return declare(category, name, "", nil, []member{memberOf[A](nameA), memberOf[B](nameB), memberOf[C](nameC), memberOf[D](nameD),
		memberOf[E](nameE), memberOf[F](nameF)},
		func(v *Event6[A, B, C, D, E, F]) *class { return &v.class })
}

// Emit writes an event, if they are switched on.
func (v *Event6[A, B, C, D, E, F]) Emit(a A, b B, c C, d D, e E, f F) {
	if raced || *v.on != 0 {
		v.emit(a, b, c, d, e, f)
	}
}

func (v *Event6[A, B, C, D, E, F]) emit(a A, b B, c C, d D, e E, f F) {
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
	if isLong(e) {
		e = fit(e)
	}
	if isLong(f) {
		f = fit(f)
	}
	n := eventHead + size(a) + size(b) + size(c) + size(d) + size(e) + size(f)
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
			p = putLong(p, d)
		} else {
			p = put(p, d)
		}
		if isLong(e) {
			p = putLong(p, e)
		} else {
			p = put(p, e)
		}
		if isLong(f) {
			putLong(p, f)
		} else {
			put(p, f)
		}
		s.Commit(n, now)
	}
	leave(s)
}

// Event7 is a type of events with seven fields.
type Event7[A, B, C, D, E, F, G Field] struct{ class }

// NewEvent7 declares one.
func NewEvent7[A, B, C, D, E, F, G Field](category, name, nameA, nameB, nameC, nameD, nameE, nameF, nameG string) *Event7[A, B, C, D, E, F, G] {
	return declare(category, name, "", nil, []member{memberOf[A](nameA), memberOf[B](nameB), memberOf[C](nameC), memberOf[D](nameD),
		memberOf[E](nameE), memberOf[F](nameF), memberOf[G](nameG)},
		func(v *Event7[A, B, C, D, E, F, G]) *class { return &v.class })
}

// Emit writes an event, if they are switched on.
func (v *Event7[A, B, C, D, E, F, G]) Emit(a A, b B, c C, d D, e E, f F, g G) {
	if raced || *v.on != 0 {
		v.emit(a, b, c, d, e, f, g)
	}
}

func (v *Event7[A, B, C, D, E, F, G]) emit(a A, b B, c C, d D, e E, f F, g G) {
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
	if isLong(e) {
		e = fit(e)
	}
	if isLong(f) {
		f = fit(f)
	}
	if isLong(g) {
		g = fit(g)
	}
	n := eventHead + size(a) + size(b) + size(c) + size(d) + size(e) + size(f) + size(g)
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
			p = putLong(p, d)
		} else {
			p = put(p, d)
		}
		if isLong(e) {
			p = putLong(p, e)
		} else {
			p = put(p, e)
		}
		if isLong(f) {
			p = putLong(p, f)
		} else {
			p = put(p, f)
		}
		if isLong(g) {
			putLong(p, g)
		} else {
			put(p, g)
		}
		s.Commit(n, now)
	}
	leave(s)
}

// Event8 is a type of events with eight fields.
type Event8[A, B, C, D, E, F, G, H Field] struct{ class }

// NewEvent8 declares one.
func NewEvent8[A, B, C, D, E, F, G, H Field](category, name, nameA, nameB, nameC, nameD, nameE, nameF, nameG, nameH string) *Event8[A, B, C, D, E, F, G, H] {
	return declare(category, name, "", nil, []member{memberOf[A](nameA), memberOf[B](nameB), memberOf[C](nameC), memberOf[D](nameD),
		memberOf[E](nameE), memberOf[F](nameF), memberOf[G](nameG), memberOf[H](nameH)},
		func(v *Event8[A, B, C, D, E, F, G, H]) *class { return &v.class })
}

// Emit writes an event, if they are switched on.
func (v *Event8[A, B, C, D, E, F, G, H]) Emit(a A, b B, c C, d D, e E, f F, g G, h H) {
	if raced || *v.on != 0 {
		v.emit(a, b, c, d, e, f, g, h)
	}
}

func (v *Event8[A, B, C, D, E, F, G, H]) emit(a A, b B, c C, d D, e E, f F, g G, h H) {
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
	if isLong(e) {
		e = fit(e)
	}
	if isLong(f) {
		f = fit(f)
	}
	if isLong(g) {
		g = fit(g)
	}
	if isLong(h) {
		h = fit(h)
	}
	n := eventHead + size(a) + size(b) + size(c) + size(d) + size(e) + size(f) + size(g) + size(h)
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
			p = putLong(p, d)
		} else {
			p = put(p, d)
		}
		if isLong(e) {
			p = putLong(p, e)
		} else {
			p = put(p, e)
		}
		if isLong(f) {
			p = putLong(p, f)
		} else {
			p = put(p, f)
		}
		if isLong(g) {
			p = putLong(p, g)
		} else {
			p = put(p, g)
		}
		if isLong(h) {
			putLong(p, h)
		} else {
			put(p, h)
		}
		s.Commit(n, now)
	}
	leave(s)
}
