package clock

import (
	"math/rand/v2"
	"testing"
)

// randomMap has an estimate of one piece and bounds of some pieces, wide and narrow.
func randomMap(r *rand.Rand) Map {
	m := Map{Mid: Curve{{X: 0, Y: 0}, {X: 100, Y: 100}}}
	x, low, high := HostTime(r.IntN(10)), TimelineTime(-1000), TimelineTime(-1000)
	for range 2 + r.IntN(8) {
		low = max(low, TimelineTime(x)-TimelineTime(r.IntN(30)))
		high = max(high, TimelineTime(x)+TimelineTime(r.IntN(30)))
		m.Low, m.High = append(m.Low, Knot{X: x, Y: low}), append(m.High, Knot{X: x, Y: high})
		x += HostTime(1 + r.IntN(20))
	}
	return m
}

func TestUnboundedHoldsEveryInstantAtWhichTheBoundsAreTooFarApart(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := randomMap(r)
		first := HostTime(r.IntN(60) - 20)
		last, limit := first+HostTime(r.IntN(120)), int64(r.IntN(40))
		found := m.Unbounded(first, last, limit)
		in := func(at HostTime) bool {
			for _, i := range found {
				if i.Holds(at) {
					return true
				}
			}
			return false
		}
		width := func(at HostTime) int64 {
			low, high, _, _ := m.Bounds(at)
			return Sub(high, low)
		}
		for at := first; at <= last; at++ {
			if err := width(at); err > limit+2 && !in(at) {
				t.Fatalf("seed %d: width %d at %d is beyond %d and not in %v", seed, err, at, limit, found)
			}
		}
		for i, x := range found {
			if x.First < first || x.Last > last || x.Last < x.First || i > 0 && x.First <= found[i-1].Last+1 {
				t.Fatalf("seed %d: stretches of %d..%d: %v", seed, first, last, found)
			}
			if a := width(x.First); a < limit-1 {
				t.Fatalf("seed %d: %v begins with a width of %d, limit %d", seed, x, a, limit)
			}
			if b := width(x.Last); b < limit-1 {
				t.Fatalf("seed %d: %v ends with a width of %d, limit %d", seed, x, b, limit)
			}
		}
		if at, worst, ok := m.WorstError(first, last); !ok {
			t.Fatalf("seed %d: bounded map without a worst error", seed)
		} else {
			if err, _ := m.Error(at); err != worst {
				t.Fatalf("seed %d: error %d at %d, said %d", seed, err, at, worst)
			}
			for at := first; at <= last; at++ {
				if err, _ := m.Error(at); err > worst+1 {
					t.Fatalf("seed %d: error %d at %d, worst said %d", seed, err, at, worst)
				}
			}
		}
	}
}

func TestAMapWithoutASideIsUnboundedAllOver(t *testing.T) {
	full := Identity()
	for _, m := range []Map{{Mid: full.Mid, Low: full.Low}, {Mid: full.Mid, High: full.High}, {Mid: full.Mid}} {
		if got := m.Unbounded(-5, 7, 1<<62); len(got) != 1 || got[0] != (HostInterval{-5, 7}) {
			t.Errorf("%v: unbounded in %v", m, got)
		}
		if _, _, ok := m.WorstError(-5, 7); ok {
			t.Errorf("%v: a worst error without a bound", m)
		}
	}
	if got := full.Unbounded(-5, 7, 0); got != nil {
		t.Errorf("a reference is unbounded in %v", got)
	}
	if got := full.Unbounded(7, -5, 0); got != nil {
		t.Errorf("nothing is unbounded in %v", got)
	}
}
