package bound

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"meridian/align/internal/hull"
	"meridian/align/internal/pieces"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// point is a message: x ns after the corridor's middle, y ns of offset above its base.
type point struct{ x, y float64 }

// Corridor is what the messages and the assumption leave for the offset of two clocks.
type Corridor struct {
	Assumption
	frame
	tolerance Tolerance
	stretches []Stretch
	segments  []segment  // in the order of time
	raised    []interval // where the clocks bend more than is assumed elsewhere, but some wander bounds them
	unsmooth  *unsmooth  // bounds there and outside the segments; nil where no clock bends
	empty     bool
	silences  []interval // in which no message lies and bounds from both ends are asked for
	steep     []interval // where the greatest skew does not hold
	ends      [2]float64 // how far the stretches at the ends of the messages reach
	guard     float64    // what float64 may have lost, ns
}

// frame is the axes of a corridor.
type frame struct {
	middle      clock.HostTime // a's clock: the origin of all x, in the middle so that squares stay small
	base        int64          // b less a: the origin of all y
	first, last float64        // extent of the messages
}

// instant returns the reading of a's clock at x.
func (f *frame) instant(x float64) clock.HostTime {
	return clock.Add(f.middle, int64(math.Floor(x)))
}

// absolute turns an offset at t into b's reading.
func (f *frame) absolute(t clock.HostTime, offset float64) clock.HostTime {
	return clock.Add(t, clock.Add(f.base, int64(min(max(offset, -4e18), 4e18))))
}

// Extent returns the first and the last instant of a's clock that a message speaks of.
func (f *frame) Extent() (first, last clock.HostTime) {
	return f.middle + clock.HostTime(f.first), f.middle + clock.HostTime(f.last)
}

// interval returns a stretch on these axes.
func (f *frame) interval(s Stretch) interval {
	return interval{float64(clock.Sub(s.From, f.middle)), float64(clock.Sub(s.To, f.middle)), s.Wander * 1e-18}
}

// segment is a time in which the wander is bounded.
type segment struct {
	from, to       float64
	profile        profile
	ceiling, floor []point // corners of the hulls of the lifted messages
	first, last    float64 // extent of the messages
	steepest       float64 // slope of lifted lines up to which the hulls hold; 0 for any
	highest        cones   // of the greatest rate that clocks can have
	lowest         cones
}

// New returns the corridor of a pair whose messages are all true: the assumption holds everywhere but in the stretches,
// where what each of them says holds. Each stamp stands for an instant within its granularity, as in package pair. The
// problem must be valid as [pair.Problem] says, and the assumption pass [Assumption.Check]; otherwise the bounds mean
// nothing.
func New(p *pair.Problem, a Assumption, stretches ...Stretch) *Corridor {
	return NewTolerant(p, a, Tolerance{}, stretches...)
}

// NewTolerant returns the corridor of a pair of whose messages some are false, within the tolerance. The rest is as New
// says.
func NewTolerant(p *pair.Problem, a Assumption, t Tolerance, stretches ...Stretch) *Corridor {
	return newCorridor(p, a, t, stretches, nil)
}

// NewBoth returns the corridor of NewTolerant, and that of New for the same messages. Together they cost little more
// than the first.
func NewBoth(p *pair.Problem, a Assumption, t Tolerance, stretches ...Stretch) (tolerant, believing *Corridor) {
	switch {
	case t.None():
		believing = New(p, a, stretches...)
		return believing, believing
	case len(stretches) > 0:
		return NewTolerant(p, a, t, stretches...), New(p, a, stretches...)
	}
	var corners outermost
	tolerant = newCorridor(p, a, t, nil, &corners)
	believing = &Corridor{Assumption: a, frame: tolerant.frame, empty: tolerant.empty, ends: tolerant.ends, silences: tolerant.silences}
	if believing.empty {
		return tolerant, believing
	}
	of := &tolerant.segments[0]
	slots := newSlots(believing.first, believing.last, p.AB.Len()+p.BA.Len())
	for _, q := range corners.ceilings {
		slots.ceilings.add(of.unlifted(q, a.Epsilon, 1))
	}
	for _, q := range corners.floors {
		slots.floors.add(of.unlifted(q, a.Epsilon, -1))
	}
	believing.segments = []segment{{
		from: of.from, to: of.to, profile: of.profile, first: of.first, last: of.last, steepest: of.steepest,
		ceiling: graham(corners.ceilings, 1), floor: graham(corners.floors, -1),
	}}
	believing.limitRates(p, slots)
	believing.setGuard()
	return tolerant, believing
}

