package bound

import (
	"testing"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/fuzztest"
)

// FuzzCorridor takes any messages, and messages between clocks that keep an assumption. Bounds must never cross, and curves
// must be curves. Of clocks that keep the assumption the corridor must be consistent and hold the truth at every instant,
// between the knots of its curves too. The wander that Least finds must be enough, and no more than those clocks have.
//
//fuzzall:cost 10
func FuzzCorridor(f *testing.F) {
	f.Add([]byte{0, 30, 0, 0, 10, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40, 0, 1, 0, 30, 0, 3, 0, 50, 1, 9, 9, 9, 8, 8, 8})
	f.Add([]byte{1, 1, 0, 9, 3, 1, 0, 0, 60, 0, 0, 0, 0, 0, 26, 10, 0, 0, 1, 0, 2, 1, 0, 3, 0, 4, 0, 9, 9, 0, 0, 1, 9, 90, 0, 9})
	fuzztest.Run(f, func(t *testing.T, in *fuzztest.Input) {
		var p pair.Problem
		var truth *fuzztest.Pair
		a := Default
		if in.N(2) == 1 {
			truth = in.Pair(int(Default.Wander))
			p = pair.Problem{A: truth.A, B: truth.B, MinAB: truth.MinAB, MinBA: truth.MinBA, AB: pair.Messages{truth.There}, BA: pair.Messages{truth.Back}}
		} else {
			a = Assumption{Wander: []float64{0, 3, 30, 1e5}[in.N(4)], Epsilon: float64(in.N(3)) * 100}
			p.A.Granularity, p.B.Granularity = in.Below(in.N(20)), in.Below(in.N(20))
			p.MinAB, p.MinBA = in.Below(in.N(20)), in.Below(in.N(20))
			there, back := in.Messages()
			p.AB, p.BA = pair.Messages{there}, pair.Messages{back}
		}
		c := New(&p, a)
		if c.Empty() {
			if p.AB.Len()+p.BA.Len() > 0 {
				t.Fatal("a corridor of messages is empty")
			}
			return
		}
		if truth != nil && !c.Consistent() {
			t.Fatalf("messages of clocks that keep the assumption contradict it: %+v", truth)
		}
		checkCorridor(t, c, truth)
		if truth != nil {
			if w := Least(&p, a.Epsilon); !New(&p, Assumption{Wander: 1.02*w + 1e-6, Epsilon: a.Epsilon}).Consistent() {
				t.Fatalf("a wander of %g ppb/s is too little: %+v", w, truth)
			} else if w > a.Wander*1.02 {
				t.Fatalf("at least %g ppb/s is found for clocks that keep %g: %+v", w, a.Wander, truth)
			}
		}
	})
}

func checkCorridor(t *testing.T, c *Corridor, truth *fuzztest.Pair) {
	t.Helper()
	first, last := c.Extent()
	span := max(clock.Sub(last, first), 1000)
	instants := []clock.HostTime{first, clock.Add(first, span/100), clock.Add(last, -span/77), clock.Add(first, span/5), clock.Add(first, span/3), clock.Add(first, span/2+1), last, clock.Add(last, span), clock.Add(first, -span)}
	low, high, curved := c.Curves(first, last)
	for _, x := range []clock.PairCurve{low, high} {
		if x == nil {
			continue
		}
		if err := x.Check(); err != nil {
			t.Fatalf("%v: %v", err, x)
		}
	}
	for _, x := range instants {
		l, h, lowOK, highOK, ok := c.At(x)
		if truth != nil && (!ok || !curved) {
			t.Fatalf("at %d: messages of clocks that keep the assumption contradict it: %+v", x, truth)
		}
		if !ok {
			continue
		}
		if lowOK && highOK && l > h {
			t.Fatalf("at %d: low %d above high %d", x, l, h)
		}
		if truth == nil {
			continue
		}
		down, up := truth.At(x, clock.Down), truth.At(x, clock.Up)
		if lowOK && l > down || highOK && h < up {
			t.Fatalf("at %d: %d is not within %d and %d: %+v", x, up, l, h, truth)
		}
		if x >= first && x <= last && (lowOK && low.At(x, clock.Down) > down || highOK && high.At(x, clock.Up) < up) {
			t.Fatalf("at %d: %d is not within the curves' %d and %d: %+v", x, up, low.At(x, clock.Down), high.At(x, clock.Up), truth)
		}
	}
}
