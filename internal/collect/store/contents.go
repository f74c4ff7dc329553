package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"meridian/internal/collect/wire"
)

// Content is what a host's directory has on the disk.
type Content struct {
	Trace string // its UUID
	Files []Stored
}

// Stored is a file of a host.
type Stored struct {
	Name string
	Size int64 // bytes that are on the disk
	// Shortest is from where on bytes that were on the disk have changed or gone since it was asked for last, -1 if none have.
	Shortest int64
}

// Content returns what is on the disk of a host, whether its agent is there or not.
func (s *Store) Content(session, name string) (Content, error) {
	s.mu.Lock()
	h := s.hosts[key{session, name}]
	s.mu.Unlock()
	if h != nil {
		return h.content(), nil
	}
	dir := s.Dir(session, name)
	trace, err := s.readSmall(filepath.Join(dir, traceFile))
	if err != nil {
		return Content{}, err
	}
	c := Content{Trace: strings.TrimSpace(string(trace))}
	s.mu.Lock()
	cuts := s.cuts[key{session, name}]
	delete(s.cuts, key{session, name})
	s.mu.Unlock()
	names, err := wire.List(dir, s.disk.ReadDir)
	for _, n := range names {
		size, sizeErr := s.fileSize(filepath.Join(dir, filepath.FromSlash(n)))
		if sizeErr != nil {
			return Content{}, sizeErr
		}
		x := Stored{Name: n, Size: size, Shortest: -1}
		if to, cut := cuts[n]; cut {
			x.Shortest = to
		}
		c.Files = append(c.Files, x)
	}
	return c, err
}

// Has returns how many bytes of each file of a trace are on the disk, whether its agent is there or not; none where the directory is of another trace.
func (s *Store) Has(session, name, trace string) (map[string]int64, error) {
	if err := errors.Join(wire.CheckSession(session), wire.CheckHost(name)); err != nil {
		return nil, err
	}
	have := make(map[string]int64)
	if h := s.host(session, name); h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, f := range h.files {
			if h.trace == trace {
				have[f.name] = f.durable
			}
		}
		return have, nil
	}
	dir := s.Dir(session, name)
	of, err := s.readSmall(filepath.Join(dir, traceFile))
	if errors.Is(err, fs.ErrNotExist) {
		return have, nil
	}
	if err != nil || strings.TrimSpace(string(of)) != trace {
		return have, err
	}
	names, err := wire.List(dir, s.disk.ReadDir)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if have[n], err = s.fileSize(filepath.Join(dir, filepath.FromSlash(n))); err != nil {
			return nil, err
		}
	}
	return have, nil
}

func (h *Host) content() Content {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := Content{Trace: h.trace}
	for _, f := range h.files {
		x := Stored{Name: f.name, Size: f.durable, Shortest: -1}
		if f.wasCut {
			x.Shortest, f.wasCut = f.shortest, false
		}
		c.Files = append(c.Files, x)
	}
	return c
}

// maxCuts bounds of how many hosts cuts are remembered.
const maxCuts = 4096

// rememberCuts keeps for the next Content what a host that is let go of has not told. The store's lock is held.
func (s *Store) rememberCuts(h *Host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.files {
		if !f.wasCut || len(s.cuts) >= maxCuts {
			continue
		}
		k := key{h.Session, h.Name}
		if s.cuts[k] == nil {
			s.cuts[k] = make(map[string]int64)
		}
		s.cuts[k][f.name] = f.shortest
	}
}

// stat returns the entry of a file, an error that is [fs.ErrNotExist] without one: opening a file would make it.
func (s *Store) stat(path string) (fs.DirEntry, error) {
	entries, err := s.disk.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() == filepath.Base(path) {
			return e, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
}

func (s *Store) fileSize(path string) (int64, error) {
	f, err := s.disk.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Size()
}

// readSmall returns the content of a file of at most 64 bytes.
func (s *Store) readSmall(path string) ([]byte, error) {
	if _, err := s.stat(path); err != nil {
		return nil, err
	}
	f, err := s.disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, 64)
	n, err := f.ReadAt(b, 0)
	if err == io.EOF {
		err = nil
	}
	return b[:n], err
}

// ReadFile reads bytes of a host's file from an offset on: all that b has room for, or [io.ErrUnexpectedEOF].
func (s *Store) ReadFile(session, host, name string, b []byte, offset int64) error {
	f, err := s.disk.Open(filepath.Join(s.Dir(session, host), filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer f.Close()
	if n, err := f.ReadAt(b, offset); n < len(b) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("%s of host %s, %d bytes at %d: %w", name, host, len(b), offset, err)
	}
	return nil
}

// ReadDocument returns a file that is replaced as a whole, of at most some bytes.
func (s *Store) ReadDocument(session, host, name string, most int64) ([]byte, error) {
	f, err := s.disk.Open(filepath.Join(s.Dir(session, host), filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err == nil && (size == 0 || size > most) {
		err = fmt.Errorf("%s of host %s has %d bytes, not from 1 to %d", name, host, size, most)
	}
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return b, nil
}

// Hosts returns the hosts that agents have asked to store.
func (s *Store) Hosts() []*Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	hosts := make([]*Host, 0, len(s.hosts))
	for _, h := range s.hosts {
		hosts = append(hosts, h)
	}
	return hosts
}
