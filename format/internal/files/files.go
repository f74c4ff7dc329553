// Package files opens what formats read: files of the operating system, and those of file systems that are mounted at a scheme.
//
//	/srv/trace/metadata        the operating system's
//	s3://bucket/trace/metadata "bucket/trace/metadata" of what is mounted at "s3"
//
// Formats read through this package alone and do not know what is mounted. A mounted path may have one slash behind the colon, as
// [filepath.Join] leaves it.
package files

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// File is an open file. Any goroutine may call ReadAt.
type File interface {
	fs.File
	io.ReaderAt
}

var (
	mu      sync.RWMutex
	mounted = map[string]fs.FS{}
)

// Mount has paths SCHEME://NAME lead to the files of fsys, which must be [io.ReaderAt]. A scheme has at least two characters, so that
// it is no drive.
func Mount(scheme string, fsys fs.FS) {
	if len(scheme) < 2 || strings.ContainsAny(scheme, ":/") {
		panic("files: " + scheme + " is not a scheme")
	}
	mu.Lock()
	defer mu.Unlock()
	mounted[scheme] = fsys
}

// find returns the file system of a path and the name in it; nil for that of the operating system.
func find(file string) (fsys fs.FS, scheme, name string) {
	scheme, rest, ok := strings.Cut(filepath.ToSlash(file), ":/")
	if !ok {
		return nil, "", ""
	}
	mu.RLock()
	defer mu.RUnlock()
	if fsys = mounted[scheme]; fsys == nil {
		return nil, "", ""
	}
	if name = strings.TrimPrefix(path.Clean("/"+rest), "/"); name == "" {
		name = "."
	}
	return fsys, scheme, name
}

// Mounted reports whether a path leads to a mounted file system.
func Mounted(file string) bool {
	fsys, _, _ := find(file)
	return fsys != nil
}

// Open opens a file for reading.
func Open(file string) (File, error) {
	fsys, _, name := find(file)
	if fsys == nil {
		f, err := os.Open(file)
		if err != nil {
			return nil, err // not a *os.File that is nil
		}
		return f, nil
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	if at, ok := f.(File); ok {
		return at, nil
	}
	f.Close()
	return nil, fmt.Errorf("%s is a directory", file)
}

// Stat describes a file or a directory.
func Stat(file string) (fs.FileInfo, error) {
	if fsys, _, name := find(file); fsys != nil {
		return fs.Stat(fsys, name)
	}
	return os.Stat(file)
}

// ReadDir lists a directory, sorted by name.
func ReadDir(dir string) ([]fs.DirEntry, error) {
	if fsys, _, name := find(dir); fsys != nil {
		return fs.ReadDir(fsys, name)
	}
	return os.ReadDir(dir)
}

// ReadFile returns the content of a file.
func ReadFile(file string) ([]byte, error) {
	if fsys, _, name := find(file); fsys != nil {
		return fs.ReadFile(fsys, name)
	}
	return os.ReadFile(file)
}

// WalkDir calls f for a directory and all that is below, as [filepath.WalkDir] does.
func WalkDir(dir string, f fs.WalkDirFunc) error {
	fsys, scheme, name := find(dir)
	if fsys == nil {
		return filepath.WalkDir(dir, f)
	}
	return fs.WalkDir(fsys, name, func(name string, d fs.DirEntry, err error) error {
		return f(Join(scheme, name), d, err)
	})
}

// Join returns the path of a name in what is mounted at a scheme.
func Join(scheme, name string) string { return filepath.Join(scheme+":/", filepath.FromSlash(name)) }
