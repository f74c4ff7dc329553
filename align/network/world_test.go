package network

import (
	"math/big"
	"math/rand/v2"

	"meridian/clock"
)

// world is clocks of which the truth is known: what each shows at instants of a time that none of them shows.
type world struct {
	clocks []clock.PairCurve
	edges  []Edge
	rise   int64
}

// outer is how far before and after its trace a wild clock is known to run at the rate of time.
const outer = clock.HostTime(1) << 42

// wildWorld makes clocks with few corners and rates between a half and two, joined by edges whose bounds have corners of
// their own. Every bound holds the truth at every instant.
func wildWorld(rng *rand.Rand, n, extra int) *world { return risingWorld(rng, n, extra, rng.Int64N(2)) }

// risingWorld is a wild one in which a bound rises by so much from knot to knot at least.
func risingWorld(rng *rand.Rand, n, extra int, rise int64) *world {
	w := &world{rise: rise}
	origin := []clock.HostTime{0, 1_790_000_000_000_000_000}[rng.IntN(2)]
	step := []int64{10, 10_000, 1_000_000_000}[rng.IntN(3)]
	for range n {
		begin := origin + clock.HostTime(rng.Int64N(10*step))
		c := clock.PairCurve{{X: -outer, Y: begin - outer}, {X: 0, Y: begin}}
		for range rng.IntN(5) + 1 {
			last := c[len(c)-1]
			d := rng.Int64N(step) + step
			c = append(c, clock.PairKnot{X: last.X + clock.HostTime(d), Y: last.Y + clock.HostTime(d/2) + 1 + clock.HostTime(rng.Int64N(3*d/2))})
		}
		last := c[len(c)-1]
		c = append(c, clock.PairKnot{X: last.X + outer, Y: last.Y + outer})
		w.clocks = append(w.clocks, c)
	}
	for i := range n - 1 {
		w.join(rng, rng.IntN(i+1), i+1, step)
	}
	for range extra {
		if a, b := rng.IntN(n), rng.IntN(n); a != b {
			w.join(rng, a, b, step)
		}
	}
	return w
}

// join adds an edge with bounds around the truth, sometimes on one side only.
func (w *world) join(rng *rand.Rand, a, b int, step int64) {
	truth := func(r clock.Rounding) clock.PairCurve {
		return dense(clock.ComposeCurves(w.clocks[a].Inverse(), w.clocks[b], r), rng, r)
	}
	high, low := truth(clock.Up), truth(clock.Down)
	for i := range high {
		high[i].Y += clock.HostTime(1 + rng.Int64N(step))
		if i > 0 {
			high[i].Y = max(high[i].Y, high[i-1].Y+clock.HostTime(w.rise))
		}
	}
	for i := len(low) - 1; i >= 0; i-- {
		low[i].Y -= clock.HostTime(1 + rng.Int64N(step))
		if i < len(low)-1 {
			low[i].Y = min(low[i].Y, low[i+1].Y-clock.HostTime(w.rise))
		}
	}
	// The pieces that go on for ever stay at one distance from the truth.
	for _, c := range []clock.PairCurve{high, low} {
		n := len(c)
		truth := clock.ComposeCurves(w.clocks[a].Inverse(), w.clocks[b], clock.Nearest)
		gap := func(i int) int64 { return int64(c[i].Y - truth.At(c[i].X, clock.Nearest)) }
		c[0].Y += clock.HostTime(gap(1) - gap(0))
		c[n-1].Y += clock.HostTime(gap(n-2) - gap(n-1))
	}
	e := Edge{A: a, B: b, Map: clock.PairMap{Mid: middle(low, high), Low: low, High: high}, Weight: float64(rng.IntN(20) + 1)}
	switch rng.IntN(8) {
	case 0:
		e.Map.High = nil
	case 1:
		e.Map.Low = nil
	}
	w.edges = append(w.edges, e)
}

