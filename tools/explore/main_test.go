package main

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTestsThatDrawAreFound(t *testing.T) {
	got, err := randomTests("testdata/weak", []string{"weak_test.go"})
	if want := []string{"FuzzHolds", "TestFailsForOddSeeds", "TestHoldsAlways", "TestPropertyHolds"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// printed returns what a function prints on standard output.
func printed(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan string)
	go func() {
		b, _ := io.ReadAll(r) // of a pipe: it ends when the writer is closed
		out <- string(b)
	}()
	was := os.Stdout
	os.Stdout = w
	f()
	os.Stdout = was
	w.Close()
	return <-out
}

func TestAFailureIsPrintedWithItsSeedAndTheCommandThatRepeatsIt(t *testing.T) {
	for _, test := range []struct {
		only   string
		failed int
		want   string
	}{
		{"weak Test(Fails|Holds)", 2, "  MERIDIAN_SEED=7 go test -count=1 -run '^(TestFailsForOddSeeds)$' meridian/tools/explore/testdata/weak\n"},
		{"weak (TestProperty|Fuzz)", 0, "1 packages with random tests, 4 runs, 0 failed"},
	} {
		o := options{length: 10 * time.Minute, most: 4, parallel: 2, seed: 6, only: regexp.MustCompile(test.only)}
		var failed int
		var err error
		out := printed(t, func() { failed, err = o.explore(t.Context(), []string{"./testdata/weak"}) })
		if err != nil || failed != test.failed || !strings.Contains(out, test.want) {
			t.Errorf("%s: %d failed, want %d, %v; no %q in\n%s", test.only, failed, test.failed, err, test.want, out)
		}
	}
}

func TestWithoutRandomTestsThereIsNothingToExplore(t *testing.T) {
	o := options{length: time.Minute, parallel: 1, only: regexp.MustCompile("there is no such test")}
	if _, err := o.explore(t.Context(), []string{"./testdata/weak"}); err == nil {
		t.Error("no error")
	}
}
