package table

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

func TestInstantsAreThoseOfTheTimePackageInAnyOrder(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		var instants Instants
		near := rapid.Int64Range(-3e9, 3e9)
		for _, base := range rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(math.MinInt64+3e9, math.MaxInt64-3e9), rapid.Just(int64(0))), 1, 10).Draw(t, "bases") {
			at := base + near.Draw(t, "apart")
			want := "x" + time.Unix(0, at).UTC().Format("2006-01-02T15:04:05.000000000Z")
			if got := string(instants.Append([]byte("x"), clock.TimelineTime(at))); got != want {
				t.Fatalf("%d ns is %s, not %s", at, got, want)
			}
		}
	})
}
