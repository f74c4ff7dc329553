package fuzztest

import (
	"os"
	"path/filepath"
	"testing"
)

// Real returns the files below testdata/real of the package under test whose names match a pattern of [filepath.Match], in order of
// their names. They are what real tools wrote: README.md there names each. Without one that matches the target fails.
func Real(f *testing.F, pattern string) (all [][]byte) {
	f.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "real", pattern))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		if filepath.Base(name) == "README.md" {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, b)
	}
	if len(all) == 0 {
		f.Fatalf("no file below testdata/real matches %s", pattern)
	}
	return all
}
