//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package ring

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

var errNoMemory = fmt.Errorf("no shared memory for rings on %s; they work on Linux, macOS and the BSDs", runtime.GOOS)

func openForReading(string) (*os.File, error)        { return nil, errNoMemory }
func mapForReading(*os.File, uint64) ([]byte, error) { return nil, errNoMemory }
func createFile(string) (*os.File, error)            { return nil, errNoMemory }
func openFile(string) (*os.File, error)              { return nil, errNoMemory }
func mapFile(*os.File, uint64) ([]byte, error)       { return nil, errNoMemory }
func unmapFile([]byte) error                         { return nil }
func lockFile(*os.File) error                        { return errNoMemory }
func shareFile(*os.File) error                       { return errNoMemory }
func unlockFile(*os.File)                            {}
func ours(fs.FileInfo) error                         { return errNoMemory }
