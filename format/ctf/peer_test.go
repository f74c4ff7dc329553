package ctf

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// peer returns the path of another tool. Where the tests guard a release, its absence is a failure.
func peer(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("MERIDIAN_CI") == "1" {
			t.Fatalf("%s is not installed", name)
		}
		t.Skipf("%s is not installed", name)
	}
	return path
}

// recorded returns the directory of a trace that somebody else recorded. They are kept beside the project, not in it.
func recorded(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join("../../../shared/traces", name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no trace of others here: %v", err)
	}
	return dir
}
