package s3

import (
	"context"
	"io/fs"
	"sync"
)

// FS is the file system of all buckets of a store: the first element of a name is a bucket. Any goroutine may call its methods.
type FS struct {
	ctx    context.Context
	client func() (*Client, error) // makes it when it is needed first
	cache  *cache

	mu       sync.Mutex
	listings map[string]listing
	heads    map[string]*entry // files whose directory was not listed
	names    int               // in both
}

// NewFS returns the file system of the store that connect returns, which is called once, when something is opened first. All requests end
// with ctx.
func NewFS(ctx context.Context, connect func() (*Client, error)) *FS {
	return &FS{ctx: ctx, client: sync.OnceValues(connect), cache: newCache(cacheBlocks), listings: make(map[string]listing), heads: make(map[string]*entry)}
}

// Open opens a file, which is an [io.ReaderAt] and [io.Seeker] too, or a directory.
func (f *FS) Open(name string) (fs.File, error) {
	e, err := f.stat("open", name)
	if err != nil {
		return nil, err
	}
	if e.dir {
		entries, err := f.ReadDir(name)
		if err != nil {
			return nil, err
		}
		return &directory{entry: e, entries: entries}, nil
	}
	c, err := f.client()
	if err != nil {
		return nil, err
	}
	return f.cache.open(f.ctx, c, e), nil
}

// Stat describes a file or directory.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	e, err := f.stat("stat", name)
	if err != nil {
		return nil, err // not an *entry that is nil
	}
	return e, nil
}

func (f *FS) stat(op, name string) (*entry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return f.lookup(name)
}

// ReadDir lists a directory.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := f.stat("readdir", name)
	if err != nil {
		return nil, err
	}
	if !e.dir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errNoDirectory}
	}
	l, err := f.list(name)
	if err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, len(l))
	for i, e := range l {
		entries[i] = fs.FileInfoToDirEntry(e)
	}
	return entries, nil
}
