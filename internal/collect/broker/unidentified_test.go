package broker

import (
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

func TestAFairShareIsTheLargestThatKeepsTheLimit(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		counts := rapid.MapOf(rapid.StringN(1, 3, -1), rapid.IntRange(1, 40)).Draw(t, "counts")
		limit := rapid.IntRange(1, 60).Draw(t, "limit")
		taken := func(each int) (sum int) {
			for _, n := range counts {
				sum += min(n, each)
			}
			return sum
		}
		each := fairShare(counts, limit)
		switch {
		case each < 1 || each > limit:
			t.Errorf("%d of %d for each", each, limit)
		case each > 1 && taken(each) > limit:
			t.Errorf("%d for each are %d together, more than %d", each, taken(each), limit)
		case each < limit && taken(each+1) <= limit:
			t.Errorf("%d for each, and %d would do too", each, each+1)
		}
	})
}
