//go:build !unix

package record

import "io/fs"

// inodeOf returns the number that a file has on its file system, where it has one.
func inodeOf(fs.FileInfo) (uint64, bool) { return 0, false }
