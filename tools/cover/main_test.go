package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestABlockIsCoveredIfOneProgramReachesIt(t *testing.T) {
	const profile = "mode: set\nm/a/x.go:1.1,2.2 3 0\nm/a/x.go:3.1,4.2 7 0\nm/b/y.go:1.1,2.2 1 0\nm/a/x.go:1.1,2.2 3 1\nm/b/y.go:1.1,2.2 1 0\n"
	rows, err := read(strings.NewReader(profile), []string{"m/a", "m/b", "m/c"})
	if err != nil || !slices.Equal(rows, []row{{"m/a", 10, 3}, {"m/b", 1, 0}}) {
		t.Error(rows, err)
	}
	if _, err := read(strings.NewReader(profile), []string{"m/a"}); err == nil {
		t.Error("a package that was not asked for is passed over")
	}
	if _, err := read(strings.NewReader("mode: set\nm/a/x.go 3\n"), []string{"m/a"}); err == nil {
		t.Error("a torn line is passed over")
	}
}

func TestWhatIsBelowTheBarFails(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: builds a package for coverage")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module p\n\ngo 1.26\n",
		"p.go":        "package p\n\nfunc P(x int) int {\n\tif x > 1 {\n\t\treturn x\n\t}\n\treturn 0\n}\n",
		"p_test.go":   "package p\n\nimport \"testing\"\n\nfunc TestP(*testing.T) { P(1) }\n",
		"q/q.go":      "package q\n",
		"q/q_test.go": "package q\n\nimport (\n\t\"p\"\n\t\"testing\"\n)\n\nfunc TestQ(*testing.T) { p.P(2) }\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	t.Chdir(dir)
	for _, test := range []struct {
		tests []string
		least float64
		ok    bool
		row   string
	}{
		{[]string{"."}, 90, false, "| `p` | 3 | 66.6 %, below 90 % | `.` |"},
		{[]string{"."}, 66.6, true, "| `p` | 3 | 66.6 % | `.` |"},
		{[]string{".", "./q"}, 90, true, "| `p` | 3 | 100.0 % | `.`, `./q` |"},
	} {
		var out bytes.Buffer
		ok, err := run(options{least: test.least}, []group{{"g", []string{"."}, test.tests}}, &out)
		if err != nil || ok != test.ok || !strings.Contains(out.String(), test.row+"\n") {
			t.Errorf("%v: %t, %v\n%s", test.tests, ok, err, &out)
		}
	}
}
