package pair

import (
	"cmp"
	"math"
	"slices"

	"meridian/clock"
)

// Cones returns the estimate of [Hull] where a straight line passes between the messages. Elsewhere it takes the line of
// Ashton for the trend, and the clocks to wander around it, with a rate never further than w from the line's. The smallest w
// that the messages allow is found, and twice that plus a margin is assumed, since messages with jitter show less than all
// of a wander. Under the assumption the bounds are the cones
//
//	High(x) = min over ceilings c of  y_c + line(x) - line(x_c) + w |x - x_c|
//	Low(x)  = max over floors   o of  y_o + line(x) - line(x_o) - w |x - x_o|
//
// and the estimate halfway between them passes on the right side of every message: no inversion remains, unless two
// messages contradict each other under any clock (a clock that was set back, a wrong match). Then there are no bounds.
// This is no published method. It takes O(n log n) where no line passes.
func Cones(p *Problem) Estimate {
	e, c := hull(p)
	if e.Fit != Fallback {
		return e
	}
	trend := e.Map.Mid
	ceiling, floor := residuals(p, trend)
	w, possible := leastWander(ceiling, floor)
	e.Wander = min(2*w+wanderMargin, maxWander)
	high := cones(ceiling, e.Wander)
	low := reflected(cones(reflected(floor), e.Wander))
	e.Map.Mid = halfway(high, low, trend, e.Wander, c)
	if possible {
		e.Map.High = onTrend(high, trend, e.Wander, c, clock.Up)
		e.Map.Low = onTrend(low, trend, -e.Wander, c, clock.Down)
	}
	return e
}

const (
	wanderMargin = 1_000       // ppb: what a temperature-compensated clock wanders anyway
	maxWander    = 500_000_000 // ppb: beyond half the rate nothing is a clock
	ppb          = 1_000_000_000
)

// residuals returns all messages as points over the trend: y is the distance from it.
func residuals(p *Problem, trend clock.PairCurve) (ceiling, floor []point) {
	atCeiling, atFloor := p.points()
	ceiling = make([]point, 0, p.AB.Len())
	for m := range p.AB.All() {
		q := atCeiling(m)
		ceiling = append(ceiling, point{q.x, q.y - int64(trend.At(q.x, clock.Nearest))})
	}
	floor = make([]point, 0, p.BA.Len())
	for m := range p.BA.All() {
		q := atFloor(m)
		floor = append(floor, point{q.x, q.y - int64(trend.At(q.x, clock.Nearest))})
	}
	byX := func(p, q point) int { return cmp.Or(cmp.Compare(p.x, q.x), cmp.Compare(p.y, q.y)) }
	slices.SortFunc(ceiling, byX)
	slices.SortFunc(floor, byX)
	return ceiling, floor
}

