package ctf

import (
	"os"
	"os/exec"
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
