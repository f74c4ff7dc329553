package clock

// ComposeCurves returns the curve that applies c first and next to its result, each rounded as r says. At every integer
// instant the result with r Up is nowhere below, and with r Down nowhere above, the exact composition. It is nil if one of
// the two has no knots.
//
// The result has the knots of c and two for each knot of next, so that curves composed along a path grow with the square of
// its length: [CurveOf.Thin] keeps them short. The cost is linear in the knots of both.
func ComposeCurves[X, Y, Z Time](c CurveOf[X, Y], next CurveOf[Y, Z], r Rounding) CurveOf[X, Z] {
	if len(c) == 0 || len(next) == 0 {
		return nil
	}
	corners := corners(c, next)
	if first, last := corners[0], corners[len(corners)-1]; first < last {
		// Two corners a nanosecond apart say nothing of the slope beyond them.
		beyond := max(Sub(last, first), far)
		if x := Add(last, beyond); x > last {
			corners = append(corners, x)
		}
		if x := Add(first, -beyond); x < first {
			corners = append(corners, 0)
			copy(corners[1:], corners)
			corners[0] = x
		}
	}
	out := make(CurveOf[X, Z], 0, len(corners))
	on, after := NewCursor(c), NewCursor(next)
	for _, x := range corners {
		out = append(out, KnotOf[X, Z]{X: x, Y: after.Rounded(on.Rounded(x, r), r)})
	}
	return out
}

// corners returns the instants at which the composition of two curves has its knots, in order and each once.
func corners[X, Y, Z Time](c CurveOf[X, Y], next CurveOf[Y, Z]) []X {
	out := make([]X, 0, len(c)+2*len(next)+2)
	i := 0 // of the corners of c the next
	add := func(x X) {
		for ; i < len(c) && c[i].X <= x; i++ {
			if n := len(out); n == 0 || c[i].X > out[n-1] {
				out = append(out, c[i].X)
			}
		}
		if n := len(out); n == 0 || x > out[n-1] {
			out = append(out, x)
		}
	}
	if len(c) > 1 || len(next) > 1 {
		piece := 0
		for _, k := range next {
			// The corner of next lies between two integers of X: both become knots, so that no integer instant
			// is interpolated across it.
			if x, ok := c.reaches(k.X, &piece); ok {
				add(x)
				add(Add(x, 1))
			}
		}
	}
	for ; i < len(c); i++ {
		if n := len(out); n == 0 || c[i].X > out[n-1] {
			out = append(out, c[i].X)
		}
	}
	return out
}

// reaches returns the first instant, rounded down, at which the curve has the value y, and false if it never does or if it has that
// value at a knot and stands still there. piece is that of the last value asked for, 0 at first: values do not decrease.
func (c CurveOf[X, Y]) reaches(y Y, piece *int) (X, bool) {
	if len(c) == 1 {
		return Add(c[0].X, Sub(y, c[0].Y)), true
	}
	i := *piece
	for i+2 < len(c) && c[i+1].Y < y {
		i++ // to the last knot below y
	}
	*piece = i
	a, b := c[i], c[i+1]
	if a.Y == b.Y {
		return 0, false
	}
	return Add(a.X, MulDiv(Sub(y, a.Y), int64(b.X-a.X), int64(b.Y-a.Y), Down)), true
}
