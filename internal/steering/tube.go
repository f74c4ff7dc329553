package steering

import (
	"math"
	"slices"

	"meridian/clock"
)

// run is stretches in a row that one line stands for: from reading from to reading to, the free clock within error of it.
type run struct {
	from, to int
	error    int64
}

const (
	// maxMerged is the greatest error of stretches that are put together, ns: rates change where it is more.
	maxMerged = 2_000
	// mergeTolerance is by how much readings may be off the line of several stretches, ns.
	mergeTolerance = 20
)

// runs puts stretches together as far as their readings lie on a line, so that a map of a quiet day is short.
func (p *path) runs() (all []run) {
	for i := 0; i < len(p.stretches); {
		r := run{i, i + 1, p.stretches[i].error}
		low, high := 0.0, math.Inf(1)
		for ; r.to < len(p.stretches); r.to++ {
			s := &p.stretches[r.to]
			least, most := min(r.error, s.error), max(r.error, s.error)
			if most > maxMerged || most > 2*least {
				break
			}
			x, y := float64(p.x[r.to]-p.x[i]), float64(p.y[r.to]-p.y[i])
			low, high = max(low, (y-mergeTolerance)/x), min(high, (y+mergeTolerance)/x)
			slope := float64(p.y[r.to+1]-p.y[i]) / float64(p.x[r.to+1]-p.x[i])
			if slope < low || slope > high {
				break
			}
			r.error = most
		}
		off := int64(0)
		dx, dy := int64(p.x[r.to]-p.x[i]), int64(p.y[r.to]-p.y[i])
		for k := i + 1; k < r.to; k++ {
			line := clock.Add(p.y[i], clock.MulDiv(int64(p.x[k]-p.x[i]), dy, dx, clock.Nearest))
			off = max(off, clock.Sub(line, p.y[k])+1, clock.Sub(p.y[k], line)+1)
		}
		r.error += off
		all = append(all, r)
		i = r.to
	}
	return all
}

// tube makes the curves of the map.
func (p *path) tube() clock.PairMap {
	runs := p.runs()
	var m clock.PairMap
	knot := func(i int) clock.PairKnot { return clock.PairKnot{X: p.x[i], Y: p.y[i]} }
	chords := clock.PairCurve{knot(0)}
	m.Mid = append(m.Mid, knot(0))
	errs := make([]int64, len(runs))
	for i, r := range runs {
		if k, ok := p.bend(r); ok {
			m.Mid = append(m.Mid, k)
		}
		m.Mid, chords = append(m.Mid, knot(r.to)), append(chords, knot(r.to))
		errs[i] = r.error
	}
	firstLow, firstHigh := p.beyond(0)
	lastLow, lastHigh := p.beyond(len(p.stretches) - 1)
	m.Low = lowerCurve(chords, errs, 1/(1+firstLow), 1/(1+lastHigh))
	slices.Reverse(errs)
	m.High = mirrored(lowerCurve(mirrored(chords), errs, 1/(1+lastLow), 1/(1+firstHigh)))
	return m
}

// beyond returns between which rates the steered clock is taken to run outside of the readings, next to the first or the last
// stretch.
func (p *path) beyond(i int) (low, high float64) {
	s := &p.stretches[i]
	low, high = s.rate-s.noise, s.rate+s.noise
	for _, k := range []int{i, i + 1} {
		if kernel := &p.readings[k].Kernel; kernel.Known {
			a, b := kernel.rates()
			low, high = min(low, a+p.scale), max(high, b+p.scale)
			low, high = min(low, p.scale), max(high, p.scale) // a slew may be over at any time
		}
	}
	return max(low, -maxSlew) - maxChangeBeyond, min(high, maxSlew) + maxChangeBeyond
}

// bend returns where the rate changed between two readings, if adjtimex states one rate at each end and the mean rate is
// between the two. It is the estimate's: the bounds allow any rates in between.
func (p *path) bend(r run) (k clock.PairKnot, ok bool) {
	s := &p.stretches[r.from]
	before, after := &p.readings[r.from].Kernel, &p.readings[r.to].Kernel
	if r.to != r.from+1 || s.gap != s.h || s.slewed || !before.Known || !after.Known {
		return k, false
	}
	a, aHigh := before.rates()
	b, bHigh := after.rates()
	if a != aHigh || b != bHigh || math.Abs(b-a) < 10*rateMargin {
		return k, false
	}
	a, b = a+p.scale, b+p.scale
	share := (b - s.rate) / (b - a) // of the time before the change
	if !(share > 0 && share < 1) {
		return k, false
	}
	k.Y = p.y[r.from] + clock.HostTime(share*s.h)
	k.X = p.x[r.from] + clock.HostTime(share*s.h*(1+a))
	off := clock.Sub(k.Y, p.y[r.from]+clock.HostTime(clock.MulDiv(int64(k.X-p.x[r.from]), int64(p.y[r.to]-p.y[r.from]), int64(p.x[r.to]-p.x[r.from]), clock.Nearest)))
	return k, max(off, -off)+2 < r.error && k.X > p.x[r.from] && k.X < p.x[r.to] && k.Y > p.y[r.from] && k.Y < p.y[r.to]
}

// mirrored turns a curve about the origin, so that what lies below it lies above.
func mirrored(c clock.PairCurve) clock.PairCurve {
	out := make(clock.PairCurve, len(c))
	for i, k := range c {
		out[len(c)-1-i] = clock.PairKnot{X: -k.X, Y: -k.Y}
	}
	return out
}

// beyond is how far from the ends of the curves the knots lie that give them their rates there, ns.
const beyond = int64(1) << 40

// lowerCurve returns the greatest curve that is known to lie below the free clock, which is within errs[i] of the i-th piece
// of mid. The free clock never runs back: what bounds it at one instant bounds it at all later ones. So where the error
// grows, the curve stands still instead of falling. Before and after are its slopes beyond the ends.
func lowerCurve(mid clock.PairCurve, errs []int64, before, after float64) clock.PairCurve {
	n := len(errs)
	least := clock.Add(mid[0].Y, -errs[0])
	fast := int64(math.Ceil(float64(beyond) * before))
	out := clock.PairCurve{
		{X: clock.Add(mid[0].X, -beyond), Y: clock.Add(least, -fast)},
		{X: mid[0].X, Y: least},
	}
	add := func(x, y clock.HostTime) {
		if last := &out[len(out)-1]; last.X == x {
			last.Y = y
		} else if x > last.X {
			out = append(out, clock.PairKnot{X: x, Y: y})
		}
		least = y
	}
	for i, e := range errs {
		a, b := mid[i], mid[i+1]
		from, to := clock.Add(a.Y, -e), clock.Add(b.Y, -e)
		switch {
		case to <= least:
			add(b.X, least)
			continue
		case from < least:
			rise := clock.MulDiv(clock.Sub(least, from), clock.Sub(b.X, a.X), clock.Sub(to, from), clock.Up)
			if x := clock.Add(a.X, rise); x < b.X {
				add(x, least)
			} else {
				add(b.X, least)
				continue
			}
		case from > least && b.X > a.X+1:
			add(a.X+1, from)
		}
		add(b.X, to)
	}
	slow := int64(math.Floor(float64(beyond) * after))
	add(clock.Add(mid[n].X, beyond), clock.Add(least, slow))
	return out
}
