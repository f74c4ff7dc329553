package pair

import (
	"cmp"
	"slices"
	"sync"

	hulls "meridian/align/internal/hull"
	"meridian/clock"
	"meridian/trace"
)

// point is a message in the plane of the two clocks.
type point struct {
	x clock.HostTime
	y int64
}

// corridor is what the messages leave for the line: nothing above the lower hull of the ceilings and nothing below the
// upper hull of the floors.
type corridor struct {
	ceiling, floor []point        // corners by ascending x; slopes of ceiling rise, those of floor fall
	first, last    clock.HostTime // extent of the messages on a's clock
	from, to       clock.HostTime // extent of the curves: far enough beyond both traces that rounded ends do not matter
}

// newCorridor builds both hulls.
//
// A stamp of granularity g stands for any instant of [t, t+g). The ceiling f(sent) <= received thus holds with the
// latest instant of the receiver's stamp, the floor f(received) >= sent with that of the receiver's as well: each point
// moves away from the line by the receiver's step. Stamps of one nanosecond are no exception: they were cut or rounded
// to it from something finer. The least delays move the points towards the line.
func newCorridor(p *Problem) *corridor {
	c := &corridor{}
	ceiling, floor := p.points()
	var other sync.WaitGroup
	other.Go(func() {
		c.ceiling = hullOf(p.AB, ceiling, false)
	})
	c.floor = hullOf(p.BA, floor, true)
	other.Wait()
	c.first, c.last = clock.Limit, -clock.Limit
	for _, h := range [][]point{c.ceiling, c.floor} {
		if len(h) > 0 {
			c.first, c.last = min(c.first, h[0].x), max(c.last, h[len(h)-1].x)
		}
	}
	start, end := min(c.first, p.A.First), max(c.last, p.A.Last)
	margin := clock.Add(clock.Sub(end, start), 10_000_000_000)
	c.from, c.to = max(clock.Add(start, -margin), -clock.Limit), min(clock.Add(end, margin), clock.Limit)
	return c
}

// points returns where a message from a to b, and one from b to a, stands in the plane.
func (p *Problem) points() (ceiling, floor func(trace.Message) point) {
	stepA, stepB := max(p.A.Granularity, 1), max(p.B.Granularity, 1)
	there, back := p.leastDelays()
	return func(m trace.Message) point {
			return point{m.Sent, int64(m.Received + clock.HostTime(stepB) - clock.HostTime(there))}
		},
		func(m trace.Message) point {
			return point{m.Received + clock.HostTime(stepA), int64(m.Sent + clock.HostTime(back))}
		}
}

// leastDelays returns MinAB and MinBA within what they can be.
func (p *Problem) leastDelays() (there, back int64) {
	const hour = 3_600_000_000_000
	return min(max(p.MinAB, 0), hour), min(max(p.MinBA, 0), hour)
}

// hullOf returns the hull of the points of all messages: the lower one, or the upper one.
func hullOf(messages Messages, at func(trace.Message) point, upper bool) []point {
	return hulls.Of(messages, at, hulls.Plane[point]{
		Ascending: ascending,
		Scan:      func(points []point) []point { return scan(points, upper) },
		Sort:      func(points []point) []point { return graham(points, upper) },
	})
}

// ascending returns how many points from the first stand in ascending order of x.
func ascending(points []point) int {
	for i := 1; i < len(points); i++ {
		if points[i].x <= points[i-1].x {
			return i
		}
	}
	return len(points)
}

// graham returns the lower hull (or the upper) of the points, in place. Of several points over one x only the lowest
// (highest) counts.
func graham(points []point, upper bool) []point {
	order := func(p, q point) int { return cmp.Or(cmp.Compare(p.x, q.x), cmp.Compare(p.y, q.y)) }
	if upper {
		order = func(p, q point) int { return cmp.Or(cmp.Compare(p.x, q.x), cmp.Compare(q.y, p.y)) }
	}
	if !slices.IsSortedFunc(points, order) {
		slices.SortFunc(points, order)
	}
	return scan(points, upper)
}

// scan is Graham's scan over points sorted by x, in place, by orientation tests that cannot overflow.
func scan(points []point, upper bool) []point {
	turn := 1
	if upper {
		turn = -1
	}
	hull := points[:0]
	for _, p := range points {
		if n := len(hull); n > 0 && hull[n-1].x == p.x {
			continue
		}
		// Invariant: the corners kept so far turn the right way; one that p hides is no corner.
		for n := len(hull); n > 1 && between(hull[n-2], hull[n-1]).side(hull[n-1], p) != turn; n-- {
			hull = hull[:n-1]
		}
		hull = append(hull, p)
	}
	return hull
}