// outermost is points among which the corners of the hulls of all messages are.
type outermost struct{ ceilings, floors []point }

// newCorridor returns the corridor of NewTolerant. It adds the outermost points to corners, unless that is nil.
func newCorridor(p *pair.Problem, a Assumption, t Tolerance, stretches []Stretch, corners *outermost) *Corridor {
	c := &Corridor{Assumption: a, tolerance: t, stretches: stretches}
	if c.empty = !c.around(p); c.empty {
		return c
	}
	var outerCeilings, outerFloors *[]point
	if corners != nil {
		outerCeilings, outerFloors = &corners.ceilings, &corners.floors
	}
	slots := newSlots(c.first, c.last, p.AB.Len()+p.BA.Len())
	ceilings, floors := c.ceilings(p), c.floors(p)
	c.segments = c.cut()
	for i := range c.segments {
		s := &c.segments[i]
		ab, ba := p.AB, p.BA
		if !math.IsInf(s.from, -1) || !math.IsInf(s.to, 1) {
			ab, ba = within(ab, s, ceilings), within(ba, s, floors)
		}
		var other sync.WaitGroup
		if !t.None() {
			s.steepest = steepestLine(c, s, 2*(c.last-c.first)+farBeyond)
		}
		var above, below extent
		other.Go(func() { s.ceiling, above = s.hull(ab, p.AB.Len(), 1, ceilings, c, &slots.ceilings, outerCeilings) })
		s.floor, below = s.hull(ba, p.BA.Len(), -1, floors, c, &slots.floors, outerFloors)
		other.Wait()
		s.first, s.last = min(above.first, below.first), max(above.last, below.last)
	}
	c.silences = slots.silences(c.unbent())
	c.limitRates(p, slots)
	c.setGuard()
	return c
}

// around finds the axes that suit the messages; false without any.
func (c *frame) around(p *pair.Problem) bool {
	first, last := clock.HostTime(math.MaxInt64), clock.HostTime(math.MinInt64)
	any := false
	for _, way := range []struct {
		messages pair.Messages
		from     bool
	}{{p.AB, true}, {p.BA, false}} {
		for piece := range pieces.Of(way.messages) {
			for _, m := range piece {
				on, off := m.Sent, m.Received
				if !way.from {
					on, off = m.Received, m.Sent
				}
				if !any {
					c.base, any = clock.Sub(off, on), true
				}
				first, last = min(first, on), max(last, on)
			}
		}
	}
	if any {
		c.middle = clock.Add(first, clock.Sub(last, first)/2)
		c.first, c.last = float64(first-c.middle), float64(last-c.middle)
	}
	return any
}

// ceilings returns the function that plots a message from a to b: the offset at the instant of sending is at most y.
func (c *Corridor) ceilings(p *pair.Problem) plotter {
	up := float64(max(p.B.Granularity, 1)) - float64(p.MinAB)
	return func(m trace.Message) point {
		return point{float64(m.Sent - c.middle), float64(int64(m.Received-m.Sent)-c.base) + up}
	}
}

// floors returns the function that plots a message from b to a: the offset at the instant of reception is at least y. That
// instant is up to a step of a's stamps later than the stamp, and within the step the offset may have fallen by the greatest rate.
func (c *Corridor) floors(p *pair.Problem) plotter {
	step, least := float64(max(p.A.Granularity, 1)), float64(p.MinBA)
	return func(m trace.Message) point {
		x := float64(m.Received - c.middle)
		down := step
		if step > 1 {
			down += step * c.steepest(x, x+step)
		}
		return point{x, float64(int64(m.Sent-m.Received)-c.base) - down + least}
	}
}

// beyondAll is further from any middle than all instants, ns.
const beyondAll float64 = 1e19

