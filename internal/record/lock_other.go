//go:build !unix

package record

import (
	"io/fs"
	"os"
)

// lockDirectory does nothing on systems without such locks, which have no rings either.
func lockDirectory(dir string) (*os.File, error) { return os.Open(dir) }

// inodeOf returns the number that a file has on its file system, where it has one.
func inodeOf(fs.FileInfo) (uint64, bool) { return 0, false }
