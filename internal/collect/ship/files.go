package ship

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"meridian/internal/collect/wire"
)

// file is a file of the directory that grows.
type file struct {
	name   string
	class  int // of its stream: 0 is sent first
	path   string
	f      *os.File    // nil while it is parked
	info   fs.FileInfo // of f when it was opened, or parked
	active time.Time   // when it has grown or was opened last
	head   uint32      // checksum of its first bytes, while it is parked
	absent bool        // it is parked and could not be opened since the last scan
	walker *walker
	size   int64 // as it was seen last
	whole  int64 // of which may be sent
	gone   bool  // removed from the directory; what f still has may be sent
	turn   int   // in the order in which files went
	// replaced is that another file was under this name before: servers may have bytes of that one.
	replaced bool
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
	boot     string  // names the time since the host was started
	past     bool    // the trace is of an earlier one: nothing more is recorded, and what was not on the disk is gone
	vanished []*file // gone since the account took them
	shrunk   []*file // cut off behind something that may have been sent, since the shipper took them
	renewed  []renewed
	turns    int
	grew     bool   // a file has another size than the scan before saw
	buffer   []byte // of the walkers, which walk one after the other
}

// renewed is a file in whose place another was put since the shipper took it.
type renewed struct {
	f       *file // as it is now
	gone    bool  // the account has taken that there was no file of this name between
	whole   int64 // of what was there before
	packets int64
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
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		f := d.files[name]
		if listed[name] || f.gone {
			continue
		}
		f.gone, f.turn = true, d.turns
		d.turns++
		d.vanished = append(d.vanished, f)
		if f.f == nil {
			continue
		}
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
		f = &file{name: name, class: d.classes.of(name), path: filepath.Join(d.dir, filepath.FromSlash(name)), walker: newWalker(name)}
		if err := f.open(); errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		} else if err != nil {
			return err
		}
		d.files[name] = f
		at, _ := slices.BinarySearchFunc(d.order, f, byClass)
		d.order = slices.Insert(d.order, at, f)
		return d.grow(f)
	}
	info, err := os.Stat(f.path)
	same := err == nil && os.SameFile(f.info, info)
	if f.absent = false; same && f.f == nil {
		if same, err = f.rejoin(info); same && f.f == nil {
			return err // as it was
		}
	}
	if same {
		return d.growTo(f, info.Size())
	}
	if err == nil {
		err = d.replace(f)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) || f.f == nil {
		return err
	}
	return d.grow(f)
}

// open opens what the directory has under the name of a file.
func (f *file) open() error {
	opened, err := os.Open(f.path)
	if err != nil {
		return err
	}
	info, err := opened.Stat()
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	f.f, f.info, f.active = opened, info, time.Now()
	return nil
}

// replace begins a file again that another was put in place of: a recorder removes an empty capture of one that was killed, and creates its own under
// that name. What is open would never grow again.
func (d *directory) replace(f *file) error {
	old, before := f.f, renewed{f: f, gone: f.gone && !slices.Contains(d.vanished, f), whole: f.whole, packets: f.walker.packets}
	if err := f.open(); err != nil {
		return err
	}
	d.vanished = slices.DeleteFunc(d.vanished, func(o *file) bool { return o == f })
	f.walker, f.size, f.whole, f.gone, f.replaced = newWalker(f.name), 0, 0, false, true
	d.renewed, d.grew = append(d.renewed, before), true
	if old == nil {
		return nil
	}
	return old.Close()
}

// grow finds out how far an open file is whole.
func (d *directory) grow(f *file) error {
	info, err := f.f.Stat()
	if err != nil {
		return err
	}
	return d.growTo(f, info.Size())
}

// growTo finds out how far an open file of some size is whole.
func (d *directory) growTo(f *file, size int64) (err error) {
	if size == f.size && f.whole == f.size {
		return nil
	}
	f.size, d.grew, f.active = size, true, time.Now()
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
	return f.close()
}

func (d *directory) close() (err error) {
	for _, f := range d.files {
		err = errors.Join(err, f.close())
	}
	return err
}

// bootOf finds when the host was started, which a recorder writes as the UUID of the trace's clock.
var bootOf = regexp.MustCompile(`clock\s*\{[^{}]*\buuid\s*=\s*"([0-9a-fA-F-]{36})"`)

// bootID names the time since this machine was started; "" where the system does not say.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
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
	// Metadata grows with each program that was recorded, and is read whenever one comes: room for all of it is made at once.
	b := bytes.NewBuffer(make([]byte, 0, min(info.Size(), maxMetadata)+bytes.MinRead))
	if _, err := b.ReadFrom(io.LimitReader(f, maxMetadata+1)); err != nil {
		return err
	}
	data := b.Bytes()
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
	if boot := bootOf.FindSubmatch(data); boot != nil && d.boot != "" {
		d.past = !strings.EqualFold(string(boot[1]), d.boot)
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
