//go:build unix

package record

import (
	"errors"
	"os"

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
