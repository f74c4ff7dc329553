package main

import (
	"math"

	"meridian/align/pair"
	"meridian/clock"
)

// bisector returns the line halfway between the steepest and the flattest that the hulls let pass. Where none passes it
// is the line of least total violation, Ashton's fallback (1995) over all messages, and fits is false.
func bisector(p *pair.Problem) (line clock.PairCurve, fits bool) {
	if e := pair.Hull(p); e.Fit == pair.Exact {
		return e.Map.Mid, true
	}
	return leastViolation(p), false
}

// limit is a message in the plane of a's time and b's offset: side (v - y) >= 0 keeps it, for a line of value v at x.
type limit struct{ x, y, side float64 }

// leastViolation returns the line y = level + rate x that minimises the sum of how far it passes above the ceilings and
// below the floors. The sum is convex, and so is its least over all levels as a function of the rate alone: the sign of
// that function's slope halves the search.
func leastViolation(p *pair.Problem) clock.PairCurve {
	origin, base := p.A.First, int64(0)
	for m := range p.AB.All() {
		base = int64(m.Received - m.Sent)
		break
	}
	thin := func(n int) int { return n/10_000 + 1 } // more messages than that do not move the line
	var limits []limit
	i, step := 0, thin(p.AB.Len())
	for m := range p.AB.All() {
		if i++; i%step == 0 {
			limits = append(limits, limit{float64(m.Sent - origin), float64(int64(m.Received-m.Sent) - base), -1})
		}
	}
	i, step = 0, thin(p.BA.Len())
	for m := range p.BA.All() {
		if i++; i%step == 0 {
			limits = append(limits, limit{float64(m.Received - origin), float64(int64(m.Sent-m.Received) - base), 1})
		}
	}
	const steepest = 4e-4
	low, high := -steepest, steepest
	for high-low > 1e-14 {
		rate := (low + high) / 2
		if _, slope := bestLevel(limits, rate); slope > 0 {
			high = rate
		} else {
			low = rate
		}
	}
	rate := (low + high) / 2
	level, _ := bestLevel(limits, rate)
	at := func(host clock.HostTime) clock.PairKnot {
		return clock.PairKnot{X: host, Y: host + clock.HostTime(base) + clock.HostTime(math.Round(level+rate*float64(host-origin)))}
	}
	return clock.PairCurve{at(p.A.First), at(p.A.Last)}
}

// bestLevel returns the level of least violation for a rate, and how fast that violation grows with the rate.
func bestLevel(limits []limit, rate float64) (level, slope float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range limits {
		r := l.y - rate*l.x
		low, high = min(low, r), max(high, r)
	}
	for low, high = low-1, high+1; high-low > 1e-3; {
		level = (low + high) / 2
		if grows, _ := gradient(limits, level, rate); grows > 0 {
			high = level
		} else {
			low = level
		}
	}
	// At the best level some limits are just met and count in part: so much that the violation does not grow with the
	// level. The rest of the gradient is between what it is on either side.
	below, slopeBelow := gradient(limits, low, rate)
	above, slopeAbove := gradient(limits, high, rate)
	part := 0.0
	if above > below {
		part = min(max(-below/(above-below), 0), 1)
	}
	return (low + high) / 2, slopeBelow + part*(slopeAbove-slopeBelow)
}

// gradient returns how fast the violation of a line grows with its level and with its rate.
func gradient(limits []limit, level, rate float64) (byLevel, byRate float64) {
	for _, l := range limits {
		if l.side*(level+rate*l.x-l.y) < 0 {
			byLevel -= l.side
			byRate -= l.side * l.x
		}
	}
	return byLevel, byRate
}
