// Package testseed gives random tests their seed: the same in every ordinary run, so that one commit has one verdict, and another
// where somebody explores (make explore). A test that fails prints the command that repeats it.
//
//	func TestX(t *testing.T) {
//		random := testseed.New(t)
//		...
//
//	func TestY(t *testing.T) {
//		testseed.Check(t, func(r *rapid.T) { ... })
//	}
//
// Package meridian/sensor/internal/testrand and meridian/clock/internal/testrand read the same variable: their modules need no other.
package testseed

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Variable names the environment variable with the seed of a run.
const Variable = "MERIDIAN_SEED"

// Default is the seed of a run without Variable.
const Default = 1

// rapid draws a new seed for each property unless this flag is set. A flag on the command line comes after this and wins.
func init() {
	err := flag.Set("rapid.seed", strconv.FormatUint(Run(), 10))
	if err != nil {
		panic(err)
	}
}

// Run returns the seed of this run, which is not 0. It panics if Variable is not a positive number: a typing error must not pass for
// the default.
func Run() uint64 {
	text := os.Getenv(Variable)
	if text == "" {
		return Default
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seed == 0 {
		panic(fmt.Sprintf("%s=%q is not a positive integer", Variable, text))
	}
	return seed
}

// First returns the first seed of a series whose members are numbered. It is the given one by Default, and one of another million for
// each other seed of a run.
func First(usual uint64) uint64 { return usual + (Run()-Default)*1_000_000 }

// Seed returns a seed of the test's own, from the seed of the run and the test's name. If the test fails, it logs the command that
// repeats it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	logOnFailure(t)
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", Run(), t.Name())
	return h.Sum64()
}

// New returns random numbers from Seed. They are for one goroutine.
func New(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 0))
}

// Check checks a property by [rapid.Check], with the seed of the run.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	logOnFailure(t)
	rapid.Check(t, property)
}

func logOnFailure(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("to repeat this: %s", Command(t.Name()))
		}
	})
}

// Command returns the command that repeats a test of this run, to be called in the folder of its package.
func Command(test string) string {
	names := strings.Split(test, "/")
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	return fmt.Sprintf("%s=%d go test -count=1 -run '%s' .", Variable, Run(), strings.Join(names, "/"))
}
