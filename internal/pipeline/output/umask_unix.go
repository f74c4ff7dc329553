//go:build unix

package output

import (
	"os"
	"syscall"
)

// mask is read once, at the program's start: umask(2) returns the mask only while it sets another, and a file that
// another goroutine creates in between would get the wrong permissions.
var mask = func() os.FileMode {
	old := syscall.Umask(0o077)
	syscall.Umask(old)
	return os.FileMode(old)
}()

func umask() os.FileMode { return mask }
