package live

import (
	"math"
	"slices"

	"meridian/clock"
)

// screen is what a timeline shows.
type screen struct{ *Timeline }

// show goes on with what is shown of an epoch: m, from the reading behind from on, with bounds up to until.
func (t screen) show(e *epoch, c *component, m *clock.Map, first, from, until clock.HostTime) {
	bounded := m.Low != nil && m.High != nil
	r := e.open()
	switch {
	case e.fresh && e == c.reference:
		e.fresh = false
	case e.fresh:
		if e.component != c {
			t.change(Change{Kind: Joined, Clock: e.clock, Other: c.reference.clock, Component: c.number, From: first, To: from})
		}
		t.join(e, c, m, first, until, bounded)
		e.fresh = !bounded
	case r.Component != c.number:
		t.change(Change{Kind: Joined, Clock: e.clock, Other: c.reference.clock, Component: c.number, From: from, To: from})
		e.cut(from)
		e.begin(c, m, from+1, until, bounded)
	case bounded && r.bounded() && r.Until == forever && until == forever && r.Map.Mid[0] == m.Mid[0]: // the reference, as before
	case bounded != r.bounded() || bounded && from > r.Until:
		e.cut(from)
		e.begin(c, m, from+1, until, bounded)
	default:
		t.extend(e, r, m, from, until, bounded)
	}
	e.component = c
}

// begin shows a run that has no part in what was shown before.
func (e *epoch) begin(c *component, m *clock.Map, first, until clock.HostTime, bounded bool) {
	b := builder{}
	b.tail(m, first, until, bounded)
	e.runs = append(e.runs[:len(e.runs):len(e.runs)],
		&Run{Component: c.number, Epoch: e.number, First: first, Last: forever, Until: until, Map: b.curves(bounded)})
}

// join shows a clock that was alone, from its first reading that bounds reach on. If it was set before, its own readings begin
// where it can have shown them, and those of the epoch before end where that can have shown them.
func (t screen) join(e *epoch, c *component, m *clock.Map, first, until clock.HostTime, bounded bool) {
	e.runs = nil
	if s := e.step; s != nil && s.before != nil {
		old := s.before
		first = max(min(s.last+1, s.first), first)
		if r := old.open(); bounded && r.Component == c.number && r.bounded() {
			// The step was when both maps say so: not before the last of the old readings, nor after the first of the new.
			last, _, _, _ := r.Map.Bounds(s.last)
			_, own, _, _ := m.Bounds(s.first)
			start := clock.Add(min(s.first, clock.Add(s.last, s.by)), -stepMargin)
			first = firstAt(max(start, e.reach.from), s.first, func(x clock.HostTime) bool { return m.High.At(x, clock.Up) >= last })
			old.cut(firstAt(s.last, max(r.Until, s.last), func(x clock.HostTime) bool { return r.Map.Low.At(x, clock.Down) > own }))
		} else {
			old.cut(max(s.last, s.first-1))
		}
	}
	e.begin(c, m, first, until, bounded)
}

// stepMargin is how much further than the estimate of a step its bounds are looked for, ns.
const stepMargin = 1_000_000_000

// extend goes on with the open run of an epoch. What was shown stays, up to from. The estimate goes on from where it was, and
// comes to that of m within an interval. Where it must leave the bounds of m for that, these are widened: at once the estimate
// goes back by a tenth of the time that passes, which is some microseconds.
func (t screen) extend(e *epoch, r *Run, m *clock.Map, from, until clock.HostTime, bounded bool) {
	if from >= until {
		return
	}
	b := builder{}
	first := b.history(r, max(r.First, clock.Add(from, -t.o.Keep.Nanoseconds())), e.seen, from)
	b.join(r, m, from, until, t.o.Interval.Nanoseconds(), bounded)
	e.replace(&Run{Component: r.Component, Epoch: e.number, First: first, Last: forever, Until: until, Map: b.curves(bounded)})
}

// builder puts the curves of a run together, which have their knots at the same readings.
type builder struct {
	knots []knot
	floor clock.TimelineTime // of all low bounds that follow: no clock runs back
	roof  clock.TimelineTime // likewise of the high bounds, which may not fall
}

// curves returns the map.
func (b *builder) curves(bounded bool) clock.Map {
	var m clock.Map
	m.Mid = make(clock.Curve, len(b.knots))
	if bounded {
		m.Low, m.High = make(clock.Curve, len(b.knots)), make(clock.Curve, len(b.knots))
	}
	for i, k := range b.knots {
		m.Mid[i] = clock.Knot{X: k.x, Y: k.mid}
		if bounded {
			m.Low[i], m.High[i] = clock.Knot{X: k.x, Y: k.low}, clock.Knot{X: k.x, Y: k.high}
		}
	}
	return m
}

