// Package testrand runs a test with random inputs, and says the seed that repeats a failure.
package testrand

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// cases is how often a test runs.
const cases = 100

// environment names the variable with the seed of the one case to run.
const environment = "MERIDIAN_TEST_SEED"

// Check runs a test with cases random generators. The first case that fails ends the test and prints its seed.
func Check(t *testing.T, test func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	seeds := make([]uint64, cases)
	for i := range seeds {
		seeds[i] = rand.Uint64()
	}
	if text := os.Getenv(environment); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", environment, err)
		}
		seeds = []uint64{seed}
	}
	for _, seed := range seeds {
		run(t, seed, test)
	}
}

func run(t *testing.T, seed uint64, test func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	over := false
	defer func() {
		if t.Failed() || !over {
			t.Logf("%s=%d repeats this", environment, seed)
		}
	}()
	test(t, rand.New(rand.NewPCG(seed, 0)))
	over = true
	if t.Failed() {
		t.FailNow()
	}
}

// Pick returns one of several values.
func Pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// Between returns an integer from low to high, both included.
func Between(r *rand.Rand, low, high int) int { return low + r.IntN(high-low+1) }

// Text returns min to max of the letters.
func Text(r *rand.Rand, letters string, min, max int) string {
	b := make([]byte, Between(r, min, max))
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}
