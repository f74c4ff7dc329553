//go:build unix

package private

import (
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
)

// atStart is read before anything makes files: umask(2) returns the mask only while it sets another, and a file made in between would
// get the wrong permissions.
var atStart = func() fs.FileMode {
	old := syscall.Umask(others)
	syscall.Umask(old)
	return fs.FileMode(old)
}()

var now atomic.Uint32

func init() { now.Store(uint32(atStart)) }

func umask() fs.FileMode { return fs.FileMode(now.Load()) }

func set(mask fs.FileMode) {
	syscall.Umask(int(mask))
	now.Store(uint32(mask))
}

// own reports whether a file is of this process's user.
func own(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(stat.Uid) == int64(os.Geteuid())
}
