package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const source = `package p

const limit = 40 - 8

type point[T any] struct{ x, y [4]int }

func (p *point[T]) f(a, b int) (int, bool) {
	c := make([]int, 2, a*b)
	for a < b && !p.ok(-1) {
		a += p.min
		if a == 7 {
			break
		}
		c[0]--
	}
	return min(a, b) &^ c[1], true
}
`

func TestEveryOperatorConstantAndResultIsChanged(t *testing.T) {
	sites, err := find("/top/p.go", "p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]bool)
	for _, s := range sites {
		for _, c := range s {
			got[fmt.Sprintf("%d %s: %s -> %s", c.line, c.function, c.from, c.to)] = true
		}
	}
	want := []string{
		"3 -: 40 - 8 -> 40 + 8",
		"8 point.f: make([]int, 2, a*b) -> make([]int, 3, a*b)", "8 point.f: make([]int, 2, a*b) -> make([]int, 1, a*b)",
		"9 point.f: a < b && !p.ok(-1) -> a < b || !p.ok(-1)", "9 point.f: a < b -> a <= b", "9 point.f: a < b -> a >= b",
		"9 point.f: a < b && !p.ok(-1) -> a < b && p.ok(-1)", "9 point.f: p.ok(-1) -> p.ok(1)",
		"9 point.f: -1 -> -2", "9 point.f: -1 -> -0",
		"10 point.f: a += p.min -> a -= p.min",
		"11 point.f: a == 7 -> a != 7", "11 point.f: a == 7 -> a == 8", "11 point.f: a == 7 -> a == 6",
		"12 point.f: break -> continue",
		"14 point.f: c[0]-- -> c[0]++", "14 point.f: c[0] -> c[1]", "14 point.f: c[0] -> c[-1]",
		"16 point.f: min(a, b) &^ c[1] -> min(a, b) & c[1]", "16 point.f: min(a, b) -> max(a, b)",
		"16 point.f: c[1] -> c[2]", "16 point.f: c[1] -> c[0]",
		"16 point.f: return min(a, b) &^ c[1], true -> return min(a, b) &^ c[1], false",
		"16 point.f: return min(a, b) &^ c[1], true -> return true, min(a, b) &^ c[1]",
	}
	for _, w := range want {
		if !got[w] {
			t.Errorf("%s is missing", w)
		}
		delete(got, w)
	}
	if len(got) > 0 {
		t.Errorf("not expected: %q", slices.Sorted(maps.Keys(got)))
	}
}

func TestChangeIsMadeWhereItIsShown(t *testing.T) {
	sites, err := find("/top/p.go", "p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sites {
		for _, c := range s {
			changed := strings.Join(strings.Fields(string(c.apply([]byte(source)))), " ")
			if !strings.Contains(changed, c.to) {
				t.Errorf("%s: not in\n%s", c.name(), changed)
			}
		}
	}
}

// TestSurvivorsAreTold runs on a package whose tests see one of its two functions.
func TestSurvivorsAreTold(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: builds a package twenty times")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module p\n\ngo 1.26\n",
		"p.go":      "package p\n\nfunc seen(a int) int { return a + 5 }\n\nfunc unseen(a int) int { return a - 6 }\n",
		"p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestSeen(t *testing.T) {\n\tif seen(1) != 6 {\n\t\tt.Fatal()\n\t}\n\tunseen(1)\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	t.Chdir(dir)
	sum := func(n, least int, equivalents string) (bool, error) {
		file := filepath.Join(t.TempDir(), "equivalents.txt")
		if err := os.WriteFile(file, []byte(equivalents), 0o600); err != nil {
			t.Fatal(err)
		}
		return mutate(options{number: n, least: least, seed: 3, equivalents: file, memory: 4}, []string{"."})
	}
	for _, test := range []struct {
		n, least    int
		equivalents string
		enough      bool
	}{
		{4, 2, "", true},
		{4, 3, "", false},
		{3, 2, "# not a change\n\np.go unseen: `a - 6` -> `a + 6`  # nobody can see it\n", true},
		{2, 2, "p.go unseen: `a - 6` -> `a + 6` # nobody\np.go unseen: `a - 6` -> `a - 7` # nobody\np.go unseen: `a - 6` -> `a - 5` # nobody\n", true},
	} {
		enough, err := sum(test.n, test.least, test.equivalents)
		if err != nil || enough != test.enough {
			t.Errorf("%d of %d caught: %v, %v; want %v", test.least, test.n, enough, err, test.enough)
		}
	}
	if _, err := sum(9, 1, ""); err == nil {
		t.Error("9 changes were made of 4")
	}
	if _, err := sum(1, 1, "p.go unseen\n"); err == nil {
		t.Error("an equivalent without a reason was taken")
	}
}
