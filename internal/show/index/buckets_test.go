package index

import (
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

func TestBucketsCountAsAMapDoes(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		delay := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-100, 100), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 0, -1}))
		draw := func(label string) (buckets, map[int32]int64) {
			var b buckets
			want := map[int32]int64{}
			for _, d := range rapid.SliceOfN(delay, 0, 20).Draw(t, label) {
				b.add(bucket(d), 1)
				want[bucket(d)]++
			}
			return b, want
		}
		b, want := draw("delays")
		other, more := draw("delays of another")
		b.merge(&other)
		for number, n := range more {
			want[number] += n
		}
		var numbers []int32
		for number := range b.all() {
			numbers = append(numbers, number)
		}
		if got := maps.Collect(b.all()); !maps.Equal(got, want) || !slices.IsSorted(numbers) {
			t.Fatalf("%v, want %v", got, want)
		}
		if len(b.counts) > int(greatestBucket-leastBucket)+2*windowStep {
			t.Fatalf("%d counts are held", len(b.counts))
		}
		if got := maps.Collect(other.all()); !maps.Equal(got, more) {
			t.Fatalf("what was merged has changed: %v, want %v", got, more)
		}
	})
}
