package bound

import (
	"cmp"
	"math"
	"slices"

	"meridian/clock"
)

// Empty reports a corridor without messages.
func (c *Corridor) Empty() bool { return c.empty }

// At returns the bounds of b's clock at an instant of a's, rounded outwards; lowOK and highOK are false on a side without
// messages. ok is false where the messages contradict the assumption.
func (c *Corridor) At(t clock.HostTime) (low, high clock.HostTime, lowOK, highOK, ok bool) {
	l, h, ok := c.offsets(float64(clock.Sub(t, c.middle)))
	if !ok {
		return 0, 0, false, false, false
	}
	if lowOK = !math.IsInf(l, 0); lowOK {
		low = c.absolute(t, math.Floor(l-c.guard))
	}
	if highOK = !math.IsInf(h, 0); highOK {
		high = c.absolute(t, math.Ceil(h+c.guard))
	}
	return low, high, lowOK, highOK, true
}

// offsets returns the least and the greatest offset at x. It is false where the messages contradict the assumption.
func (c *Corridor) offsets(x float64) (low, high float64, ok bool) {
	if c.empty {
		return math.Inf(-1), math.Inf(1), true
	}
	s := c.segment(x)
	if s == nil {
		low, high = c.between(x, x)
		return low, high, low <= high+c.guard
	}
	if overlaps(c.raised, x, x) {
		e := parted(c, s, x, x)
		return e.low[0], e.high[0], e.low[0] <= e.high[0]+c.guard
	}
	low, high = s.lowest.at(x), s.highest.at(x)
	tangents, n := c.tangents(s, x)
	for _, tangent := range tangents[:n] {
		p := s.program(tangent, x, c.steepest(tangent, tangent), c.guard)
		l, h, ok := p.bounds()
		if !ok {
			return 0, 0, false
		}
		if tangent != x {
			beyond := c.Epsilon + s.profile.growth(tangent, x)
			l, h = l-beyond, h+beyond
			// And it cannot run away faster than any clock does.
			p := s.program(tangent, tangent, c.steepest(tangent, tangent), c.guard)
			l0, h0, ok := p.bounds()
			if !ok {
				return 0, 0, false
			}
			reach := c.Epsilon + c.steepest(min(tangent, x), max(tangent, x))*math.Abs(x-tangent)
			l, h = max(l, l0-reach), min(h, h0+reach)
		}
		low, high = max(low, l), min(high, h)
	}
	return low, high, low <= high+c.guard
}

// segment returns the segment that bounds the offset at x by the wander, nil if none does.
func (c *Corridor) segment(x float64) *segment {
	i, _ := slices.BinarySearchFunc(c.segments, x, func(s segment, x float64) int { return cmp.Compare(s.to, x) })
	if i == len(c.segments) || x < c.segments[i].from {
		return nil
	}
	if s := &c.segments[i]; c.unsmooth == nil || len(s.ceiling) > 0 && len(s.floor) > 0 {
		return s
	}
	return nil
}

// between returns numbers between which all offsets between two instants lie that no segment bounds. Beyond the messages and the
// stretch at their end the clocks keep to the greatest skew again.
func (c *Corridor) between(from, to float64) (low, high float64) {
	var edge float64
	switch {
	case to <= c.ends[0]:
		edge = c.ends[0]
	case from >= c.ends[1]:
		edge = c.ends[1]
	default:
		return c.unsmooth.bounds(from, to)
	}
	low, high = c.unsmooth.bounds(edge, edge)
	reach := c.steepest(from, to) * max(edge-from, to-edge)
	return low - reach, high + reach
}

// tangents returns the instants whose tangents bound the offset at x. Among messages that is x itself. From beyond the messages
// of a segment, and from within a silence, they look so far that the wander hides their slope: there the tangents of the
// instants at which messages end and begin again say more. The second result is their number.
func (c *Corridor) tangents(s *segment, x float64) ([3]float64, int) {
	if inside := min(max(x, s.first), s.last); inside != x {
		if s.steepest > 0 && steepestAt(c, s, x) > s.steepest {
			return [...]float64{inside, 0, 0}, 1
		}
		return [...]float64{x, inside, 0}, 2
	}
	i, _ := slices.BinarySearchFunc(c.silences, x, func(s interval, x float64) int { return cmp.Compare(s.to, x) })
	if i < len(c.silences) && c.silences[i].from < x {
		return [...]float64{x, max(c.silences[i].from, s.first), min(c.silences[i].to, s.last)}, 3
	}
	return [...]float64{x, 0, 0}, 1
}

