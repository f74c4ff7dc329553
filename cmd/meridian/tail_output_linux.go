package main

import "golang.org/x/sys/unix"

// roomOfEmpty returns the size of a pipe in which nothing waits to be read, 0 for others. Each write begins a page, so what a pipe takes that
// is not empty is not told by its bytes.
func roomOfEmpty(fd int) int {
	if waiting, err := unix.IoctlGetInt(fd, unix.TIOCINQ); err != nil || waiting > 0 {
		return 0
	}
	size, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		return 0
	}
	return size
}
