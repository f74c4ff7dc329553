package main

import (
	"io"
	"testing"

	"meridian/internal/testneed"
)

// Where everything must run, tests may be left out with -race and with -short. Any other reason is a failure.
func TestOnlyTestsThatAreLeftOutMayBeSkippedWhereAllMustRun(t *testing.T) {
	for reason, wrong := range map[string]bool{
		testneed.LeftOut + "needs root":                    false,
		testneed.Raced + "TestX shares the same memory":    false,
		"tshark is not installed (apt-get install tshark)": true,
		noReason: true,
	} {
		r := newResult(io.Discard)
		r.skips[reason] = []string{"meridian/a.TestA"}
		if r.wrong(true) != wrong {
			t.Errorf("%q: %v, want %v", reason, !wrong, wrong)
		}
	}
}
