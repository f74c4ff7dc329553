package ring

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// reservePages takes the pages of a part of the file, so that a full file system is an error here and not a signal (SIGBUS)
// that ends the program at its next event, and maps them, so that the events find no page fault.
func reservePages(f *os.File, mem []byte, at, size uint64) error {
	first, last := at&^(pageSize-1), min(pages(at+size), uint64(len(mem)))
	for {
		// tmpfs breaks off at any signal, and Go's own are frequent.
		err := unix.Fallocate(int(f.Fd()), 0, int64(first), int64(last-first))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
			return fmt.Errorf("%s: no room for %d bytes at offset %d: %w", f.Name(), last-first, first, err)
		}
		break
	}
	// Kernels before 5.14 do not know it; the pages then come with the first store to each.
	_ = unix.Madvise(mem[first:last], unix.MADV_POPULATE_WRITE)
	return nil
}

// thread is the number under which the kernel knows the thread that asks.
func thread() uint32 { return uint32(unix.Gettid()) }
