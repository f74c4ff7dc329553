package bound

import (
	"math"

	"meridian/clock"
)

// Empty reports a corridor without messages.
func (c *Corridor) Empty() bool { return len(c.ceiling) == 0 && len(c.floor) == 0 }

// At returns the bounds of b's clock at an instant of a's, rounded outwards; lowOK and highOK are false on a side without
// messages. ok is false where the messages contradict the assumption.
func (c *Corridor) At(t clock.HostTime) (low, high clock.HostTime, lowOK, highOK, ok bool) {
	p := c.program(float64(clock.Sub(t, c.middle)))
	l, h, ok := p.bounds()
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

// absolute turns an offset at t into b's reading.
func (c *Corridor) absolute(t clock.HostTime, offset float64) clock.HostTime {
	return clock.Add(t, clock.Add(c.base, int64(min(max(offset, -4e18), 4e18))))
}

// maxKnots bounds the knots of a curve over the messages' extent.
const maxKnots = 4096

// Instants returns the instants of a's clock at which curves over [first, last] and over the messages have their knots: even steps over the
// messages, so short that chords sag by a small part of epsilon, and ever longer ones beyond, where bounds widen. A first
// behind last asks for nothing beyond the messages.
func (c *Corridor) Instants(first, last clock.HostTime) []clock.HostTime {
	from, to := c.middle+clock.HostTime(c.first), c.middle+clock.HostTime(c.last)
	step := c.step()
	n := int64(float64(to-from)/step) + 1
	shortest := max(int64(step), 1) // of the pieces beyond the messages
	var at []clock.HostTime
	for h := shortest; h < clock.Sub(from, first); h = clock.Add(h, max(h/8, 1)) {
		at = append(at, clock.Add(from, -h))
	}
	for i, j := 0, len(at)-1; i < j; i, j = i+1, j-1 {
		at[i], at[j] = at[j], at[i]
	}
	if first < from {
		at = append([]clock.HostTime{first}, at...)
	}
	for i := range n {
		at = append(at, from+clock.HostTime(clock.MulDiv(int64(to-from), i, n, clock.Nearest)))
	}
	at = append(at, to)
	for h := shortest; h < clock.Sub(last, to); h = clock.Add(h, max(h/8, 1)) {
		at = append(at, clock.Add(to, h))
	}
	if last > to {
		at = append(at, last)
	}
	return longEnds(compact(at))
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

// step returns the length of pieces over the messages, ns.
func (c *Corridor) step() float64 {
	span := max(c.last-c.first, 1)
	if k := c.curvature(); k > 0 {
		sag := max(c.Epsilon/16, 1)
		return max(min(math.Sqrt(8*sag/k), span/2), span/maxKnots, 1)
	}
	return max(span/256, 1)
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
		if lows[i], highs[i], lowOK, highOK, ok = c.At(t); !ok {
			return nil, nil, false
		}
	}
	// Those of the ends are those of their neighbours at least: else the bounds would run towards each other beyond.
	sag := func(i int) int64 {
		i = min(max(i, 1), max(len(at)-2, 0))
		h := 0.0
		for k := max(i, 1); k <= min(i+1, len(at)-1); k++ {
			h = max(h, float64(at[k]-at[k-1]))
		}
		return int64(math.Ceil(min(c.Sag(h), 1e17)))
	}
	if lowOK {
		low = make(clock.PairCurve, len(at))
		for i := len(at) - 1; i >= 0; i-- {
			low[i] = clock.PairKnot{X: at[i], Y: clock.HostTime(clock.Sub(lows[i], clock.HostTime(sag(i))))}
			if i+1 < len(at) { // no clock runs back, so no lower bound need
				low[i].Y = min(low[i].Y, low[i+1].Y)
			}
		}
	}
	if highOK {
		high = make(clock.PairCurve, len(at))
		for i, t := range at {
			high[i] = clock.PairKnot{X: t, Y: clock.Add(highs[i], sag(i))}
			if i > 0 {
				high[i].Y = max(high[i].Y, high[i-1].Y)
			}
		}
	}
	return low, high, true
}

// Extent returns the first and the last instant of a's clock that a message speaks of.
func (c *Corridor) Extent() (first, last clock.HostTime) {
	return c.middle + clock.HostTime(c.first), c.middle + clock.HostTime(c.last)
}