// cut returns the segments, which the stretches without any bound on the wander part.
func (c *Corridor) cut() []segment {
	var more, bare []interval
	for _, x := range c.stretches { // in any order
		i := c.interval(x)
		// What clocks do at either end of the messages they may go on doing, but nobody slews a clock for ever.
		beyond := beyondAll
		if math.IsInf(x.Wander, 1) {
			beyond = i.to - i.from
		}
		if i.from <= c.first {
			i.from = c.first - beyond
		}
		if i.to >= c.last {
			i.to = c.last + beyond
		}
		if math.IsInf(x.Wander, 1) {
			bare = append(bare, i)
		} else {
			more = append(more, i)
			if x.Wander > c.Wander {
				c.raised = append(c.raised, i)
			}
		}
		if x.Steep {
			c.steep = append(c.steep, i)
		}
	}
	c.ends = [2]float64{c.first, c.last}
	for _, b := range bare {
		c.ends[0], c.ends[1] = min(c.ends[0], b.from), max(c.ends[1], b.to)
	}
	c.raised = joined(c.raised)
	bare = joined(bare)
	var segments []segment
	from := math.Inf(-1)
	add := func(to float64) {
		if from < to && from <= c.last && to >= c.first {
			origin := (max(from, c.first) + min(to, c.last)) / 2
			segments = append(segments, segment{from: from, to: to, profile: newProfile(origin, c.curvature(), more)})
		}
	}
	for _, b := range bare {
		add(b.from)
		from = b.to
	}
	add(math.Inf(1))
	return segments
}

// within returns the messages of a segment.
func within(messages pair.Messages, s *segment, at plotter) pair.Messages {
	var out pair.Messages
	for _, piece := range messages {
		var inside []trace.Message
		for _, m := range piece {
			if x := at(m).x; x >= s.from && x <= s.to {
				inside = append(inside, m)
			}
		}
		if len(inside) > 0 {
			out = append(out, inside)
		}
	}
	return out
}

// hull returns the corners of the lower hull (side 1) or the upper one (side -1) of the lifted messages of a corridor,
// or of those that stand for them within its tolerance, and the extent of the messages, of a direction with so many in
// all. It notes where they lie. With a tolerance it adds to outer the points among which the corners of the messages'
// own hull are, unless that is nil.
func (s *segment) hull(messages pair.Messages, all int, side float64, at plotter, c *Corridor, slots *slotted, outer *[]point) ([]point, extent) {
	between := extent{math.Inf(1), math.Inf(-1)}
	lift := func(q point) point {
		value, _ := s.profile.at(q.x)
		return point{q.x, q.y + side*(c.Epsilon+value)}
	}
	if len(s.profile.pieces) == 1 {
		half, origin := s.profile.pieces[0].half, s.profile.pieces[0].anchor
		lift = func(q point) point {
			d := q.x - origin
			return point{q.x, q.y + side*(c.Epsilon+half*d*d)}
		}
	}
	if c.tolerance.None() {
		corners := hullOf(messages, side, func(m trace.Message) point {
			q := at(m)
			slots.add(q)
			return lift(q)
		})
		if len(corners) > 0 {
			between = extent{corners[0].x, corners[len(corners)-1].x}
		}
		return corners, between
	}
	var corners []point
	f := c.tolerance.Allowed(all) + eachHides*len(c.tolerance.Found)
	// Lifting adds no more to the slopes between points than steepest has room for.
	outermost := keepOutermost(side, f, 2*s.steepest)
	keep := func(points, group []point) []point {
		slots.note(group)
		return outermost(points, group)
	}
	for b := range blocksOf(messages, at, side, BlockSize, keep) {
		between = extent{min(between.first, b.first), max(between.last, b.last)}
		for i := range b.points {
			b.points[i] = lift(b.points[i])
		}
		if outer != nil {
			begin := len(*outer)
			*outer = append(*outer, b.points...)
			*outer = (*outer)[:begin+len(scan((*outer)[begin:], side))]
		}
		for _, q := range level(b.points, side, c.tolerance.allowedWithin(all, c.instant(b.first), c.instant(b.last)), s.steepest) {
			slots.add(s.unlifted(q, c.Epsilon, side))
			corners = append(corners, q)
		}
	}
	return graham(corners, side), between
}

// extent is from the first to the last of some messages, x.
type extent struct{ first, last float64 }

// farBeyond is how far beyond the messages bounds are usually asked for, besides twice their extent, ns.
const farBeyond = 60e9

// steepestLine returns a slope that no lifted tangent of the offset exceeds in a segment, and beyond its messages by so
// many ns.
func steepestLine(c *Corridor, s *segment, beyond float64) float64 {
	from, to := max(s.from, c.first-beyond), min(s.to, c.last+beyond)
	_, first := s.profile.at(from)
	_, last := s.profile.at(to)
	return c.steepest(from, to) + max(math.Abs(first), math.Abs(last))
}

