package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestNothingIsLeftWhateverIsKilled runs a few rounds; docs/benchmarks.md has those of a hundred.
func TestNothingIsLeftWhateverIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it builds the command, and a round takes a second or two")
	}
	meridian := filepath.Join(t.TempDir(), "meridian")
	// go run keeps what it links.
	if out, err := exec.Command("go", "run", "-exec", "cp", "meridian/cmd/meridian", meridian).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	place := "processes"
	if os.Geteuid() == 0 {
		place = "namespaces"
	}
	for i, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if err := rounds(meridian, 1, uint64(i+1), place, kind); err != nil {
				t.Errorf("%s: %v", place, err)
			}
		})
	}
}
