//go:build linux

package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// warmTimes is how much memory is made ready before a round, in sizes of the trace: two servers write it twice into the page cache.
const warmTimes = 3

// warm takes so many bytes of memory, writes to each page and gives all back, so that every way finds the same memory. Under a hypervisor that takes back
// what a guest has free (free page reporting), the first touch of a page costs microseconds: without this, ways would be measured by what the rounds
// before them have left.
func warm(bytes int64) error {
	b, err := unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("%d bytes of memory: %w: use a smaller -mib", bytes, err)
	}
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // large blocks, as the page cache takes them for large writes; a kernel without them gives small ones
	for at := 0; at < len(b); at += os.Getpagesize() {
		b[at] = 1
	}
	return unix.Munmap(b)
}
