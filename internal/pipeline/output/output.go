// Package output writes files and directories that appear whole, and together with others, or not at all.
//
//	set.Create(path)    .report.json.1234       \
//	set.Create(path)    .timeline.html.5678      > set.Publish(): renamed to where they belong
//	set.Directory(path) .trace.ctf.9012/trace.ctf/
//
// Everything is written under a temporary name in the directory of its path, so that a rename is all that publishing
// takes. [Set.Remove] removes what was not published: after an error or an interruption nothing is left.
//
// Files are written by a goroutine of their own, in blocks, and files of gigabytes do not displace the page cache.
package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"meridian/internal/private"
)

// Set is outputs that appear together. The zero value is empty.
type Set struct {
	outputs []tempOutput
}

// tempOutput is an output under a temporary name.
type tempOutput struct {
	path   string // where it belongs
	temp   string // where it is written; "" once it was published
	parent string // the temporary directory that holds temp; "" for a file
}

// Create begins a file. It replaces a file that is there already when the set is published, and gets that file's
// permissions. The end of ctx fails all further writes.
func (s *Set) Create(ctx context.Context, path string) (*File, error) {
	file, err := os.CreateTemp(filepath.Dir(path), tempPattern(path))
	if err != nil {
		return nil, ofDirectory(path, err)
	}
	s.outputs = append(s.outputs, tempOutput{path: path, temp: file.Name()})
	return &File{path: path, file: file, to: newAsyncWriter(ctxWriter{ctx, newUncachedWriter(file)})}, nil
}

// Write writes a file as [Set.Create] begins it.
func (s *Set) Write(ctx context.Context, path string, content func(io.Writer) error) error {
	file, err := s.Create(ctx, path)
	if err != nil {
		return err
	}
	err = content(file)
	if closing := file.Close(); err == nil {
		err = closing
	}
	return err
}

// Directory returns a name under which the caller makes a directory. It is not made here, and must not exist at path
// when the set is published.
func (s *Set) Directory(path string) (string, error) {
	parent, err := os.MkdirTemp(filepath.Dir(path), tempPattern(path))
	if err != nil {
		return "", ofDirectory(path, err)
	}
	temp := filepath.Join(parent, filepath.Base(path))
	s.outputs = append(s.outputs, tempOutput{path: path, temp: temp, parent: parent})
	return temp, nil
}

// ofDirectory names the directory of a path in an error of making something in it, instead of the temporary name.
func ofDirectory(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("directory %s cannot be written: %w", filepath.Dir(path), err)
}

func tempPattern(path string) string { return "." + filepath.Base(path) + ".*" }

// Publish moves all outputs to their paths. All files must have been closed.
func (s *Set) Publish() error {
	for i := range s.outputs {
		o := &s.outputs[i]
		if err := os.Rename(o.temp, o.path); err != nil {
			return err
		}
		o.temp = ""
	}
	return nil
}

// Remove removes the outputs that were not published, and all temporary directories. All files must have been closed.
func (s *Set) Remove() {
	for _, o := range s.outputs {
		if o.temp != "" {
			os.RemoveAll(o.temp)
		}
		if o.parent != "" {
			os.RemoveAll(o.parent)
		}
	}
	s.outputs = nil
}

// File is a file of a [Set]. Its methods must not be called concurrently.
type File struct {
	path string
	file *os.File
	to   *asyncWriter
}

// Write returns an error of this or any earlier write, as soon as it is known: at the latest Close returns it.
func (f *File) Write(p []byte) (int, error) { return f.to.Write(p) }

// WriteThrough writes p in the caller's goroutine, behind all that was written before. It may be called by several goroutines, one after
// the other.
func (f *File) WriteThrough(p []byte) error { return f.to.through(p) }

// Close completes the file and sets its permissions. It must be called once, also after an error.
func (f *File) Close() error {
	err := f.to.Close()
	if chmod := f.file.Chmod(private.FileOver(f.path)); err == nil {
		err = chmod
	}
	if closing := f.file.Close(); err == nil {
		err = closing
	}
	return err
}
