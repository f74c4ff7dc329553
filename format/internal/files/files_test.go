package files

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
)

func TestAPathOfASchemeLeadsToWhatIsMountedThere(t *testing.T) {
	Mount("mem", fstest.MapFS{
		"bucket/web/metadata":         {Data: []byte("m")},
		"bucket/web/packets/a.pcapng": {Data: []byte("abcdef")},
	})
	for _, path := range []string{"mem://bucket/web/packets/a.pcapng", "mem:/bucket/web/packets/a.pcapng", filepath.Join("mem://bucket/", "web", "packets/a.pcapng")} {
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 3)
		if n, err := f.ReadAt(b, 2); n != 3 || err != nil || string(b) != "cde" {
			t.Errorf("%s: read %q, %v", path, b[:n], err)
		}
		if all, err := io.ReadAll(f); err != nil || string(all) != "abcdef" {
			t.Errorf("%s: read %q, %v", path, all, err)
		}
		f.Close()
		if !Mounted(path) {
			t.Errorf("%s is not mounted", path)
		}
	}
	var walked []string
	err := WalkDir("mem://bucket/web", func(path string, _ fs.DirEntry, err error) error {
		walked = append(walked, filepath.ToSlash(path))
		return err
	})
	want := []string{"mem:/bucket/web", "mem:/bucket/web/metadata", "mem:/bucket/web/packets", "mem:/bucket/web/packets/a.pcapng"}
	if err != nil || !slices.Equal(walked, want) {
		t.Errorf("walked %q, %v", walked, err)
	}
	if info, err := Stat("mem://"); err != nil || !info.IsDir() {
		t.Errorf("the root: %v, %v", info, err)
	}
	if entries, err := ReadDir("mem://bucket/web"); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	if b, err := ReadFile("mem://bucket/web/metadata"); err != nil || string(b) != "m" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := Open("mem://bucket/web/packets"); err == nil {
		t.Error("a directory was opened as a file")
	}
}

func TestOtherPathsAreOfTheOperatingSystem(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("other:/x", 0o777); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile("other:/x/f", []byte("of the disk"), 0o666); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile("other:/x/f"); err != nil || string(b) != "of the disk" {
		t.Errorf("%q, %v", b, err)
	}
	Mount("mem2", fstest.MapFS{"x/f": {Data: []byte("of memory")}})
	if err := os.Rename("other:", "mem2:"); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile("./mem2:/x/f"); err != nil || string(b) != "of the disk" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := Open("missing"); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}