// steepestAt returns the greatest slope of a lifted tangent of the offset at an instant.
func steepestAt(c *Corridor, s *segment, x float64) float64 {
	_, slope := s.profile.at(x)
	return c.steepest(x, x) + math.Abs(slope)
}

// steepest returns the greatest rate, ns per ns, that the two clocks can have against each other between two instants.
func (c *Corridor) steepest(from, to float64) float64 {
	if c.MaxSkew == 0 || slices.ContainsFunc(c.steep, func(i interval) bool { return i.from <= to && from <= i.to }) {
		return MaxRate
	}
	return min(c.MaxSkew*1e-6, MaxRate)
}

// tracer makes curves of the bounds of a corridor.
type tracer struct{ *Corridor }

// maxKnots bounds the knots of a curve over the messages' extent, besides those of stretches in which only the greatest rate bounds.
const maxKnots = 4096

// region is a part of the messages' extent over which the wander is the same; infinite where only the greatest rate bounds.
type region struct{ from, to, wander float64 }

// regions returns the parts of the messages' extent in order.
func (c tracer) regions() []region {
	var out []region
	at := c.first
	for i := range c.segments {
		s := &c.segments[i]
		if from := min(s.from, c.last); from > at {
			out, at = append(out, region{at, from, math.Inf(1)}), from
		}
		for k := s.profile.index(at); k < len(s.profile.pieces) && at < min(s.to, c.last); k++ {
			to := min(s.to, c.last)
			if k+1 < len(s.profile.pieces) {
				to = min(to, s.profile.pieces[k+1].from)
			}
			if to > at {
				out, at = append(out, region{at, to, 2 * s.profile.pieces[k].half}), to
			}
		}
	}
	if at < c.last {
		out = append(out, region{at, c.last, math.Inf(1)})
	}
	return out
}

// chords returns how far the offset may leave the chords of a curve, ns, besides epsilon: a small part of epsilon, or what as many
// knots as there may be leave.
func (c tracer) chords(regions []region) (sag float64) {
	knots := 0.0
	sag = max(c.Epsilon/16, 1)
	for _, r := range regions {
		if !math.IsInf(r.wander, 1) {
			knots += (r.to - r.from) * math.Sqrt(r.wander/(8*sag))
		}
	}
	return sag * max(1, (knots/maxKnots)*(knots/maxKnots))
}

// step returns the length of pieces where the wander is so much, ns.
func (c tracer) step(wander, sag float64) float64 {
	span := max(c.last-c.first, 1)
	if wander > 0 {
		return max(min(math.Sqrt(8*sag/wander), span/2), 1)
	}
	return max(span/256, 1)
}

// Instants returns the instants of a's clock at which curves over [first, last] and over the messages have their knots: even
// steps over the messages, so short that chords sag by a small part of epsilon, and ever longer ones beyond, where bounds widen.
// A first behind last asks for nothing beyond the messages.
func (c *Corridor) Instants(first, last clock.HostTime) []clock.HostTime {
	return tracer{c}.instants(first, last)
}

func (c tracer) instants(first, last clock.HostTime) []clock.HostTime {
	from, to := c.Extent()
	regions := c.regions()
	sag := c.chords(regions)
	shortest := func(x float64) int64 { // of the pieces beyond the messages
		k := c.curvature()
		if s := c.segment(x); s != nil {
			k = s.profile.greatest(x, x)
		}
		return max(int64(c.step(k, sag)), 1)
	}
	var at []clock.HostTime
	for h := shortest(c.first); h < clock.Sub(from, first); h = clock.Add(h, max(h/8, 1)) {
		at = append(at, clock.Add(from, -h))
	}
	slices.Reverse(at)
	if first < from {
		at = append([]clock.HostTime{first}, at...)
	}
	at = append(at, from)
	for _, r := range regions {
		at = c.knots(at, r, sag)
	}
	at = append(at, to)
	for h := shortest(c.last); h < clock.Sub(last, to); h = clock.Add(h, max(h/8, 1)) {
		at = append(at, clock.Add(to, h))
	}
	if last > to {
		at = append(at, last)
	}
	for _, s := range c.silences {
		at = append(at, c.instant(s.from), c.instant(s.to))
	}
	slices.Sort(at)
	return longEnds(compact(at))
}

