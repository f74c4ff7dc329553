package clock

import (
	"math"
	"math/big"
	"testing"
	"time"

	"meridian/clock/internal/testrand"
)

// checkSums holds every sum and difference of two integers against big integers.
func checkSums(t testing.TB, a, b int64) {
	t.Helper()
	sum := saturate(new(big.Int).Add(big.NewInt(a), big.NewInt(b)))
	difference := saturate(new(big.Int).Sub(big.NewInt(a), big.NewInt(b)))
	for name, got := range map[string]int64{
		"Add": Add(a, b), "HostTime.Add": int64(HostTime(a).Add(time.Duration(b))), "TimelineTime.Add": int64(TimelineTime(a).Add(time.Duration(b))),
	} {
		if got != sum {
			t.Fatalf("%s of %d and %d: %d, want %d", name, a, b, got, sum)
		}
	}
	for name, got := range map[string]int64{
		"Sub": Sub(a, b), "HostTime.Sub": int64(HostTime(a).Sub(HostTime(b))), "TimelineTime.Sub": int64(TimelineTime(a).Sub(TimelineTime(b))),
	} {
		if got != difference {
			t.Fatalf("%s of %d and %d: %d, want %d", name, a, b, got, difference)
		}
	}
}

func TestSumsAndDifferencesSaturate(t *testing.T) {
	for _, a := range ends {
		for _, b := range ends {
			checkSums(t, a, b)
		}
	}
	testrand.Check(t, func(t *testrand.T) {
		checkSums(t, testrand.Int64().Draw(t, "a"), testrand.Int64().Draw(t, "b"))
	})
}

func TestDifferencesWithinTheLimitDoNotSaturate(t *testing.T) {
	if d := Sub(HostTime(Limit-1), HostTime(-Limit)); d != math.MaxInt64 {
		t.Errorf("%d", d)
	}
	if d := HostTime(Limit).Sub(0); d != Limit {
		t.Errorf("%d", d)
	}
}
