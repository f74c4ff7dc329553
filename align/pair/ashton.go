package pair

import (
	"math"

	"meridian/clock"
)

// fallback returns the estimate where no straight line passes the corridor: the clocks are not linear, or a message is
// none. It is the line that Ashton (1995) takes then (Poirier 2010, sections 2.2.3 and 3.5): of all lines through a corner
// of each hull the one with the smallest sum of vertical distances of corners on its wrong side. It leaves messages
// inverted, and nothing bounds its error.
func (c *corridor) fallback(p *Problem) Estimate {
	line := c.ashton()
	ceiling, floor := residuals(p, line)
	// A skew is known unless two messages contradict each other under any clock.
	possible := consistent(ceiling, floor, maxWander/2)
	return Estimate{
		Fit: Fallback, Map: clock.PairMap{Mid: line}, First: c.first, Last: c.last,
		Skew: slopeOf(line).ppm(), Determined: possible,
	}
}

// ashton returns the line of least total error.
func (c *corridor) ashton() clock.PairCurve {
	ceiling, floor := thinned(c.ceiling), thinned(c.floor)
	origin := point{c.first, 0}
	if len(ceiling) > 0 {
		origin.y = ceiling[0].y
	}
	best, bestAt, bestError := even, origin, math.Inf(1)
	for _, p := range ceiling {
		for _, q := range floor {
			if p.x == q.x {
				continue
			}
			s := between(p, q)
			if p.x > q.x {
				s = between(q, p)
			}
			if s.compare(minRate) < 0 || s.compare(maxRate) > 0 {
				continue
			}
			if total := s.wrong(p, ceiling, floor); total < bestError {
				best, bestAt, bestError = s, p, total
			}
		}
	}
	// Stamps at the limit of time leave rates that lead beyond it, and two knots are to be less than 2^63 ns apart.
	const limit = clock.Limit - 1
	at := func(x clock.HostTime) clock.PairKnot {
		x = min(max(x, -limit), limit)
		return clock.PairKnot{X: x, Y: min(max(best.from(bestAt, x, clock.Nearest), -limit), limit)}
	}
	return clock.PairCurve{at(c.from), at(c.to)}
}

// wrong returns the sum of vertical distances of the corners on the wrong side of the line with slope s through p.
func (s slope) wrong(p point, ceiling, floor []point) float64 {
	rate := float64(s.dy-s.dx) / float64(s.dx)
	above := func(q point) float64 { // of q over the line; the differences keep float64 near its origin
		dx := int64(q.x - p.x)
		return float64(q.y-p.y-dx) - rate*float64(dx)
	}
	total := 0.0
	for _, q := range ceiling {
		total += max(-above(q), 0)
	}
	for _, q := range floor {
		total += max(above(q), 0)
	}
	return total
}

// thinned keeps at most 100 corners, evenly chosen with both ends: the trend needs no more, and trying all pairs is
// cubic in them.
func thinned(hull []point) []point {
	const most = 100
	if len(hull) <= most {
		return hull
	}
	out := make([]point, most)
	for i := range out {
		out[i] = hull[i*(len(hull)-1)/(most-1)]
	}
	return out
}
