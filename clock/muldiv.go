package clock

import (
	"math"
	"math/bits"
)

// Rounding says which integer stands for a value between two nanoseconds.
type Rounding uint8

const (
	Nearest Rounding = iota // to the nearest, halves up
	Down                    // towards minus infinity: for lower bounds
	Up                      // towards plus infinity: for upper bounds
)

// MulDiv returns a*b/c rounded as r says, computed without overflow in between and saturated to the int64 range.
// c must be positive.
func MulDiv(a, b, c int64, r Rounding) int64 {
	negative := (a < 0) != (b < 0)
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	d := uint64(c)
	if hi >= d {
		return saturated(negative)
	}
	q, rest := bits.Div64(hi, lo, d)
	switch {
	case rest == 0:
	case r == Nearest:
		// Halves go up: away from zero when positive, towards zero when negative.
		if half := d - rest; rest > half || (rest == half && !negative) {
			q++
		}
	case (r == Up) != negative:
		q++
	}
	if q > math.MaxInt64 {
		return saturated(negative)
	}
	if negative {
		return -int64(q)
	}
	return int64(q)
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

func saturated(negative bool) int64 {
	if negative {
		return math.MinInt64
	}
	return math.MaxInt64
}
