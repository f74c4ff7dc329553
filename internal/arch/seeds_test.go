package arch

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unseeded are the ways to draw by which a test would not draw the same again.
var unseeded = []struct{ what, instead string }{
	{`\brapid\.Check\(`, "testseed.Check"},
	{`\bf\.Fuzz\(`, "testseed.Fuzz"},
	{`\brand\.(Int|Uint|Float|Perm|Shuffle|N\b|Norm|Exp)\w*\(`, "testseed.New"},
	{`(?i)seed.*UnixNano\(\)`, "testseed.Seed"},
}

// unseededMay are the files that may draw so, and why.
var unseededMay = map[string]string{
	"internal/testseed/":          "it gives the others their seeds",
	"internal/arch/":              "it has texts of tests",
	"tools/fuzzall/":              "it has texts of tests",
	"sensor/":                     "its module needs no other for its tests: its fuzz targets draw for the fuzzer alone",
	"clock/":                      "its module needs no other for its tests: its fuzz targets draw for the fuzzer alone",
	"cmd/meridian/script_test.go": "a port that nobody else has",
	"cmd/meridian/chaos_faults_linux_test.go": "a name that nobody else has",
	"internal/collect/trust/connect_test.go":  "a pause",
}

// A commit has one verdict: what a test draws is the same in each run, and another where somebody explores.
func TestWhatTestsDrawIsSeeded(t *testing.T) {
	patterns := make([]*regexp.Regexp, len(unseeded))
	for i, u := range unseeded {
		patterns[i] = regexp.MustCompile(u.what)
	}
	sources(t, func(path string, text []byte) {
		path = filepath.ToSlash(path)
		if !strings.HasSuffix(path, "_test.go") || mayDraw(path) {
			return
		}
		for i, line := range strings.Split(string(text), "\n") {
			for k, u := range unseeded {
				if patterns[k].MatchString(line) {
					t.Errorf("%s:%d draws anew in each run; use %s: %s", path, i+1, u.instead, strings.TrimSpace(line))
				}
			}
		}
	})
}

func mayDraw(file string) bool {
	for prefix := range unseededMay {
		if strings.HasPrefix(file, prefix) {
			return true
		}
	}
	return false
}
