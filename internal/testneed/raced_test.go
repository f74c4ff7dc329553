package testneed

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	racedBy  = regexp.MustCompile(`\n\ttestneed\.RacedBy\(t, "(\w+)"\)`)
	oneTest  = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{([^}]*)`)
	skipping = regexp.MustCompile(`\[race\] skip 'left out with -race: (\w+) `)
)

// What a test leaves to another under the race detector, a test of the same package does, which is not left out itself. The same holds
// of scripts.
func TestWhatIsLeftOutWithRaceIsRunByAnotherTest(t *testing.T) {
	left := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		switch {
		case strings.HasSuffix(path, "_test.go"):
			for _, m := range racedBy.FindAllSubmatch(read(t, path), -1) {
				left++
				if !runs(t, filepath.Dir(path), string(m[1])) {
					t.Errorf("%s: %s is not a test of this package that runs with -race", path, m[1])
				}
			}
		case strings.HasSuffix(path, ".txtar"):
			for _, m := range skipping.FindAllSubmatch(read(t, path), -1) {
				left++
				if skipping.Match(read(t, filepath.Join(filepath.Dir(path), string(m[1])+".txtar"))) {
					t.Errorf("%s: the script %s is left out too", path, m[1])
				}
			}
		}
		return nil
	})
	if err != nil || left == 0 {
		t.Errorf("%d tests are left out, %v", left, err)
	}
}

// runs says whether a folder has a test that is not left out with -race.
func runs(t *testing.T, dir, name string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, m := range oneTest.FindAllSubmatch(read(t, file), -1) {
			if string(m[1]) == name {
				return !racedBy.Match(m[2])
			}
		}
	}
	return false
}

func read(t *testing.T, path string) []byte {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
