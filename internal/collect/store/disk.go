package store

import (
	"io"
	"io/fs"
	"os"
)

// Disk is what a store is kept on. Tests put one in its place that forgets what was not synced, as a power cut does.
type Disk interface {
	MkdirAll(dir string) error
	// Open opens a file to read and write, and creates it if it is not there.
	Open(path string) (File, error)
	ReadDir(dir string) ([]fs.DirEntry, error)
	Rename(from, to string) error
	Remove(path string) error
	// Sync returns when the bytes of the files are on the disk, and the entries of the directories.
	Sync(files []File, dirs []string) error
	// Boot names the time since the machine was started; "" if it is not known. A power cut ends it.
	Boot() string
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
}

// OS is the disk of the operating system.
type OS struct{}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// MkdirAll makes a directory and those above it.
func (OS) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o777) }

// Open opens a file to read and write.
func (OS) Open(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// ReadDir lists a directory.
func (OS) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }

// Rename puts a file in the place of another.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove removes a file.
func (OS) Remove(path string) error { return os.Remove(path) }

// syncDir writes the entries of a directory.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
