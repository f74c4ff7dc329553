//go:build unix

package scratch

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"meridian/internal/filetest"
)

func TestADirectoryIsMadeWhenAskedForAndRemovedAtTheEnd(t *testing.T) {
	under := t.TempDir()
	d := New(under)
	if got := filetest.Names(t, under); len(got) > 0 {
		t.Errorf("made before it was asked for: %v", got)
	}
	path, err := d.Path()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := d.Path(); again != path || err != nil {
		t.Errorf("asked again it is %s (%v), was %s", again, err, path)
	}
	if err := os.WriteFile(filepath.Join(path, "spilled"), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := filetest.Names(t, under); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestWhatAKilledRunLeftIsRemovedAndNothingElse(t *testing.T) {
	under := t.TempDir()
	running := New(under)
	live, err := running.Path()
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	left := filepath.Join(under, prefix+"17")
	for _, path := range []string{filepath.Join(left, "deep"), filepath.Join(under, "meridian-other"), filepath.Join(under, "elsewhere")} {
		if err := os.MkdirAll(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(under, "elsewhere"), filepath.Join(under, prefix+"link")); err != nil {
		t.Fatal(err)
	}
	d := New(under)
	if _, err := d.Path(); err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what was left is there: %v", err)
	}
	for _, path := range []string{live, filepath.Join(under, "meridian-other"), filepath.Join(under, "elsewhere"), filepath.Join(under, prefix+"link")} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s is gone: %v", path, err)
		}
	}
}

func TestRunsThatBeginAtOnceKeepTheirDirectories(t *testing.T) {
	under := t.TempDir()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			d := New(under)
			defer d.Close()
			path, err := d.Path()
			if err != nil {
				t.Error(err)
				return
			}
			if err := os.WriteFile(filepath.Join(path, "spilled"), nil, 0o666); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(path, "spilled")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := filetest.Names(t, under); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}
