package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// checkout makes a module of files, by name.
func checkout(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	files["go.mod"] = "module example.com/m\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const program = "package main\n\nimport (\n\t\"fmt\"\n\t\"net\"\n\n\t\"example.com/m/p\"\n)\n\nfunc main() { fmt.Println(p.Number(), net.IPv4len) }\n"

func TestWhatOnePlatformLacksIsFound(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		wrong string // of Windows; Linux has all it needs
	}{
		"a function of Linux alone": {map[string]string{
			"p/p_linux.go": "package p\n\nfunc Number() int { return 1 }\n",
			"p/p.go":       "package p\n",
		}, "undefined: p.Number"},
		"a package of Linux alone": {map[string]string{
			"p/p_linux.go": "package p\n\nfunc Number() int { return 1 }\n",
		}, "build constraints exclude all Go files"},
		"a name of Linux's system calls": {map[string]string{
			"p/p.go": "package p\n\nimport \"syscall\"\n\nfunc Number() int { return syscall.EPOLLIN }\n",
		}, "undefined: syscall.EPOLLIN"},
		"nothing": {map[string]string{
			"p/p_linux.go":   "package p\n\nfunc Number() int { return 1 }\n",
			"p/p_windows.go": "package p\n\nfunc Number() int { return 2 }\n",
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			test.files["main.go"] = program
			dir := checkout(t, test.files)
			problems, checked, err := check(dir, target{"linux/arm64", []string{"."}})
			if err != nil || checked != 2 || len(problems) > 0 {
				t.Errorf("linux: %d packages, %v, %q", checked, err, problems)
			}
			problems, _, err = check(dir, target{"windows/amd64", []string{"."}})
			if err != nil || len(problems) > 0 != (test.wrong != "") || !strings.Contains(strings.Join(problems, "\n"), test.wrong) {
				t.Errorf("windows: %v, %q, want %q", err, problems, test.wrong)
			}
		})
	}
}

func TestArgumentsArePlatformsWithPackages(t *testing.T) {
	want := []target{{"a/b", []string{"./x", "./y"}}, {"c/d", []string{"."}}}
	got, err := parse([]string{"a/b", "./x", "./y", ",", "c/d", "."})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "a/b", "./x", "a/b ./x , c/d", "a ./x"} {
		if got, err := parse(strings.Fields(bad)); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}
