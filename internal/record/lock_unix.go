//go:build unix

package record

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockDirectory makes the caller the one recorder that writes there; the kernel ends that with the process at the latest.
func lockDirectory(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errors.New("another recorder writes to it: end that one first, or name another directory")
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		return f, nil
	}
}

// inodeOf returns the number that a file has on its file system.
func inodeOf(info fs.FileInfo) (uint64, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(stat.Ino), true
}
