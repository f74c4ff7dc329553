// Package testrand runs a test with random inputs: the same ones in each run, or others with MERIDIAN_SEED=N (make explore).
package testrand

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// cases is how often a test runs.
const cases = 100

// environment names the variable with the seed of a run, as in meridian/internal/testseed.
const environment = "MERIDIAN_SEED"

// Check runs a test with cases random generators. The first case that fails ends the test.
func Check(t *testing.T, test func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	seed := seedOf(t)
	for i := range uint64(cases) {
		test(t, rand.New(rand.NewPCG(seed, i)))
		if t.Failed() {
			t.FailNow()
		}
	}
}

// New returns a random generator. If the test fails, it logs the command that repeats it.
func New(t *testing.T) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(seedOf(t), cases))
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(1)
	if text := os.Getenv(environment); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", environment, err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("to repeat this: %s=%d go test -count=1 -run '^%s$' .", environment, seed, t.Name())
		}
	})
	return seed
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
