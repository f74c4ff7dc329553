package bound

import (
	"cmp"
	"math"
	"slices"
	"sync"

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

// New returns the corridor of a pair. Each stamp stands for an instant within its granularity, as in package pair.
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

const (
	blockSize = 4096
	// shortest is how many points in order are worth a hull of their own.
	shortest = 32
)

// hullOf returns the lower hull (side 1) or the upper one (side -1) of the points of all messages. Messages come connection
// by connection, each nearly in order: of each stretch in order only the corners are kept, and only corners are sorted.
func hullOf(messages pair.Messages, side float64, at func(trace.Message) point) []point {
	var corners []point
	block := make([]point, 0, min(blockSize, messages.Len()))
	for _, piece := range messages {
		for chunk := range slices.Chunk(piece, blockSize) {
			block = block[:0]
			for _, m := range chunk {
				block = append(block, at(m))
			}
			for rest := block; len(rest) > 0; {
				n := 1
				for n < len(rest) && rest[n].x > rest[n-1].x {
					n++
				}
				if n >= shortest {
					corners = append(corners, scan(rest[:n], side)...)
				} else {
					n = min(8*shortest, len(rest)) // in no order worth the name
					corners = append(corners, graham(rest[:n], side)...)
				}
				rest = rest[n:]
			}
			if len(corners) > 16*blockSize {
				corners = graham(corners, side)
			}
		}
	}
	return slices.Clone(graham(corners, side))
}

// graham returns the hull of the points, in place, by ascending x.
func graham(points []point, side float64) []point {
	order := func(p, q point) int { return cmp.Or(cmp.Compare(p.x, q.x), cmp.Compare(side*p.y, side*q.y)) }
	if !slices.IsSortedFunc(points, order) {
		slices.SortFunc(points, order)
	}
	return scan(points, side)
}

// scan is Graham's scan over points in order.
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
