package pair

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// message instants near zero and at nanoseconds since 1970: products of their differences fit 64 bits in the first
// case only.
var origins = []int64{0, 1_790_000_000_000_000_000, -3_000_000_000}

// drawProblem draws clocks that are linear (so that a line passes) or messages at random (so that mostly none does).
func drawProblem(t *rapid.T) (*Problem, bool) {
	origin := clock.HostTime(rapid.SampledFrom(origins).Draw(t, "origin"))
	offset := rapid.Int64Range(-5_000_000_000, 5_000_000_000).Draw(t, "offset")
	ppm := rapid.Int64Range(-500, 500).Draw(t, "ppm")
	span := rapid.SampledFrom([]int64{20, 1_000_000, 46_000_000_000, 86_400_000_000_000}).Draw(t, "span")
	delays := rapid.SampledFrom([]int64{3, 200_000, 200_000_000}).Draw(t, "delays")
	least := int64(0)
	linear := rapid.Bool().Draw(t, "linear")
	if !linear {
		least = -delays / 4
	}
	p := &Problem{A: trace.Clock{First: origin, Last: origin + clock.HostTime(span)}, B: trace.Clock{First: origin + clock.HostTime(offset), Last: origin + clock.HostTime(offset) + clock.HostTime(span)}}
	f := func(x clock.HostTime) clock.HostTime {
		return x + clock.HostTime(offset) + clock.HostTime(clock.MulDiv(int64(x-origin), ppm, 1_000_000, clock.Nearest))
	}
	n := rapid.IntRange(1, 12).Draw(t, "n")
	for range n {
		x := origin + clock.HostTime(rapid.Int64Range(0, span).Draw(t, "x"))
		d := rapid.Int64Range(least, delays).Draw(t, "delay")
		if rapid.Bool().Draw(t, "there") {
			p.AB = append(p.AB, []trace.Message{{Sent: x, Received: f(x) + clock.HostTime(d) + 1}})
		} else {
			p.BA = append(p.BA, []trace.Message{{Received: x, Sent: f(x) - clock.HostTime(d) - 1}})
		}
	}
	return p, linear
}

// feasible is the set of lines by brute force in exact rationals: the least and the greatest slope over all pairs.
func feasible(p *Problem) (least, most *big.Rat, ok bool) {
	least, most, ok = nil, nil, true
	for c := range p.AB.All() {
		for o := range p.BA.All() {
			dx, dy := int64(c.Sent-(o.Received+1)), int64(c.Received+1-o.Sent) // a nanosecond's stamp is as wide as that
			switch {
			case dx == 0:
				ok = ok && dy >= 0
			case dx > 0: // floor left of ceiling: slope at most
				if s := big.NewRat(dy, dx); most == nil || s.Cmp(most) < 0 {
					most = s
				}
			default:
				if s := big.NewRat(dy, dx); least == nil || s.Cmp(least) > 0 {
					least = s
				}
			}
		}
	}
	if least != nil && most != nil && least.Cmp(most) > 0 {
		ok = false
	}
	return least, most, ok
}

func TestSlopesAndFeasibilityAgreeWithAllPairsInExactRationals(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		p, _ := drawProblem(t)
		least, most, ok := feasible(p)
		l, got := newCorridor(p).lines()
		if most != nil && most.Cmp(absurdlySlow.rat()) < 0 || least != nil && least.Cmp(absurdlyFast.rat()) > 0 {
			ok = false
		}
		if got != ok {
			t.Fatalf("a line passes: %v, all pairs say %v", got, ok)
		}
		if !ok {
			return
		}
		if l.mostTouches && l.most.rat().Cmp(most) != 0 {
			t.Fatalf("steepest %v, all pairs say %v", l.most.rat(), most)
		}
		if l.leastTouches && l.least.rat().Cmp(least) != 0 {
			t.Fatalf("flattest %v, all pairs say %v", l.least.rat(), least)
		}
		if !l.mostTouches && most != nil && most.Cmp(l.most.rat()) < 0 || !l.leastTouches && least != nil && least.Cmp(l.least.rat()) > 0 {
			t.Fatalf("[%v %v] is wider than all pairs allow: [%v %v]", l.least, l.most, least, most)
		}
	})
}

