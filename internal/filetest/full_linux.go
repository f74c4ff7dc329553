package filetest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"meridian/internal/testneed"
)

// page is the least that a file takes on the disks of Filling, bytes.
const page = 4096

// Filling calls do on one disk after the other (tmpfs), each with room for one page more than the one before, until do says that it found
// room for all. do is given an empty directory. It fails unless at least one disk was too small, and some disk large enough. It needs root.
func Filling(t *testing.T, do func(dir string) (done bool)) {
	t.Helper()
	testneed.Root(t, "filling a disk")
	for pages := 0; ; pages++ {
		if pages > 500 {
			t.Fatalf("no room on a disk of %d pages", pages)
		}
		if filled(t, pages, do) {
			if pages == 0 {
				t.Error("a full disk has room")
			}
			return
		}
	}
}

// filled calls do on a disk with room for some pages.
func filled(t *testing.T, pages int, do func(dir string) bool) bool {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("meridian", disk, "tmpfs", 0, fmt.Sprintf("size=%d", (pages+1)*page)); err != nil { // 0 would be no limit
		testneed.Missing(t, "cannot mount a tmpfs: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	dir := filepath.Join(disk, "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(disk, "room"), make([]byte, page), 0o600); err != nil {
		t.Fatal(err)
	}
	return do(dir)
}
