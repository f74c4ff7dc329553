//go:build unix

package pipeline

import (
	"os"
	"syscall"
)

// mask is read once at the start, when no other goroutine can create a file in between: it can only be read by being
// set.
var mask = func() os.FileMode {
	old := syscall.Umask(0o077)
	syscall.Umask(old)
	return os.FileMode(old)
}()

func umask() os.FileMode { return mask }
