package pair

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// gap returns the vertical distance between the highest line below all ceilings and the lowest above all floors, both of
// the given slope.
func gap(c *corridor, s *big.Rat) *big.Rat {
	intercept := func(hull []point, keep int) *big.Rat {
		var best *big.Rat
		for _, p := range hull {
			a := new(big.Rat).Sub(new(big.Rat).SetInt64(p.y), new(big.Rat).Mul(s, new(big.Rat).SetInt64(int64(p.x))))
			if best == nil || a.Cmp(best) == keep {
				best = a
			}
		}
		return best
	}
	return new(big.Rat).Sub(intercept(c.ceiling, -1), intercept(c.floor, 1))
}

// widestOfAll returns the widest gap over all slopes that can be the best one: the gap is concave in the slope and turns
// only where a line passes two ceilings or two floors; at the ends of the range of clocks' slopes as well.
func widestOfAll(c *corridor, l *lines) *big.Rat {
	best := gap(c, l.least.rat())
	consider := func(s slope) {
		if s.compare(l.least) < 0 || s.compare(l.most) > 0 {
			return
		}
		if g := gap(c, s.rat()); g.Cmp(best) > 0 {
			best = g
		}
	}
	consider(l.most)
	for _, hull := range [][]point{c.ceiling, c.floor} {
		for i, p := range hull {
			for _, q := range hull[i+1:] {
				consider(between(p, q))
			}
		}
	}
	return best
}

func TestNoSlopeHasAWiderCorridorInExactRationals(t *testing.T) {
	found := 0
	testseed.Check(t, func(t *rapid.T) {
		p, _ := drawProblem(t)
		if p.AB.Len() == 0 || p.BA.Len() == 0 {
			return
		}
		c := newCorridor(p)
		l, ok := c.lines()
		if !ok {
			return
		}
		s, ok := c.narrowest(&l)
		if !ok {
			return
		}
		found++
		if got, want := gap(c, s), widestOfAll(c, &l); got.Cmp(want) != 0 {
			t.Fatalf("slope %v leaves %v, the best %v", s, got.FloatString(3), want.FloatString(3))
		}
	})
	if found == 0 {
		t.Fatal("no corridor was drawn")
	}
}

func TestWidestCorridorLiesHalfwayWhereTheHullsAreNearest(t *testing.T) {
	// The hulls are nearest between x = 100 and 200, where both rise by 100: the far messages, which turn Duda's
	// bisector, count for nothing.
	p := &Problem{
		AB: Messages{{{Sent: 0, Received: 90_000}, {Sent: 100_000, Received: 150_000}, {Sent: 200_000, Received: 250_000}, {Sent: 300_000, Received: 900_000}}},
		BA: Messages{{{Received: 0, Sent: -80_000}, {Received: 100_000, Sent: 50_000}, {Received: 200_000, Sent: 150_000}, {Received: 300_000, Sent: 240_000}}},
	}
	p.B.Granularity = 1
	e := must(WidestCorridor(p))
	if e.Fit != Exact {
		t.Fatal(e.Fit)
	}
	for _, x := range []clock.HostTime{0, 100_000, 150_000, 300_000} {
		if d := int64(e.Map.At(x) - x); d < -2 || d > 2 {
			t.Errorf("at %d: %d", x, e.Map.At(x))
		}
	}
}

func TestWidestCorridorInvertsNoMessage(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		p, linear := drawProblem(t)
		if !linear {
			return
		}
		e := must(WidestCorridor(p))
		for m := range p.AB.All() {
			if e.Map.At(m.Sent) > m.Received+4 {
				t.Fatalf("%v: sent at %d", trace.Message(m), e.Map.At(m.Sent))
			}
		}
		for m := range p.BA.All() {
			if e.Map.At(m.Received) < m.Sent-4 {
				t.Fatalf("%v: received at %d", trace.Message(m), e.Map.At(m.Received))
			}
		}
	})
}
