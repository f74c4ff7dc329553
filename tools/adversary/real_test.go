package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"meridian/internal/testseed"
)

// realCommand is the command of this checkout.
func realCommand(t *testing.T) *command {
	t.Helper()
	path := filepath.Join(t.TempDir(), "meridian")
	// go run keeps what it links.
	if out, err := exec.Command("go", "run", "-exec", "cp", "meridian/cmd/meridian", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c, err := newCommand(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The oracle is never the function under test.
func TestNothingOfMeridianIsImported(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		if first, _, _ := strings.Cut(path, "/"); first == "meridian" && path != "meridian/tools/adversary" || strings.Contains(first, ".") {
			t.Errorf("%s is imported", path)
		}
	}
}

// TestBoundsHoldTheEventOrSaySo is the short run of make adversary: the same worlds in each run of one seed, of every kind.
func TestBoundsHoldTheEventOrSaySo(t *testing.T) {
	c := realCommand(t)
	s := &settings{from: testseed.First(1), seeds: 100, most: 600, jobs: runtime.GOMAXPROCS(0)}
	if testing.Short() {
		s.seeds = 60
	}
	tally := newTally()
	if err := tryAll(s, c, t.TempDir(), tally); err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	tally.print(&table)
	t.Log("\n" + table.String())
	for _, f := range tally.smallest() {
		t.Errorf("%s\n  %s\n  %s", s.repeat(kindNamed(f.world.Kind), f.world.Seed), f.world, f.verdict)
	}
}
