// Package testrand draws random inputs for tests: the same ones in each run, or others with MERIDIAN_SEED=N (make explore). The module
// of the clocks has it for itself, so that the module needs no other for its tests.
//
//	testrand.Check(t, func(t *testrand.T) {
//		n := testrand.IntRange(1, 8).Draw(t, "n")
//		...
//	})
//
// Every generator favours the ends of its range, where mistakes are.
package testrand

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// cases is how often a check runs.
const cases = 100

// environment names the variable with the seed of a run, as in meridian/internal/testseed.
const environment = "MERIDIAN_SEED"

// T is a test with a source of random numbers.
type T struct {
	*testing.T
	random *rand.Rand
}

// Check runs a test for cases random inputs. The first that fails ends it, with the command that repeats it.
func Check(t *testing.T, test func(t *T)) {
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
	for i := range uint64(cases) {
		test(&T{t, rand.New(rand.NewPCG(seed, i))})
		if t.Failed() {
			t.FailNow()
		}
	}
}

// Generator draws values of one kind.
type Generator[V any] func(r *rand.Rand) V

// Draw returns a value. The label says to readers of the test what it is.
func (g Generator[V]) Draw(t *T, label string) V { return g(t.random) }

// Int64Range draws from low to high, both included.
func Int64Range(low, high int64) Generator[int64] {
	return func(r *rand.Rand) int64 {
		if high < low {
			panic("testrand: the range is empty")
		}
		return int64(uint64(low) + offset(r, uint64(high)-uint64(low)))
	}
}

// Uint64Range draws from low to high, both included.
func Uint64Range(low, high uint64) Generator[uint64] {
	return func(r *rand.Rand) uint64 {
		if high < low {
			panic("testrand: the range is empty")
		}
		return low + offset(r, high-low)
	}
}

// offset draws from 0 to most: the ends, a number of few bits, or any.
func offset(r *rand.Rand, most uint64) uint64 {
	var n uint64
	switch r.IntN(8) {
	case 0:
		n = 0
	case 1:
		return most
	case 2:
		n = r.Uint64N(8)
	case 3:
		return most - min(most, r.Uint64N(8))
	case 4:
		n = r.Uint64() >> r.IntN(64)
	default:
		n = r.Uint64()
	}
	if n > most {
		n %= most + 1 // most is not the greatest number here, which nothing is above
	}
	return n
}

// IntRange draws from low to high, both included.
func IntRange(low, high int) Generator[int] {
	g := Int64Range(int64(low), int64(high))
	return func(r *rand.Rand) int { return int(g(r)) }
}

// Int64 draws any integer, small ones of both signs and the ends more often than others.
func Int64() Generator[int64] {
	near := Int64Range(-8, 8)
	far := Int64Range(math.MinInt64, math.MaxInt64)
	return func(r *rand.Rand) int64 {
		switch r.IntN(4) {
		case 0:
			return near(r)
		case 1:
			return far(r) >> r.IntN(64)
		}
		return far(r)
	}
}

// Uint64 draws any integer without a sign.
func Uint64() Generator[uint64] { return Uint64Range(0, math.MaxUint64) }

// Bool draws either.
func Bool() Generator[bool] { return func(r *rand.Rand) bool { return r.IntN(2) == 1 } }

// SampledFrom draws one of several values.
func SampledFrom[S ~[]V, V any](from S) Generator[V] {
	return func(r *rand.Rand) V { return from[r.IntN(len(from))] }
}
