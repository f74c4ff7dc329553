//go:build unix

package scratch

import (
	"os"
	"syscall"
)

// removable reports whether a directory is of this process's user.
func removable(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
