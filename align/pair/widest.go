package pair

import (
	"math/big"
	"sort"

	"meridian/clock"
)

// WidestCorridor returns the estimate whose distance from the messages is greatest: of all lines between the hulls, the
// one with the widest vertical gap to the nearer of the two (Sirdey and Maurice 2008; Poirier 2010, section 2.2.3).
// Where theirs is a linear program of three variables,
//
//	maximise w,  offset + skew x + w <= y for every ceiling,  offset + skew x - w >= y for every floor
//
// its dual is seen at once: w is half of the gap between the hulls where that is narrowest, and the line is parallel to
// both there. The gap is convex, so one walk along the hulls finds the place by comparing slopes, which are exact. Where
// both hulls have a corner there, a range of slopes is as good, and the middle one is taken.
//
// The cost is that of the hulls, O(n) for messages in order. The bounds are those of [Hull]. It fails, and the hull's
// estimate is returned, where no line passes, where messages went one way, and where the hulls are not over one another,
// so that nothing limits the width. Its skew is decided by the narrowest place alone: messages elsewhere do not count.
func WidestCorridor(p *Problem) (Estimate, error) {
	e, c := hull(p)
	if e.Fit != Exact {
		return e, nil
	}
	l, ok := c.lines()
	if !ok || l.undetermined() && c.last-c.first < minSkewSpan {
		return e, nil
	}
	s, ok := c.narrowest(&l)
	if !ok {
		return e, nil
	}
	mid := c.middle(s)
	if mid.Check() != nil {
		return e, nil
	}
	e.Map.Mid, e.Skew = mid, slopeOf(mid).ppm()
	return e, nil
}

// narrowest returns the slope at which lines between the hulls leave most to both sides, false where the hulls are not
// over one another.
func (c *corridor) narrowest(l *lines) (*big.Rat, bool) {
	ceiling, floor := c.ceiling, c.floor
	from := max(ceiling[0].x, floor[0].x)
	to := min(ceiling[len(ceiling)-1].x, floor[len(floor)-1].x)
	if from > to {
		return nil, false
	}
	xs := []clock.HostTime{from}
	for i, j := 0, 0; i < len(ceiling) || j < len(floor); {
		var x clock.HostTime
		if j == len(floor) || i < len(ceiling) && ceiling[i].x <= floor[j].x {
			x, i = ceiling[i].x, i+1
		} else {
			x, j = floor[j].x, j+1
		}
		if x > xs[len(xs)-1] && x <= to {
			xs = append(xs, x)
		}
	}
	// The gap narrows while the ceiling rises less than the floor; beyond its end a hull rises, or falls, without limit.
	for _, x := range xs {
		upLeft, upRight := slopesAt(ceiling, x)
		downLeft, downRight := slopesAt(floor, x)
		if upRight != nil && downRight != nil && upRight.compare(*downRight) < 0 {
			continue
		}
		// A line touches the ceiling in x with any slope of [upLeft, upRight], the floor with any of
		// [downRight, downLeft]; those of both are as good.
		least, most := l.least, l.most
		for _, s := range []*slope{upLeft, downRight} {
			if s != nil && s.compare(least) > 0 {
				least = *s
			}
		}
		for _, s := range []*slope{upRight, downLeft} {
			if s != nil && s.compare(most) < 0 {
				most = *s
			}
		}
		if least.compare(most) > 0 { // the best slope is none of a clock's
			return nil, false
		}
		s := new(big.Rat).Add(least.rat(), most.rat())
		return s.Mul(s, big.NewRat(1, 2)), true
	}
	return nil, false
}

// slopesAt returns a hull's slopes to the left and to the right of x, nil beyond its ends.
func slopesAt(hull []point, x clock.HostTime) (left, right *slope) {
	i := sort.Search(len(hull), func(i int) bool { return hull[i].x >= x })
	if i > 0 && i < len(hull) {
		s := between(hull[i-1], hull[i])
		left = &s
	}
	if i < len(hull) && hull[i].x == x {
		i++
	}
	if i > 0 && i < len(hull) {
		s := between(hull[i-1], hull[i])
		right = &s
	}
	return left, right
}
