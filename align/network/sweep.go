package network

import (
	"slices"

	"meridian/clock"
)

// extrapolation is how far beyond its knots a curve is followed, ns: 18 minutes, over which a rounded nanosecond turns no slope.
const extrapolation = int64(1) << 40

// sweep draws the greatest (or least) reading of every clock over the reference's time, from instant to instant.
type sweep struct {
	*relaxer
	margin     func(h int64) int64
	knots      []clock.InverseCurve // of each clock: reading at the reference's time
	bad        []Contradiction
	now, then  []line // of the clocks reached, along the paths of this instant and of the last one
	lastOrder  []int
	lastVia    []int
	lastValues []clock.HostTime
}

// line is a bound between two instants.
type line struct {
	from, to clock.HostTime
}

func newSweep(x *relaxer, root int, margin func(h int64) int64) *sweep {
	x.start(root)
	n := len(x.out)
	return &sweep{relaxer: x, margin: margin, knots: make([]clock.InverseCurve, n), now: make([]line, n), then: make([]line, n), lastValues: make([]clock.HostTime, n)}
}

func (w *sweep) run(ts []clock.TimelineTime) {
	for k, t := range ts {
		if l := w.relax(clock.HostTime(t)); l != nil {
			w.report(l, t)
			continue
		}
		if len(w.bad) > 0 {
			continue // only the contradictions still matter
		}
		switch {
		case k == 0:
			before := clock.Add(t, -extrapolation)
			w.along(w.now, w.order, w.via, before, t)
			w.straight(before, t, w.now, 0)
		case w.margin != nil:
			for _, c := range w.order {
				w.then[c] = line{w.lastValues[c], w.value[c]}
			}
			w.straight(ts[k-1], t, w.then, w.margin(int64(t-ts[k-1])))
		default:
			w.along(w.now, w.order, w.via, ts[k-1], t)
			w.along(w.then, w.lastOrder, w.lastVia, ts[k-1], t)
			for _, c := range w.order {
				w.tighter(c, ts[k-1], t, w.then[c], w.now[c])
			}
		}
		if k == len(ts)-1 {
			after := clock.Add(t, extrapolation)
			w.along(w.now, w.order, w.via, t, after)
			w.straight(t, after, w.now, 0)
		}
		w.lastOrder, w.lastVia = append(w.lastOrder[:0], w.order...), append(w.lastVia[:0], w.via...)
		copy(w.lastValues, w.value)
	}
}

// along computes the bound of every clock between two instants over given paths.
func (w *sweep) along(lines []line, order, via []int, t0, t1 clock.TimelineTime) {
	for _, c := range order {
		if c == w.root {
			lines[c] = line{clock.HostTime(t0), clock.HostTime(t1)} // its clock is the timeline
			continue
		}
		p := &w.passages[via[c]]
		l := lines[p.from]
		lines[c].from, lines[c].to = p.over(l.from, l.to)
	}
}

// straight draws one line for every clock, moved outwards. The pieces beyond the ends are of the edges' own making and
// have no margin.
func (w *sweep) straight(t0, t1 clock.TimelineTime, lines []line, out int64) {
	if !w.up {
		out = -out
	}
	for _, c := range w.order {
		w.draw(c, t0, clock.Add(lines[c].from, out))
		w.draw(c, t1, clock.Add(lines[c].to, out))
	}
}

// tighter draws the tighter of two lines between two instants.
func (w *sweep) tighter(c int, t0, t1 clock.TimelineTime, p, q line) {
	w.draw(c, t0, w.inner(p.from, q.from))
	if d, e := clock.Sub(q.from, p.from), clock.Sub(p.to, q.to); d > 0 && e > 0 || d < 0 && e < 0 {
		// They cross. The corner lies between two nanoseconds; at the one before it the line that is to follow is
		// the outer one, and what is drawn through it cuts nothing off.
		if d < 0 {
			d, e = -d, -e
		}
		for d >= 1<<61 || e >= 1<<61 {
			d, e = d>>1, e>>1
		}
		t := clock.Add(t0, clock.MulDiv(clock.Sub(t1, t0), d, d+e, clock.Down))
		w.draw(c, t, w.outer(p.at(t, t0, t1, w.rounding()), q.at(t, t0, t1, w.rounding())))
	}
	w.draw(c, t1, w.inner(p.to, q.to))
}

func (l line) at(t, t0, t1 clock.TimelineTime, r clock.Rounding) clock.HostTime {
	return clock.Add(l.from, clock.MulDiv(clock.Sub(t, t0), clock.Sub(l.to, l.from), clock.Sub(t1, t0), r))
}

// draw adds a knot, or moves the last one outwards if it is of the same instant.
func (w *sweep) draw(c int, t clock.TimelineTime, v clock.HostTime) {
	knots := w.knots[c]
	if n := len(knots); n > 0 && knots[n-1].X == t {
		knots[n-1].Y = w.outer(knots[n-1].Y, v)
		return
	}
	w.knots[c] = append(knots, clock.InverseKnot{X: t, Y: v})
}

// curve returns what was drawn for a clock, nil if nothing bounds it. Lines moved outwards by different amounts may
// step back; outwards again, they do not.
func (w *sweep) curve(c int) clock.InverseCurve {
	knots := w.knots[c]
	if w.up {
		for i := 1; i < len(knots); i++ {
			knots[i].Y = max(knots[i].Y, knots[i-1].Y)
		}
		return knots
	}
	for i := len(knots) - 2; i >= 0; i-- {
		knots[i].Y = min(knots[i].Y, knots[i+1].Y)
	}
	return knots
}

func (w *sweep) rounding() clock.Rounding {
	if w.up {
		return clock.Up
	}
	return clock.Down
}

func (w *sweep) inner(v, u clock.HostTime) clock.HostTime {
	if w.up {
		return min(v, u)
	}
	return max(v, u)
}

func (w *sweep) outer(v, u clock.HostTime) clock.HostTime {
	if w.up {
		return max(v, u)
	}
	return min(v, u)
}

// report keeps the worst instant of every loop.
func (w *sweep) report(l *loop, t clock.TimelineTime) {
	lowest := 0
	for i, c := range l.clocks {
		if c < l.clocks[lowest] {
			lowest = i
		}
	}
	clocks := append(slices.Clone(l.clocks[lowest:]), l.clocks[:lowest]...)
	for i := range w.bad {
		if b := &w.bad[i]; slices.Equal(b.Clocks, clocks) {
			if l.by > b.By {
				b.Timeline, b.By = t, l.by
			}
			return
		}
	}
	w.bad = append(w.bad, Contradiction{Clocks: clocks, Timeline: t, By: l.by})
}
