package pair

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// wrongSum is the sum of vertical distances of corners on the wrong side of the line through p and q; nil if no clock has
// that rate.
func wrongSum(p, q point, ceiling, floor []point) *big.Rat {
	dx, dy := int64(q.x-p.x), q.y-p.y
	if dx == 0 {
		return nil
	}
	s := big.NewRat(dy, dx)
	if s.Cmp(minRate.rat()) < 0 || s.Cmp(maxRate.rat()) > 0 {
		return nil
	}
	above := func(c point) *big.Rat {
		at := new(big.Rat).Mul(s, big.NewRat(int64(c.x-p.x), 1))
		return at.Sub(big.NewRat(c.y-p.y, 1), at)
	}
	sum := new(big.Rat)
	for _, c := range ceiling {
		if d := above(c); d.Sign() < 0 {
			sum.Sub(sum, d)
		}
	}
	for _, c := range floor {
		if d := above(c); d.Sign() > 0 {
			sum.Add(sum, d)
		}
	}
	return sum
}

func TestWhereNoLinePassesHullIsAshtonsLineWithoutBounds(t *testing.T) {
	fallbacks := 0
	testseed.Check(t, func(t *rapid.T) {
		p := drawAnyProblem(t)
		e := Hull(p)
		if e.Fit != Fallback {
			return
		}
		if e.Map.Low != nil || e.Map.High != nil || e.Wander != 0 {
			t.Fatalf("bounds beside a line that nothing bounds: %+v", e)
		}
		c := newCorridor(p)
		var least *big.Rat
		for _, a := range c.ceiling {
			for _, b := range c.floor {
				if sum := wrongSum(a, b, c.ceiling, c.floor); sum != nil && (least == nil || sum.Cmp(least) < 0) {
					least = sum
				}
			}
		}
		if least == nil {
			return
		}
		fallbacks++
		// The line's ends are rounded: each corner may lie a nanosecond further on the wrong side.
		mid := e.Map.Mid
		got := wrongSum(point{mid[0].X, int64(mid[0].Y)}, point{mid[1].X, int64(mid[1].Y)}, c.ceiling, c.floor)
		if got == nil {
			return // a rate at the limit, rounded
		}
		limit := new(big.Rat).Mul(least, big.NewRat(1_000_001, 1_000_000))
		limit.Add(limit, big.NewRat(int64(2*(len(c.ceiling)+len(c.floor))), 1))
		if got.Cmp(limit) > 0 {
			f, _ := got.Float64()
			g, _ := least.Float64()
			t.Fatalf("the line's total error is %g ns, the least is %g", f, g)
		}
	})
	if fallbacks == 0 {
		t.Fatal("a line always passed")
	}
}

func TestConesAreTheHullWhereALinePassesAndElsewhereInvertNothing(t *testing.T) {
	bounded := 0
	testseed.Check(t, func(t *rapid.T) {
		p := drawAnyProblem(t)
		e, h := Cones(p), Hull(p)
		if e.Fit != h.Fit {
			t.Fatalf("fit %v, hull %v", e.Fit, h.Fit)
		}
		if e.Fit != Fallback {
			if e.Skew != h.Skew || len(e.Map.Mid) != len(h.Map.Mid) || e.Map.Mid[0] != h.Map.Mid[0] {
				t.Fatalf("%+v, hull %+v", e, h)
			}
			return
		}
		if e.Map.Low == nil {
			return // messages that no clock explains
		}
		bounded++
		s := slopeOf(e.Map.Mid)
		rounding := s.dy/s.dx + 4
		for m := range p.AB.All() {
			if got := int64(e.Map.At(m.Sent) - m.Received); got > rounding {
				t.Fatalf("sent %d ns after it was received", got)
			}
		}
		for m := range p.BA.All() {
			if got := int64(m.Sent - e.Map.At(m.Received)); got > rounding {
				t.Fatalf("received %d ns before it was sent", got)
			}
		}
		for _, k := range e.Map.Mid {
			if low, high, _, _ := e.Map.Bounds(k.X); k.Y < low-2 || k.Y > high+2 {
				t.Fatalf("at %d: %d outside [%d, %d]", k.X, k.Y, low, high)
			}
		}
	})
	if bounded == 0 {
		t.Fatal("no cones were drawn")
	}
}

// drawAnyProblem draws a pair whose clocks keep a rate, or, half of the time, one whose second clock's rate changes midway. No line passes between
// the messages of the latter: exchanges at both ends and midway see a change of at least 2.3 ms, and take 0.4 ms at most.
func drawAnyProblem(t *rapid.T) *Problem {
	if !rapid.Bool().Draw(t, "bend") {
		p, _ := drawProblem(t)
		return p
	}
	const span = clock.HostTime(46_000_000_000)
	ppm := rapid.SampledFrom([]int64{-1000, -100, 100, 1000}).Draw(t, "ppm")
	b := func(a clock.HostTime) clock.HostTime {
		return a + clock.HostTime(clock.MulDiv(max(int64(a-span/2), 0), ppm, 1_000_000, clock.Nearest))
	}
	p := &Problem{A: trace.Clock{Last: span}, B: trace.Clock{Last: b(span)}}
	at := []clock.HostTime{0, span / 2, span}
	for range rapid.IntRange(1, 9).Draw(t, "more exchanges") {
		at = append(at, clock.HostTime(rapid.Int64Range(0, int64(span)).Draw(t, "x")))
	}
	for _, x := range at {
		d := clock.HostTime(rapid.Int64Range(1, 200_000).Draw(t, "delay"))
		p.AB = append(p.AB, []trace.Message{{Sent: x, Received: b(x) + d}})
		p.BA = append(p.BA, []trace.Message{{Sent: b(x) - d, Received: x}})
	}
	return p
}