// maxTurns is how many knots a stretch has at most in which only the greatest rate bounds.
const maxTurns = 2048

// knots appends the knots of a region but for its beginning.
func (c tracer) knots(at []clock.HostTime, r region, sag float64) []clock.HostTime {
	from, to := c.instant(r.from), c.instant(r.to)
	if math.IsInf(r.wander, 1) {
		// At its borders the bounds jump.
		at = append(at, from+1, to-1)
		for _, x := range c.unsmooth.positions(nil, r.from, r.to, maxTurns) {
			at = append(at, c.instant(x))
		}
		return append(at, to)
	}
	n := int64((r.to-r.from)/c.step(r.wander, sag)) + 1
	for i := int64(1); i <= n; i++ {
		at = append(at, clock.Add(from, clock.MulDiv(clock.Sub(to, from), i, n, clock.Nearest)))
	}
	return at
}

// longEnds joins a first or last piece that is much shorter than the one beside it with that: beyond its ends a curve goes on
// along its outermost pieces, and the direction of one of a few ns is made of rounding.
func longEnds(at []clock.HostTime) []clock.HostTime {
	if len(at) > 2 && int64(at[1]-at[0]) < int64(at[2]-at[1])/2 {
		at = append(at[:1], at[2:]...)
	}
	if n := len(at) - 1; n > 1 && int64(at[n]-at[n-1]) < int64(at[n-1]-at[n-2])/2 {
		at = append(at[:n-1], at[n])
	}
	return at
}

func compact(at []clock.HostTime) []clock.HostTime {
	out := at[:0]
	for i, t := range at {
		if i == 0 || t > out[len(out)-1] {
			out = append(out, t)
		}
	}
	return out
}

// Curves returns the bounds as curves from a's clock to b's over [first, last], strict between their knots as well. A side
// without messages is nil. ok is false where the messages contradict the assumption.
func (c *Corridor) Curves(first, last clock.HostTime) (low, high clock.PairCurve, ok bool) {
	at := c.Instants(first, last)
	lowOK, highOK := true, true
	lows, highs := make([]clock.HostTime, len(at)), make([]clock.HostTime, len(at))
	for i, t := range at {
		var bounded [2]bool
		if lows[i], highs[i], bounded[0], bounded[1], ok = c.At(t); !ok {
			return nil, nil, false
		}
		lowOK, highOK = lowOK && bounded[0], highOK && bounded[1]
	}
	if c.unsmooth != nil {
		tracer{c}.widen(at, lows, highs)
	}
	sags := tracer{c}.sags(at)
	if lowOK {
		low = make(clock.PairCurve, len(at))
		for i, t := range at {
			low[i] = clock.PairKnot{X: t, Y: clock.HostTime(clock.Sub(lows[i], clock.HostTime(sags[i])))}
		}
	}
	if highOK {
		high = make(clock.PairCurve, len(at))
		for i, t := range at {
			high[i] = clock.PairKnot{X: t, Y: clock.Add(highs[i], sags[i])}
		}
	}
	neverBack(low, high)
	if n := len(at); n > 1 && lowOK && highOK {
		neverCloser(low, high, 1, 0)
		neverCloser(low, high, n-2, n-1)
		neverBack(low, high)
	}
	return low, high, true
}

// neverBack makes bounds run forward: no clock runs back, so no bound need.
func neverBack(low, high clock.PairCurve) {
	for i := len(low) - 2; i >= 0; i-- {
		low[i].Y = min(low[i].Y, low[i+1].Y)
	}
	for i := 1; i < len(high); i++ {
		high[i].Y = max(high[i].Y, high[i-1].Y)
	}
}

