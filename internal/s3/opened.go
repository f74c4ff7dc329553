package s3

import (
	"errors"
	"io"
	"io/fs"
)

var errNoDirectory = errors.New("not a directory")

// directory is an open directory.
type directory struct {
	entry   *entry
	entries []fs.DirEntry // that are left
}

func (d *directory) Stat() (fs.FileInfo, error) { return d.entry, nil }
func (d *directory) Close() error               { return nil }

func (d *directory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.entry.name, Err: errors.New("is a directory")}
}

// ReadDir returns the next n entries, all if n is not positive.
func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.entries)
	} else if len(d.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.entries))
	next := d.entries[:n:n]
	d.entries = d.entries[n:]
	return next, nil
}
