package trace

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
)

func TestGranularityIsTheLargestPowerOfTenThatDividesEveryStamp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]int64{1, 3, 10, 1000, 1024, 20_000, 1_000_000_000, 10_000_000_000}).Draw(t, "unit")
		origin := clock.HostTime(rapid.SampledFrom([]int64{0, 1_790_000_000_000_000_000, -1_000_000_000_000}).Draw(t, "origin"))
		var g Granularity
		var stamps []clock.HostTime
		for range rapid.IntRange(1, 5).Draw(t, "stamps") {
			s := origin + clock.HostTime(unit*rapid.Int64Range(-1000, 1000).Draw(t, "stamp"))
			stamps = append(stamps, s)
			g.Add(s)
		}
		want := int64(1)
		for _, step := range []int64{10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000} {
			for _, s := range stamps {
				if clock.HostTime(int64(s)/step*step) != s {
					step = 1
				}
			}
			want = max(want, step)
		}
		if got := g.Step(1, 100); got != want {
			t.Fatalf("step %d of %d, want %d", got, stamps, want)
		}
	})
}

func TestGranularityOfFewStampsOrOfNoneIsTheUnitOfTheFile(t *testing.T) {
	var g Granularity
	if got := g.Step(7, 1_000_000); got != 7 {
		t.Errorf("of no stamp: %d", got)
	}
	g.Add(5000)
	for _, c := range []struct{ finest, stamps, want int64 }{{1, 99, 1}, {1, 100, 1000}, {1, 101, 1000}, {1000, 99, 1000}, {1_000_000, 100, 1_000_000}, {1024, 200, 1024}} {
		if got := g.Step(c.finest, c.stamps); got != c.want {
			t.Errorf("%d stamps in units of %d: %d, want %d", c.stamps, c.finest, got, c.want)
		}
	}
	g.Add(math.MinInt64) // ...808
	if got := g.Step(1, 100); got != 1 {
		t.Errorf("of the least stamp: %d", got)
	}
}
