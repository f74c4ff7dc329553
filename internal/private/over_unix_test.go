//go:build unix

package private

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestWhatAnotherUserPutWhereAnOutputGoesOpensItToNobody(t *testing.T) {
	path := func(name string) string { return filepath.Join(t.TempDir(), name) }
	ours, theirs, link := path("ours"), path("theirs"), path("link")
	for _, file := range []string{ours, theirs} {
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chmod(file, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(ours, link); err != nil {
		t.Fatal(err)
	}
	if got := FileOver(ours); got != 0o666 {
		t.Errorf("over a file of ours: %o", got)
	}
	if got := FileOver(link); got != File() {
		t.Errorf("over a link: %o, want %o", got, File())
	}
	if got := FileOver(path("none")); got != File() {
		t.Errorf("where nothing is: %o, want %o", got, File())
	}
	if os.Geteuid() != 0 {
		return // nobody else's file can be made
	}
	if err := os.Chown(theirs, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if got := FileOver(theirs); got != File() {
		t.Errorf("over another user's file: %o, want %o", got, File())
	}
}
