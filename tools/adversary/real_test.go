package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// realCommand is the command of this checkout.
func realCommand(t *testing.T) *command {
	t.Helper()
	path := filepath.Join(t.TempDir(), "meridian")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", path, "meridian/cmd/meridian").CombinedOutput(); err != nil {
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
