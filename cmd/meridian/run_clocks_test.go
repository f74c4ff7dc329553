//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestClocksAreCompared runs the example: the alignment finds the clock that was made wrong, and the one that was not. Then the checks ask
// for other clocks, and the answers are no.
func TestClocksAreCompared(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../examples/clocks/clocks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.NewReplacer("clock: there, ahead: 3s", "clock: there, ahead: 2999ms", "clock: same,", "clock: same, ahead: -10ms,", "within: 1ms", "within: 100us").Replace(string(text))
	for name, c := range map[string]struct {
		text, verdict string
		answers       []string
	}{
		"right": {string(text), "verdict: yes", []string{"there is ahead and fast  yes", "same is the same         yes"}},
		"wrong": {wrong, "verdict: no", []string{"there is ahead and fast  no", "same is the same         no"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "e.yaml"), []byte(c.text), 0o666); err != nil {
				t.Fatal(err)
			}
			out, _ := exec.Command("meridian", "run", filepath.Join(dir, "e.yaml"), "--on", "processes", "-o", filepath.Join(dir, "out"), "-q").CombinedOutput()
			for _, want := range append(c.answers, c.verdict) {
				if !strings.Contains(string(out), want) {
					t.Errorf("%s\nwant %s", out, want)
				}
			}
		})
	}
}
