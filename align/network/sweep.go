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
	knots     []clock.InverseCurve // of each clock: reading at the reference's time
	bad       []Contradiction
	now, then []line             // of the clocks reached, along the paths of this instant and of the last one
	at        clock.TimelineTime // the last instant
	lastOrder []int
	lastVia   []int
	spare     int // pieces that may still be cut in two
	cuts      int // for each piece that was asked for so many more: those at the end are not to lack what others took
}

// line is a bound between two instants.
type line struct {
	from, to clock.HostTime
	cut      clock.TimelineTime // where it is far from a corner of the bound that it stands for; its beginning if nowhere
}

// newSweep returns a sweep that cuts pieces so many times, for each that was asked for, and some more.
func newSweep(x *relaxer, root, cuts int) *sweep {
	x.start(root)
	n := len(x.out)
	return &sweep{relaxer: x, knots: make([]clock.InverseCurve, n), now: make([]line, n), then: make([]line, n), spare: minCuts, cuts: cuts}
}

// minCuts is how many pieces may be cut in any case, and maxReadings how many readings of all clocks cuts may add where that is more.
const (
	minCuts     = 64
	maxReadings = 1 << 17
)

func (w *sweep) run(ts []clock.TimelineTime) {
	last := ts[len(ts)-1]
	for k, t := range ts {
		if k > 0 {
			w.reach(t)
		} else if w.settle(t) {
			before := clock.Add(t, -extrapolation)
			w.along(w.now, w.order, w.via, before, t)
			w.straight(before, t, w.now)
			w.leave(t)
		}
	}
	if len(w.bad) == 0 {
		after := clock.Add(last, extrapolation)
		w.along(w.now, w.order, w.via, last, after)
		w.straight(last, after, w.now)
	}
}

// settle finds the readings at an instant. It is false if a contradiction was met, then or before, since then nothing else matters.
func (w *sweep) settle(t clock.TimelineTime) bool {
	if l := w.relax(clock.HostTime(t)); l != nil {
		w.report(l, t)
	}
	return len(w.bad) == 0
}

// leave makes an instant the last one.
func (w *sweep) leave(t clock.TimelineTime) {
	w.at = t
	w.lastOrder, w.lastVia = append(w.lastOrder[:0], w.order...), append(w.lastVia[:0], w.via...)
}

// reach draws the bounds from the last instant to t, in shorter pieces where lines are far from what they stand for.
func (w *sweep) reach(t clock.TimelineTime) {
	w.spare += w.cuts
	for pending := []clock.TimelineTime{t}; len(pending) > 0; {
		t := pending[len(pending)-1]
		if w.settle(t) {
			w.along(w.now, w.order, w.via, w.at, t)
			w.along(w.then, w.lastOrder, w.lastVia, w.at, t)
			if cut := w.cut(); cut > w.at && cut < t && w.spare > 0 {
				w.spare--
				pending = append(pending, cut)
				continue
			}
			for _, c := range w.order {
				w.tighter(c, w.at, t, w.then[c], w.now[c])
			}
			w.leave(t)
		}
		pending = pending[:len(pending)-1]
	}
}

// cut returns where a clock is that has no line near the bound that it stands for; the last instant if there is none.
func (w *sweep) cut() clock.TimelineTime {
	for _, c := range w.order {
		if w.now[c].cut > w.at && w.then[c].cut > w.at {
			return w.now[c].cut
		}
	}
	return w.at
}

// along computes the bound of every clock between two instants over given paths.
func (w *sweep) along(lines []line, order, via []int, t0, t1 clock.TimelineTime) {
	for _, c := range order {
		if c == w.root {
			lines[c] = line{from: clock.HostTime(t0), to: clock.HostTime(t1), cut: t0} // its clock is the timeline
			continue
		}
		p := &w.passages[via[c]]
		l := lines[p.from]
		from, to, cut := p.over(l.from, l.to)
		lines[c] = line{from: from, to: to, cut: l.cut}
		if cut > l.from && l.cut == t0 {
			at := clock.MulDiv(clock.Sub(cut, l.from), clock.Sub(t1, t0), clock.Sub(l.to, l.from), clock.Nearest)
			lines[c].cut = min(max(clock.Add(t0, at), t0+1), t1-1)
		}
	}
}

// straight draws one line for every clock.
func (w *sweep) straight(t0, t1 clock.TimelineTime, lines []line) {
	for _, c := range w.order {
		w.draw(c, t0, lines[c].from)
		w.draw(c, t1, lines[c].to)
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
