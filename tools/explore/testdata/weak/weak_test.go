// Package weak has tests that fail for some seeds, for the test of explore.
package weak

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

func TestHoldsAlways(t *testing.T) {
	if testseed.Run() == 0 {
		t.Error("no seed")
	}
}

func TestFailsForOddSeeds(t *testing.T) { drawn(t, testseed.New(t)) }

func drawn(t *testing.T, _ *rand.Rand) {
	if testseed.Run()%2 == 1 {
		t.Error("an odd seed")
	}
}

func TestPropertyHolds(t *testing.T) {
	testseed.Check(t, func(r *rapid.T) { rapid.Bool().Draw(r, "any") })
}

func FuzzHolds(f *testing.F) {
	f.Add([]byte("a"))
	testseed.Fuzz(f, func(*testing.T, []byte) {})
}

func TestDrawsNothing(t *testing.T) { t.Error("it is not random") }
