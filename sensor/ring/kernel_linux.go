package ring

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/bits"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reservePages takes the pages of a part of the file, so that a full file system is an error here and not a signal (SIGBUS)
// that ends the program at its next event, and maps them, so that the events find no page fault.
//
// The system calls are raw: the scheduler must not give the processor to others meanwhile, since a writer may have its
// shard by being pinned to it.
func reservePages(f *os.File, mem []byte, at, size uint64) error {
	first, last := at&^(pageSize-1), min(pages(at+size), uint64(len(mem)))
	for {
		// tmpfs breaks off at any signal, and Go's own are frequent.
		err := fallocate(f.Fd(), first, last-first)
		if err == unix.EINTR {
			continue
		}
		if err != 0 && err != unix.EOPNOTSUPP && err != unix.ENOSYS {
			return fmt.Errorf("no room for %d bytes at offset %d: %w", last-first, first, err)
		}
		break
	}
	// Kernels before 5.14 do not know it; the pages then come with the first store to each.
	unix.RawSyscall(unix.SYS_MADVISE, uintptr(unsafe.Pointer(&mem[first])), uintptr(last-first), unix.MADV_POPULATE_WRITE)
	return nil
}

func fallocate(fd uintptr, at, size uint64) unix.Errno {
	var err unix.Errno
	if bits.UintSize == 64 {
		_, _, err = unix.RawSyscall6(unix.SYS_FALLOCATE, fd, 0, uintptr(at), uintptr(size), 0, 0)
	} else {
		_, _, err = unix.RawSyscall6(unix.SYS_FALLOCATE, fd, 0, uintptr(at), uintptr(at>>32), uintptr(size), uintptr(size>>32))
	}
	return err
}

// thread is the number under which the kernel knows the thread that asks.
func thread() uint32 { return uint32(unix.Gettid()) }

// boot returns the UUID that the kernel gave to the machine's start, zeros where that is not known.
func boot() (id [16]byte) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return id
	}
	digits := bytes.ReplaceAll(bytes.TrimSpace(text), []byte("-"), nil)
	if n, err := hex.Decode(id[:], digits[:min(len(digits), 2*len(id))]); err != nil || n != len(id) {
		return [16]byte{}
	}
	return id
}

// network returns the inode of this process's network namespace, 0 where that is not known.
func network() uint64 {
	var s unix.Stat_t
	if unix.Stat("/proc/self/ns/net", &s) != nil {
		return 0
	}
	return s.Ino
}
