package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/pipeline/input"
)

// The timestamps of b are microseconds in 32 bits, which wrap in the middle: that is named, and no clock is said to
// have been set.
func TestACounterOfMicrosecondsThatWrapsIsNamed(t *testing.T) {
	const before = 5_000_000 // us from b's first timestamp to the wrap
	var list strings.Builder
	counter := func(us int64) string {
		wrapped := uint32(us - before)
		return fmt.Sprintf("%d.%06d", wrapped/1_000_000, wrapped%1_000_000)
	}
	for i := range int64(400) {
		at := i * 25_000 // us, of a and of b's true time
		fmt.Fprintf(&list, "a b %d.%06d %s\n", 1000+at/1_000_000, at%1_000_000, counter(at+150+i%7))
		at += 10_000
		fmt.Fprintf(&list, "b a %s %d.%06d\n", counter(at), 1000+at/1_000_000, at%1_000_000+150+i%5)
	}
	path := filepath.Join(t.TempDir(), "wraps.txt")
	if err := os.WriteFile(path, []byte(list.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	inputs, err := input.Parse([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{}
	o.Align.Reference = "a"
	_, outcome := csvRows(t, inputs, o)
	all := strings.Join(outcome.Warnings, "\n")
	if !strings.Contains(all, "b: its timestamps jump by -4294.967") || !strings.Contains(all, "a 32-bit counter of microseconds wraps by as much") || strings.Contains(all, "was set") {
		t.Errorf("%s", all)
	}
}
