package pair

import (
	"math/big"
	"sort"

	"meridian/clock"
)

// lines is the set of all straight lines through a corridor: the range of their slopes and the corners of the hulls that
// lines of such slopes can touch.
type lines struct {
	least, most slope
	// Where the messages alone leave the slope open, it is bounded by what clocks can do, and the extreme lines do not
	// touch both hulls.
	leastTouches, mostTouches bool
	// The points through which the extreme lines pass, where they touch.
	leastAt, mostAt point
}

// lines returns the set of lines through the corridor, or false where none passes.
func (c *corridor) lines() (lines, bool) {
	var l lines
	// The steepest line passes a floor on the left and a ceiling on the right, the flattest the other way round
	// (Poirier, fig. 3.4). Reflecting y exchanges ceilings and floors and turns one case into the other.
	most, at, haveMost := steepest(c.floor, c.ceiling)
	least, leastAt, haveLeast := steepest(reflected(c.ceiling), reflected(c.floor))
	least.dy, leastAt.y = -least.dy, -leastAt.y
	if haveMost && haveLeast && least.compare(most) > 0 || !c.open() {
		return l, false
	}
	l.least, l.most = minRate, maxRate
	if haveMost {
		if most.compare(absurdlySlow) < 0 {
			return l, false
		}
		if most.compare(minRate) < 0 {
			l.least = most.halved()
		}
	}
	if haveLeast {
		if least.compare(absurdlyFast) > 0 {
			return l, false
		}
		if least.compare(maxRate) > 0 {
			l.most = least.doubled()
		}
	}
	if haveMost && most.compare(l.most) < 0 {
		l.most, l.mostAt, l.mostTouches = most, at, true
	}
	if haveLeast && least.compare(l.least) > 0 {
		l.least, l.leastAt, l.leastTouches = least, leastAt, true
	}
	return l, true
}

// open reports whether nowhere a floor lies above a ceiling over the same x.
func (c *corridor) open() bool {
	i := 0
	for _, f := range c.floor {
		for i < len(c.ceiling) && c.ceiling[i].x < f.x {
			i++
		}
		if i < len(c.ceiling) && c.ceiling[i].x == f.x && c.ceiling[i].y < f.y {
			return false
		}
	}
	return true
}

// steepest returns the steepest slope with which a line can pass above every floor and below every ceiling: the least
// slope from a floor to a ceiling further right, and the floor's point. false means that nothing limits it.
//
// It alternates: the ceiling of least slope from a floor, then the floor of least slope to that ceiling, until both
// stay. Between hulls that a line separates this ends at their common tangent. Hulls that none separates may stop it
// early, so where the result does not pass the corridor all pairs decide.
func steepest(floor, ceiling []point) (slope, point, bool) {
	if len(floor) == 0 || len(ceiling) == 0 || floor[0].x >= ceiling[len(ceiling)-1].x {
		return slope{}, point{}, false
	}
	// From the first floor every ceiling to the right counts.
	q, s := floor[0], slope{}
	for {
		p, _ := leastTo(q, ceiling)
		q2, next2 := leastFrom(floor, p)
		if s.dx != 0 && next2.compare(s) >= 0 {
			break
		}
		q, s = q2, next2
	}
	if passes(s, q, floor, ceiling) {
		return s, q, true
	}
	for _, f := range floor {
		for i := len(ceiling) - 1; i >= 0 && ceiling[i].x > f.x; i-- {
			if t := between(f, ceiling[i]); t.compare(s) < 0 {
				s, q = t, f
			}
		}
	}
	return s, q, true
}

// leastTo returns the ceiling right of q to which the slope is least.
func leastTo(q point, ceiling []point) (point, slope) {
	i := sort.Search(len(ceiling), func(i int) bool { return ceiling[i].x > q.x })
	best, s := ceiling[i], between(q, ceiling[i])
	for _, p := range ceiling[i+1:] {
		if t := between(q, p); t.compare(s) < 0 {
			best, s = p, t
		}
	}
	return best, s
}

// leastFrom returns the floor left of p from which the slope is least.
func leastFrom(floor []point, p point) (point, slope) {
	best, s := floor[0], between(floor[0], p)
	for _, q := range floor[1:] {
		if q.x >= p.x {
			break
		}
		if t := between(q, p); t.compare(s) < 0 {
			best, s = q, t
		}
	}
	return best, s
}

// passes reports whether the line with slope s through p keeps below all ceilings and above all floors.
func passes(s slope, p point, floor, ceiling []point) bool {
	for _, q := range ceiling {
		if s.side(p, q) < 0 {
			return false
		}
	}
	for _, q := range floor {
		if s.side(p, q) > 0 {
			return false
		}
	}
	return true
}

func reflected(points []point) []point {
	out := make([]point, len(points))
	for i, p := range points {
		out[i] = point{p.x, -p.y}
	}
	return out
}

// curves returns the estimate, Duda's bisector, and the bounds: at every instant the highest and the lowest line of the
// set (Poirier 2010, section 3.3.1). The bounds turn only at corners of the hulls, so they are exact polylines.
func (l *lines) curves(c *corridor) clock.PairMap {
	m := clock.PairMap{}
	if len(c.ceiling) > 0 {
		m.High = c.envelope(c.ceiling, l.least, l.most, clock.Up)
	}
	if len(c.floor) > 0 {
		m.Low = c.envelope(c.floor, l.most, l.least, clock.Down)
	}
	if m.High == nil || m.Low == nil {
		return m
	}
	if l.undetermined() && (c.last-c.first < minSkewSpan || !l.leastTouches || !l.mostTouches) {
		// The bisector would be a slope made of jitter, or of how far a clock can go at all, and carry it over the whole
		// trace; equal rates are the better guess, and lie within the bounds.
		m.Mid = c.middle(even.rat())
		return m
	}
	m.Mid = l.bisector(c)
	return m
}

