package pair

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

func TestThirdOfTheExchangesWrongLeavesTheTrimmedLineAlone(t *testing.T) {
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 30))
		i := 0
		p, f := linear(since1970, -55, 50_000_000, 5000, func() int64 {
			d := random.Int64N(2_000)
			// Of the exchanges in the second half three of five go through a queue one way: 30% of all.
			if i++; i > 5000 && i%2 == 0 && random.IntN(5) < 3 {
				d += 20_000_000 + random.Int64N(30_000_000)
			}
			return d
		})
		off := func(e Estimate) (worst int64) {
			for x := p.A.First; x < p.A.Last; x += 1e9 {
				worst = max(worst, distance(e.Map.At(x), f(x)))
			}
			return worst
		}
		e := must(LeastTrimmedSquares(p, 0.5))
		if got := off(e); got > 2_000 {
			t.Errorf("seed %d: trimmed squares are %d ns off", seed, got)
		}
		if got := off(must(Regression(p, 100))); got < 1_000_000 {
			t.Errorf("seed %d: plain squares are only %d ns off: the exchanges do not try anything", seed, got)
		}
		if e.Exchanges < 4000 || e.Exchanges > 6000 {
			t.Errorf("kept %d", e.Exchanges)
		}
	}
}

func TestTrimmedSumIsTheLeastOfAllSubsets(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for range 30 {
		var exchanges []exchange
		for i := range 10 {
			exchanges = append(exchanges, exchange{at: clock.HostTime(int64(i)*1000 + random.Int64N(900)), offset: float64(random.Int64N(5000))})
		}
		trimmer := newTrimmer(exchanges, 0.5)
		line, ok := trimmer.search()
		if !ok {
			t.Fatal("no line")
		}
		sumOf := func(l regressionLine, of []exchange) (sum float64) {
			var squares []float64
			for _, x := range of {
				r := l.residualOf(x)
				squares = append(squares, r*r)
			}
			slices.Sort(squares)
			for _, s := range squares[:trimmer.count(10)] {
				sum += s
			}
			return sum
		}
		best := math.Inf(1)
		for mask := range 1 << 10 {
			var subset []exchange
			for i, x := range exchanges {
				if mask>>i&1 == 1 {
					subset = append(subset, x)
				}
			}
			if len(subset) != trimmer.count(10) {
				continue
			}
			if l, ok := leastSquares(subset); ok {
				best = min(best, sumOf(l, subset))
			}
		}
		if got := sumOf(line, exchanges); got > best*1.0001 {
			t.Errorf("the trimmed sum is %g, of the best subset %g", got, best)
		}
	}
}

func TestSelectionFindsWhatSortingWould(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 20), func(i int) float64 { return float64(i) }), 1, 40).Draw(t, "values")
		n := rapid.IntRange(0, len(values)-1).Draw(t, "n")
		sorted := slices.Sorted(slices.Values(values))
		if got := nth(values, n); got != sorted[n] {
			t.Fatalf("%g, sorted %v", got, sorted)
		}
	})
}

func TestKeptPartOutsideItsRangeIsAnError(t *testing.T) {
	for _, kept := range []float64{0.4, 1.01, -1, math.NaN()} {
		if _, err := LeastTrimmedSquares(&Problem{}, kept); err == nil {
			t.Errorf("%g", kept)
		}
	}
}
