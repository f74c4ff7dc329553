//go:build unix

package record

import (
	"io/fs"
	"syscall"
)

// inodeOf returns the number that a file has on its file system.
func inodeOf(info fs.FileInfo) (uint64, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(stat.Ino), true
}
