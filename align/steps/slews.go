package steps

import (
	"math"
	"slices"

	"meridian/align/bound"
)

// A daemon slews a clock by up to 83,333 ppm. Over seconds that moves the offset as far as a setting does, but the offset
// passes through all values between, and messages on the way show it. The segments before, within and behind a slew are one.

// slewWindow is how many points on either side of a cut may have been stamped during the slew.
const slewWindow = 64

// joinSlews joins neighbouring segments between which a clock was slewed, not set.
func (v *search) joinSlews() {
	prevailing := v.prevailingRate()
	for k := 0; k+1 < len(v.segments); {
		one, two := v.segments[k], v.segments[k+1]
		both := segment{from: one.from, to: two.to, rate: prevailing, known: true}
		if !v.consistent(both, bound.MaxRate) {
			k++
			continue
		}
		within := slices.DeleteFunc(v.duringSlew(both, two.from), func(i int) bool {
			return v.fits(i, one, true) || v.fits(i, two, false)
		})
		if len(within) == 0 && !v.runsAway(one, prevailing) && !v.runsAway(two, prevailing) {
			k++
			continue
		}
		for _, i := range within {
			v.points[i].label = label{}
		}
		v.segments[k] = v.segment(one.from, two.to)
		v.segments = append(v.segments[:k+1], v.segments[k+2:]...)
		k = max(k-1, 0)
	}
}

// fits reports whether a segment before a point, or behind it, allows the point: then it was stamped before or behind the cut, not
// on the way.
func (v *search) fits(i int, r segment, before bool) bool {
	s := v.through(openCorridor(), r, r.rate, r.slack(v.last()), before, nil)
	t, y := v.at(&v.points[i], r.rate)
	s.move(t, r.slack(v.last()))
	return s.allows(y, v.points[i].floor)
}

// prevailingRate returns the rate of the segment of most points that has one.
func (v *search) prevailingRate() (rate float64) {
	most := 0
	for _, r := range v.segments {
		if n := r.to - r.from; r.known && n > most {
			most, rate = n, r.rate
		}
	}
	return rate
}

// runsAway reports whether the rate of a segment is one that only a slew explains.
func (v *search) runsAway(r segment, prevailing float64) bool {
	return r.known && math.Abs(r.rate-prevailing) > 2*lastSlack
}

// duringSlew returns the outliers around a cut that fit into the two segments if the clock was slewed there.
func (v *search) duringSlew(both segment, cut int) (found []int) {
	window := segment{from: max(cut-slewWindow, both.from), to: min(cut+slewWindow, both.to)}
	allowed := make(map[int]bool)
	visit := func(s *corridor, i int) bool {
		p := &v.points[i]
		t, y := v.at(p, both.rate)
		s.move(t, bound.MaxRate)
		ok := s.allows(y, p.floor)
		if ok && !p.label.outlier() {
			s.narrow(i, y, p.floor)
		}
		return ok
	}
	forward, backward := openCorridor(), openCorridor()
	for i := window.from; i < window.to; i++ {
		allowed[i] = visit(&forward, i)
	}
	for i := window.to - 1; i >= window.from; i-- {
		if visit(&backward, i) && allowed[i] && v.points[i].label.outlier() {
			found = append(found, i)
		}
	}
	return found
}