// highest returns the exact upper bound at x over lines with slopes in [least, most], by the dual of the linear program:
// every line is limited by one ceiling and one extreme slope, or by two ceilings' interpolation.
func highest(ceilings []point, least, most *big.Rat, x clock.HostTime) *big.Rat {
	var best *big.Rat
	consider := func(v *big.Rat) {
		if best == nil || v.Cmp(best) < 0 {
			best = v
		}
	}
	at := func(p point, s *big.Rat) *big.Rat {
		v := new(big.Rat).Mul(s, new(big.Rat).SetInt64(int64(x-p.x)))
		return v.Add(v, new(big.Rat).SetInt64(p.y))
	}
	for _, p := range ceilings {
		if x >= p.x {
			consider(at(p, most))
		} else {
			consider(at(p, least))
		}
		for _, q := range ceilings {
			if p.x <= x && x <= q.x && p.x < q.x {
				consider(at(p, big.NewRat(q.y-p.y, int64(q.x-p.x))))
			}
		}
	}
	return best
}

func TestBoundsAreTheExtremesOfTheLinearProgramAtEveryInstant(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		p, _ := drawProblem(t)
		c := newCorridor(p)
		l, ok := c.lines()
		if !ok || len(p.AB) == 0 || len(p.BA) == 0 {
			return
		}
		e := Hull(p)
		var ceilings, floors []point
		for m := range p.AB.All() {
			ceilings = append(ceilings, point{m.Sent, int64(m.Received + 1)})
		}
		for m := range p.BA.All() {
			floors = append(floors, point{m.Received + 1, int64(-m.Sent)})
		}
		for range 8 {
			x := clock.HostTime(rapid.Int64Range(int64(c.from), int64(c.to)).Draw(t, "at"))
			low, high, _, _ := e.Map.Bounds(x)
			up := highest(ceilings, l.least.rat(), l.most.rat(), x)
			neg := func(r *big.Rat) *big.Rat { return new(big.Rat).Neg(r) }
			down := neg(highest(floors, neg(l.most.rat()), neg(l.least.rat()), x))
			assertJustAbove(t, "high", high, up)
			assertJustAbove(t, "low", -low, neg(down))
			mid := e.Map.At(x)
			if mid < low-1 || mid > high+1 {
				t.Fatalf("estimate %d outside its bounds [%d %d]", mid, low, high)
			}
		}
		for name, curve := range map[string]clock.PairCurve{"mid": e.Map.Mid, "low": e.Map.Low, "high": e.Map.High} {
			if err := curve.Check(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	})
}

// assertJustAbove demands that got is not below the exact value and exceeds it by the rounding of two knots and one
// interpolation at most.
func assertJustAbove(t *rapid.T, name string, got clock.HostTime, exact *big.Rat) {
	d := new(big.Rat).Sub(new(big.Rat).SetInt64(int64(got)), exact)
	if d.Sign() < 0 || d.Cmp(big.NewRat(3, 1)) > 0 {
		f, _ := d.Float64()
		t.Fatalf("%s bound %d misses the exact one by %g ns", name, got, f)
	}
}

func TestLinearClocksLieWithinTheBoundsAndNoMessageIsInverted(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		p, linear := drawProblem(t)
		e := Hull(p)
		if linear && e.Fit == Fallback {
			t.Fatal("no line passes between messages of linear clocks")
		}
		if e.Map.Low == nil && e.Map.High == nil {
			return // messages that no clock explains
		}
		// A stamp's nanosecond on a clock that many times as fast, a knot's, and of the piece between two.
		s := slopeOf(e.Map.Mid)
		rounding := s.dy/s.dx + 4
		for m := range p.AB.All() {
			if got := e.Map.At(m.Sent); got > m.Received+clock.HostTime(rounding) {
				t.Fatalf("%v: sent %d ns after it was received", e.Fit, int64(got-m.Received))
			}
		}
		for m := range p.BA.All() {
			if got := e.Map.At(m.Received); got < m.Sent-clock.HostTime(rounding) {
				t.Fatalf("%v: received %d ns before it was sent", e.Fit, int64(m.Sent-got))
			}
		}
	})
}

func TestSlopeThatMessagesLeaveOpenIsNoneThatClocksHardlyHave(t *testing.T) {
	// One message there and two back over half a minute: nothing says that a does not run at half b's rate.
	p := &Problem{A: trace.Clock{Last: 30_000_000_000}, B: trace.Clock{Last: 30_000_000_000},
		AB: Messages{{{Sent: 20_000_000_000, Received: 20_000_100_000}}},
		BA: Messages{{{Sent: 0, Received: 100_000}, {Sent: 10_000_000_000, Received: 10_000_100_000}}},
	}
	e := Hull(p)
	if e.Fit != Exact || e.Determined || e.Skew != 0 {
		t.Errorf("fit %v, determined %v, skew %g ppm between %g and %g: want equal rates", e.Fit, e.Determined, e.Skew, e.SkewLow, e.SkewHigh)
	}
	for _, x := range []clock.HostTime{0, 30_000_000_000} {
		if off := int64(e.Map.At(x) - x); off > 100_000 || off < -100_000 {
			t.Errorf("off by %d ns at %d", off, x)
		}
	}
}
