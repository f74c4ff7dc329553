package store

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"meridian/internal/collect/wire"
)

// Host is the directory of a host in a session. Any goroutine may call its methods.
type Host struct {
	Session, Name string

	store *Store
	dir   string
	trace string

	mu      sync.Mutex
	files   map[string]*file
	dirty   []*file // to be synced
	syncing []*file // of the running sync
	closed  bool
	bytes   int64           // of all files
	dirs    map[string]bool // whose entries are not on the disk yet
	next    nextDocument    // parts of a document that have come
	acked   map[string]bool // files of which Stored has something to tell; true where a gap is before what has come
}

// file is a file of a host.
type file struct {
	name, path string
	f          File        // nil while closed; under the store's lock
	used       uint64      // under the store's lock
	busy       atomic.Bool // it must not be closed

	have    int64 // bytes that are written
	durable int64 // of these, on the disk
	found   int64 // bytes that an earlier process wrote, which may not be what it meant to
	doubt   bool  // the machine may have lost power since then
	sum     uint32
	dirty   bool
	named   bool  // its name is on the disk
	syncing int64 // have when the running sync began; -1 for none
	sumNow  uint32

	wasCut   bool  // since its content was asked for last
	shortest int64 // if it was: the smallest size
}

func (h *Host) add(name string) *file {
	f := &file{name: name, path: filepath.Join(h.dir, filepath.FromSlash(name)), syncing: -1}
	h.files[name] = f
	return f
}

// Apply does what a chunk says. Its error wraps [ErrGap] for a range behind the end of its file, and [ErrLimit].
func (h *Host) Apply(c *wire.Chunk) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return fmt.Errorf("host %s: session %s is stored no more", h.Name, h.Session)
	}
	if c.Kind == wire.Part {
		if whole, err := h.part(c); !whole {
			return err
		}
	}
	f := h.files[c.File]
	if f == nil {
		if c.Kind == wire.Data && c.Offset > 0 {
			return fmt.Errorf("%s at offset %d: %w", c.File, c.Offset, ErrGap)
		}
		if c.Kind == wire.Cut {
			if len(h.acked) < h.store.limits.Files {
				h.tell(c.File) // there is nothing of it
			}
			return nil
		}
		if len(h.files) >= h.store.limits.Files {
			return fmt.Errorf("host %s: %w: %d files in a session: raise --max-files of the server, or record into another session", h.Name, ErrLimit, h.store.limits.Files)
		}
		if err := h.store.addFile(h.Name); err != nil {
			return err
		}
		if err := h.makeFolder(c.File); err != nil {
			return err
		}
		f = h.add(c.File)
	}
	switch c.Kind {
	case wire.Document:
		return h.replace(f, c.Data)
	case wire.Part:
		return h.install(f)
	case wire.Cut:
		return h.cut(f, c.Offset)
	}
	return h.write(f, c)
}

// makeFolder makes the directory of a file.
func (h *Host) makeFolder(name string) error {
	dir := filepath.Join(h.dir, filepath.FromSlash(filepath.Dir(name)))
	if dir == h.dir {
		return nil
	}
	return h.store.disk.MkdirAll(dir)
}

func (h *Host) write(f *file, c *wire.Chunk) error {
	end := c.Offset + int64(len(c.Data))
	switch {
	case c.Offset > f.have:
		return fmt.Errorf("%s at offset %d of %d: %w", c.File, c.Offset, f.have, ErrGap)
	case end <= f.have && c.Offset >= f.found || len(c.Data) == 0:
		h.tell(f.name) // it was sent twice, so its ack may have been lost
		return nil
	case h.bytes+max(end-f.have, 0) > h.store.limits.Bytes:
		return fmt.Errorf("host %s: %w: %d bytes in a session: raise --max-bytes of the server, or record into another session", h.Name, ErrLimit, h.store.limits.Bytes)
	}
	f.busy.Store(true)
	if err := h.store.use(f); err != nil {
		f.busy.Store(f.dirty)
		return err
	}
	if _, err := f.f.WriteAt(c.Data, c.Offset); err != nil {
		f.busy.Store(f.dirty)
		return err
	}
	h.soil(f)
	if c.Offset < f.durable { // found after a power cut, and not what it should be
		f.cutTo(c.Offset)
	}
	if end > f.have {
		h.bytes += end - f.have
		f.have = end
	}
	return nil
}

// cut shortens a file to what its recorder has.
func (h *Host) cut(f *file, size int64) error {
	if size >= f.have {
		h.tell(f.name) // it was cut already, and the ack may have been lost
		return nil
	}
	f.busy.Store(true)
	if err := h.store.use(f); err != nil {
		return err
	}
	if err := f.f.Truncate(size); err != nil {
		return err
	}
	h.bytes -= f.have - size
	f.cutTo(size)
	f.have, f.found = size, min(f.found, size)
	f.doubt = f.doubt && size > 0
	h.soil(f)
	f.durable = min(f.durable, size)
	if f.syncing >= 0 {
		f.syncing = min(f.syncing, size)
	}
	return nil
}

// cutTo notes that what lies behind an offset is not what it was.
func (f *file) cutTo(size int64) {
	if !f.wasCut || size < f.shortest {
		f.wasCut, f.shortest = true, size
	}
}

// soil notes that a file is to be synced.
func (h *Host) soil(f *file) {
	if !f.dirty {
		f.dirty = true
		h.dirty = append(h.dirty, f)
	}
}

