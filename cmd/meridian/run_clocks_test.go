//go:build linux

package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestClocksAreCompared runs the example: the alignment finds the clock that was made wrong, and the one that was not. Then the checks ask
// for other clocks, and the answers are no. How narrow the bounds are depends on how busy the machine is: within a second they are on any, within
// the example's millisecond the answer may be undecided, and never no.
func TestClocksAreCompared(t *testing.T) {
	t.Parallel()
	const more = "\n  - {name: there within a second, clock: there, ahead: 3s, fast: 40ppm, within: 1s}\n  - {name: same within a second, clock: same, within: 1s}"
	for name, c := range map[string]struct {
		file    string
		answers map[string]string // of checks; "" where it may be undecided
	}{
		"right": {example(t, "clocks/clocks.yaml", "\nexpect:", "\nexpect:"+more),
			map[string]string{"there is ahead and fast": "", "same is the same": "", "no inversions": "", "there within a second": "yes", "same within a second": "yes"}},
		"wrong": {example(t, "clocks/clocks.yaml", "clock: there, ahead: 3s", "clock: there, ahead: 2s", "clock: same,", "clock: same, ahead: -1s,"),
			map[string]string{"there is ahead and fast": "no", "same is the same": "no", "no inversions": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "out")
			out, _ := exec.Command("meridian", "run", c.file, "--on", "processes", "-o", dir, "-q").CombinedOutput()
			b, err := os.ReadFile(filepath.Join(dir, "report.json"))
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			var r runReport
			if err := json.Unmarshal(b, &r); err != nil {
				t.Fatal(err)
			}
			if len(r.Checks) != len(c.answers) {
				t.Errorf("%d checks, want %d: %s", len(r.Checks), len(c.answers), out)
			}
			for _, check := range r.Checks {
				if want := c.answers[check.Name]; check.Answer != want && (want != "" || check.Answer == "no") {
					t.Errorf("%s: %s, want %q: %s", check.Name, check.Answer, want, out)
				}
			}
		})
	}
}
