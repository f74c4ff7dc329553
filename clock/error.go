package clock

import (
	"math"
	"slices"
)

// IntervalOf is the instants from First to Last, both included.
type IntervalOf[T Time] struct{ First, Last T }

// HostInterval is a stretch of a host's clock.
type HostInterval = IntervalOf[HostTime]

// Holds reports whether t lies within the interval.
func (i IntervalOf[T]) Holds(t T) bool { return t >= i.First && t <= i.Last }

// corners returns the instants from first to last between which all three curves are straight, the ends among them.
func (m *MapOf[X, Y]) corners(first, last X) []X {
	at := []X{first, last}
	for _, c := range []CurveOf[X, Y]{m.Mid, m.Low, m.High} {
		for _, k := range c {
			if k.X > first && k.X < last {
				at = append(at, k.X)
			}
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// Unbounded returns the stretches from first to last in which a side of the map has no bound, or in which the bounds are more
// than limit ns apart, to a rounding of 2 ns. They are in order and do not touch each other. The result is nil if last is before first. The cost is
// that of the bounds at each knot.
func (m *MapOf[X, Y]) Unbounded(first, last X, limit int64) []IntervalOf[X] {
	if last < first {
		return nil
	}
	if len(m.Low) == 0 || len(m.High) == 0 {
		return []IntervalOf[X]{{first, last}}
	}
	wide := func(t X) bool {
		low, high, _, _ := m.Bounds(t)
		return Sub(high, low) > limit
	}
	var out []IntervalOf[X]
	add := func(from, to X) {
		if n := len(out); n > 0 && from <= Add(out[n-1].Last, 1) {
			out[n-1].Last = max(out[n-1].Last, to)
			return
		}
		out = append(out, IntervalOf[X]{from, to})
	}
	corners := m.corners(first, last)
	if len(corners) == 1 && wide(first) {
		add(first, first)
	}
	for i := 1; i < len(corners); i++ {
		a, b := corners[i-1], corners[i]
		// The width is straight: where it is too much at one end only, it is so from there to one instant.
		switch before, after := wide(a), wide(b); {
		case before && after:
			add(a, b)
		case before:
			add(a, turn(a, b, func(t X) bool { return !wide(t) })-1)
		case after:
			add(turn(a, b, wide), b)
		}
	}
	return out
}

// turn returns the first instant of (a, b] at which is holds, where it does not hold at a and holds at b.
func turn[X Time](a, b X, is func(X) bool) X {
	for Sub(b, a) > 1 {
		middle := a + X(uint64(b-a)/2)
		if is(middle) {
			b = middle
		} else {
			a = middle
		}
	}
	return b
}

// WorstError returns the largest error from first to last and the first corner that has it; false if a side is unbounded or
// last is before first.
func (m *MapOf[X, Y]) WorstError(first, last X) (at X, ns int64, ok bool) {
	if last < first {
		return 0, 0, false
	}
	ns = math.MinInt64
	for _, t := range m.corners(first, last) {
		err, ok := m.Error(t)
		if !ok {
			return 0, 0, false
		}
		if err > ns {
			at, ns = t, err
		}
	}
	return at, ns, true
}