// undetermined reports whether the slopes leave more open than clocks of real machines differ by, equal rates included.
func (l *lines) undetermined() bool {
	return l.least.compare(even) <= 0 && l.most.compare(even) >= 0 && l.most.ppm()-l.least.ppm() > UndeterminedPPM
}

// envelope returns a bound: the hull between the points where lines of slope left and right touch it, and rays of those
// slopes beyond. The slopes of the ceiling's hull rise and its bound is rounded up, those of the floor's fall.
func (c *corridor) envelope(hull []point, left, right slope, r clock.Rounding) clock.PairCurve {
	turn := 1
	if r == clock.Down {
		turn = -1
	}
	i, j := 0, len(hull)-1
	for i < j && between(hull[i], hull[i+1]).compare(left)*turn <= 0 {
		i++
	}
	for j > i && between(hull[j-1], hull[j]).compare(right)*turn >= 0 {
		j--
	}
	curve := make(clock.PairCurve, 0, j-i+3)
	if c.from < hull[i].x {
		curve = append(curve, clock.PairKnot{X: c.from, Y: left.from(hull[i], c.from, r)})
	}
	for _, p := range hull[i : j+1] {
		curve = append(curve, clock.PairKnot{X: p.x, Y: clock.HostTime(p.y)})
	}
	if c.to > hull[j].x {
		curve = append(curve, clock.PairKnot{X: c.to, Y: right.from(hull[j], c.to, r)})
	}
	return curve
}

// bisector returns Duda's estimate: the line that halves the angle between the steepest and the flattest, through their
// intersection, by Haddad's formula (Poirier 2010, eq. 2.28), which neither takes the tangent of a tiny angle nor
// divides by one. Exact rationals and 256-bit roots leave nothing to be analysed.
func (l *lines) bisector(c *corridor) clock.PairCurve {
	lo, hi := l.least.rat(), l.most.rat()
	if lo.Cmp(hi) == 0 {
		return c.middle(lo)
	}
	precise := func(r *big.Rat) *big.Float { return new(big.Float).SetPrec(256).SetRat(r) }
	product, sum := new(big.Rat).Mul(lo, hi), new(big.Rat).Add(lo, hi)
	squares := new(big.Rat).Mul(product, product)
	squares.Add(squares, big.NewRat(1, 1))
	squares.Add(squares, new(big.Rat).Mul(lo, lo))
	squares.Add(squares, new(big.Rat).Mul(hi, hi))
	b := precise(product.Sub(product, big.NewRat(1, 1)))
	b.Add(b, new(big.Float).SetPrec(256).Sqrt(precise(squares)))
	b.Quo(b, precise(sum))
	slope, _ := b.Rat(nil)
	if !l.leastTouches || !l.mostTouches {
		return c.middle(slope)
	}
	// Where the extreme lines meet: leastAt.y + lo (x - leastAt.x) = mostAt.y + hi (x - mostAt.x).
	p, q := l.leastAt, l.mostAt
	x := new(big.Rat).Sub(new(big.Rat).SetInt64(p.y), new(big.Rat).SetInt64(q.y))
	x.Sub(x, new(big.Rat).Mul(lo, new(big.Rat).SetInt64(int64(p.x))))
	x.Add(x, new(big.Rat).Mul(hi, new(big.Rat).SetInt64(int64(q.x))))
	x.Quo(x, new(big.Rat).Sub(hi, lo))
	y := new(big.Rat).Sub(x, new(big.Rat).SetInt64(int64(p.x)))
	y.Mul(y, lo)
	y.Add(y, new(big.Rat).SetInt64(p.y))
	return c.straight(slope, x, y)
}

// middle returns the line of the given slope halfway between the hulls.
func (c *corridor) middle(slope *big.Rat) clock.PairCurve {
	intercept := func(hull []point, keep int) *big.Rat {
		var best *big.Rat
		for _, p := range hull {
			a := new(big.Rat).Sub(new(big.Rat).SetInt64(p.y), new(big.Rat).Mul(slope, new(big.Rat).SetInt64(int64(p.x))))
			if best == nil || a.Cmp(best) == keep {
				best = a
			}
		}
		return best
	}
	a := new(big.Rat).Add(intercept(c.ceiling, -1), intercept(c.floor, 1))
	return c.straight(slope, new(big.Rat), a.Mul(a, big.NewRat(1, 2)))
}

// straight returns the line of the given slope through (x, y), its ends rounded to the nanosecond.
func (c *corridor) straight(slope, x, y *big.Rat) clock.PairCurve {
	curve := make(clock.PairCurve, 0, 2)
	for _, at := range []clock.HostTime{c.from, c.to} {
		v := new(big.Rat).Sub(new(big.Rat).SetInt64(int64(at)), x)
		v.Mul(v, slope)
		v.Add(v, y)
		curve = append(curve, clock.PairKnot{X: at, Y: rounded(v)})
	}
	return curve
}

// rounded returns the nearest integer, halves up.
func rounded(v *big.Rat) clock.HostTime {
	twice := new(big.Rat).Add(v, v)
	n := new(big.Int).Add(twice.Num(), twice.Denom())
	n.Div(n, new(big.Int).Lsh(twice.Denom(), 1))
	if !n.IsInt64() {
		return clock.HostTime(clock.Limit * int64(n.Sign()))
	}
	return clock.HostTime(n.Int64())
}
