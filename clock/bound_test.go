package clock

import (
	"math/big"
	"testing"

	"meridian/clock/internal/testrand"
)

// reach returns the outermost x that a curve allows at y, by definition: the greatest with c(x) <= y (Up), the least with
// c(x) >= y (Down); nil where there is none, beyond a piece that stands still for ever. The piece that goes on without end the
// other way must not stand still.
func reach(c Curve, y *big.Rat, r Rounding) *big.Rat {
	if len(c) == 1 {
		return new(big.Rat).Add(at(c[0].X), new(big.Rat).Sub(y, at(c[0].Y)))
	}
	on := func(i int) *big.Rat { // where the line of piece i takes the value y
		if c[i].Y == c[i+1].Y {
			return nil
		}
		slope := new(big.Rat).Quo(new(big.Rat).Sub(at(c[i+1].X), at(c[i].X)), new(big.Rat).Sub(at(c[i+1].Y), at(c[i].Y)))
		x := new(big.Rat).Sub(y, at(c[i].Y))
		return x.Add(x.Mul(x, slope), at(c[i].X))
	}
	n := len(c)
	if r == Up {
		for i := n - 1; i >= 0; i-- {
			if y.Cmp(at(c[i].Y)) >= 0 {
				return on(min(i, n-2))
			}
		}
		return on(0)
	}
	for i := range n {
		if y.Cmp(at(c[i].Y)) <= 0 {
			return on(max(i-1, 0))
		}
	}
	return on(n - 2)
}

// drawBound draws a short curve that stands still here and there.
func drawBound(t *testrand.T) Curve {
	k := Knot{X: HostTime(testrand.SampledFrom(origins).Draw(t, "x")), Y: TimelineTime(testrand.SampledFrom(origins).Draw(t, "y"))}
	c := Curve{k}
	for range testrand.IntRange(0, 6).Draw(t, "pieces") {
		k.X += HostTime(testrand.Int64Range(1, 6).Draw(t, "run"))
		k.Y += TimelineTime(testrand.Int64Range(0, 2).Draw(t, "moves") * testrand.Int64Range(0, 4).Draw(t, "rise"))
		c = append(c, k)
	}
	return c
}

func TestInverseOfABoundIsTheLeastBoundAtItsKnots(t *testing.T) {
	testrand.Check(t, func(t *testrand.T) {
		c := drawBound(t)
		n := len(c)
		for _, r := range []Rounding{Up, Down} {
			inv := c.InverseBound(r)
			still := n > 1 && (r == Up && c[n-1].Y == c[n-2].Y || r == Down && c[1].Y == c[0].Y)
			if still != (inv == nil) {
				t.Fatalf("inverse of %v rounded %d: %v", c, r, inv)
			}
			if inv == nil {
				continue
			}
			if err := inv.Check(); err != nil {
				t.Fatalf("%v of %v: %v", inv, c, err)
			}
			for y := c[0].Y - 30; y <= c[n-1].Y+30; y++ {
				// On its side at every integer; where the curve does not stand still beside y, no further than rounding.
				far := reach(c, at(y), r)
				if far == nil {
					continue
				}
				allowed := int64(1 << 20)
				if y < c[0].Y || y > c[n-1].Y || knot(c, y) {
					allowed = 2
				}
				checkOutwards(t, "inverse", int64(y), int64(inv.At(y, r)), far, r, allowed)
			}
			for x := c[0].X - 50; x < c[n-1].X+50; x++ {
				v := c.At(x, r)
				if back := inv.At(v, r); r == Up && back < x || r == Down && back > x {
					t.Fatalf("%v at %d is %d, whose inverse %v rounded %d is %d", c, x, v, inv, r, back)
				}
			}
		}
	})
}

// knot reports whether a curve has a knot at y.
func knot(c Curve, y TimelineTime) bool {
	for _, k := range c {
		if k.Y == y {
			return true
		}
	}
	return false
}

func TestInverseOfABoundKeepsTheSlopeFarBeyondAJump(t *testing.T) {
	for _, origin := range origins {
		o, p := HostTime(origin), TimelineTime(-origin)
		c := Curve{{X: o, Y: p}, {X: o + 2, Y: p + 3}, {X: o + 8, Y: p + 3}, {X: o + 10, Y: p + 6}}
		up, down := c.InverseBound(Up), c.InverseBound(Down)
		for _, y := range []TimelineTime{p - 3_000_000, p - 300, p - 3} {
			rapidLess(t, "up", int64(y), int64(up.At(y, Up)), reach(c, at(y), Up), Up)
		}
		for _, y := range []TimelineTime{p + 9, p + 306, p + 3_000_006} {
			rapidLess(t, "down", int64(y), int64(down.At(y, Down)), reach(c, at(y), Down), Down)
		}
	}
	if (Curve)(nil).InverseBound(Up) != nil || (Curve)(nil).InverseBound(Down) != nil {
		t.Error("nothing has an inverse")
	}
}

// rapidLess is checkOutwards, by 2 ns at most, for a test without random numbers.
func rapidLess(t *testing.T, what string, y, got int64, exact *big.Rat, r Rounding) {
	t.Helper()
	off := new(big.Rat).Sub(at(got), exact)
	if r == Down {
		off.Neg(off)
	}
	if off.Sign() < 0 || off.Cmp(big.NewRat(2, 1)) > 0 {
		t.Errorf("%s at %d: %d is %s outside", what, y, got, off.FloatString(3))
	}
}
