package bound

// A stretch in which the clocks bend more than is assumed elsewhere may hold one sharp bend instead of many soft ones: a small
// setting, or a slew that begins and ends between two messages. Of that the smooth wander of the stretch says too little in
// the gap where it happened. So in such a stretch the messages before an instant bound the offset there, or those behind it do:
//
//	 . . . . .
//	o o o o o                    offset by the messages on the left
//	- - - - - - - - -|. . . .
//	                 |o o o o    by those on the right
//	          - - - -|- - - -
//	              gap            between the two gaps' ends either may hold
//
// The bound is the weaker of the two. Both are weaker than that of all messages together, by little: what the wander adds
// over the gap.

// besides is how many messages of each direction bound the offset from either side.
const besides = 64

// ends is the bounds at both ends of a piece.
type ends struct{ low, high [2]float64 }

// flat returns ends of which both are the same.
func flat(low, high float64) ends { return ends{[2]float64{low, low}, [2]float64{high, high}} }

// unite makes e contain f.
func (e *ends) unite(f ends) {
	for i := range e.low {
		e.low[i], e.high[i] = min(e.low[i], f.low[i]), max(e.high[i], f.high[i])
	}
}

// parted returns bounds at two instants of a segment that hold between them as well, but for the sag, whether or not the offset
// jumps there.
func parted(c *Corridor, s *segment, from, to float64) ends {
	u := c.unsmooth
	left, before := sided(c, s, u.ceilings.before(from-u.reach, besides), u.floors.before(from-u.reach, besides), from, to)
	right, behind := sided(c, s, u.ceilings.behind(to+u.reach, besides), u.floors.behind(to+u.reach, besides), from, to)
	switch {
	case !before && !behind:
		return flat(u.bounds(from, to))
	case !before:
		return right
	case !behind:
		return left
	}
	left.unite(right)
	return left
}

// sided returns the bounds at two instants by some messages; false if they are one way only. Where they contradict each other,
// nothing but the greatest rate bounds.
func sided(c *Corridor, s *segment, ceilings, floors []point, from, to float64) (e ends, ok bool) {
	ceilings, floors = inside(ceilings, s.from, s.to), inside(floors, s.from, s.to)
	if len(ceilings) == 0 || len(floors) == 0 {
		return e, false
	}
	var scratch [2][besides]point
	part := segment{
		profile: s.profile,
		ceiling: s.tolerant(append(scratch[0][:0], ceilings...), c, 1, c.unsmooth.ceilings.wrong, from, to),
		floor:   s.tolerant(append(scratch[1][:0], floors...), c, -1, c.unsmooth.floors.wrong, from, to),
	}
	if len(part.ceiling) == 0 || len(part.floor) == 0 {
		return e, false
	}
	for i, x := range [...]float64{from, to} {
		p := part.program(x, x, c.steepest(x, x), c.guard)
		if e.low[i], e.high[i], ok = p.bounds(); !ok {
			return flat(c.unsmooth.bounds(from, to)), true
		}
	}
	return e, true
}

// tolerant lifts the points in place. It returns the hull of the constraints that hold between two instants if so many
// of the points are wrong.
func (s *segment) tolerant(points []point, c *Corridor, side float64, wrong int, from, to float64) []point {
	if wrong == 0 {
		return s.lifted(points, c.Epsilon, side)
	}
	s.lift(points, c.Epsilon, side)
	return graham(level(points, side, wrong, max(s.steepest, steepestAt(c, s, from), steepestAt(c, s, to))), side)
}

// inside returns the points between two instants; they are in order.
func inside(points []point, from, to float64) []point {
	for len(points) > 0 && points[0].x < from {
		points = points[1:]
	}
	for len(points) > 0 && points[len(points)-1].x > to {
		points = points[:len(points)-1]
	}
	return points
}
