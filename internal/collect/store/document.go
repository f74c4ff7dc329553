package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"meridian/internal/collect/wire"
)

// A document is replaced as a whole: the next one is written beside it, synced and renamed. One that is larger than a message comes in parts, from the
// first to the last. What is between them is missing until the agent sends all of them again.

// nextFile is the document that is to take the place of the one before. Names with a dot are of no trace.
const nextFile = ".next"

// nextDocument is what of the next document is in its file. The zero value is for nothing.
type nextDocument struct {
	sum        uint32 // of all of it
	size, have int64
}

func (h *Host) nextPath() string { return filepath.Join(h.dir, nextFile) }

// replace puts a document in the place of the one before. It appears whole or not at all.
func (h *Host) replace(f *file, data []byte) error {
	sum := wire.Sum(data)
	if h.has(f, int64(len(data)), sum) {
		return nil
	}
	h.next = nextDocument{}
	if err := h.writeNext(data, 0, true); err != nil {
		return err
	}
	h.next = nextDocument{sum: sum, size: int64(len(data)), have: int64(len(data))}
	return h.install(f)
}

// has reports whether a document is there already. Its ack may have been lost, so it is repeated.
func (h *Host) has(f *file, size int64, sum uint32) bool {
	if f == nil || f.have != size || f.sumNow != sum || f.found != 0 {
		return false
	}
	h.tell(f.name)
	return true
}

// part writes a part of the next document. whole reports whether it was the last, and all of them are the document.
func (h *Host) part(c *wire.Chunk) (whole bool, err error) {
	p, err := wire.ParsePart(c)
	if err != nil {
		return false, fmt.Errorf("host %s: %w", h.Name, err)
	}
	if h.has(h.files[c.File], p.Size, p.Sum) {
		return false, nil
	}
	if c.Offset == 0 {
		h.next = nextDocument{sum: p.Sum, size: p.Size}
	}
	n := &h.next
	if p.Sum != n.sum || p.Size != n.size || c.Offset != n.have {
		return false, nil // the one before it was lost, or another agent of the host sends as well
	}
	n.have += int64(len(p.Data))
	if err := h.writeNext(p.Data, c.Offset, n.have == n.size); err != nil {
		*n = nextDocument{}
		return false, err
	}
	if n.have < n.size {
		return false, nil
	}
	sum, err := h.sumOfNext()
	if err == nil && sum != n.sum {
		err = fmt.Errorf("host %s: the parts of its %s have checksum %08x, and say %08x", h.Name, c.File, sum, n.sum)
	}
	if err != nil {
		*n = nextDocument{}
		return false, err
	}
	return true, nil
}

// writeNext writes bytes of the next document. Those behind them are cut off. The last ones bring all of it to the disk.
func (h *Host) writeNext(data []byte, at int64, last bool) error {
	disk := h.store.disk
	g, err := disk.Open(h.nextPath())
	if err != nil {
		return err
	}
	if err = g.Truncate(at); err == nil {
		_, err = g.WriteAt(data, at)
	}
	if err == nil && last {
		err = disk.Sync([]File{g}, nil)
	}
	if err = errors.Join(err, g.Close()); err != nil {
		_ = disk.Remove(h.nextPath())
	}
	return err
}

func (h *Host) sumOfNext() (sum uint32, err error) {
	g, err := h.store.disk.Open(h.nextPath())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	return sumOf(g, h.next.size)
}

// install puts the next document, all of which is on the disk, in its place.
func (h *Host) install(f *file) error {
	n := h.next
	h.next = nextDocument{}
	if err := h.store.disk.Rename(h.nextPath(), f.path); err != nil {
		return err
	}
	h.store.forget(f)
	h.bytes += n.size - f.have
	f.have, f.found, f.sumNow = n.size, 0, n.sum
	h.soil(f)
	h.dirs[h.dir] = true
	return nil
}

func sumOf(r io.ReaderAt, size int64) (uint32, error) {
	b := make([]byte, size)
	if _, err := r.ReadAt(b, 0); err != nil && err != io.EOF {
		return 0, err
	}
	return wire.Sum(b), nil
}

// SumOf returns the CRC-32C of a document that is on the disk, whether its agent is there or not; 0 where there is none.
func (s *Store) SumOf(session, host, name string) (uint32, error) {
	if h := s.host(session, host); h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if f := h.files[name]; f != nil {
			return f.sum, nil
		}
		return 0, nil
	}
	if _, err := s.stat(filepath.Join(s.Dir(session, host), name)); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	b, err := s.ReadDocument(session, host, name, wire.MaxRange)
	if err != nil {
		return 0, err
	}
	return wire.Sum(b), nil
}
