package clock

import "math"

// Thin returns the curve with as few of its knots as a single pass finds to suffice, which leaves it by at most tolerance ns: with
// r Up it is nowhere below the curve and at most tolerance above, with Down the other way round, and with Nearest on either side.
// The first and the last piece keep their directions, so that this holds beyond the knots too. Where no knot can be left
// out, it returns the curve itself.
//
// With Up and Down the knots are moved outwards by half the tolerance, and a chord between two of them may leave those between
// by the other half. The cost is linear.
func (c CurveOf[X, Y]) Thin(tolerance int64, r Rounding) CurveOf[X, Y] {
	const ends = 2 // knots of the outermost pieces
	n := len(c)
	if n <= 2*ends || tolerance < 1 {
		return c
	}
	out, aside := int64(0), float64(tolerance)
	if r != Nearest {
		// Chords are computed in floating point. What that loses is much less than the nanosecond between the two halves.
		out = (tolerance + 1) / 2
		aside = float64(out - 1)
		if r == Down {
			out = -out
		}
	}
	kept := make(CurveOf[X, Y], ends, n)
	copy(kept, c)
	for i := ends - 1; i < n-ends; {
		i = c.chord(i, n-ends, aside)
		kept = append(kept, c[i])
	}
	kept = append(kept, c[n-ends+1:]...)
	if len(kept) == n {
		return c
	}
	for i := range kept {
		kept[i].Y = Add(kept[i].Y, out)
	}
	return append(make(CurveOf[X, Y], 0, len(kept)), kept...)
}

// chord returns the index of a knot behind that of index from and at most last: the chord between the two passes all knots between
// by no more than aside. It tries knot after knot (the swinging door): those passed allow slopes between least and most.
func (c CurveOf[X, Y]) chord(from, last int, aside float64) int {
	least, most := math.Inf(-1), math.Inf(1)
	for i := from + 1; i <= last; i++ {
		x, d := int64(c[i].X-c[from].X), int64(c[i].Y-c[from].Y)
		d -= x // differences of clocks are small, and exact as floating point
		if max(d, -d) > 1<<40 {
			return max(i-1, from+1)
		}
		if slope := float64(d) / float64(x); slope < least || slope > most {
			return i - 1
		}
		least = max(least, (float64(d)-aside)/float64(x))
		most = min(most, (float64(d)+aside)/float64(x))
	}
	return last
}
