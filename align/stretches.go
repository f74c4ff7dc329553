package align

import (
	"math"
	"slices"

	"meridian/align/bound"
	"meridian/align/envelope"
	"meridian/align/network"
	"meridian/align/pair"
	"meridian/clock"
)

// smootherStretches returns stretches as the smoother takes them.
func smootherStretches(stretches []bound.Stretch) []envelope.Stretch {
	var out []envelope.Stretch
	for _, s := range stretches {
		out = append(out, envelope.Stretch{From: s.From, To: s.To, Wander: s.Wander})
	}
	return out
}

// clockStretches returns the stretches of every clock, by its own time, for the clocks of a component. A stretch of a pair is
// that of the clock of which the greater share of pairs has one at the time, or of both: a clock that is slewed shows
// it to all that it talks to.
func (l pairList) clockStretches(t *network.Tree, component int) map[int][]envelope.Stretch {
	type span struct {
		from, to clock.TimelineTime
		a, b     int
		wander   float64
	}
	var spans []span
	pairs := make(map[int]int) // of each clock
	for i := range l {
		p := &l[i]
		if t.Component[p.A] != component || p.AB == 0 || p.BA == 0 {
			continue
		}
		pairs[p.A]++
		pairs[p.B]++
		for _, s := range p.Stretches {
			spans = append(spans, span{t.Maps[p.A].At(s.From), t.Maps[p.A].At(s.To), p.A, p.B, s.Wander})
		}
	}
	share := func(of int, at span) float64 {
		partners := make(map[int]bool)
		for _, s := range spans {
			if s.from <= at.to && at.from <= s.to && (s.a == of || s.b == of) {
				partners[s.a+s.b-of] = true
			}
		}
		return float64(len(partners)) / float64(pairs[of])
	}
	out := make(map[int][]envelope.Stretch)
	for _, s := range spans {
		a, b := share(s.a, s), share(s.b, s)
		for _, c := range []struct {
			clock int
			is    bool
		}{{s.a, a >= b}, {s.b, b >= a}} {
			if c.is {
				back := t.Maps[c.clock].Mid.Inverse()
				out[c.clock] = append(out[c.clock], envelope.Stretch{From: back.At(s.from, clock.Down), To: back.At(s.to, clock.Up), Wander: s.wander})
			}
		}
	}
	return out
}

// withinBounds returns deviations that are no more than the bounds allow: the truth is no further from the estimate than the
// farther bound.
func withinBounds(deviations []pair.Deviation, m *clock.Map) []pair.Deviation {
	out := slices.Clone(deviations)
	for i := range out {
		low, high, lowOK, highOK := m.Bounds(out[i].Host)
		if lowOK && highOK {
			mid := m.At(out[i].Host)
			farther := max(float64(clock.Sub(high, mid)), float64(clock.Sub(mid, low)), 1)
			out[i].Ns = math.Min(out[i].Ns, farther/2)
		}
	}
	return out
}
