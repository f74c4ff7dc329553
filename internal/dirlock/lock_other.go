//go:build !unix

package dirlock

import "os"

// Lock opens a directory: these systems have no such locks.
func Lock(dir string) (*os.File, error) { return os.Open(dir) }
