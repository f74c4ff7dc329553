//go:build unix

package main

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const canWaitForRoom = true

// roomOf waits until a pipe is ready for writing, and returns how many bytes it takes at once. A pipe that nobody can read any more is ready: writing
// to it fails.
func roomOf(f *os.File, wait time.Duration) (int, error) {
	fd := int(f.Fd())
	if size := roomOfEmpty(fd); size > pipeRoom {
		return size, nil
	}
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	n, err := unix.Poll(fds, int(wait.Milliseconds()))
	if errors.Is(err, unix.EINTR) || err == nil && n == 0 {
		return 0, nil
	}
	return pipeRoom, err
}
