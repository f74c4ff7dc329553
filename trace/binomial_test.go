package trace

import (
	"math"
	"testing"
)

func TestTheBinomialTailIsTheSumOfItsTerms(t *testing.T) {
	for n := int64(1); n <= 40; n++ {
		for _, p := range []float64{0.01, 0.1, 0.5, 0.9} {
			probability := math.Pow(1-p, float64(n)) // of i events, by the recurrence from none
			below := 0.0
			for k := range n + 1 {
				want := 1 - below
				if float64(k) <= p*float64(n) {
					want = 1
				}
				if got := BinomialTail(n, k, p); math.Abs(got-want) > 1e-9 {
					t.Fatalf("P(Bin(%d, %g) >= %d) is %g, want %g", n, p, k, got, want)
				}
				below += probability
				probability *= float64(n-k) / float64(k+1) * p / (1 - p)
			}
		}
	}
}
