// Package disktest is a disk that loses power: what was not synced is there afterwards, or not, or in part.
package disktest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"meridian/internal/collect/store"
)

// Disk is a disk in memory. A store on it is cut off by [Disk.Cut].
type Disk struct {
	mu      sync.Mutex
	entries map[string]*inode // as programs see them
	durable map[string]*inode // as they are after a power cut, if nothing else comes to the disk by chance
	r       *rand.Rand
	off     bool
	boot    string
	Full    int64 // bytes that fit; 0 for any
}

type inode struct {
	now, synced []byte
	dir         bool
}

// New returns an empty disk.
func New(seed uint64) *Disk {
	return &Disk{entries: map[string]*inode{}, durable: map[string]*inode{}, r: rand.New(rand.NewPCG(seed, 9)), boot: fmt.Sprint(seed)}
}

var errOff = errors.New("the power is off")

const page = 512 // what comes to the disk at once or not at all

// Boot names the time since the last power cut.
func (d *Disk) Boot() string { return d.boot }

// Cut is a power cut. Whoever uses the disk gets errors from now on; the disk that is returned is what is found when the power is back.
func (d *Disk) Cut() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
	next := New(d.r.Uint64())
	left := map[*inode]*inode{}
	keep := func(path string, n *inode) {
		if left[n] == nil {
			left[n] = &inode{now: d.partly(n), dir: n.dir}
			left[n].synced = left[n].now
		}
		next.entries[path], next.durable[path] = left[n], left[n]
	}
	for _, path := range slices.Sorted(maps.Keys(d.durable)) { // the same seed, the same disk
		keep(path, d.durable[path])
	}
	for _, path := range slices.Sorted(maps.Keys(d.entries)) { // new names, and files that were renamed
		n := d.entries[path]
		if d.durable[path] != n && d.r.IntN(2) == 0 {
			keep(path, n)
		}
	}
	return next
}

// partly returns what is left of a file: each page is as it was synced or as it was written.
func (d *Disk) partly(n *inode) []byte {
	size := len(n.synced)
	if d.r.IntN(2) == 0 {
		size = len(n.now)
	}
	out := make([]byte, size) // a size that came to the disk before its bytes: zeros
	copy(out, n.synced)
	for at := 0; at < min(size, len(n.now)); at += page {
		if d.r.IntN(2) == 0 {
			copy(out[at:min(at+page, size)], n.now[at:])
		}
	}
	return out
}

// Content returns the files below a directory as programs see them, by their paths in it, but for those that begin with a dot.
func (d *Disk) Content(dir string) map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return content(d.entries, dir, func(n *inode) []byte { return n.now })
}

// Durable returns what of them is there after a power cut, whatever else is.
func (d *Disk) Durable(dir string) map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return content(d.durable, dir, func(n *inode) []byte { return n.synced })
}

// Synced returns how many bytes of a file are there after a power cut, whatever else is; 0 without the file.
func (d *Disk) Synced(path string) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.durable[path]; n != nil {
		return int64(len(n.synced))
	}
	return 0
}

// Sizes returns the sizes of the files below a directory after a power cut, whatever else is there.
func (d *Disk) Sizes(dir string) map[string]int {
	sizes := make(map[string]int)
	for name, b := range d.Durable(dir) {
		sizes[name] = len(b)
	}
	return sizes
}

func content(of map[string]*inode, dir string, bytes func(*inode) []byte) map[string][]byte {
	out := map[string][]byte{}
	for path, n := range of {
		if name, ok := strings.CutPrefix(path, dir+"/"); ok && !n.dir && filepath.Base(name)[0] != '.' {
			out[name] = append([]byte{}, bytes(n)...)
		}
	}
	return out
}

func (d *Disk) MkdirAll(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return errOff
	}
	for ; dir != "." && dir != "/"; dir = filepath.Dir(dir) {
		if d.entries[dir] == nil {
			d.entries[dir] = &inode{dir: true}
			d.durable[dir] = d.entries[dir] // of interest are files
		}
	}
	return nil
}

func (d *Disk) Open(path string) (store.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return nil, errOff
	}
	n := d.entries[path]
	if n == nil {
		n = &inode{}
		d.entries[path] = n
	}
	return &file{d, n}, nil
}

type entry struct {
	name string
	n    *inode
}

func (e entry) Name() string { return e.name }
func (e entry) IsDir() bool  { return e.n.dir }
func (e entry) Type() fs.FileMode {
	if e.n.dir {
		return fs.ModeDir
	}
	return 0
}
func (e entry) Info() (fs.FileInfo, error) { return info{e}, nil }

type info struct{ entry }

func (i info) Size() int64        { return int64(len(i.n.now)) }
func (i info) Mode() fs.FileMode  { return i.Type() }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) Sys() any           { return nil }

func (d *Disk) ReadDir(dir string) ([]fs.DirEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.entries[dir] == nil {
		return nil, fs.ErrNotExist
	}
	var out []fs.DirEntry
	for _, path := range slices.Sorted(maps.Keys(d.entries)) {
		if n := d.entries[path]; filepath.Dir(path) == dir {
			out = append(out, entry{filepath.Base(path), n})
		}
	}
	return out, nil
}

func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return errOff
	}
	for path, n := range d.entries {
		if rest, below := strings.CutPrefix(path, from+"/"); below {
			d.entries[to+"/"+rest] = n
			delete(d.entries, path)
		}
	}
	d.entries[to] = d.entries[from]
	delete(d.entries, from)
	return nil
}

func (d *Disk) Remove(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.entries, path)
	return nil
}

func (d *Disk) Sync(files []store.File, dirs []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return errOff
	}
	for _, f := range files {
		n := f.(*file).n
		n.synced = append([]byte{}, n.now...)
	}
	for _, dir := range dirs {
		for path := range d.durable {
			if filepath.Dir(path) == dir && d.entries[path] == nil {
				delete(d.durable, path)
			}
		}
		for path, n := range d.entries {
			if filepath.Dir(path) == dir {
				d.durable[path] = n
			}
		}
	}
	return nil
}

type file struct {
	d *Disk
	n *inode
}

func (f *file) ReadAt(b []byte, at int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if at >= int64(len(f.n.now)) {
		return 0, io.EOF
	}
	n := copy(b, f.n.now[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(b []byte, at int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.d.off {
		return 0, errOff
	}
	if f.d.Full > 0 {
		used := int64(0)
		for _, n := range f.d.entries {
			used += int64(len(n.now))
		}
		if used+max(at+int64(len(b))-int64(len(f.n.now)), 0) > f.d.Full {
			return 0, syscall.ENOSPC
		}
	}
	if end := int(at) + len(b); end > len(f.n.now) {
		f.n.now = append(f.n.now, make([]byte, end-len(f.n.now))...)
	}
	return copy(f.n.now[at:], b), nil
}

func (f *file) Size() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return int64(len(f.n.now)), nil
}

func (f *file) Truncate(size int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.d.off {
		return errOff
	}
	f.n.now = append([]byte{}, f.n.now[:min(int(size), len(f.n.now))]...)
	return nil
}

func (f *file) Close() error { return nil }

// Fill makes the disk full, or gives it room again.
func (d *Disk) Fill(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Full = 0; full {
		d.Full = 1
	}
}
