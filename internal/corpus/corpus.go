// Package corpus finds traces that other people recorded, for tests. They are data to try a reader on and not files of
// the product: they lie beside the checkout, in ../shared/traces or in the directory that MERIDIAN_TRACES names, and a test
// of them is skipped where they are not.
package corpus

import (
	"os"
	"path/filepath"
	"testing"
)

// Absent is why a test was skipped. Package suite lets it pass even where nothing else may be skipped.
const Absent = "traces of other people are not beside the project"

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

// beside returns the directory of traces beside the module that is tested.
func beside(t testing.TB) string {
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return filepath.Join(filepath.Dir(at), "shared", "traces")
		}
		if at == filepath.Dir(at) {
			t.Fatal("no module around the test")
		}
		at = filepath.Dir(at)
	}
}
