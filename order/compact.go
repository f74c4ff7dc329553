package order

import (
	"math"
	"math/bits"
	"slices"

	"meridian/clock"
)

const (
	// slack is by how much a curve may miss a corrected instant, in ns, so that rounding needs no knot: corrections and
	// estimates are each rounded by half a nanosecond, at an instant and at the knot beside it.
	slack = 2
	// beyond is how far outside its instants a curve that was changed there ends, some 18 minutes: far enough that the
	// rounding of its knots says nothing of the slope beyond.
	beyond = int64(1) << 40
)

// point is a point that a curve must pass through, to within what the messages there leave.
type point struct {
	host     clock.HostTime
	time     clock.TimelineTime
	down, up int64
}

// curve returns the corrected curve of a clock. Where the estimate between two of its knots was not corrected it stays
// as it is; elsewhere the knots are as few as the points allow.
func (g *causality) curve(c int, mid clock.Curve, r rates) clock.Curve {
	low, high := g.base[c], g.base[c+1]
	// The pieces of the estimate: before its first knot, between two, after the last.
	ends := make([]int32, 0, len(mid)+2)
	ends = append(ends, low)
	for i, k := low, 0; k < len(mid); i++ {
		if g.host[i] == mid[k].X {
			ends = append(ends, i)
			k++
		}
	}
	ends = append(ends, high-1)
	touched := make([]bool, len(ends)-1)
	changed := false
	for i := range touched {
		for j := ends[i]; j <= ends[i+1] && !touched[i]; j++ {
			touched[i] = g.shift[j] != 0
		}
		changed = changed || touched[i]
	}
	if !changed {
		return mid
	}
	// A curve goes on beyond its ends as it ended, so what follows a changed end must be laid down too.
	last := len(touched) - 1
	before, after := touched[0] || touched[1], touched[last] || touched[last-1]
	var out clock.Curve
	var points []point
	u := clock.NewCursor(mid)
	for i := range touched {
		points = points[:0]
		if i == 0 && before {
			points = g.lead(points, low, mid, r)
			out = append(out, clock.Knot{X: points[0].host, Y: points[0].time})
		}
		if touched[i] || i == 0 && before || i == last && after {
			points = slices.Grow(points, int(ends[i+1]-ends[i])+16)
			for j := ends[i]; j <= ends[i+1]; j++ {
				points = append(points, g.point(j))
				if j < ends[i+1] {
					points = g.gap(points, j, &u, r)
				}
			}
		} else if i < last {
			points = append(points, g.point(ends[i+1]))
		}
		if i == last && after {
			points = g.trail(points, high-1, mid, r)
		}
		out = simplify(out, points)
	}
	return out
}

// point returns an instant with half of what its messages leave: the other half is for their other ends.
func (g *causality) point(i int32) point {
	p := point{host: g.host[i], time: g.at(i), down: slack, up: slack}
	for _, m := range g.in.of(i) {
		if e := &g.messages[m]; !e.cut {
			p.down = min(p.down, max(clock.Sub(p.time, g.arrival(e)), 0)/2)
		}
	}
	for _, m := range g.out.of(i) {
		if e := &g.messages[m]; !e.cut {
			left := max(clock.Sub(g.at(e.to), g.arrival(e)), 0)
			p.up = min(p.up, left-left/2)
		}
	}
	return p
}

// gap adds, between instants i and i+1, where the correction of the first has come back to nothing and where that of the
// second begins, if there is time between.
func (g *causality) gap(points []point, i int32, u *clock.Cursor, r rates) []point {
	a, b := g.shift[i], g.shift[i+1]
	start, end := g.time[i], g.time[i+1]
	if a == 0 && b == 0 || a > 0 && r.loss == 0 || b > 0 && g.rise[i+1] == 0 {
		return points
	}
	down, up := start, end
	if a > 0 {
		down = clock.Add(start, clock.MulDiv(a, million, r.loss, clock.Up))
	}
	if b > 0 {
		up = clock.TimelineTime(clock.Sub(end, clock.TimelineTime(clock.MulDiv(b, r.window, g.rise[i+1], clock.Up))))
	}
	if down >= up {
		return points
	}
	run := clock.Sub(g.host[i+1], g.host[i])
	at := func(t clock.TimelineTime, round clock.Rounding) clock.HostTime {
		return clock.Add(g.host[i], clock.MulDiv(clock.Sub(t, start), run, clock.Sub(end, start), round))
	}
	downAt, upAt := at(down, clock.Up), at(up, clock.Down)
	if downAt >= upAt {
		return points
	}
	if a > 0 {
		points = append(points, free(downAt, max(u.At(downAt), g.at(i))))
	}
	if b > 0 && upAt > g.host[i] {
		points = append(points, free(upAt, max(u.At(upAt), points[len(points)-1].time)))
	}
	return points
}

