package pair

import (
	"testing"

	"meridian/clock"
	"meridian/internal/fuzztest"
	"meridian/trace"
)

// FuzzEstimators takes any messages, and messages between linear clocks of which the truth is known. Every estimator must
// give curves that never run back and bounds of which the lower is nowhere above the upper. Of linear clocks, Hull must not
// fall back, and its bounds must hold the truth at every instant, and the estimate and the skew. After RestoreOrder no
// message may be inverted beyond granularity and 2 ns; from Hull's estimate of linear clocks it must succeed. Other estimators'
// lines may be absurd where messages are few.
//
//fuzzall:cost 10
func FuzzEstimators(f *testing.F) {
	f.Add([]byte{0, 0, 0, 10, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40, 0, 1, 0, 30, 0, 3, 0, 50, 1, 9, 9, 9, 8, 8, 8})
	f.Add([]byte{1, 1, 0, 9, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 20, 4, 0, 0, 1, 0, 2, 1, 0, 3, 0, 4, 0, 9, 9, 0, 0, 1, 9, 90, 0, 9})
	fuzztest.Run(f, func(t *testing.T, in *fuzztest.Input) {
		var p Problem
		var truth *fuzztest.Pair
		if in.N(2) == 1 {
			truth = in.Pair(0)
			p = Problem{A: truth.A, B: truth.B, MinAB: truth.MinAB, MinBA: truth.MinBA, AB: Messages{truth.There}, BA: Messages{truth.Back}}
		} else {
			p.A.Granularity, p.B.Granularity = in.Below(in.N(20)), in.Below(in.N(20))
			p.MinAB, p.MinBA = in.Number(), in.Number()
			p.A.First, p.A.Last = tamed(in.Stamp()), tamed(in.Stamp())
			there, back := in.Messages()
			for _, way := range [][]trace.Message{there, back} {
				for i := range way {
					way[i] = trace.Message{Sent: tamed(way[i].Sent), Received: tamed(way[i].Received)}
				}
			}
			p.AB, p.BA = Messages{there}, Messages{back}
		}
		for name, estimate := range estimators {
			e, err := estimate(&p)
			if err != nil {
				t.Fatal(name, err)
			}
			if (e.Fit == Absent) != (p.AB.Len()+p.BA.Len() == 0) {
				t.Fatalf("%s: the fit of %d messages is %v", name, p.AB.Len()+p.BA.Len(), e.Fit)
			}
			if e.Fit == Absent {
				continue
			}
			checkEstimate(t, name, &e)
			if name == "hull" && truth != nil {
				checkLinear(t, &e, truth)
			}
			restored, ok := RestoreOrder(&p, e.Map.Mid)
			if !ok && truth != nil && name == "hull" {
				t.Fatal("messages of linear clocks contradict each other")
			}
			if err := restored.Check(); err != nil {
				t.Fatalf("%s: restored: %v", name, err)
			}
			if ok {
				checkOrder(t, name, &p, restored)
			}
		}
		if least := MeasuredMinimum(&p); least < 0 {
			t.Fatalf("a least delay of %d ns", least)
		}
	})
}

// tamed returns an instant within two years of 1970: curves go on beyond their messages as long as these last, at any rate that
// the messages leave, and over centuries they would leave int64.
func tamed(t clock.HostTime) clock.HostTime { return t / 64 }

func checkEstimate(t *testing.T, name string, e *Estimate) {
	t.Helper()
	m := &e.Map
	for _, c := range []clock.PairCurve{m.Mid, m.Low, m.High} {
		if c == nil {
			continue
		}
		if err := c.Check(); err != nil {
			t.Fatalf("%s: %v in %v", name, err, c)
		}
	}
	if m.Mid == nil {
		t.Fatalf("%s: no estimate", name)
	}
	if m.Low == nil || m.High == nil {
		return
	}
	for _, c := range []clock.PairCurve{m.Low, m.High, m.Mid} {
		for _, k := range c {
			if low, high, _, _ := m.Bounds(k.X); low > high {
				t.Fatalf("%s at %d: low %d above high %d", name, k.X, low, high)
			}
		}
	}
}

// checkLinear checks an estimate of Hull against the truth.
func checkLinear(t *testing.T, e *Estimate, truth *fuzztest.Pair) {
	t.Helper()
	if e.Fit == Fallback {
		t.Fatalf("no line passes between messages of linear clocks: %+v", truth)
	}
	if ppm := float64(truth.Skew) / 1000; e.SkewBounded && (ppm < e.SkewLow-1e-9 || ppm > e.SkewHigh+1e-9) {
		t.Fatalf("skew %g ppm is not within %g and %g: %+v", ppm, e.SkewLow, e.SkewHigh, truth)
	}
	span := max(clock.Sub(e.Last, e.First), 1000)
	for _, x := range []clock.HostTime{e.First, e.First.Add(1), clock.Add(e.First, span/3), e.Last, clock.Add(e.Last, span), clock.Add(e.First, -span)} {
		low, high, lowOK, highOK := e.Map.Bounds(x)
		if down, up := truth.At(x, clock.Down), truth.At(x, clock.Up); lowOK && low > down || highOK && high < up {
			t.Fatalf("at %d: %d is not within %d and %d: %+v", x, up, low, high, truth)
		}
		if at := e.Map.At(x); lowOK && at < low || highOK && at > high {
			t.Fatalf("at %d: the estimate %d is not within %d and %d: %+v", x, at, low, high, truth)
		}
	}
}

// checkOrder demands that a curve inverts no message beyond the receiver's granularity and 2 ns.
func checkOrder(t *testing.T, name string, p *Problem, c clock.PairCurve) {
	t.Helper()
	inverted := func(m trace.Message, by int64, step int64) {
		if by > max(step, 1)+2 {
			t.Fatalf("%s: %+v is inverted by %d ns under %v", name, m, by, c)
		}
	}
	for m := range p.AB.All() {
		inverted(m, clock.Sub(c.At(m.Sent, clock.Nearest), m.Received), p.B.Granularity)
	}
	for m := range p.BA.All() {
		// A receiver's stamp stands for any instant of its step.
		at := clock.Add(m.Received, max(p.A.Granularity, 1))
		inverted(m, clock.Sub(m.Sent, c.At(at, clock.Nearest)), 0)
	}
}