// forget closes a file that was replaced.
func (s *Store) forget(f *file) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.f == nil {
		return
	}
	for i, o := range s.open {
		if o == f {
			s.open = append(s.open[:i], s.open[i+1:]...)
			break
		}
	}
	_ = f.f.Close()
	f.f = nil
}

// begin returns what is to be synced now.
func (h *Host) begin() (files []File, dirs []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.syncing, h.dirty = h.dirty, h.syncing[:0]
	for _, f := range h.syncing {
		f.dirty, f.syncing, f.sum = false, f.have, f.sumNow
		if !f.named { // the file is created when it is first written to, which may be long after it was added
			h.dirs[filepath.Dir(f.path)], h.dirs[h.dir] = true, true
		}
		if f.f != nil {
			files = append(files, f.f)
		}
	}
	for dir := range h.dirs {
		dirs = append(dirs, dir)
	}
	clear(h.dirs)
	if len(files) == 0 && len(dirs) == 0 && len(h.acked) > 0 {
		dirs = append(dirs, h.dir) // nothing new, but an ack to repeat
	}
	return files, dirs
}

// end notes what the sync that began has done.
func (h *Host) end(ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !ok {
		h.distrust()
	}
	for _, f := range h.syncing {
		if ok {
			f.durable, f.named = f.syncing, true
			h.tell(f.name)
		} else {
			// The system may have dropped the bytes that it could not write, and say nothing the next time.
			h.bytes -= f.have - f.durable
			f.have = f.durable
			f.found, f.doubt = f.have, f.have > 0
			h.soil(f)
			h.dirs[h.dir] = true
		}
		f.syncing = -1
		f.busy.Store(f.dirty)
	}
	clear(h.syncing)
	h.syncing = h.syncing[:0]
}

// Stored returns the files of which more is on the disk than it has returned before.
func (h *Host) Stored() []wire.State {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []wire.State
	for _, name := range slices.Sorted(maps.Keys(h.acked)) {
		gap := h.acked[name]
		s := wire.State{Name: name}
		if f := h.files[name]; f != nil {
			s = f.state()
		}
		s.Gap = gap
		out = append(out, s)
	}
	clear(h.acked)
	return out
}

func (f *file) state() wire.State {
	s := wire.State{Name: f.name, Have: f.durable, Doubt: f.doubt}
	if f.name == wire.Metadata {
		s.Sum, s.Doubt = f.sum, false
	}
	return s
}

// Sizes of an answer of [Host.States]: one file has more at most.
const (
	maxStates     = 256 << 10 // bytes of JSON
	maxSummed     = 64 << 20  // bytes that are read for checksums
	stateBytes    = 100       // of JSON for a file, besides its name
	nameBytes     = 6         // and for a byte of its name at most
	checksumBytes = 11        // and for a checksum
)

// States returns files behind a name as they are on the disk, with the checksums of their ends, in the order of their names. more reports whether there are
// others behind them. Call [Store.Sync] before. Chunks are applied meanwhile.
func (h *Host) States(after string) (page []wire.State, more bool, err error) {
	page, more = h.page(after)
	block := make([]byte, wire.BlockSize)
	for i := range page {
		if page[i].Name == wire.Metadata {
			continue
		}
		path := filepath.Join(h.dir, filepath.FromSlash(page[i].Name))
		f, err := h.store.disk.Open(path)
		if err == nil {
			err = errors.Join(checksums(&page[i], f, block), f.Close())
		}
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", path, err)
		}
	}
	return page, more, nil
}

// page returns as many files as one answer may have.
func (h *Host) page(after string) (page []wire.State, more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := make([]string, 0, len(h.files))
	for name := range h.files {
		if name > after {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	size, read := 0, int64(0)
	for _, name := range names {
		if size > maxStates || read > maxSummed {
			return page, true
		}
		s := h.files[name].state()
		ends := min(s.Have, wire.TailSize)
		size += stateBytes + nameBytes*len(name) + checksumBytes*int(ends/wire.BlockSize)
		read += ends
		page = append(page, s)
	}
	return page, false
}

// Open opens a file to read what of it is on the disk: size bytes. The caller closes it. Without such a file f is nil and size 0.
func (h *Host) Open(name string) (f File, size int64, err error) {
	h.mu.Lock()
	if of := h.files[name]; of != nil {
		size = of.durable
	}
	h.mu.Unlock()
	if size == 0 {
		return nil, 0, nil
	}
	f, err = h.store.disk.Open(filepath.Join(h.dir, filepath.FromSlash(name)))
	return f, size, err
}

// checksums fills in those of the end of a file.
func checksums(s *wire.State, r io.ReaderAt, block []byte) error {
	s.Checked = max(s.Have-wire.TailSize, 0) / wire.BlockSize * wire.BlockSize
	for at := s.Checked; at < s.Have; at += wire.BlockSize {
		b := block[:min(s.Have-at, wire.BlockSize)]
		if _, err := r.ReadAt(b, at); err != nil && err != io.EOF {
			return err
		}
		s.Tail = append(s.Tail, wire.Sum(b))
	}
	return nil
}

// Gap has the next Stored tell how far a file is, of which something has come that lies further on.
func (h *Host) Gap(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files[name] != nil || len(h.acked) < h.store.limits.Files {
		h.acked[name] = true
	}
}

// tell has the next Stored tell how far a file is.
func (h *Host) tell(name string) {
	if !h.acked[name] {
		h.acked[name] = false
	}
}
