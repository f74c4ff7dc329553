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

// Three runners of CI install at the same time on a fresh machine, and apt-get does not wait for the lock of the lists.
func TestALockOfAnotherAptGetIsAwaited(t *testing.T) {
	dir := t.TempDir()
	program := `#!/bin/sh
[ -e "$0.told" ] && exit 0
touch "$0.told"
echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)"
exit 100
`
	if err := os.WriteFile(filepath.Join(dir, "apt-get"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if err := apt("update"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "apt-get"), []byte("#!/bin/sh\necho E: no such package; exit 100\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := apt("install", "x"); err == nil || !strings.Contains(err.Error(), "no such package") {
		t.Errorf("%v, not what apt-get said", err)
	}
}

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
