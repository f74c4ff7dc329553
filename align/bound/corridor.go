package bound

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"meridian/align/internal/hull"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// point is a lifted message: x ns after the corridor's middle, y ns of offset above its base.
type point struct{ x, y float64 }

// Corridor is what the messages and the assumption leave for the offset of two clocks.
type Corridor struct {
	Assumption
	middle         clock.HostTime // a's clock: the origin of all x, in the middle so that squares stay small
	base           int64          // b less a: the origin of all y
	ceiling, floor []point
	first, last    float64 // extent of the messages
	guard          float64 // what float64 may have lost, ns
}

// New returns the corridor of a pair. Each stamp stands for an instant within its granularity, as in package pair. The problem
// must be valid as [pair.Problem] says, and the assumption pass [Assumption.Check]; otherwise the bounds mean nothing.
func New(p *pair.Problem, a Assumption) *Corridor {
	c := &Corridor{Assumption: a}
	first, last := clock.HostTime(math.MaxInt64), clock.HostTime(math.MinInt64)
	var base int64
	any := false
	for _, pieces := range []struct {
		messages pair.Messages
		from     bool
	}{{p.AB, true}, {p.BA, false}} {
		for _, piece := range pieces.messages {
			for _, m := range piece {
				on, off := m.Sent, m.Received
				if !pieces.from {
					on, off = m.Received, m.Sent
				}
				if !any {
					base, any = clock.Sub(off, on), true
				}
				first, last = min(first, on), max(last, on)
			}
		}
	}
	if !any {
		return c
	}
	c.base = base
	c.middle = clock.Add(first, clock.Sub(last, first)/2)
	c.first, c.last = float64(first-c.middle), float64(last-c.middle)
	stepA, stepB := float64(max(p.A.Granularity, 1)), float64(max(p.B.Granularity, 1))
	half := a.curvature() / 2
	var other sync.WaitGroup
	other.Go(func() {
		up := a.Epsilon + stepB - float64(p.MinAB)
		c.ceiling = hullOf(p.AB, 1, func(m trace.Message) point {
			x := float64(m.Sent - c.middle)
			return point{x, float64(int64(m.Received-m.Sent)-c.base) + up + half*x*x}
		})
	})
	down := -a.Epsilon - stepA + float64(p.MinBA)
	c.floor = hullOf(p.BA, -1, func(m trace.Message) point {
		x := float64(m.Received - c.middle)
		return point{x, float64(int64(m.Sent-m.Received)-c.base) + down - half*x*x}
	})
	other.Wait()
	reach := max(c.last, -c.first)
	for _, h := range [][]point{c.ceiling, c.floor} {
		for _, q := range h {
			c.guard = max(c.guard, math.Abs(q.y))
		}
	}
	c.guard = 1e-6 + (c.guard+half*reach*reach)*0x1p-48
	return c
}

// hullOf returns the lower hull (side 1) or the upper one (side -1) of the points of all messages.
func hullOf(messages pair.Messages, side float64, at func(trace.Message) point) []point {
	return hull.Of(messages, at, hull.Plane[point]{
		Ascending: ascending,
		Scan:      func(points []point) []point { return scan(points, side) },
		Sort:      func(points []point) []point { return graham(points, side) },
	})
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
	order := func(p, q point) int { return cmp.Or(cmp.Compare(p.x, q.x), cmp.Compare(side*p.y, side*q.y)) }
	if !slices.IsSortedFunc(points, order) {
		slices.SortFunc(points, order)
	}
	return scan(points, side)
}

// scan is Graham's scan over points in order, in place. Of several points over one x the first counts, which is the one
// farthest out. Invariant: from each corner to the next the hull turns away from the points, so that the cross product
// has the sign of side. Here it is rounded: a corner too many or too few moves the hull by less than the corridor's guard.
func scan(points []point, side float64) []point {
	hull := points[:0]
	for _, p := range points {
		if n := len(hull); n > 0 && hull[n-1].x == p.x {
			continue
		}
		for n := len(hull); n > 1; n-- {
			q, r := hull[n-2], hull[n-1]
			if side*((r.x-q.x)*(p.y-q.y)-(p.x-q.x)*(r.y-q.y)) > 0 {
				break
			}
			hull = hull[:n-1]
		}
		hull = append(hull, p)
	}
	return hull
}