// dense adds random knots on a curve.
func dense(c clock.PairCurve, rng *rand.Rand, r clock.Rounding) clock.PairCurve {
	out := c[:1:1]
	for i := 1; i < len(c); i++ {
		if gap := int64(c[i].X - c[i-1].X); gap > 4 && rng.IntN(2) == 0 {
			at := c[i-1].X + 1 + clock.HostTime(rng.Int64N(gap-2))
			out = append(out, clock.PairKnot{X: at, Y: c.At(at, r)})
		}
		out = append(out, c[i])
	}
	return out
}

// exact returns a curve's value in rationals.
func exact(c clock.PairCurve, t *big.Rat) *big.Rat {
	i := 0
	for i+2 < len(c) && t.Cmp(new(big.Rat).SetInt64(int64(c[i+1].X))) >= 0 {
		i++
	}
	slope := big.NewRat(1, 1)
	if len(c) > 1 {
		slope = big.NewRat(int64(c[i+1].Y-c[i].Y), int64(c[i+1].X-c[i].X))
	}
	v := new(big.Rat).Sub(t, new(big.Rat).SetInt64(int64(c[i].X)))
	return v.Add(v.Mul(v, slope), new(big.Rat).SetInt64(int64(c[i].Y)))
}

// truth returns what clock b showed when clock a showed h.
func (w *world) truth(a, b int, h clock.HostTime) *big.Rat {
	return exact(w.clocks[b], exact(w.clocks[a].Inverse(), new(big.Rat).SetInt64(int64(h))))
}

// somewhere returns an instant of a clock within its trace, or near.
func (w *world) somewhere(rng *rand.Rand, c int) clock.HostTime {
	k := w.clocks[c]
	first, last := k[0].Y, k[len(k)-1].Y
	if len(k) > 2 {
		first, last = k[1].Y, k[len(k)-2].Y
		first, last = first-clock.HostTime(int64(last-first)/2), last+clock.HostTime(int64(last-first)/2)
	}
	return first + clock.HostTime(rng.Int64N(int64(last-first)+1))
}

// quietWorld makes clocks that differ by an offset and a constant skew of some ppm, joined by edges with straight bounds
// of different widths; the estimate is anywhere within.
func quietWorld(rng *rand.Rand, n, extra int) *world {
	const length = clock.HostTime(600e9)
	w := &world{}
	for range n {
		from := clock.HostTime(rng.Int64N(2e9))
		w.clocks = append(w.clocks, clock.PairCurve{{X: 0, Y: from}, {X: length, Y: from + length + clock.HostTime(rng.Int64N(60e6)) - 30e6}})
	}
	join := func(a, b int) {
		truth := clock.ComposeCurves(w.clocks[a].Inverse(), w.clocks[b], clock.Nearest)
		first, last := w.clocks[a][0].Y, w.clocks[a][1].Y
		wide := rng.Int64N(100_000) + 10
		line := func(by func() int64) clock.PairCurve {
			return clock.PairCurve{{X: first, Y: truth.At(first, clock.Nearest) + clock.HostTime(by())}, {X: last, Y: truth.At(last, clock.Nearest) + clock.HostTime(by())}}
		}
		m := clock.PairMap{
			Low:  line(func() int64 { return -2 - rng.Int64N(wide) }),
			High: line(func() int64 { return 2 + rng.Int64N(wide) }),
		}
		for i := range 2 {
			gap := int64(m.High[i].Y - m.Low[i].Y)
			m.Mid = append(m.Mid, clock.PairKnot{X: m.Low[i].X, Y: m.Low[i].Y + clock.HostTime(rng.Int64N(gap))})
		}
		w.edges = append(w.edges, Edge{A: a, B: b, Map: m, Weight: float64(wide)})
	}
	for i := range n - 1 {
		join(i+1, rng.IntN(i+1))
	}
	for range extra {
		if a, b := rng.IntN(n), rng.IntN(n); a != b {
			join(a, b)
		}
	}
	return w
}
