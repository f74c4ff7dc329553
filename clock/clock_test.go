package clock

import (
	"math"
	"math/big"
	"testing"

	rapid "meridian/clock/internal/testrand"
)

func TestMulDivAgreesWithBigIntegersAndSaturates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		c := rapid.Int64Range(1, math.MaxInt64).Draw(t, "c")
		r := Rounding(rapid.IntRange(0, 2).Draw(t, "rounding"))
		exact := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(a), big.NewInt(b)), big.NewInt(c))
		want := round(exact, r)
		if got := MulDiv(a, b, c, r); got != want {
			t.Fatalf("%d*%d/%d rounded %d: %d, want %d", a, b, c, r, got, want)
		}
	})
}

func round(v *big.Rat, r Rounding) int64 {
	n, d := v.Num(), v.Denom()
	q := new(big.Int)
	switch r {
	case Down:
		q.Div(n, d) // Euclidean: d > 0, so towards minus infinity
	case Up:
		q.Neg(q.Div(new(big.Int).Neg(n), d))
	default:
		twice := new(big.Int).Add(new(big.Int).Lsh(n, 1), d)
		q.Div(twice, new(big.Int).Lsh(d, 1))
	}
	switch {
	case q.IsInt64() && q.Int64() != math.MinInt64:
		return q.Int64()
	case q.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

func TestSumsAndDifferencesSaturate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		clamp := func(v *big.Int) int64 {
			if v.IsInt64() {
				return v.Int64()
			}
			return saturated(v.Sign() < 0)
		}
		if got, want := Add(a, b), clamp(new(big.Int).Add(big.NewInt(a), big.NewInt(b))); got != want {
			t.Fatalf("%d+%d = %d, want %d", a, b, got, want)
		}
		if got, want := Sub(a, b), clamp(new(big.Int).Sub(big.NewInt(a), big.NewInt(b))); got != want {
			t.Fatalf("%d-%d = %d, want %d", a, b, got, want)
		}
	})
}

// drawCurve draws a clock that runs between half and twice as fast, near zero or at nanoseconds since 1970.
func drawCurve(t *rapid.T, name string) intCurve {
	host := rapid.SampledFrom([]int64{0, 1_790_000_000_000_000_000, -5}).Draw(t, name+" origin")
	timeline := host + rapid.Int64Range(-1e10, 1e10).Draw(t, name+" offset")
	var c intCurve
	for range rapid.IntRange(1, 6).Draw(t, name+" knots") {
		c = append(c, intKnot{host, timeline})
		step := rapid.SampledFrom([]int64{1, 3, 1000, 86_400_000_000_000}).Draw(t, name+" step")
		host += step
		timeline += step/2 + rapid.Int64Range(0, 3*step/2).Draw(t, name+" rise") + step%2
	}
	return c
}

// exact returns the value of a curve in rationals.
func exactly(c intCurve, t *big.Rat) *big.Rat {
	i := 0
	for i+2 < len(c) && t.Cmp(new(big.Rat).SetInt64(c[i+1].X)) >= 0 {
		i++
	}
	slope := big.NewRat(1, 1)
	if len(c) > 1 {
		slope = big.NewRat(c[i+1].Y-c[i].Y, c[i+1].X-c[i].X)
	}
	v := new(big.Rat).Sub(t, new(big.Rat).SetInt64(c[i].X))
	return v.Add(v.Mul(v, slope), new(big.Rat).SetInt64(c[i].Y))
}

func near(c intCurve, t *rapid.T, name string) int64 {
	k := rapid.SampledFrom(c).Draw(t, name)
	return k.X + rapid.SampledFrom([]int64{0, 1, -1, 7, 100_000_000, -100_000_000}).Draw(t, name+" off")
}

