package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

// What tests and their scripts ask for is installed, and by the package that they name.
func TestEveryProgramThatTestsNeedIsInstalled(t *testing.T) {
	asked := regexp.MustCompile(`testneed\.Program\((?:\w+\.)?t, "([^"]+)"\)`)
	needed := regexp.MustCompile(`(?m)^need (\S+)`)
	found := make(map[string]string) // a file that asks for each program
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		of := asked
		switch filepath.Ext(path) {
		case ".go":
		case ".txtar":
			of = needed
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range of.FindAllSubmatch(text, -1) {
			found[string(m[1])] = path
		}
		return nil
	})
	if err != nil || len(found) < 12 || found["tcpdump"] == "" || found["tshark"] == "" {
		t.Fatalf("%d programs are asked for, %v", len(found), err)
	}
	for program, path := range found {
		pkg := testneed.Package(program)
		installs := func(programs, packages string) bool {
			return slices.Contains(strings.Fields(programs), program) && slices.Contains(strings.Fields(packages), strings.Fields(pkg)[0])
		}
		ok := false
		for _, n := range needs {
			ok = ok || installs(n.programs, n.pkg)
		}
		if !ok {
			t.Errorf("%s asks for %s, which nobody installs (package %s)", path, program, pkg)
		}
	}
}
