package pipeline

import (
	"context"
	"io"
	"os"
	"path/filepath"
)

// beside is an output that is being written beside its place, as a file or a directory of another name.
type beside struct {
	path   string // its place
	within string // the temporary directory that holds a directory; "" for a file
	name   string // where it is written
	file   *os.File
	behind *behind
}

func newBeside(ctx context.Context, out output) (*beside, error) {
	b := &beside{path: out.path}
	dir, pattern := filepath.Dir(out.path), "."+filepath.Base(out.path)+".*"
	if out.directory != nil {
		name, err := os.MkdirTemp(dir, pattern)
		if err != nil {
			return nil, err
		}
		b.within, b.name = name, filepath.Join(name, filepath.Base(out.path))
		return b, nil
	}
	file, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	b.name, b.file = file.Name(), file
	b.behind = newBehind(until{ctx, newStreamed(file)})
	return b, nil
}

func (b *beside) Write(p []byte) (int, error) { return b.behind.Write(p) }

// finish completes and closes a file.
func (b *beside) finish() error {
	err := b.behind.Close()
	// What a person writes with > has these rights, and a file that was there keeps its own.
	mode := os.FileMode(0o666) &^ umask()
	if info, statErr := os.Stat(b.path); statErr == nil {
		mode = info.Mode().Perm()
	}
	if chmod := b.file.Chmod(mode); err == nil {
		err = chmod
	}
	if closing := b.file.Close(); err == nil {
		err = closing
	}
	return err
}

// place moves the output to its place.
func (b *beside) place() error {
	if err := os.Rename(b.name, b.path); err != nil {
		return err
	}
	b.name = ""
	return nil
}

// remove removes what was not moved; b may be nil.
func (b *beside) remove() {
	if b == nil {
		return
	}
	if b.name != "" {
		os.RemoveAll(b.name)
	}
	if b.within != "" {
		os.RemoveAll(b.within)
	}
}

// until fails once its context has ended, so that an interruption ends every output, whatever its writer looks at.
type until struct {
	context.Context
	io.Writer
}

func (u until) Write(p []byte) (int, error) {
	if err := u.Err(); err != nil {
		return 0, err
	}
	return u.Writer.Write(p)
}
