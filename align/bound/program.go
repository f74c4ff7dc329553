package bound

import (
	"math"
	"sort"
)

// program is the linear program of one instant t: of all lines v + y (T-t) that satisfy the assumption, the greatest and
// the least v. With a given slope y the ceilings allow v <= top(y) and the floors v >= bottom(y):
//
//	top(y)    = min over ceilings i of  u_i + epsilon + Φ(t_i) - Φ(t) - (y + Φ'(t)) (t_i - t)
//	bottom(y) = max over floors   j of  l_j - epsilon - Φ(t_j) + Φ(t) - (y - Φ'(t)) (t_j - t)
//
// A minimum of lines in y is concave and a maximum is convex. So top - bottom is concave, the slopes that leave a v form
// one interval, and the bounds are top and bottom at the slopes of that interval nearest to the summit and the valley:
//
//	v ^     .----.
//	  |  .-'//////'-.      top, highest at the summit
//	  |.'////////////'.
//	  X////////////////X   X: the first and the last slope that leave a v
//	  |'.////////////.'
//	  |  '-._______.-'     bottom, lowest at the valley
//	  +--------------------> y
type program struct {
	ceiling, floor []point
	t              float64
	lift           float64 // by how much the lifted slope differs from y: Φ'
	fall           float64 // and the lifted height over t from v: Φ
	steepest       float64 // the greatest slope that is considered
	slack          float64 // by how much a gap may be negative, as rounding leaves it
}

// program returns the program of the heights over t of all lines that are tangents of the offset at another instant, tangent.
func (s *segment) program(tangent, t, steepest, guard float64) program {
	value, slope := s.profile.at(tangent)
	return program{
		ceiling: s.ceiling, floor: s.floor, t: t, lift: slope, fall: value + slope*(t-tangent), steepest: steepest, slack: -guard / 2,
	}
}

// touch returns the corner of a hull that a line of the given slope touches from outside.
func touch(hull []point, slope, side float64) point {
	i := sort.Search(len(hull)-1, func(i int) bool {
		return side*(hull[i+1].y-hull[i].y) >= side*slope*(hull[i+1].x-hull[i].x)
	})
	return hull[i]
}

// top returns the highest v that the ceilings allow with slope y. In lifted coordinates the line is
// v + fall + (y + lift) (T - t).
func (p *program) top(y float64) float64 {
	q := touch(p.ceiling, y+p.lift, 1)
	return q.y - (y+p.lift)*(q.x-p.t) - p.fall
}

// bottom returns the lowest v that the floors allow with slope y.
func (p *program) bottom(y float64) float64 {
	q := touch(p.floor, y-p.lift, -1)
	return q.y - (y-p.lift)*(q.x-p.t) + p.fall
}

func (p *program) gap(y float64) float64 { return p.top(y) - p.bottom(y) }

// summit returns the slope at which top is highest, valley that at which bottom is lowest: those of the hulls' edges
// over t.
func (p *program) summit() float64 { return p.considered(slopeOver(p.ceiling, p.t, 1) - p.lift) }
func (p *program) valley() float64 { return p.considered(slopeOver(p.floor, p.t, -1) + p.lift) }

func (p *program) considered(y float64) float64 { return min(max(y, -p.steepest), p.steepest) }

// slopeOver returns the slope of a hull's edge over t. Beyond the hull's ends the steeper is the further, without end.
func slopeOver(hull []point, t, side float64) float64 {
	last := len(hull) - 1
	switch {
	case t > hull[last].x:
		return side * math.Inf(1)
	case t < hull[0].x:
		return side * math.Inf(-1)
	case last == 0:
		return 0
	}
	i := sort.Search(last, func(i int) bool { return hull[i+1].x >= t })
	return (hull[i+1].y - hull[i].y) / (hull[i+1].x - hull[i].x)
}

// bounds solves the program; ok is false where no line satisfies the assumption. A direction without messages bounds
// nothing: its side is infinite.
func (p *program) bounds() (low, high float64, ok bool) {
	low, high = math.Inf(-1), math.Inf(1)
	switch {
	case len(p.ceiling) == 0 && len(p.floor) == 0:
		return low, high, true
	case len(p.floor) == 0:
		return low, p.top(p.summit()), true
	case len(p.ceiling) == 0:
		return p.bottom(p.valley()), high, true
	}
	summit, valley := p.summit(), p.valley()
	if p.gap(summit) >= p.slack && p.gap(valley) >= p.slack {
		return p.bottom(valley), p.top(summit), true
	}
	widest := p.widest(min(summit, valley), max(summit, valley))
	if p.gap(widest) < p.slack {
		return 0, 0, false
	}
	return p.bottom(p.towards(valley, widest)), p.top(p.towards(summit, widest)), true
}

// widest returns a slope of the greatest gap, by golden section. Top rises up to its summit and bottom falls down to its
// valley, so the greatest difference lies between the two.
func (p *program) widest(lo, hi float64) float64 {
	const golden = 0.6180339887498949
	a, b := hi-golden*(hi-lo), lo+golden*(hi-lo)
	fa, fb := p.gap(a), p.gap(b)
	for hi-lo > 1e-15 {
		if fa < fb {
			lo, a, fa = a, b, fb
			b = lo + golden*(hi-lo)
			fb = p.gap(b)
		} else {
			hi, b, fb = b, a, fa
			a = hi - golden*(hi-lo)
			fa = p.gap(a)
		}
	}
	return (lo + hi) / 2
}

// towards returns the slope nearest to the wanted one at which the gap is not negative: the end of the search that lies
// outside, so that the bound taken there is never short of the true one.
func (p *program) towards(wanted, inside float64) float64 {
	if p.gap(wanted) >= p.slack {
		return wanted
	}
	outside := wanted
	for range 60 {
		m := (inside + outside) / 2
		if m == inside || m == outside {
			break
		}
		if p.gap(m) >= p.slack {
			inside = m
		} else {
			outside = m
		}
	}
	return outside
}
