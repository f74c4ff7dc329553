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
func (c *Corridor) Consistent() bool { return len(contradictory(c, 1)) == 0 }

// contradictory returns at most so many instants at which no line keeps the assumption.
func contradictory(c *Corridor, most int) (found []float64) {
	if c.Empty() {
		return nil
	}
	ask := func(x float64) {
		if len(found) >= most {
			return
		}
		if _, _, ok := c.offsets(x); !ok {
			found = append(found, x)
		}
	}
	const steps = 64
	for i := range steps + 1 {
		ask(c.first + (c.last-c.first)*float64(i)/steps)
	}
	for i := range c.segments {
		s := &c.segments[i]
		if len(s.ceiling) == 0 || len(s.floor) == 0 {
			continue
		}
		for _, hull := range [][]point{s.ceiling, s.floor} {
			for _, q := range hull {
				ask(q.x)
			}
		}
	}
	return found
}
