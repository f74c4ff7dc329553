package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSlowerIsWhatDiffersSurelyAndByMoreThanTheRatio(t *testing.T) {
	results := func(name string, times ...float64) string {
		var text strings.Builder
		text.WriteString("goos: linux\npkg: meridian/clock\n")
		for _, ns := range times {
			fmt.Fprintf(&text, "BenchmarkAt-4 \t 1000\t %g ns/op\n", ns)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	base := results("base", 100, 101, 102, 103, 104, 105)
	for _, c := range []struct {
		what   string
		times  []float64
		slower bool
	}{
		{"the same", []float64{100, 101, 102, 103, 104, 105}, false},
		{"surely, but by little", []float64{106, 107, 108, 109, 110, 111}, false},
		{"by much, but two runs decide nothing", []float64{200, 300}, false},
		{"by much and surely", []float64{120, 121, 122, 123, 124, 125}, true},
		{"quicker", []float64{50, 51, 52, 53, 54, 55}, false},
	} {
		got, err := slowerOf(base, results("here", c.times...), 1.1)
		if err != nil {
			t.Fatal(err)
		}
		if (len(got) > 0) != c.slower {
			t.Errorf("%s: %q", c.what, got)
		}
		if c.slower && !strings.HasPrefix(got[0], "meridian/clock.At-4: 1.20x") {
			t.Errorf("%s: %q names no benchmark and ratio", c.what, got)
		}
	}
}
