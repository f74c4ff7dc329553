package clock

import (
	"math"
	"math/big"
	"testing"

	"meridian/clock/internal/testrand"
)

// round returns the integer that stands for a rational, saturated to the int64 range: what MulDiv must return.
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
	return saturate(q)
}

func saturate(q *big.Int) int64 {
	switch {
	case q.IsInt64():
		return q.Int64()
	case q.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

func checkMulDiv(t testing.TB, a, b, c int64) {
	t.Helper()
	exact := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(a), big.NewInt(b)), big.NewInt(c))
	for _, r := range []Rounding{Nearest, Down, Up} {
		if got, want := MulDiv(a, b, c, r), round(exact, r); got != want {
			t.Fatalf("%d*%d/%d rounded %d: %d, want %d", a, b, c, r, got, want)
		}
	}
}

func TestMulDivAgreesWithBigIntegersAndSaturates(t *testing.T) {
	testrand.Check(t, func(t *testrand.T) {
		checkMulDiv(t, testrand.Int64().Draw(t, "a"), testrand.Int64().Draw(t, "b"), testrand.Int64Range(1, math.MaxInt64).Draw(t, "c"))
	})
}

func TestMulDivOfSmallNumbersAndOfTheEndsOfTheRange(t *testing.T) {
	for a := int64(-12); a <= 12; a++ {
		for b := int64(-12); b <= 12; b++ {
			for c := int64(1); c <= 12; c++ {
				checkMulDiv(t, a, b, c)
			}
		}
	}
	for _, a := range ends {
		for _, b := range ends {
			for _, c := range []int64{1, 2, 3, Limit - 1, Limit, math.MaxInt64 - 1, math.MaxInt64} {
				checkMulDiv(t, a, b, c)
			}
		}
	}
}

// ends are the integers at which sums and products of int64 go wrong.
var ends = []int64{math.MinInt64, math.MinInt64 + 1, -Limit - 1, -Limit, -Limit + 1, -1 << 32, -3, -2, -1, 0, 1, 2, 3, 1 << 32,
	Limit - 1, Limit, Limit + 1, math.MaxInt64 - 1, math.MaxInt64}
