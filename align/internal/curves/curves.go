// Package curves has what several stages of alignment do to estimates.
package curves

import "meridian/clock"

// Outside is how far beyond the outermost of both curves' knots a moved estimate gets one more, ns.
const Outside = 1_000_000_000_000

// Continue returns an estimate that was moved, beyond whose ends it runs as the estimate did before: what moved it within
// the trace says nothing of its rate beyond. Neither may be without knots. Knots that would lie beyond clock.Limit are left out.
func Continue(moved, estimate clock.Curve) clock.Curve {
	first, last := moved[0], moved[len(moved)-1]
	before, after := []clock.HostTime{clock.Add(min(first.X, estimate[0].X), -Outside)}, []clock.HostTime(nil)
	for _, k := range estimate {
		switch {
		case k.X < first.X:
			before = append(before, k.X)
		case k.X > last.X:
			after = append(after, k.X)
		}
	}
	after = append(after, clock.Add(max(last.X, estimate[len(estimate)-1].X), Outside))
	out := shifted(estimate, before, first)
	for i := range out {
		out[i].Y = min(out[i].Y, first.Y)
	}
	out = append(out, moved...)
	for _, k := range shifted(estimate, after, last) {
		k.Y = max(k.Y, last.Y)
		out = append(out, k)
	}
	return out
}

// shifted returns knots of an estimate at some host times, moved as its value at a knot was.
func shifted(estimate clock.Curve, hosts []clock.HostTime, like clock.Knot) clock.Curve {
	shift := clock.Sub(like.Y, estimate.At(like.X, clock.Nearest))
	var out clock.Curve
	for _, x := range hosts {
		y := clock.Add(estimate.At(x, clock.Nearest), shift)
		if clock.Valid(x) && clock.Valid(y) {
			out = append(out, clock.Knot{X: x, Y: y})
		}
	}
	return out
}

// ValidBounds reports whether the bounds of a map, nil or not, are functions of time.
func ValidBounds(m *clock.Map) bool {
	return (m.Low == nil || m.Low.Check() == nil) && (m.High == nil || m.High.Check() == nil)
}

// Rising returns a curve without the knots at which it would not be a function of time or would run back, which are those
// that saturated arithmetic put at the ends of int64. Where it is nowhere within clock.Limit its first knot stays.
func Rising(c clock.Curve) clock.Curve {
	if c.Check() == nil {
		return c
	}
	out := make(clock.Curve, 0, len(c))
	for _, k := range c {
		if n := len(out); clock.Valid(k.X) && clock.Valid(k.Y) && (n == 0 || k.X > out[n-1].X && k.Y >= out[n-1].Y) {
			out = append(out, k)
		}
	}
	if len(out) == 0 && len(c) > 0 {
		return c[:1:1]
	}
	return out
}
