package compare

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRanksLeaveTheMedianOutOnceInAThousand(t *testing.T) {
	outside := func(n, low int) float64 { // exactly: 2·P(B(n, 1/2) < low)
		sum, ways := new(big.Int), big.NewInt(1) // of choosing k of n
		for k := range low {
			sum.Add(sum, ways)
			ways.Mul(ways, big.NewInt(int64(n-k))).Quo(ways, big.NewInt(int64(k+1)))
		}
		part, _ := new(big.Rat).SetFrac(sum, new(big.Int).Lsh(big.NewInt(1), uint(n-1))).Float64()
		return part
	}
	for _, n := range []int{1, 2, 5, 10, 11, 12, 20, 57, 100, 999, 4000, 4001} {
		low, high := Ranks(n)
		if low < 1 || high != n+1-low || low > high {
			t.Errorf("%d: ranks %d and %d", n, low, high)
			continue
		}
		if got := outside(n, low); got > 0.001 && n >= LeastSamples {
			t.Errorf("%d: the median is outside with %v", n, got)
		}
		if got := outside(n, low+1); got <= 0.001 && n < 4000 {
			t.Errorf("%d: rank %d would do, not only %d", n, low+1, low)
		}
	}
}

func TestEqualsDoNotDifferAndWhatIsPlantedDoes(t *testing.T) {
	const tries, n = 1000, 200
	r := rand.New(rand.NewPCG(5, 6))
	draw := func(slower float64) Interval {
		list := make([]int64, n)
		for i := range list {
			list[i] = int64(1e6 * slower * math.Exp(r.NormFloat64()/2))
		}
		slices.Sort(list)
		return OfMany(list, 0)
	}
	wrong, missed := 0, 0
	for range tries {
		a := draw(1)
		if *Differ(a, draw(1), true, LeastSamples) {
			wrong++
		}
		b := draw(1.6)
		if !*Differ(a, b, true, LeastSamples) || Change(a, b)[0] < 0.1 {
			missed++
		}
	}
	if wrong > tries/1000 || missed > tries/20 {
		t.Errorf("of %d: %d equals differ, %d differences of 60 %% are not seen", tries, wrong, missed)
	}
}

func TestBoundsKeepADifferenceOpen(t *testing.T) {
	fast, slow := slices.Repeat([]int64{100}, 20), slices.Repeat([]int64{150}, 20)
	for _, c := range []struct {
		bound   int64
		differs bool
	}{{0, true}, {24, true}, {25, false}, {1000, false}} {
		a, b := OfMany(fast, c.bound), OfMany(slow, c.bound)
		if got := *Differ(a, b, true, LeastSamples); got != c.differs {
			t.Errorf("bound %d: differs is %v", c.bound, got)
		}
		if got := *Differ(b, a, true, LeastSamples); got != c.differs {
			t.Errorf("bound %d, the other way: differs is %v", c.bound, got)
		}
		if change := Change(a, b); change[0] != 0.5 || math.Abs(change[1]-max(0, 0.5-float64(2*c.bound)/100)) > 1e-9 {
			t.Errorf("bound %d: %v", c.bound, change)
		}
	}
	if Differ(OfMany(fast, 0), OfMany(slow, 0), false, LeastSamples) != nil || Differ(OfMany(fast[:10], 0), OfMany(slow, 0), true, LeastSamples) != nil {
		t.Error("what has no bounds, or too few measurements, is decided")
	}
}
