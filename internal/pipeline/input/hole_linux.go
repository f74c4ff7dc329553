package input

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// makeHole takes a part of a file from the disk, if the file system can. It reads as zeros then.
func makeHole(f *os.File, at, length int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, length)
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("%s: freeing what was read: %w", f.Name(), err)
	}
	return nil
}
