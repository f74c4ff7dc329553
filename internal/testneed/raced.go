package testneed

import "testing"

// Raced begins the reasons of tests that are skipped under the race detector.
const Raced = "left out with -race: "

// RacedBy ends the test under the race detector, which makes it five to ten times slower and finds nothing more there: what goroutines
// share in this test, they share in the other too, a shorter test of the same package. Without the race detector this test runs.
func RacedBy(t testing.TB, other string) {
	t.Helper()
	if race {
		t.Skip(Raced + other + " shares the same memory")
	}
}

// Race says whether the race detector is on.
func Race() bool { return race }
