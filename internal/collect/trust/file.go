package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// writeNew makes a file that is not there yet. It appears whole or not at all, readable by its owner alone.
func writeNew(path string, b []byte) error {
	err := write(path, b, putNew)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: remove it, or write another file", path)
	}
	return err
}

// putNew gives a file a name that is free.
func putNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(to); err == nil { // a file system without links, such as that of a memory stick
		return fs.ErrExist
	}
	return os.Rename(from, to)
}

// replace puts a file in the place of another in one step. It has the same owner.
func replace(path string, b []byte) error { return write(path, b, os.Rename) }

// write writes a file beside its place and puts it there.
func write(path string, b []byte, put func(from, to string) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if removed := os.Remove(f.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}()
	if before, missing := os.Lstat(path); missing == nil {
		err = own(f, before)
	}
	if err == nil {
		_, err = f.Write(b)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := put(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir brings the entries of a directory to the disk.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
