package ship

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"meridian/internal/collect/wire"
)

// file is a file of the directory that grows.
type file struct {
	name   string
	class  int // of its stream: 0 is sent first
	f      *os.File
	walker *walker
	size   int64 // as it was seen last
	whole  int64 // of which may be sent
	gone   bool  // removed from the directory; what f still has may be sent
	turn   int   // in the order in which files went
}

// document is a file that is replaced as a whole.
type document struct {
	data []byte
	sum  uint32
	info fs.FileInfo
}

// directory is a trace directory as it was found last.
type directory struct {
	dir     string
	classes Classes

	files    map[string]*file
	order    []*file // by class, then by name
	metadata document
	trace    string  // UUID, "" as long as it is not known
	vanished []*file // gone since the account took them
	shrunk   []*file // cut off behind something that may have been sent, since the shipper took them
	turns    int
	grew     bool   // a file has another size than the scan before saw
	buffer   []byte // of the walkers, which walk one after the other
}

func newDirectory(dir string, classes Classes) *directory {
	return &directory{dir: dir, classes: classes, files: make(map[string]*file)}
}

// scan looks for what has grown. Sizes are taken before the metadata is read, so that the metadata has the types of all packets.
func (d *directory) scan() error {
	names, err := wire.List(d.dir, os.ReadDir)
	if err != nil {
		return err
	}
	listed := make(map[string]bool, len(names))
	for _, name := range names {
		if listed[name] = true; name != wire.Metadata {
			if err := d.measure(name); err != nil {
				return err
			}
		}
	}
	for name, f := range d.files {
		if listed[name] || f.gone {
			continue
		}
		f.gone, f.turn = true, d.turns
		d.turns++
		d.vanished = append(d.vanished, f)
		if err := d.grow(f); err != nil { // the recorder may have written more before it removed it
			return err
		}
	}
	return d.readMetadata()
}

// measure finds out how far a file is whole.
func (d *directory) measure(name string) error {
	f := d.files[name]
	if f == nil {
		opened, err := os.Open(filepath.Join(d.dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		} else if err != nil {
			return err
		}
		f = &file{name: name, class: d.classes.of(name), f: opened, walker: newWalker(name)}
		d.files[name] = f
		at, _ := slices.BinarySearchFunc(d.order, f, byClass)
		d.order = slices.Insert(d.order, at, f)
	}
	return d.grow(f)
}

// grow finds out how far an open file is whole.
func (d *directory) grow(f *file) error {
	info, err := f.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == f.size && f.whole == f.size {
		return nil
	}
	f.size, d.grew = info.Size(), true
	if f.size < f.whole { // cut off behind a packet that looked whole
		f.walker, f.whole = newWalker(f.name), 0
		d.shrunk = append(d.shrunk, f)
	}
	if d.buffer == nil {
		d.buffer = make([]byte, walkBuffer)
	}
	f.walker.buffer = d.buffer
	f.whole, err = f.walker.walk(f.f, f.size)
	return err
}

func byClass(a, b *file) int {
	if a.class != b.class {
		return a.class - b.class
	}
	return strings.Compare(a.name, b.name)
}

// forget closes a file of which nothing more will be sent.
func (d *directory) forget(f *file) error {
	delete(d.files, f.name)
	d.order = slices.DeleteFunc(d.order, func(o *file) bool { return o == f })
	return f.f.Close()
}

func (d *directory) close() (err error) {
	for _, f := range d.files {
		err = errors.Join(err, f.f.Close())
	}
	return err
}

var uuidOf = regexp.MustCompile(`uuid\s*=\s*"([0-9a-fA-F-]{36})"`)

// maxMetadata bounds what is read: what a chunk can carry.
const maxMetadata = wire.MaxRange

// readMetadata reads the metadata if it was replaced or has grown.
func (d *directory) readMetadata() error {
	path := filepath.Join(d.dir, wire.Metadata)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if m := d.metadata.info; m != nil && os.SameFile(m, info) && m.Size() == info.Size() && m.ModTime().Equal(info.ModTime()) {
		return nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxMetadata+1))
	if err != nil {
		return err
	}
	if len(data) > maxMetadata {
		return errors.New(path + ": its metadata is too large to be sent: more than 8 MiB")
	}
	if trace := uuidOf.FindSubmatch(data); trace == nil {
		return nil // not whole yet
	} else if d.trace == "" {
		d.trace = strings.ToLower(string(trace[1]))
	} else if !strings.EqualFold(d.trace, string(trace[1])) {
		return errors.New(d.dir + ": another trace was put in its place: start the agent anew, with another session")
	}
	d.metadata = document{data: data, sum: wire.Sum(data), info: info}
	return nil
}

// Classes says which streams are sent first.
type Classes []Class

// Class is the streams of one priority.
type Class struct {
	Name     string
	Patterns []string // of file names, as path.Match has them
}

// DefaultClasses are marks and clocks, without which nothing else can be understood, then events, then packets.
var DefaultClasses = Classes{
	{"marks", []string{"clocks_*", "interfaces_*", "retention_*", "probes_*"}},
	{"events", []string{"*"}},
	{"packets", []string{wire.Folder + "/*"}},
}

// of returns the class of a file: the first with a pattern that matches, else the last.
func (c Classes) of(name string) int {
	for i, class := range c {
		for _, p := range class.Patterns {
			if ok, err := filepath.Match(p, name); err == nil && ok {
				return i
			}
		}
	}
	return max(len(c)-1, 0)
}