// hullOf returns the lower hull (side 1) or the upper one (side -1) of the points of all messages.
func hullOf(messages pair.Messages, side float64, at plotter) []point {
	return hull.Of(messages, at, hull.Plane[point]{
		Ascending: ascending,
		Scan:      func(points []point) []point { return scan(points, side) },
		Sort:      func(points []point) []point { return graham(points, side) },
	})
}

// limitRates notes what the greatest rate of clocks bounds: within each segment, and between segments.
func (c *Corridor) limitRates(p *pair.Problem, slots *slots) {
	ceilings, floors := slots.ceilings.points(), slots.floors.points()
	for i := range c.segments {
		s := &c.segments[i]
		s.highest = newCones(inside(ceilings, s.from, s.to), MaxRate, 1, c.Epsilon)
		s.lowest = newCones(inside(floors, s.from, s.to), MaxRate, -1, c.Epsilon)
	}
	if len(c.stretches) == 0 {
		return
	}
	times := make([]interval, len(c.stretches))
	for i, x := range c.stretches {
		times[i] = c.interval(x)
	}
	times = joined(times)
	ceilings = append(ceilings, tightest(p.AB, c.ceilings(p), 1, times)...)
	floors = append(floors, tightest(p.BA, c.floors(p), -1, times)...)
	c.unsmooth = newUnsmooth(ceilings, floors, c.Epsilon)
	c.unsmooth.ceilings.wrong = allowedAround(c, p.AB.Len(), times)
	c.unsmooth.floors.wrong = allowedAround(c, p.BA.Len(), times)
}

// allowedAround returns how many of the messages around an instant of some stretches may be false, of so many of a
// direction in all.
func allowedAround(c *Corridor, messages int, times []interval) int {
	if c.tolerance.None() {
		return 0
	}
	found := 0
	for _, at := range c.tolerance.Found {
		if x := float64(clock.Sub(at, c.middle)); overlaps(times, x, x) {
			found++
		}
	}
	return c.tolerance.Allowed(messages) + min(found, nearby)
}

// unbent returns over how many ns the wander of quiet clocks is small beside epsilon.
func (c Assumption) unbent() float64 {
	if k := c.curvature(); k > 0 {
		return math.Sqrt(2 * max(c.Epsilon, 1) / k)
	}
	return math.Inf(1)
}

// setGuard finds what rounding may have lost.
func (c *Corridor) setGuard() {
	greatest, lifted := 0.0, 0.0
	for i := range c.segments {
		s := &c.segments[i]
		for _, h := range [][]point{s.ceiling, s.floor} {
			for _, q := range h {
				greatest = max(greatest, math.Abs(q.y))
			}
		}
		for _, x := range []float64{max(s.from, c.first), min(s.to, c.last)} {
			value, _ := s.profile.at(x)
			lifted = max(lifted, value)
		}
	}
	c.guard = 1e-6 + (greatest+lifted)*0x1p-48
}

// ascending returns how many points from the first have strictly ascending x.
func ascending(points []point) int {
	for i := 1; i < len(points); i++ {
		if points[i].x <= points[i-1].x {
			return i
		}
	}
	return len(points)
}

// graham sorts the points by x, those farthest out first over one x, and scans them, in place.
func graham(points []point, side float64) []point {
	inOrder(points, side)
	return scan(points, side)
}

// inOrder sorts points by x, those farthest out first over one x. Most are in order already.
func inOrder(points []point, side float64) {
	order := func(p, q point) int { // cmp.Or would compare both, always
		switch {
		case p.x < q.x:
			return -1
		case p.x > q.x:
			return 1
		}
		return cmp.Compare(side*p.y, side*q.y)
	}
	for i := 1; i < len(points); i++ {
		if !(points[i-1].x < points[i].x) && order(points[i-1], points[i]) > 0 {
			slices.SortFunc(points, order)
			return
		}
	}
}

// scan is Graham's scan over points in order, in place. Of several points over one x the first counts, which is the one
// farthest out. Invariant: from each corner to the next the hull turns away from the points, so that the cross product
// has the sign of side. Here it is rounded: a corner too many or too few moves the hull by less than the corridor's guard.
func scan(points []point, side float64) []point {
	n := 0 // corners so far
	for _, p := range points {
		if n > 0 && points[n-1].x == p.x {
			continue
		}
		for ; n > 1; n-- {
			q, r := &points[n-2], &points[n-1]
			if side*((r.x-q.x)*(p.y-q.y)-(p.x-q.x)*(r.y-q.y)) > 0 {
				break
			}
		}
		points[n] = p
		n++
	}
	return points[:n]
}