// leastWander returns the least wander in ppb under which no floor's cone passes above a ceiling, and false if none up
// to half of maxWander does.
func leastWander(ceiling, floor []point) (int64, bool) {
	if !consistent(ceiling, floor, maxWander/2) {
		return maxWander / 2, false
	}
	lo, hi := int64(-1), int64(maxWander/2) // hi is consistent, lo is not
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if consistent(ceiling, floor, mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, true
}

// consistent reports whether no two points contradict each other when the residual changes by at most w ppb. One sweep
// keeps, at the present x, how high the ceilings so far and how low the floors so far leave the residual.
func consistent(ceiling, floor []point, w int64) bool {
	const slack = 1e-3 // ns: far above float64's error at such sizes, far below a stamp's
	rate := float64(w) / ppb
	high, low := math.Inf(1), math.Inf(-1)
	var last clock.HostTime
	for i, j := 0, 0; i < len(ceiling) || j < len(floor); {
		takeCeiling := j == len(floor) || (i < len(ceiling) && ceiling[i].x <= floor[j].x)
		var p point
		if takeCeiling {
			p, i = ceiling[i], i+1
		} else {
			p, j = floor[j], j+1
		}
		step := rate * float64(p.x-last)
		high, low, last = high+step, low-step, p.x
		if takeCeiling {
			high = min(high, float64(p.y))
		} else {
			low = max(low, float64(p.y))
		}
		if low > high+slack {
			return false
		}
	}
	return true
}

// cones returns the points that touch the lowest cone min(y_c + w|x-x_c|): those under no other's cone.
func cones(points []point, w int64) []point {
	var active []point
	rise := func(p, q point) int64 { return clock.MulDiv(int64(q.x-p.x), w, ppb, clock.Down) }
	for _, p := range points {
		n := len(active)
		if n > 0 && p.y >= active[n-1].y+rise(active[n-1], p) {
			continue
		}
		for ; n > 0 && active[n-1].y >= p.y+rise(active[n-1], p); n-- {
			active = active[:n-1]
		}
		active = append(active, p)
	}
	return active
}

// coneAt evaluates the cones with the given corners at x: the lowest for w > 0, the highest for w < 0.
func coneAt(corners []point, x clock.HostTime, w int64, r clock.Rounding) int64 {
	i, _ := slices.BinarySearchFunc(corners, x, func(p point, x clock.HostTime) int { return cmp.Compare(p.x, x) })
	var best int64
	for n, j := 0, max(i-1, 0); j <= min(i, len(corners)-1); j++ {
		v := corners[j].y + clock.MulDiv(distance(x, corners[j].x), w, ppb, r)
		if n == 0 || (w > 0) == (v < best) {
			best = v
		}
		n++
	}
	return best
}

func distance(a, b clock.HostTime) int64 {
	if a < b {
		return int64(b - a)
	}
	return int64(a - b)
}

// turns returns every x at which the cones turn: their corners, and both sides of where two neighbours meet.
func turns(corners []point, w int64, c *corridor) []clock.HostTime {
	xs := []clock.HostTime{c.from, c.to}
	for i, p := range corners {
		xs = append(xs, p.x)
		if i+1 == len(corners) {
			break
		}
		q := corners[i+1]
		// y_p + w(x-x_p) = y_q + w(x_q-x)
		meet := p.x + clock.HostTime(int64(q.x-p.x)/2) + clock.HostTime(clock.MulDiv(q.y-p.y, ppb, 2*max(w, -w), clock.Down)*sign(w))
		for _, x := range []clock.HostTime{meet, meet + 1} {
			if x > p.x && x < q.x {
				xs = append(xs, x)
			}
		}
	}
	return xs
}

func sign(w int64) int64 {
	if w < 0 {
		return -1
	}
	return 1
}

// onTrend returns the cones as a curve of b's clock.
func onTrend(corners []point, trend clock.PairCurve, w int64, c *corridor, r clock.Rounding) clock.PairCurve {
	return knotted(turns(corners, w, c), func(x clock.HostTime) clock.HostTime {
		return clock.Add(trend.At(x, r), coneAt(corners, x, w, r))
	})
}

// halfway returns the curve in the middle between the cones from above and from below.
func halfway(high, low []point, trend clock.PairCurve, w int64, c *corridor) clock.PairCurve {
	xs := append(turns(high, w, c), turns(low, -w, c)...)
	return knotted(xs, func(x clock.HostTime) clock.HostTime {
		switch {
		case len(low) == 0:
			return clock.Add(trend.At(x, clock.Nearest), coneAt(high, x, w, clock.Nearest))
		case len(high) == 0:
			return clock.Add(trend.At(x, clock.Nearest), coneAt(low, x, -w, clock.Nearest))
		}
		h, l := coneAt(high, x, w, clock.Nearest), coneAt(low, x, -w, clock.Nearest)
		return trend.At(x, clock.Nearest) + clock.HostTime(l) + clock.HostTime((h-l)/2)
	})
}

// knotted returns the curve of y at the given places. Rounding may let neighbours one nanosecond apart run back by one;
// the curve then stands still.
func knotted(xs []clock.HostTime, y func(clock.HostTime) clock.HostTime) clock.PairCurve {
	slices.Sort(xs)
	xs = slices.Compact(xs)
	curve := make(clock.PairCurve, 0, len(xs))
	for _, x := range xs {
		v := y(x)
		if n := len(curve); n > 0 {
			v = max(v, curve[n-1].Y)
		}
		curve = append(curve, clock.PairKnot{X: x, Y: v})
	}
	return curve
}
