// Package corpus finds traces that other people recorded, for tests of readers. They are not part of the repository: they
// lie beside the checkout, in ../shared/traces, or in the directory that MERIDIAN_TRACES names. Where they are missing, their
// tests are skipped.
package corpus

import (
	"os"
	"path/filepath"
	"testing"
)

// Absent is the reason of such a skip. Command testall accepts it even where no other test may be skipped.
const Absent = "traces from other sources not found: set MERIDIAN_TRACES to their directory (default: ../shared/traces, seen from the checkout)"

// Trace returns the path of a trace.
func Trace(t testing.TB, name string) string {
	t.Helper()
	found := Files(t, name)
	return found[0]
}

// Files returns what a pattern matches among the traces, at least one.
func Files(t testing.TB, pattern string) []string {
	t.Helper()
	dir := os.Getenv("MERIDIAN_TRACES")
	if dir == "" {
		dir = beside(t)
	}
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Skip(Absent)
	}
	return found
}

// beside returns the directory of traces beside the workspace of the package that is tested.
func beside(t testing.TB) string {
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.work")); err == nil {
			return filepath.Join(filepath.Dir(at), "shared", "traces")
		}
		if at == filepath.Dir(at) {
			t.Fatal("no go.work in any directory above the test")
		}
		at = filepath.Dir(at)
	}
}
