//go:build unix

package ctf

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file for reading, or returns nil where that cannot be.
func mapFile(f *os.File, size int64) []byte {
	if int64(int(size)) != size {
		return nil
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	// It is read from the beginning to the end: the system may read ahead, and an error only means that it does not.
	_ = unix.Madvise(b, unix.MADV_SEQUENTIAL)
	return b
}

func unmapFile(b []byte) { _ = unix.Munmap(b) }

// dropPages releases the memory of part of a mapped file, from the beginning of a page on. Reading it again loads it
// again.
func dropPages(b []byte) { _ = unix.Madvise(b, unix.MADV_DONTNEED) }
