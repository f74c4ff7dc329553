package pair

import (
	"math"
	"sort"

	"meridian/clock"
)

// joined returns one estimate of the estimates of consecutive segments; each but the first begins at a seam.
func joined(pieces []Estimate, seams []clock.HostTime) Estimate {
	e, bounded := summary(pieces)
	var levels []level
	if bounded {
		var ok bool
		if levels, ok = levelsOf(pieces, seams); !ok {
			e.Fit, e.Determined, levels = Fallback, false, nil
		}
	}
	e.Map = clock.PairMap{Mid: splicedEstimate(pieces, seams, levels)}
	if levels != nil {
		e.Map.Low, e.Map.High = splicedBounds(pieces, seams, levels)
	}
	e.Skew = 0
	if span := clock.Sub(e.Last, e.First); span > 0 {
		rise := clock.Sub(e.Map.At(e.Last), e.Map.At(e.First))
		e.Skew = float64(clock.Sub(rise, span)) / float64(span) * 1e6
	}
	return e
}

// summary returns what the segments' estimates say together, but for map and skew, and whether all are bounded.
func summary(pieces []Estimate) (e Estimate, bounded bool) {
	e = pieces[0]
	var squares float64
	bounded = true
	e.Exchanges, e.Lines = 0, nil
	for i := range pieces {
		x := &pieces[i]
		e.Fit = min(e.Fit, x.Fit)
		e.Determined, e.SkewBounded = e.Determined && x.Determined, e.SkewBounded && x.SkewBounded
		e.SkewLow, e.SkewHigh = min(e.SkewLow, x.SkewLow), max(e.SkewHigh, x.SkewHigh)
		e.First, e.Last = min(e.First, x.First), max(e.Last, x.Last)
		e.Wander = max(e.Wander, x.Wander)
		e.Exchanges += x.Exchanges
		e.Lines = append(e.Lines, x.Lines...)
		squares += x.Residual * x.Residual * float64(x.Exchanges)
		bounded = bounded && x.Map.Low != nil && x.Map.High != nil
	}
	if e.Residual = 0; e.Exchanges > 0 {
		e.Residual = math.Sqrt(squares / float64(e.Exchanges))
	}
	return e, bounded
}

// curvesOf returns one curve of each segment's map.
func curvesOf(pieces []Estimate, of func(*clock.PairMap) clock.PairCurve) []clock.PairCurve {
	out := make([]clock.PairCurve, len(pieces))
	for i := range pieces {
		out[i] = of(&pieces[i].Map)
	}
	return out
}

// splicedEstimate joins the estimates of segments. levels may be nil, where not all are bounded.
func splicedEstimate(pieces []Estimate, seams []clock.HostTime, levels []level) clock.PairCurve {
	mids := curvesOf(pieces, func(m *clock.PairMap) clock.PairCurve { return m.Mid })
	floors, ceilings := repeated(math.MinInt64, len(pieces)), repeated(math.MaxInt64, len(pieces))
	for k, seam := range seams {
		// Before the seam the curve comes no higher than the level, after it no lower.
		before, after := mids[k].At(seam-1, clock.Nearest), mids[k+1].At(seam, clock.Nearest)
		if before <= after {
			continue
		}
		v := clock.Add(after, clock.Sub(before, after)/2)
		if levels != nil {
			v = min(max(v, levels[k].low), levels[k].high)
		}
		ceilings[k], floors[k+1] = v, v
	}
	return spliced(mids, seams, floors, ceilings, clock.Nearest)
}

// splicedBounds joins the bounds of segments, which the levels at the seams narrow.
func splicedBounds(pieces []Estimate, seams []clock.HostTime, levels []level) (low, high clock.PairCurve) {
	lows := curvesOf(pieces, func(m *clock.PairMap) clock.PairCurve { return m.Low })
	highs := curvesOf(pieces, func(m *clock.PairMap) clock.PairCurve { return m.High })
	least, most := repeated(math.MinInt64, len(pieces)), repeated(math.MaxInt64, len(pieces))
	floors, ceilings := repeated(math.MinInt64, len(pieces)), repeated(math.MaxInt64, len(pieces))
	for k := range seams {
		ceilings[k], floors[k+1] = levels[k].high, levels[k].low
	}
	return spliced(lows, seams, floors, most, clock.Down), spliced(highs, seams, least, ceilings, clock.Up)
}

// repeated returns n times the same value.
func repeated(v clock.HostTime, n int) []clock.HostTime {
	out := make([]clock.HostTime, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// level is what bounds the timeline's time at a seam from both segments: what it was before at least, it is after.
type level struct{ low, high clock.HostTime }

// levelsOf returns the levels at the seams: no clock runs back, so the highest lower bound before a seam and the lowest
// upper bound after it hold there. false means that they contradict each other.
func levelsOf(pieces []Estimate, seams []clock.HostTime) ([]level, bool) {
	levels := make([]level, len(seams))
	low := clock.HostTime(math.MinInt64)
	for k, seam := range seams {
		low = max(low, pieces[k].Map.Low.At(seam-1, clock.Down))
		levels[k].low = low
	}
	high := clock.HostTime(math.MaxInt64)
	for k := len(seams) - 1; k >= 0; k-- {
		high = min(high, pieces[k+1].Map.High.At(seams[k], clock.Up))
		levels[k].high = high
		if levels[k].low > high {
			return nil, false
		}
	}
	return levels, true
}

// spliced returns the curve that follows each curve from its seam to the next, kept within its floor and its ceiling; values are
// rounded as r says.
// Where a floor or a ceiling cuts off a part of a piece the curve stands still.
func spliced(curves []clock.PairCurve, seams, floors, ceilings []clock.HostTime, r clock.Rounding) clock.PairCurve {
	var out clock.PairCurve
	for i, c := range curves {
		from, to := c[0].X, c[len(c)-1].X
		if i > 0 {
			from = seams[i-1]
		}
		if i < len(seams) {
			to = seams[i] - 1
		}
		if i == 0 {
			from = min(from, to)
		}
		to = max(to, from)
		hosts := []clock.HostTime{from}
		for _, k := range c {
			if k.X > from && k.X < to {
				hosts = append(hosts, k.X)
			}
		}
		if to > from {
			hosts = append(hosts, to)
		}
		for _, h := range corners(c, hosts, floors[i], ceilings[i], r) {
			v := min(max(c.At(h, r), floors[i]), ceilings[i])
			if n := len(out); n > 0 {
				v = max(v, out[n-1].Y)
			}
			out = append(out, clock.PairKnot{X: h, Y: v})
		}
	}
	return out
}

// corners adds to the places of a curve's corners those where it leaves its floor and where it reaches its ceiling.
func corners(c clock.PairCurve, hosts []clock.HostTime, floor, ceiling clock.HostTime, r clock.Rounding) []clock.HostTime {
	out := make([]clock.HostTime, 0, len(hosts)+4)
	out = append(out, hosts[0])
	for _, h := range hosts[1:] {
		before := out[len(out)-1]
		for _, v := range []clock.HostTime{floor, ceiling} {
			if c.At(before, r) >= v || c.At(h, r) < v {
				continue
			}
			// The curve comes to v in between: the corner is the last instant under it and the first not under it.
			n := sort.Search(int(h-before), func(i int) bool { return c.At(before+clock.HostTime(i), r) >= v })
			for _, x := range []clock.HostTime{before + clock.HostTime(n) - 1, before + clock.HostTime(n)} {
				if x > out[len(out)-1] && x < h {
					out = append(out, x)
				}
			}
		}
		out = append(out, h)
	}
	return out
}
