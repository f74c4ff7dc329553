package clock

import (
	"math/rand/v2"
	"testing"

	rapid "meridian/clock/internal/testrand"
)

func TestInverseOfABoundIsABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		c := intCurve{{X: 0, Y: 0}}
		for range rng.IntN(6) + 1 {
			k := c[len(c)-1]
			k.X += 1 + rng.Int64N(5)
			k.Y += rng.Int64N(3) * rng.Int64N(4)
			c = append(c, k)
		}
		for _, r := range []Rounding{Up, Down} {
			inv := c.InverseBound(r)
			if inv == nil {
				if n := len(c); r == Up && c[n-1].Y > c[n-2].Y || r == Down && c[1].Y > c[0].Y {
					t.Fatalf("no inverse of %v", c)
				}
				continue
			}
			if err := inv.Check(); err != nil {
				t.Fatalf("%v of %v: %v", inv, c, err)
			}
			for x := int64(-50); x < 50; x++ {
				// Whoever reads x is not above (below) the inverse at any v that the curve allows at x.
				v := c.At(x, r)
				if y := inv.At(v, r); r == Up && y < x || r == Down && y > x {
					t.Fatalf("%v at %d is %d, whose inverse %v rounded %d is %d", c, x, v, inv, r, y)
				}
			}
		}
	})
}
