//go:build !unix

package scratch

import "os"

// removable reports whether a directory may be removed: not where no lock says that its run is over.
func removable(os.FileInfo) bool { return false }
