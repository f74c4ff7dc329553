package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestPackagesThatComputeRunBothWaysAndOthersOnce(t *testing.T) {
	p, err := newPlan("../..", "work")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		pkg                      string
		plain, raced, racedShort bool
	}{
		{"match", true, false, true},
		{"cmd/meridian", true, false, true},
		{"align/pair", true, false, false},
		{"align/quality", true, false, false}, // no goroutines
		{"internal/record", false, true, false},
		{"sensor/ring", true, true, false},
		{"tools/pairs", true, false, false},
		{"tools/sensorkill", false, true, false},
	} {
		has := func(packages []string) bool {
			return slices.ContainsFunc(packages, func(path string) bool { return strings.HasSuffix(path, "/"+test.pkg) })
		}
		if has(p.plain) != test.plain || has(p.raced) != test.raced || has(p.racedShort) != test.racedShort {
			t.Errorf("%s: plain %t, raced %t, raced with -short %t", test.pkg, has(p.plain), has(p.raced), has(p.racedShort))
		}
	}
	if all := p.all(); len(all) < len(p.plain) || !slices.IsSorted(all) || len(slices.Compact(all)) != len(all) {
		t.Errorf("%d packages, %d of them plain", len(all), len(p.plain))
	}
}

// What a test leaves out under the race detector must run without it.
func TestNothingIsLeftOutUnderTheRaceDetectorThatDoesNotRunWithoutIt(t *testing.T) {
	p, err := newPlan("../..", "work")
	if err != nil {
		t.Fatal(err)
	}
	leaves := regexp.MustCompile(`testneed\.Race|\[race\]|\[!race\]|go:build .*!race`)
	found := 0
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".txtar") || within(path, []string{"../../tools/testall", "../../internal/testneed"}) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !leaves.Match(text) {
			return nil
		}
		found++
		folder, _, _ := strings.Cut(strings.TrimPrefix(filepath.ToSlash(path), "../../"), "/testdata/")
		if strings.HasSuffix(folder, ".go") {
			folder = filepath.Dir(folder)
		}
		if !slices.ContainsFunc(p.plain, func(pkg string) bool { return strings.HasSuffix(pkg, "/"+folder) }) {
			t.Errorf("%s leaves something out under the race detector, and the tests of %s run only there", path, folder)
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%d files, %v", found, err)
	}
}
