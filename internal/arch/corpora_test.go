package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Limits of the files of real tools with which fuzz targets begin, bytes.
const (
	maxRealFile = 20 << 10
	maxReal     = 1 << 20 // of all
)

// A clone brings these files along, and each of them is of somebody's tool: README.md beside it says of which.
func TestFilesOfRealToolsAreSmallAndSayWhereTheyAreFrom(t *testing.T) {
	total, files := int64(0), 0
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != "real" || filepath.Base(filepath.Dir(path)) != "testdata" {
			return err
		}
		readme, err := os.ReadFile(filepath.Join(path, "README.md"))
		if err != nil {
			return err
		}
		return filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == "README.md" {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			files++
			if total += info.Size(); info.Size() > maxRealFile {
				t.Errorf("%s has %d bytes, at most %d", file, info.Size(), maxRealFile)
			}
			name := d.Name()
			if dir := filepath.Dir(file); dir != path {
				name = filepath.Base(dir) + "/"
			}
			if !strings.Contains(string(readme), "`"+name+"`") {
				t.Errorf("%s: README.md beside it does not name it", file)
			}
			return nil
		})
	})
	if err != nil || files < 30 {
		t.Errorf("%d files: %v", files, err)
	}
	if total > maxReal {
		t.Errorf("%d bytes in all, at most %d", total, maxReal)
	}
}