// on returns the knot of a map at x.
func on(m *clock.Map, x clock.HostTime) knot {
	k := knot{x: x, mid: m.At(x)}
	k.low, k.high = k.mid, k.mid
	if low, high, lowOK, highOK := m.Bounds(x); lowOK && highOK {
		k.low, k.high = min(low, k.mid), max(high, k.mid)
	}
	return k
}

// history keeps what a run showed from first to from, and returns from where on it is kept. What was not seen up to from is
// widened: it was shown on the timeline of the old reference, and the new one's has another rate, by a thousandth at most.
func (b *builder) history(r *Run, first, seen, from clock.HostTime) clock.HostTime {
	if first > from {
		first = from
	}
	b.knots = append(b.knots, on(&r.Map, first))
	for _, k := range r.Map.Mid {
		if k.X > first && k.X < min(from, seen) {
			b.knots = append(b.knots, on(&r.Map, k.X))
		}
	}
	last := min(seen, from)
	if last > first {
		b.knots = append(b.knots, on(&r.Map, last))
	}
	if from > last {
		pad := clock.Sub(from, last)/1000 + 1
		for _, x := range []clock.HostTime{last + 1, from} {
			if n := len(b.knots); x > b.knots[n-1].x {
				k := on(&r.Map, x)
				k.low, k.high = max(clock.Add(k.low, -pad), b.knots[n-1].low), clock.Add(k.high, pad)
				b.knots = append(b.knots, k)
			}
		}
	}
	return first
}

// join adds the knots of m behind from, with an estimate that begins where that of the run is.
func (b *builder) join(r *Run, m *clock.Map, from, until clock.HostTime, interval int64, bounded bool) {
	end := b.knots[len(b.knots)-1]
	b.floor, b.roof = end.low, end.high
	start := from + 1
	begin := on(m, start)
	ahead := clock.Sub(max(r.Map.At(start), end.mid), begin.mid) // of what is shown over the estimate
	size := max(ahead, -ahead)
	excess := int64(0)
	if bounded {
		excess = max(clock.Sub(clock.Add(begin.mid, ahead), begin.high), clock.Sub(begin.low, clock.Add(begin.mid, ahead)), 0)
	}
	excess = min(excess, size)
	inside := clock.Add(start, 10*excess+1)
	settled := clock.Add(max(inside, clock.Add(start, interval)), 10*size)
	left := size - excess
	if ahead < 0 {
		left = -left
	}
	correction := func(x clock.HostTime) int64 {
		switch {
		case x <= start:
			return ahead
		case x < inside:
			return ahead - clock.MulDiv(ahead-left, int64(x-start), int64(inside-start), clock.Nearest)
		case x < settled:
			return left - clock.MulDiv(left, int64(x-inside), int64(settled-inside), clock.Nearest)
		}
		return 0
	}
	x := []clock.HostTime{start, inside, settled, until}
	if bounded {
		low := firstAt(start, until, func(x clock.HostTime) bool { return m.Low.At(x, clock.Down) >= b.floor })
		high := firstAt(start, until, func(x clock.HostTime) bool { return m.High.At(x, clock.Up) >= b.roof })
		x = append(x, low-1, low, high-1, high)
	}
	b.add(m, x, start, until, correction, bounded)
}

// tail adds the knots of m from first to until.
func (b *builder) tail(m *clock.Map, first, until clock.HostTime, bounded bool) {
	b.floor, b.roof = math.MinInt64, math.MinInt64
	b.add(m, []clock.HostTime{first, until}, first, until, func(clock.HostTime) int64 { return 0 }, bounded)
}

// add adds knots of m at all its corners and at x, between first and until.
func (b *builder) add(m *clock.Map, x []clock.HostTime, first, until clock.HostTime, correction func(clock.HostTime) int64, bounded bool) {
	for _, c := range []clock.Curve{m.Low, m.Mid, m.High} {
		for _, k := range c {
			x = append(x, k.X)
		}
	}
	slices.Sort(x)
	for _, x := range slices.Compact(x) {
		if x < first || x > until || x == forever {
			continue
		}
		k := on(m, x)
		mid := clock.Add(k.mid, correction(x))
		if bounded {
			low, high, _, _ := m.Bounds(x)
			k.low, k.high = max(low, b.floor), max(high, b.roof)
		}
		if n := len(b.knots); n > 0 {
			mid = max(mid, b.knots[n-1].mid)
		}
		k.mid = mid
		k.low, k.high = min(k.low, mid), max(k.high, mid)
		b.knots = append(b.knots, k)
	}
}
