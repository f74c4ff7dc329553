//go:build linux || darwin || freebsd || netbsd || openbsd

package ring

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// next takes a packet and returns how many events it has.
func next(t *testing.T, r *Reader) int {
	t.Helper()
	var p Packet
	if ok, err := r.Next(&p); err != nil || !ok {
		t.Fatalf("Next: %t, %v", ok, err)
	}
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	return p.Count
}

// TestALinkIsNoRing: a link leads to a file that its maker may not write, and a reader that is root would.
func TestALinkIsNoRing(t *testing.T) {
	w := made(t, Options{})
	dir := t.TempDir()
	link := filepath.Join(dir, filepath.Base(w.Path()))
	if err := os.Symlink(w.Path(), link); err != nil {
		t.Fatal(err)
	}
	if found, err := Find(dir); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v", found, err)
	}
	if r, err := Open(link); err == nil {
		r.Close()
		t.Error("a link was opened as a ring")
	}
	gone := filepath.Join(dir, "to-be-made.ring")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), gone); err != nil {
		t.Fatal(err)
	}
	if f, err := createFile(gone); err == nil {
		f.Close()
		t.Error("a ring was made where a link leads")
	}
}

// TestARingThatIsReplacedOrGrowsUnderItsReaderIsReadOn: the reader has the file, whatever its name leads to, and maps its first size.
func TestARingThatIsReplacedOrGrowsUnderItsReaderIsReadOn(t *testing.T) {
	w := made(t, Options{})
	class := registered(t, w, "step")
	r := opened(t, w.Path())
	emit(w.Shard(0), class.ID, 40, 1)
	if n := next(t, r); n != 1 {
		t.Errorf("%d events before", n)
	}
	info, err := os.Stat(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(w.Path(), info.Size()+1<<30); err != nil {
		t.Fatal(err)
	}
	emit(w.Shard(0), class.ID, 40, 2)
	if n := next(t, r); n != 1 {
		t.Errorf("%d events of a ring that grew", n)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := errors.Join(os.WriteFile(other, []byte("of somebody else"), 0o600), os.Remove(w.Path()), os.Symlink(other, w.Path())); err != nil {
		t.Fatal(err)
	}
	emit(w.Shard(0), class.ID, 40, 3)
	if n := next(t, r); n != 1 {
		t.Errorf("%d events of a ring whose name leads elsewhere", n)
	}
	if b, err := os.ReadFile(other); err != nil || string(b) != "of somebody else" {
		t.Errorf("where the name leads now: %q, %v", b, err)
	}
}
