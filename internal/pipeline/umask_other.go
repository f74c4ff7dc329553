//go:build !unix

package pipeline

import "os"

func umask() os.FileMode { return 0 }
