package pair

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// estimators are all that take a problem alone, with options that keep what they must not lose.
var estimators = map[string]func(*Problem) (Estimate, error){
	"hull":       func(p *Problem) (Estimate, error) { return Hull(p), nil },
	"cones":      func(p *Problem) (Estimate, error) { return Cones(p), nil },
	"regression": func(p *Problem) (Estimate, error) { return Regression(p, 95) },
	"two-point":  TwoPoint,
	"corridor":   WidestCorridor,
	"interval":   func(p *Problem) (Estimate, error) { return Interval(p, 0) },
	"trimmed":    func(p *Problem) (Estimate, error) { return LeastTrimmedSquares(p, 0.5) },
	"cristian":   func(p *Problem) (Estimate, error) { return Cristian(p, CristianOptions{}) },
	"ntp":        NTP,
	"segmented": func(p *Problem) (Estimate, error) {
		return Segmented(p, 1_000_000_000, func(p *Problem) (Estimate, error) { return Hull(p), nil })
	},
}

// linear returns exchanges over two clocks ppm apart, symmetric, one every step ns; delay gives what a message takes
// beyond 100 µs.
func linear(origin clock.HostTime, ppm, step int64, n int, delay func() int64) (*Problem, func(clock.HostTime) clock.HostTime) {
	f := func(x clock.HostTime) clock.HostTime {
		return x + 7_000_000_000 + clock.HostTime(clock.MulDiv(int64(x-origin), ppm, 1_000_000, clock.Nearest))
	}
	p := &Problem{A: trace.Clock{First: origin, Last: origin + clock.HostTime(int64(n)*step)}}
	p.B = trace.Clock{First: f(p.A.First), Last: f(p.A.Last)}
	var there, back []trace.Message
	for i := range int64(n) {
		t1 := origin + clock.HostTime(i*step)
		t2 := t1 + 100_000 + clock.HostTime(delay())
		t3 := t2 + 50_000
		t4 := t3 + 100_000 + clock.HostTime(delay())
		there = append(there, trace.Message{Sent: t1, Received: f(t2)})
		back = append(back, trace.Message{Sent: f(t3), Received: t4})
	}
	p.AB, p.BA = Messages{there}, Messages{back}
	return p, f
}

func none() int64 { return 0 }

func TestLinesThroughSymmetricExchangesOfLinearClocksAreExact(t *testing.T) {
	for _, origin := range []clock.HostTime{0, since1970} {
		p, f := linear(origin, 87, 1_000_000_000, 200, none)
		for _, name := range []string{"hull", "regression", "two-point", "corridor", "trimmed"} {
			e, err := estimators[name](p)
			if err != nil {
				t.Fatal(name, err)
			}
			for x := p.A.First - 1e9; x < p.A.Last+1e9; x += 777_777_777 {
				if d := int64(e.Map.At(x) - f(x)); d < -12 || d > 12 {
					t.Errorf("%s from %d: %d ns off at %d", name, origin, d, int64(x-origin))
					break
				}
			}
			if e.Skew < 86.99 || e.Skew > 87.01 {
				t.Errorf("%s: skew %g ppm", name, e.Skew)
			}
		}
	}
}

func TestEveryEstimatorGivesACurveThatNeverRunsBackWhateverTheMessages(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		p, _ := drawProblem(t)
		p.MinAB = rapid.Int64Range(-5, 300_000).Draw(t, "minAB")
		for name, estimate := range estimators {
			e, err := estimate(p)
			if err != nil {
				t.Fatal(name, err)
			}
			for _, c := range []clock.PairCurve{e.Map.Mid, e.Map.Low, e.Map.High} {
				if c == nil {
					continue
				}
				if err := c.Check(); err != nil {
					t.Fatalf("%s: %v in %v", name, err, c)
				}
			}
			if e.Map.Mid == nil {
				t.Fatalf("%s: no estimate", name)
			}
		}
	})
}

func TestEstimatorsTakeTheHullWhereMessagesSayTooLittle(t *testing.T) {
	oneWay := &Problem{AB: Messages{{{Sent: 10, Received: 500}, {Sent: 90, Received: 700}}}}
	for name, estimate := range estimators {
		for _, p := range []*Problem{{}, oneWay} {
			e, err := estimate(p)
			if err != nil {
				t.Fatal(name, err)
			}
			if h := Hull(p); e.Fit != h.Fit || len(e.Map.Mid) != len(h.Map.Mid) || e.Exchanges != 0 {
				t.Errorf("%s: %v with %d exchanges, hull %v", name, e.Fit, e.Exchanges, h.Fit)
			}
		}
	}
}

func TestTheSameMessagesGiveTheSameEstimateInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	p, _ := linear(since1970, -30, 10_000_000, 900, func() int64 { return int64(random.ExpFloat64() * 80_000) })
	q := *p
	q.AB, q.BA = Messages{append([]trace.Message(nil), p.AB[0]...)}, Messages{append([]trace.Message(nil), p.BA[0]...)}
	for _, m := range []Messages{q.AB, q.BA} {
		random.Shuffle(len(m[0]), func(i, j int) { m[0][i], m[0][j] = m[0][j], m[0][i] })
	}
	for name, estimate := range estimators {
		e, f := must(estimate(p)), must(estimate(&q))
		if e.Skew != f.Skew || len(e.Map.Mid) != len(f.Map.Mid) || e.Residual != f.Residual {
			t.Fatalf("%s: skew %g and %g", name, e.Skew, f.Skew)
		}
		for i := range e.Map.Mid {
			if e.Map.Mid[i] != f.Map.Mid[i] {
				t.Fatalf("%s: knot %v and %v", name, e.Map.Mid[i], f.Map.Mid[i])
			}
		}
	}
}

func TestLeastDelaysNarrowTheBoundsAndKeepTheTruth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	p, f := linear(since1970, 40, 100_000_000, 500, func() int64 { return int64(random.ExpFloat64() * 50_000) })
	width := func(e Estimate) int64 {
		s, ok := e.Error()
		if !ok {
			t.Fatal("unbounded")
		}
		return s.Mean
	}
	plain := Hull(p)
	q := *p
	q.MinAB, q.MinBA = 99_900, 99_900
	narrow := Hull(&q)
	if width(narrow) > width(plain)/10 {
		t.Errorf("%d ns with least delays, %d without", width(narrow), width(plain))
	}
	for x := p.A.First; x < p.A.Last; x += 1e9 {
		if low, high, _, _ := narrow.Map.Bounds(x); f(x) < low-1 || f(x) > high+1 {
			t.Fatalf("truth %d outside [%d, %d]", f(x), low, high)
		}
	}
	q.MinAB = 500_000
	if e := Hull(&q); e.Fit != Fallback {
		t.Errorf("messages quicker than the least delay leave %v", e.Fit)
	}
}

func TestMeasuredMinimumIsHalfTheQuickestRoundTripWhateverTheSkew(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	for _, ppm := range []int64{0, -300, 300} {
		p, _ := linear(since1970, ppm, 100_000_000, 2000, func() int64 { return int64(random.ExpFloat64() * 50_000) })
		if got := MeasuredMinimum(p); got < 99_500 || got > 106_000 {
			t.Errorf("%d ppm: %d ns", ppm, got)
		}
	}
	if got := MeasuredMinimum(&Problem{}); got != 0 {
		t.Errorf("%d ns without messages", got)
	}
}
