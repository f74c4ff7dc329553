package pair

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// since1970 is a shift to the nanoseconds of today: products of differences that fit 64 bits near zero fit no longer when
// an origin slips into them, and float64 has steps of 256 ns there.
const since1970 = 1_790_000_000_000_000_000

func (p *Problem) shifted(by clock.HostTime) *Problem {
	move := func(m Messages) (out Messages) {
		for x := range m.All() {
			out = append(out, []trace.Message{{Sent: x.Sent + by, Received: x.Received + by}})
		}
		return out
	}
	q := &Problem{A: p.A, B: p.B, AB: move(p.AB), BA: move(p.BA)}
	q.A.First, q.A.Last, q.B.First, q.B.Last = p.A.First+by, p.A.Last+by, p.B.First+by, p.B.Last+by
	return q
}

func TestEstimatesAreTheSameAtEpochNanosecondsAndNearZero(t *testing.T) {
	estimates := map[string]func(*Problem) Estimate{
		"hull": Hull,
		"regression": func(p *Problem) Estimate {
			e, err := Regression(p, 100)
			if err != nil {
				t.Fatal(err)
			}
			return e
		},
	}
	testseed.Check(t, func(t *rapid.T) {
		p, _ := drawProblem(t)
		p = p.shifted(-p.A.First)
		for name, estimate := range estimates {
			here, there := estimate(p), estimate(p.shifted(since1970))
			if here.Fit != there.Fit || here.Determined != there.Determined || here.Skew != there.Skew {
				t.Fatalf("%s: %v %v %g near zero, %v %v %g at the epoch", name,
					here.Fit, here.Determined, here.Skew, there.Fit, there.Determined, there.Skew)
			}
			for i, c := range []clock.PairCurve{here.Map.Mid, here.Map.Low, here.Map.High} {
				d := []clock.PairCurve{there.Map.Mid, there.Map.Low, there.Map.High}[i]
				if len(c) != len(d) {
					t.Fatalf("%s: curve %d has %d knots near zero and %d at the epoch", name, i, len(c), len(d))
				}
				for k := range c {
					if c[k].X+since1970 != d[k].X || c[k].Y+since1970 != d[k].Y {
						t.Fatalf("%s: knot %v near zero is %v at the epoch", name, c[k], d[k])
					}
				}
			}
		}
	})
}

// Symmetric exchanges with a deviation of 200 ms over 46 s: where the offset is known exactly, an estimator that forms a
// 64-bit product of such differences is milliseconds off.
func TestLargeDeviationOverAShortSpanIsExact(t *testing.T) {
	for _, origin := range []clock.HostTime{0, since1970} {
		p := &Problem{A: trace.Clock{First: origin, Last: origin + 46_000_000_000}, B: trace.Clock{First: origin, Last: origin + 46_200_000_000}}
		f := func(x clock.HostTime) clock.HostTime {
			return x + clock.HostTime(clock.MulDiv(int64(x-origin), 200, 46_000, clock.Nearest))
		}
		const delay = 150_000
		for x := origin; x <= origin+46_000_000_000; x += 23_000_000 {
			p.AB = append(p.AB, []trace.Message{{Sent: x, Received: f(x) + delay}})
			p.BA = append(p.BA, []trace.Message{{Received: x, Sent: f(x) - delay}})
		}
		exact := big.NewRat(46_200, 46_000)
		for _, e := range []Estimate{Hull(p), must(Regression(p, 100)), must(Regression(p, 95))} {
			for x := origin; x <= origin+46_000_000_000; x += 1_000_000_007 {
				want := new(big.Rat).Mul(exact, new(big.Rat).SetInt64(int64(x-origin)))
				want.Add(want, new(big.Rat).SetInt64(int64(origin)))
				d := new(big.Rat).Sub(new(big.Rat).SetInt64(int64(e.Map.At(x))), want)
				if got, _ := d.Float64(); got > 3 || got < -3 {
					t.Fatalf("at %d from %d: %g ns off", x, origin, got)
				}
			}
		}
	}
}

func must(e Estimate, err error) Estimate {
	if err != nil {
		panic(err)
	}
	return e
}
