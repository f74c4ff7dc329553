package envelope

import (
	"math"
)

// quadratic is the program
//
//	minimise  sum weight (c[to] - c[from] - want)²   subject to   c[to] - c[from] <= most
//
// of least squares over a graph under difference constraints: levels of clocks such that no least delay is negative.
type quadratic struct {
	n      int
	terms  []term
	limits []limit
}

type term struct {
	from, to     int
	want, weight float64
}

type limit struct {
	from, to int
	most     float64
}

// solve returns the levels, and by how much the limits must be relaxed before they can all be kept: the mean over the
// worst loop, 0 where they can. Levels of clocks without terms or limits are 0.
//
// It is a barrier method: limits are kept strictly from a start in the middle of what they allow, and a barrier that
// shrinks tenfold a time lets the solution move to where it wants to be.
func (q *quadratic) solve() ([]float64, float64) {
	slack, c := q.loosest()
	short := max(-slack, 0)
	scale := 1.0
	for _, t := range q.terms {
		scale = max(scale, math.Abs(t.want))
	}
	room := 1e-6 * scale
	if slack < room { // as tight as can be: let the limits give by what float64 can tell
		for i := range q.limits {
			q.limits[i].most += room - slack
		}
	}
	if len(q.terms) == 0 {
		return c, short
	}
	hessian, gradient := make([]float64, q.n*q.n), make([]float64, q.n)
	weight := 0.0
	for _, t := range q.terms {
		weight = max(weight, t.weight)
	}
	for barrier := weight * scale * scale; barrier > 1e-9*weight; barrier /= 10 {
		for range 30 {
			if q.step(c, barrier, hessian, gradient) < 1e-3*barrier*1e-3 {
				break
			}
		}
	}
	return c, short
}

// value returns the objective with its barrier, infinite where a limit is not kept.
func (q *quadratic) value(c []float64, barrier float64) float64 {
	f := 0.0
	for _, t := range q.terms {
		d := c[t.to] - c[t.from] - t.want
		f += t.weight * d * d
	}
	for _, l := range q.limits {
		room := l.most - c[l.to] + c[l.from]
		if room <= 0 {
			return math.Inf(1)
		}
		f -= barrier * math.Log(room)
	}
	return f
}

// step makes one Newton step and returns the square of its decrement.
func (q *quadratic) step(c []float64, barrier float64, hessian, gradient []float64) float64 {
	clear(hessian)
	clear(gradient)
	greatest := 0.0
	add := func(from, to int, slope, curve float64) {
		gradient[to] += slope
		gradient[from] -= slope
		hessian[to*q.n+to] += curve
		hessian[from*q.n+from] += curve
		hessian[max(from, to)*q.n+min(from, to)] -= curve
		greatest = max(greatest, curve)
	}
	for _, t := range q.terms {
		add(t.from, t.to, 2*t.weight*(c[t.to]-c[t.from]-t.want), 2*t.weight)
	}
	for _, l := range q.limits {
		room := l.most - c[l.to] + c[l.from]
		add(l.from, l.to, barrier/room, barrier/(room*room))
	}
	for i := range q.n { // the levels' common constant is free
		hessian[i*q.n+i] += 1e-10 * greatest
	}
	cholesky(hessian, q.n)
	move := make([]float64, q.n)
	for i, g := range gradient {
		move[i] = -g
	}
	choleskySolve(hessian, q.n, move)
	decrement := -dot(gradient, move)
	before := q.value(c, barrier)
	next := make([]float64, q.n)
	for length := 1.0; length > 1e-12; length /= 2 {
		for i := range next {
			next[i] = c[i] + length*move[i]
		}
		if q.value(next, barrier) <= before-1e-4*length*decrement {
			copy(c, next)
			return decrement
		}
	}
	return 0
}

// loosest returns the greatest slack with which all limits can be kept, as far as that is below the widest limit, and
// levels that keep them with half of it (all of it where it is negative).
func (q *quadratic) loosest() (float64, []float64) {
	lo, hi := 0.0, 1.0
	for _, l := range q.limits {
		hi = max(hi, math.Abs(l.most))
		lo = min(lo, l.most)
	}
	lo--
	// A limit's own slack bounds it from below, loops from above; potentials tell whether a slack can be had.
	for q.potentials(hi) != nil && hi < 1e15 {
		hi *= 2
		if hi > 1e6*(1-lo) { // no loop at all: any slack will do
			return hi, q.potentials(hi / 2)
		}
	}
	for range 60 {
		m := (lo + hi) / 2
		if q.potentials(m) != nil {
			lo = m
		} else {
			hi = m
		}
	}
	slack := lo
	if slack > 0 {
		return slack, q.potentials(slack / 2)
	}
	return slack, q.potentials(slack)
}

// potentials returns levels that keep every limit with the given slack, by the algorithm of Bellman and Ford, or nil
// where a loop forbids it.
func (q *quadratic) potentials(slack float64) []float64 {
	c := make([]float64, q.n)
	for range q.n + 1 {
		changed := false
		for _, l := range q.limits {
			if v := c[l.from] + l.most - slack; v < c[l.to]-1e-9 {
				c[l.to], changed = v, true
			}
		}
		if !changed {
			return c
		}
	}
	return nil
}
