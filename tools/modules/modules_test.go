package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestOnlyPathsOfModulesAndPackagesAreRenamed(t *testing.T) {
	w := workspace{top: t.TempDir()}
	for _, folder := range []string{"clock", "cmd", "sensor"} {
		if err := os.Mkdir(filepath.Join(w.top, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const to = "example.org/owner/meridian"
	for _, test := range []struct{ from, want string }{
		{"module meridian\n", "module " + to + "\n"},
		{"module meridian/clock\n", "module " + to + "/clock\n"},
		{"require meridian v0.1.0", "require " + to + " v0.1.0"},
		{"\tmeridian v0.1.0 => ./\n\tmeridian/clock v0.1.0 => ./clock\n", "\t" + to + " v0.1.0 => ./\n\t" + to + "/clock v0.1.0 => ./clock\n"},
		{"go get meridian@latest", "go get " + to + "@latest"},
		{"-require meridian@v0.1.0 -replace meridian=/path", "-require " + to + "@v0.1.0 -replace " + to + "=/path"},
		{"-replace meridian/clock=../clock", "-replace " + to + "/clock=../clock"},
		{`import "meridian/clock"`, `import "` + to + `/clock"`},
		{`"import \"meridian/clock\"\n"`, `"import \"` + to + `/clock\"\n"`},
		{"//go:generate go run meridian/sensor/cmd/meridian-sensorgen -type T", "//go:generate go run " + to + "/sensor/cmd/meridian-sensorgen -type T"},
		{"go build meridian/cmd/meridian", "go build " + to + "/cmd/meridian"},
		{"`meridian/clock`, meridian/cmd", "`" + to + "/clock`, " + to + "/cmd"},
		{"#include \"meridian/ring.h\"", ""},
		{"/run/meridian/clock", ""},
		{"go build ./cmd/meridian", ""},
		{"github.com/x/meridian/clock", ""},
		{"meridian clock cost", ""},
		{"submeridian/clock, a-meridian/clock", ""},
		{"meridian\nmeridian = version", ""},
		{"a\x00meridian/clock", ""},
	} {
		want := test.want
		if want == "" {
			want = test.from
		}
		if got := string(w.renamed([]byte(test.from), "meridian", to)); got != want {
			t.Errorf("%q became %q, want %q", test.from, got, want)
		}
		if test.want == "" {
			continue
		}
		if back := string(w.renamed([]byte(want), to, "example.org/b")); strings.Contains(back, to) || !strings.Contains(back, "example.org/b") {
			t.Errorf("%q became %q", want, back)
		}
	}
}

func TestPathsThatCannotBeDownloadedAreRefused(t *testing.T) {
	for _, path := range []string{"", "meridian", "owner/meridian", "example.org", "example.org/", "https://example.org/m", "example.org/a b"} {
		if err := (workspace{}).rename(path); err == nil || !strings.Contains(err.Error(), "invalid module path") {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestARenamedCopyCompiles renames a copy of this repository. Nothing is built: under another path everything would be compiled anew.
func TestARenamedCopyCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: type-checks everything under another path")
	}
	here, err := open(".")
	if err != nil {
		t.Fatal(err)
	}
	old, err := here.root()
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	copyTree(t, top, here.top)
	w, err := open(top)
	if err != nil {
		t.Fatal(err)
	}
	const path = "example.org/owner/meridian"
	if err := w.rename(path); err != nil {
		t.Fatal(err)
	}
	check := exec.Command("go", "run", "meridian/tools/crosscheck", "-C", top, runtime.GOOS+"/"+runtime.GOARCH, "work")
	if said, err := check.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	// No package knows its old path.
	list, err := command(top, nil, "go", "list", "-test", "-deps", "-f", "{{.ImportPath}}", "work")
	if err != nil {
		t.Fatal(err)
	}
	for _, imported := range strings.Fields(string(list)) {
		if strings.HasPrefix(imported, old+"/") {
			t.Errorf("%s is still imported", imported)
		}
	}
}

// copyTree copies what the repository consists of: no results of builds, nothing of git.
func copyTree(t *testing.T, to, from string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		short, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, short)
		switch {
		case skipped[d.Name()]: // in a linked work tree, .git is a file
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(target, 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
