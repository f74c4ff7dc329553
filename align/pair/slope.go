package pair

import (
	"math"
	"math/big"
	"math/bits"

	"meridian/clock"
)

// slope is an exact rate of b's clock against a's: dy/dx with dx > 0. Its zero value is no slope.
type slope struct {
	dy, dx int64
}

var (
	// minRate and maxRate bound the relative rate of any two real clocks, by far; they limit what the
	// messages themselves leave open.
	minRate = slope{1, 2}
	maxRate = slope{2, 1}
	even    = slope{1, 1}
	// Messages that demand more than this contradict each other: no unit of time is mistaken by as much.
	absurdlySlow = slope{1, 16}
	absurdlyFast = slope{16, 1}
)

// compare orders slopes exactly.
func (s slope) compare(o slope) int { return compareProducts(s.dy, o.dx, o.dy, s.dx) }

// ppm returns the rate's distance from one in parts per million.
func (s slope) ppm() float64 { return float64(s.dy-s.dx) / float64(s.dx) * 1e6 }

func (s slope) rat() *big.Rat { return big.NewRat(s.dy, s.dx) }

func (s slope) doubled() slope {
	if s.dy < math.MaxInt64/2 {
		return slope{2 * s.dy, s.dx}
	}
	return slope{s.dy, max(s.dx/2, 1)}
}

func (s slope) halved() slope {
	if s.dx < math.MaxInt64/2 {
		return slope{s.dy, 2 * s.dx}
	}
	return slope{s.dy / 2, s.dx}
}

// between returns the slope from p to q, p.x < q.x.
func between(p, q point) slope { return slope{q.y - p.y, int64(q.x - p.x)} }

// from returns the height over x of the line with slope s through p.
func (s slope) from(p point, x clock.HostTime, r clock.Rounding) clock.HostTime {
	return clock.Add(clock.HostTime(p.y), clock.MulDiv(clock.Sub(x, p.x), s.dy, s.dx, r))
}

// slopeOf returns the slope of a straight curve of two or more knots.
func slopeOf(c clock.PairCurve) slope {
	first, last := c[0], c[len(c)-1]
	if first == last {
		return even
	}
	return slope{int64(last.Y - first.Y), int64(last.X - first.X)}
}

// side says on which side of the line with slope s through p the point q lies: +1 above, -1 below, 0 on it.
func (s slope) side(p, q point) int { return compareProducts(q.y-p.y, s.dx, s.dy, int64(q.x-p.x)) }

// compareProducts compares a*b with c*d exactly.
func compareProducts(a, b, c, d int64) int {
	negative1, negative2 := (a < 0) != (b < 0), (c < 0) != (d < 0)
	hi1, lo1 := bits.Mul64(magnitude(a), magnitude(b))
	hi2, lo2 := bits.Mul64(magnitude(c), magnitude(d))
	// A product of zero has no sign.
	negative1 = negative1 && hi1|lo1 != 0
	negative2 = negative2 && hi2|lo2 != 0
	if negative1 != negative2 {
		if negative1 {
			return -1
		}
		return 1
	}
	order := 0
	switch {
	case hi1 > hi2 || (hi1 == hi2 && lo1 > lo2):
		order = 1
	case hi1 < hi2 || lo1 < lo2:
		order = -1
	}
	if negative1 {
		return -order
	}
	return order
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}
