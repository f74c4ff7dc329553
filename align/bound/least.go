package bound

import (
	"math"

	"meridian/align/pair"
)

// Least returns the smallest wander (ppb/s) that the messages of a pair allow with the given epsilon, within two per cent:
// 0 where they allow linear clocks, infinite where they contradict each other under any (a clock that was set, a wrong
// match). It asks at every corner of the hulls and at even steps between.
func Least(p *pair.Problem, epsilon float64) float64 {
	allows := func(wander float64) bool {
		return New(p, Assumption{Wander: wander, Epsilon: epsilon}).Consistent()
	}
	const maxWander = 1e12 // ppb/s: a thousandfold within a second
	switch {
	case allows(0):
		return 0
	case !allows(maxWander):
		return math.Inf(1)
	}
	lo, hi := 1e-3, maxWander
	if allows(lo) {
		return lo
	}
	for hi > 1.02*lo {
		m := math.Sqrt(lo * hi)
		if allows(m) {
			hi = m
		} else {
			lo = m
		}
	}
	return hi
}

// Consistent reports whether at every instant some line keeps the assumption. The corners of the hulls decide, since
// between two of them nothing new constrains the line.
func (c *Corridor) Consistent() bool {
	if len(c.ceiling) == 0 || len(c.floor) == 0 {
		return true
	}
	holds := func(t float64) bool {
		p := c.program(t)
		_, _, ok := p.bounds()
		return ok
	}
	const steps = 64
	for i := range steps + 1 {
		if !holds(c.first + (c.last-c.first)*float64(i)/steps) {
			return false
		}
	}
	for _, hull := range [][]point{c.ceiling, c.floor} {
		for i := range hull {
			if !holds(hull[i].x) {
				return false
			}
		}
	}
	return true
}