// free is a point at which no message is.
func free(host clock.HostTime, time clock.TimelineTime) point {
	return point{host, limited(time), slack, slack}
}

// lead adds what comes before the first instant of a clock.
func (g *causality) lead(points []point, i int32, mid clock.Curve, r rates) []point {
	first := g.host[i]
	from := first
	if g.shift[i] > 0 && g.rise[i] > 0 {
		from = clock.HostTime(clock.Sub(first, clock.HostTime(along(mid[0], mid[min(1, len(mid)-1)], clock.MulDiv(g.shift[i], r.window, g.rise[i], clock.Up)))))
	}
	from = max(from, min(first, -clock.Limit)) // a push of centuries must not leave the instants that there are
	far := clock.Add(from, -beyond)
	points = append(points, free(far, min(mid.At(far, clock.Nearest), g.at(i))))
	if far < from && from < first {
		points = append(points, free(from, min(mid.At(from, clock.Nearest), g.at(i))))
	}
	return points
}

// trail adds what comes after the last.
func (g *causality) trail(points []point, i int32, mid clock.Curve, r rates) []point {
	last, remains := g.host[i], g.shift[i]
	to := last
	if remains > 0 && r.loss > 0 {
		to = clock.Add(last, along(mid[max(len(mid)-2, 0)], mid[len(mid)-1], clock.MulDiv(remains, million, r.loss, clock.Up)))
		to = min(to, max(last, clock.Limit))
		remains = 0
		if to > last {
			points = append(points, free(to, max(mid.At(to, clock.Nearest), g.at(i))))
		}
	}
	if far := clock.Add(to, beyond); far > to {
		points = append(points, free(far, max(clock.Add(mid.At(far, clock.Nearest), remains), points[len(points)-1].time)))
	}
	return points
}

// along returns how long the host's clock takes for a span of the timeline on the line through two knots.
func along(a, b clock.Knot, span int64) int64 {
	run, rise := clock.Sub(b.X, a.X), clock.Sub(b.Y, a.Y)
	if run <= 0 || rise <= 0 {
		return span
	}
	return clock.MulDiv(span, run, rise, clock.Up)
}

// simplify adds to a curve the fewest of points, taken greedily, such that it passes all of them as closely as each
// demands. A curve that is not empty ends at, or before, the first point. From the last knot every point that was passed
// leaves a cone of slopes, which only narrows; the point at which a line leaves it is one too far, and so is one at which a
// difference leaves int64.
func simplify(out clock.Curve, points []point) clock.Curve {
	if len(out) > 0 && len(points) > 0 && points[0].host == out[len(out)-1].X {
		points = points[1:]
	}
	if len(points) == 0 {
		return out
	}
	start := 0
	if len(out) == 0 {
		out = append(out, clock.Knot{X: points[0].host, Y: points[0].time})
		start = 1
	}
	var lowest, highest ratio
	open := true // no point passed since the last knot
	for i := start; i < len(points); i++ {
		p := &points[i]
		knot := out[len(out)-1]
		if line := slopeOf(knot, p.host, p.time); !open && (line.below(lowest) || highest.below(line) || max(line.rise, line.run) == math.MaxInt64) {
			q := &points[i-1]
			knot = clock.Knot{X: q.host, Y: q.time}
			out = append(out, knot)
			open = true
		}
		bottom, top := slopeOf(knot, p.host, clock.Add(p.time, -p.down)), slopeOf(knot, p.host, clock.Add(p.time, p.up))
		if open || lowest.below(bottom) {
			lowest = bottom
		}
		if open || top.below(highest) {
			highest = top
		}
		open = false
	}
	if len(points) > start {
		p := &points[len(points)-1]
		out = append(out, clock.Knot{X: p.host, Y: p.time})
	}
	return out
}

// ratio is a slope, exact; its run is above 0.
type ratio struct{ rise, run int64 }

func slopeOf(k clock.Knot, host clock.HostTime, time clock.TimelineTime) ratio {
	return ratio{clock.Sub(time, k.Y), clock.Sub(host, k.X)}
}

// below says whether a is less than b.
func (a ratio) below(b ratio) bool {
	if (a.rise < 0) != (b.rise < 0) {
		return a.rise < 0
	}
	if a.rise < 0 {
		a, b = ratio{clock.Sub(0, b.rise), b.run}, ratio{clock.Sub(0, a.rise), a.run}
	}
	leftHigh, left := bits.Mul64(uint64(a.rise), uint64(b.run))
	rightHigh, right := bits.Mul64(uint64(b.rise), uint64(a.run))
	return leftHigh < rightHigh || leftHigh == rightHigh && left < right
}
