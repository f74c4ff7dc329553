package s3

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Bounds of what is remembered of names.
const (
	maxListed = 100_000 // names in a directory
	maxKnown  = 400_000 // names in all directories; more are asked for again
)

// entry is a file or a directory. It is its own [fs.FileInfo].
type entry struct {
	name   string
	dir    bool
	object Object

	// Of a file that is kept in parts, which are the objects, each of partSize but the last. Of object only the size counts.
	parts    []Object
	partSize int64
}

// holding returns the object that has a block, the block's number in it, and how many blocks of the file from it on the object has.
func (e *entry) holding(number int64) (o *Object, in, left int64) {
	o, in = &e.object, number
	if e.partSize > 0 {
		each := e.partSize / blockSize
		o, in = &e.parts[number/each], number%each
	}
	return o, in, (o.Size+blockSize-1)/blockSize - in
}

func (e *entry) Name() string { return e.name }
func (e *entry) Size() int64  { return e.object.Size }
func (e *entry) IsDir() bool  { return e.dir }
func (e *entry) Sys() any     { return nil }

func (e *entry) Mode() fs.FileMode {
	if e.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

func (e *entry) ModTime() time.Time {
	if e.dir {
		return time.Time{}
	}
	return time.Unix(e.object.Modified, 0)
}

// listing is what a directory has, sorted by name.
type listing []*entry

func (l listing) find(name string) *entry {
	i, ok := slices.BinarySearchFunc(l, name, func(e *entry, name string) int { return strings.Compare(e.name, name) })
	if !ok {
		return nil
	}
	return l[i]
}

// lookup returns a file or directory. It asks the store only if what was listed before does not say.
func (f *FS) lookup(name string) (*entry, error) {
	if name == "." {
		return nil, &fs.PathError{Op: "stat", Path: "s3://", Err: errors.New("name a bucket, as in s3://BUCKET/PREFIX")}
	}
	if e, decided := f.known(name); decided {
		if e == nil {
			return nil, &fs.PathError{Op: "stat", Path: "s3://" + name, Err: fs.ErrNotExist}
		}
		return e, nil
	}
	if bucket, key := Split(name); key != "" {
		c, err := f.client()
		if err != nil {
			return nil, err
		}
		o, err := c.Head(f.ctx, bucket, key)
		// An empty object beside others that have it as a directory is a mark that some tools leave.
		if err == nil && o.Size > 0 {
			e := &entry{name: path.Base(name), object: o}
			f.remember(name, nil, e)
			return e, nil
		} else if err == nil {
			if _, err := f.list(name); errors.Is(err, fs.ErrNotExist) {
				return &entry{name: path.Base(name), object: o}, nil
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	_, missing := f.list(name)
	if missing == nil {
		return &entry{name: path.Base(name), dir: true}, nil
	} else if !errors.Is(missing, fs.ErrNotExist) {
		return nil, missing
	}
	// It may be a host, its folder or a file of either in a session that is kept in parts.
	for above, depth := path.Dir(name), 0; depth < 3 && strings.Contains(above, "/"); above, depth = path.Dir(above), depth+1 {
		if _, err := f.list(above); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if e, _ := f.known(name); e != nil {
		return e, nil
	}
	return nil, missing
}

// known answers from what was listed before; decided is false if that does not say. The entry is nil for what is not there.
func (f *FS) known(name string) (e *entry, decided bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.knownLocked(name)
}

func (f *FS) knownLocked(name string) (e *entry, decided bool) {
	above := path.Dir(name)
	switch {
	case f.listings[name] != nil:
		return &entry{name: path.Base(name), dir: true}, true
	case f.heads[name] != nil:
		return f.heads[name], true
	case above == ".":
		return nil, false
	case f.listings[above] != nil:
		return f.listings[above].find(path.Base(name)), true
	}
	e, decided = f.knownLocked(above)
	return nil, decided && (e == nil || !e.dir)
}

// list returns what a directory has. One without anything is not there, unless it is a bucket.
func (f *FS) list(name string) (listing, error) {
	f.mu.Lock()
	l := f.listings[name]
	f.mu.Unlock()
	if l != nil {
		return l, nil
	}
	c, err := f.client()
	if err != nil {
		return nil, err
	}
	bucket, prefix := Split(name)
	if prefix != "" {
		prefix += "/"
	}
	l = listing{}
	parts := false
	err = c.List(f.ctx, bucket, prefix, func(o Object) error {
		key, dir := strings.CutSuffix(strings.TrimPrefix(o.Key, prefix), "/")
		if dir && key == keptFolder {
			parts = true
		}
		if !isElement(key) {
			return nil // the mark of the directory itself, or a name that no path leads to
		}
		if len(l) >= maxListed {
			return fmt.Errorf("s3://%s: more than %d names: name what is in it", name, maxListed)
		}
		l = append(l, &entry{name: key, dir: dir, object: o})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if parts {
		return f.listKept(c, name)
	}
	if len(l) == 0 && prefix != "" {
		return nil, &fs.PathError{Op: "open", Path: "s3://" + name, Err: fs.ErrNotExist}
	}
	// A name may be that of an object and of a directory. The object counts unless it is empty, as in lookup.
	slices.SortStableFunc(l, func(a, b *entry) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return rank(a) - rank(b)
	})
	l = slices.CompactFunc(l, func(a, b *entry) bool { return a.name == b.name })
	f.remember(name, l, nil)
	return l, nil
}

// listKept reads the indexes of a session and remembers all its directories.
func (f *FS) listKept(c *Client, name string) (listing, error) {
	bucket, dir := Split(name)
	var indexes []*Index
	err := c.List(f.ctx, bucket, path.Join(dir, keptFolder)+"/", func(o Object) error {
		key := path.Join(o.Key, indexName)
		data, _, err := c.Get(f.ctx, bucket, key, MaxIndex)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // of a server that has not finished anything
		} else if err != nil {
			return err
		}
		x, err := ParseIndex(data)
		if err == nil && IndexKey(dir, x.Server) != key {
			err = fmt.Errorf("it says that it is of server %q", x.Server)
		}
		if err != nil {
			return fmt.Errorf("s3://%s/%s: %w", bucket, key, err)
		}
		indexes = append(indexes, x)
		return nil
	})
	if err != nil {
		return nil, err
	}
	k, err := newKept(bucket, dir, indexes)
	if err != nil {
		return nil, err
	}
	for below, l := range k {
		f.remember(path.Join(name, below), l, nil)
	}
	return k[""], nil
}

// rank is which of two entries of one name counts.
func rank(e *entry) int {
	switch {
	case !e.dir && e.object.Size > 0:
		return 0
	case e.dir:
		return 1
	}
	return 2
}

// remember keeps a listing or a file for later. There is a bound: then all is asked for again.
func (f *FS) remember(name string, l listing, e *entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.names += len(l) + 1; f.names > maxKnown {
		clear(f.listings)
		clear(f.heads)
		f.names = len(l) + 1
	}
	if l != nil {
		f.listings[name] = l
	} else {
		f.heads[name] = e
	}
}
