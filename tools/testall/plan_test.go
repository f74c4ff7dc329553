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
		pkg                     string
		plain, raced, racedSome bool
	}{
		{"order", true, false, true},
		{"match", true, false, true},
		{"cmd/meridian", true, false, true},
		{"align/pair", true, false, false},
		{"align/quality", true, false, false}, // no goroutines
		{"internal/record", true, false, true},
		{"internal/collect/session", false, true, false},
		{"sensor/ring", true, true, false},
		{"tools/pairs", true, false, false},
		{"tools/sensorkill", false, true, false},
	} {
		has := func(packages []string) bool {
			return slices.ContainsFunc(packages, func(path string) bool { return strings.HasSuffix(path, "/"+test.pkg) })
		}
		if has(p.plain) != test.plain || has(p.raced) != test.raced || has(p.racedSome) != test.racedSome {
			t.Errorf("%s: plain %t, raced %t, some raced %t", test.pkg, has(p.plain), has(p.raced), has(p.racedSome))
		}
	}
	if !strings.HasSuffix(p.plain[0], "/"+longest[0]) || !strings.HasSuffix(p.plain[1], "/"+longest[1]) {
		t.Errorf("the first packages are %q", p.plain[:2])
	}
	if all := p.all(); len(all) < len(p.plain) || !slices.IsSorted(all) || len(slices.Compact(all)) != len(all) {
		t.Errorf("%d packages, %d of them plain", len(all), len(p.plain))
	}
}

func TestTestsThatRunUnderTheRaceDetectorExist(t *testing.T) {
	for folder, tests := range computes {
		files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		for _, name := range tests {
			if !strings.Contains(all.String(), "\nfunc "+name+"(t *testing.T) {") {
				t.Errorf("%s has no %s", folder, name)
			}
		}
	}
}

// Tests that are not there under the race detector, or try fewer cases there, must run without it.
func TestNothingIsLeftOutUnderTheRaceDetectorThatDoesNotRunWithoutIt(t *testing.T) {
	p, err := newPlan("../..", "work")
	if err != nil {
		t.Fatal(err)
	}
	leaves := regexp.MustCompile(`go:build .*!race|testneed\.Cases`)
	found := 0
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") || within(path, []string{"../../tools/testall", "../../internal/testneed"}) {
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
		folder := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(filepath.ToSlash(path), "../../")))
		if !slices.ContainsFunc(p.plain, func(pkg string) bool { return strings.HasSuffix(pkg, "/"+folder) }) {
			t.Errorf("%s leaves something out under the race detector, and the tests of %s run only there", path, folder)
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%d files, %v", found, err)
	}
}
