package arch

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheTestsOfTheSecurityDocumentExist: a claim without its test would be a claim alone.
func TestTheTestsOfTheSecurityDocumentExist(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	if err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && skipped[e.Name()] {
			return cmp.Or(err, filepath.SkipDir)
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		code, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+|Fuzz\w+)\((?:t \*testing\.T|f \*testing\.F)\)`).FindAllSubmatch(code, -1) {
			known[string(m[1])] = true
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	claims := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 3 {
			continue
		}
		for _, m := range regexp.MustCompile("`((?:Test|Fuzz)[^`]*)`").FindAllStringSubmatch(line, -1) {
			claims++
			if !known[m[1]] {
				t.Errorf("%s, which docs/security.md names for %q, does not exist", m[1], strings.TrimSpace(cells[1]))
			}
		}
	}
	if claims < 60 {
		t.Errorf("only %d tests are named", claims)
	}
}
