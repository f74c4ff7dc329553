//go:build linux || darwin || freebsd || netbsd || openbsd

package ring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// createFile makes a file that was not there, and follows no symbolic link.
func createFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
}

// openFile opens a ring that is there: no link, no pipe that would wait.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

func openForReading(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

func mapFile(f *os.File, size uint64) ([]byte, error) {
	return mapAs(f, size, unix.PROT_READ|unix.PROT_WRITE)
}

func mapForReading(f *os.File, size uint64) ([]byte, error) { return mapAs(f, size, unix.PROT_READ) }

func mapAs(f *os.File, size uint64, access int) ([]byte, error) {
	mem, err := unix.Mmap(int(f.Fd()), 0, int(size), access, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %d bytes: %w", size, err)
	}
	return mem, nil
}

func unmapFile(mem []byte) error { return unix.Munmap(mem) }

// lockFile makes the caller the one reader; the kernel ends that with the process at the latest.
func lockFile(f *os.File) error { return flock(f, unix.LOCK_EX) }

// shareFile is lockFile for any number of callers. Where one has it, lockFile returns ErrBusy.
func shareFile(f *os.File) error { return flock(f, unix.LOCK_SH) }

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrBusy
		}
		return err
	}
}

// unlockFile ends what lockFile began, also for children on their way to become another program, which have the file until
// they are that. An error would be that there is no lock.
func unlockFile(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// ours returns an error unless the file was made by this user, or this is root.
func ours(info fs.FileInfo) error { return madeBy(os.Geteuid(), info) }

func madeBy(user int, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("not a regular file but %v", info.Mode().Type())
	}
	if user == 0 {
		return nil
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int64(stat.Uid) != int64(user) {
		return errors.New("it belongs to another user; read it as that user or as root")
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		return fmt.Errorf("its mode is %#o instead of 0600, so others may have written it", mode)
	}
	return nil
}
