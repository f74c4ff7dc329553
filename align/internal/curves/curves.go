// Package curves has what several stages of alignment do to estimates.
package curves

import "meridian/clock"

// Outside is how far beyond its outermost knots a moved estimate gets one more, ns.
const Outside = 1_000_000_000_000

// Continue returns an estimate that was moved, with knots beyond its ends between which it runs as the estimate did before:
// what moved it within the trace says nothing of its rate beyond. A knot that would lie beyond clock.Limit is left out.
func Continue(moved, estimate clock.Curve) clock.Curve {
	if len(moved) == 0 {
		return moved
	}
	first, last := moved[0], moved[len(moved)-1]
	beyond := func(end clock.Knot, by int64) (clock.Knot, bool) {
		x := clock.Add(end.X, by)
		shift := clock.Sub(end.Y, estimate.At(end.X, clock.Nearest))
		y := clock.Add(estimate.At(x, clock.Nearest), shift)
		return clock.Knot{X: x, Y: y}, clock.Valid(x) && clock.Valid(y)
	}
	out := make(clock.Curve, 0, len(moved)+2)
	if k, ok := beyond(first, -Outside); ok {
		k.Y = min(k.Y, first.Y)
		out = append(out, k)
	}
	out = append(out, moved...)
	if k, ok := beyond(last, Outside); ok {
		k.Y = max(k.Y, last.Y)
		out = append(out, k)
	}
	return out
}