// neverCloser moves the bounds at one end of a curve outwards by what they are closer there than at the next knot, be it by
// rounding: beyond the end they would meet.
func neverCloser(low, high clock.PairCurve, inner, outer int) {
	width := func(i int) int64 { return clock.Sub(high[i].Y, low[i].Y) }
	if closer := width(inner) - width(outer); closer > 0 {
		low[outer].Y = clock.Add(low[outer].Y, -(closer+1)/2)
		high[outer].Y = clock.Add(high[outer].Y, (closer+1)/2)
	}
}

// sags returns by how much the bounds at each of some instants must be moved outwards, ns, so that the chords between them hold.
func (c tracer) sags(at []clock.HostTime) []int64 {
	of := make([]int64, max(len(at)-1, 1)) // by piece
	for i := range of {
		if i+1 < len(at) {
			of[i] = int64(math.Ceil(min(c.sag(at[i], at[i+1]), 1e17)))
		}
	}
	sags := make([]int64, len(at))
	for i := range sags {
		// Those of the ends are those of their neighbours at least: else the bounds would run towards each other beyond.
		k := min(max(i, 1), max(len(at)-2, 0))
		sags[i] = max(of[max(k-1, 0)], of[min(k, len(of)-1)])
	}
	return sags
}

// sag returns how far the offset may rise above a chord.
func (c tracer) sag(from, to clock.HostTime) float64 {
	x, y := float64(clock.Sub(from, c.middle)), float64(clock.Sub(to, c.middle))
	if to-from <= 1 {
		return 0
	}
	s := c.segment((x + y) / 2)
	if s == nil {
		return 0 // see widen
	}
	return sag(c.Epsilon, s.profile.greatest(x, y), y-x)
}

// widen moves the bounds at the ends of each piece in which the offset may jump outwards, so that they hold over the whole piece.
func (c tracer) widen(at, lows, highs []clock.HostTime) {
	for i := range len(at) - 1 {
		e, jumps := c.overPiece(at[i], at[i+1])
		if !jumps {
			continue
		}
		for k := range 2 {
			if !math.IsInf(e.low[k], 0) {
				lows[i+k] = min(lows[i+k], c.absolute(at[i+k], math.Floor(e.low[k]-c.guard)))
			}
			if !math.IsInf(e.high[k], 0) {
				highs[i+k] = max(highs[i+k], c.absolute(at[i+k], math.Ceil(e.high[k]+c.guard)))
			}
		}
	}
	if last := len(at) - 1; last > 0 {
		c.part(at, lows, highs, 1, 0)
		c.part(at, lows, highs, last-1, last)
	}
}

// overPiece returns bounds at both ends of a piece that hold over all of it; false where the offset cannot jump.
func (c tracer) overPiece(from, to clock.HostTime) (e ends, jumps bool) {
	x, y := float64(clock.Sub(from, c.middle)), float64(clock.Sub(to, c.middle))
	switch s := c.segment((x + y) / 2); {
	case s == nil:
		return flat(c.between(x, y)), true
	case overlaps(c.raised, x, y):
		return parted(c.Corridor, s, x, y), true
	}
	return e, false
}

// part moves the bounds at one end of a curve outwards until they part along the outermost piece as fast as the clocks can. Beyond
// its end the curve goes on along that piece, whose inner end was widened for the piece before it, perhaps by more.
func (c tracer) part(at, lows, highs []clock.HostTime, inner, outer int) {
	if _, jumps := c.overPiece(min(at[inner], at[outer]), max(at[inner], at[outer])); !jumps {
		return
	}
	x, y := float64(clock.Sub(at[inner], c.middle)), float64(clock.Sub(at[outer], c.middle))
	apart := int64(math.Ceil(c.steepest(min(x, y), max(x, y)) * math.Abs(y-x)))
	on := clock.Sub(at[outer], at[inner])
	lows[outer] = min(lows[outer], clock.Add(clock.Add(lows[inner], on), -apart))
	highs[outer] = max(highs[outer], clock.Add(clock.Add(highs[inner], on), apart))
}