func TestCurveIsExactWithinAndBeyondItsKnots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCurve(t, "c")
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		u := NewCursor(c)
		for range 5 {
			at := near(c, t, "at")
			exact := exactly(c, new(big.Rat).SetInt64(at))
			for _, r := range []Rounding{Nearest, Down, Up} {
				if got, want := c.At(at, r), round(exact, r); got != want {
					t.Fatalf("at %d rounded %d: %d, want %d", at, r, got, want)
				}
			}
			if got, want := u.At(at), c.At(at, Nearest); got != want {
				t.Fatalf("cursor at %d: %d, want %d", at, got, want)
			}
		}
	})
}

func TestCompositionRoundsOutwardsAndByNoMoreThanItMust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCurve(t, "first")
		next := drawCurve(t, "second")
		for i, by := 0, c[0].Y-next[0].X; i < len(next); i++ {
			next[i].X += by // it continues where the first one leads
		}
		high, low := ComposeCurves(c, next, Up), ComposeCurves(c, next, Down)
		if err := high.Check(); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			at := near(c, t, "at")
			exact := exactly(next, exactly(c, new(big.Rat).SetInt64(at)))
			for r, got := range map[Rounding]int64{Up: high.At(at, Up), Down: low.At(at, Down)} {
				d := new(big.Rat).Sub(new(big.Rat).SetInt64(got), exact)
				if r == Down {
					d.Neg(d)
				}
				if d.Sign() < 0 {
					f, _ := d.Float64()
					t.Fatalf("at %d rounded %d: %g ns on the wrong side", at, r, f)
				}
			}
		}
	})
}

func TestInverseLeadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCurve(t, "c")
		back := c.Inverse()
		if err := back.Check(); err != nil {
			t.Fatal(err)
		}
		for _, k := range c {
			if got := back.At(k.Y, Nearest); got != k.X {
				t.Fatalf("from %d back to %d, want %d", k.Y, got, k.X)
			}
		}
	})
}

func TestBoundsOfAnInverseEncloseTheHost(t *testing.T) {
	m := intMap{Mid: intCurve{{0, 100}, {1000, 1100}}, Low: intCurve{{0, 90}, {1000, 1080}}, High: intCurve{{0, 110}, {1000, 1120}}}
	inv := m.Inverse()
	low, high, _, _ := inv.Bounds(600)
	if low > 500 || high < 500 || low < 480 || high > 520 {
		t.Errorf("host time of 600 in [%d %d]", low, high)
	}
	if err, ok := m.Error(0); !ok || err != 10 {
		t.Errorf("error %d, want 10", err)
	}
	m.High = nil
	if _, ok := m.Error(0); ok {
		t.Error("an unbounded side has an error")
	}
}

// benchmarkCurve has 64 pieces of a second each.
func benchmarkCurve() intCurve {
	k := intKnot{X: 1_790_000_000_000_000_000, Y: 1_790_000_000_000_000_005}
	c := intCurve{k}
	for range 64 {
		k.X += 1e9
		k.Y += 1e9 + 17
		c = append(c, k)
	}
	return c
}

func BenchmarkCursor(b *testing.B) {
	c := benchmarkCurve()
	u := NewCursor(c)
	at := c[0].X
	for b.Loop() {
		at += 1000
		u.At(at)
	}
}

func BenchmarkCurve(b *testing.B) {
	c := benchmarkCurve()
	at, end := c[0].X, c[64].X
	for b.Loop() {
		if at += 1_000_003; at > end {
			at = c[0].X
		}
		c.At(at, Down)
	}
}

func BenchmarkBounds(b *testing.B) {
	c := benchmarkCurve()
	m := intMap{Mid: c, Low: c, High: c}
	at, end := c[0].X, c[64].X
	for b.Loop() {
		if at += 1_000_003; at > end {
			at = c[0].X
		}
		m.Bounds(at)
	}
}

func BenchmarkCompose(b *testing.B) {
	c := benchmarkCurve()
	next := benchmarkCurve()
	for b.Loop() {
		ComposeCurves(c, next, Down)
	}
}

type (
	intKnot  = KnotOf[int64, int64]
	intCurve = CurveOf[int64, int64]
	intMap   = MapOf[int64, int64]
)
