package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"meridian/internal/collect/wire"
)

// traceFile has the UUID of the trace in a host's directory.
const traceFile = ".trace"

// recountEvery is how often the sessions on the disk are counted anew, at most: people remove some.
const recountEvery = 10 * time.Second

// Host opens the directory of a host in a session for the trace with a UUID, with all that an earlier process left there. Meanwhile other hosts are stored.
func (s *Store) Host(session, name, trace string) (*Host, error) {
	if err := errors.Join(wire.CheckSession(session), wire.CheckHost(name)); err != nil {
		return nil, err
	}
	if err := wire.CheckTrace(trace); err != nil {
		return nil, fmt.Errorf("host %s: %w", name, err)
	}
	h := s.host(session, name)
	if h == nil {
		var err error
		if h, err = s.load(session, name, trace); err != nil {
			return nil, err
		}
	}
	if h.trace != trace {
		return nil, fmt.Errorf("host %s: session %s has trace %s of it, and this is %s: record into another session", name, session, h.trace, trace)
	}
	return h, nil
}

func (s *Store) host(session, name string) *Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hosts[key{session, name}]
}

// load begins with a directory. Those of the same host in other sessions are let go of.
func (s *Store) load(session, name, trace string) (*Host, error) {
	defer s.alone(name)()
	if h := s.host(session, name); h != nil { // meanwhile
		return h, nil
	}
	added, err := s.admit(session, name)
	if err != nil {
		return nil, err
	}
	h := &Host{store: s, Session: session, Name: name, dir: s.Dir(session, name), files: make(map[string]*file)}
	if err := h.load(trace); err != nil {
		if added {
			s.count(name, -1)
		}
		return nil, err
	}
	s.mu.Lock()
	var others []*Host
	for k, o := range s.hosts {
		if k.host == name {
			others = append(others, o)
		}
	}
	s.hosts[key{session, name}] = h
	s.mu.Unlock()
	for _, o := range others {
		if o.close() {
			s.mu.Lock()
			delete(s.hosts, key{o.Session, name})
			s.rememberCuts(o)
			s.mu.Unlock()
		}
	}
	return h, nil
}

// alone waits until no other directory of a host is begun, and returns what ends that for this one.
func (s *Store) alone(name string) (end func()) {
	for {
		s.mu.Lock()
		other := s.loading[name]
		if other == nil {
			other = make(chan struct{})
			s.loading[name] = other
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.loading, name)
				close(other)
			}
		}
		s.mu.Unlock()
		<-other
	}
}

// count notes that a host has more sessions or less. Before the sessions on the disk were counted there is nothing to note.
func (s *Store) count(name string, n int) {
	s.counting.Lock()
	defer s.counting.Unlock()
	if s.counts == nil {
		return
	}
	if s.counts[name] += n; s.counts[name] <= 0 {
		delete(s.counts, name)
	}
}

// admit checks the limits. added reports whether the directory is a new one, which counts from now on.
func (s *Store) admit(session, name string) (added bool, err error) {
	s.counting.Lock()
	defer s.counting.Unlock()
	if _, err := s.disk.ReadDir(s.Dir(session, name)); err == nil {
		return false, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	for {
		var err error
		switch n, known := s.counts[name]; {
		case s.counts == nil:
			err = ErrLimit // they were not counted yet
		case !known && len(s.counts) >= s.limits.Hosts:
			err = fmt.Errorf("host %s: %w: %d hosts: raise --max-hosts of the server, or move old sessions away", name, ErrLimit, s.limits.Hosts)
		case n >= s.limits.Sessions:
			err = fmt.Errorf("host %s: %w: %d sessions of it: raise --max-sessions of the server, or move old ones away", name, ErrLimit, s.limits.Sessions)
		default:
			s.counts[name]++
			return true, nil
		}
		if !s.counted.IsZero() && time.Since(s.counted) < recountEvery {
			return false, err
		}
		sessions, err := s.Sessions()
		if err != nil {
			return false, err
		}
		s.counts, s.counted = make(map[string]int), time.Now()
		for _, hosts := range sessions {
			for _, h := range hosts {
				s.counts[h]++
			}
		}
	}
}

// load reads what is in the directory.
func (h *Host) load(trace string) error {
	disk := h.store.disk
	h.dirs, h.acked = make(map[string]bool), make(map[string]bool)
	if err := disk.MkdirAll(h.dir); err != nil {
		return err
	}
	names, err := wire.List(h.dir, disk.ReadDir)
	if err != nil {
		return err
	}
	for len(names) > 0 {
		n := min(len(names), loadedAtOnce)
		if err := h.find(names[:n]); err != nil {
			return err
		}
		names = names[n:]
	}
	if err := h.remember(); err != nil {
		return err
	}
	return h.identify(trace)
}

// bootFile names the time between two starts of the machine in which all of a host's directory was written.
const bootFile = ".boot"

// distrust has the next process doubt what it finds: the system may have dropped bytes that it could not write.
func (h *Host) distrust() {
	f, err := h.store.disk.Open(filepath.Join(h.dir, bootFile))
	if err == nil {
		err = errors.Join(f.Truncate(0), f.Close())
	}
	_ = err // a disk that takes neither is not synced later
}

// remember notes in a new directory since when the machine runs. Files that an earlier process wrote before the machine was started again are in doubt, and
// stay so: it is not known how much of them was acknowledged.
func (h *Host) remember() (err error) {
	f, err := h.store.disk.Open(filepath.Join(h.dir, bootFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return err
	}
	b, now := make([]byte, min(size, 64)), h.store.disk.Boot()
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		return err
	}
	if before := strings.TrimSpace(string(b)); now != "" && before == now {
		return nil
	}
	if len(h.files) > 0 {
		for _, f := range h.files {
			f.doubt = f.have > 0
		}
		return nil
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte(now+"\n"), 0); err != nil {
		return err
	}
	return h.store.disk.Sync([]File{f}, nil) // identify brings its name to the disk
}

// loadedAtOnce is how many files of a directory are open at a time while it is read.
const loadedAtOnce = 64

// find enters files that are there. What is told of them is on the disk.
func (h *Host) find(names []string) (err error) {
	files := make([]File, 0, len(names))
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}()
	for _, name := range names {
		f := h.add(name)
		opened, err := h.store.disk.Open(f.path)
		if err != nil {
			return err
		}
		files = append(files, opened)
		size, err := opened.Size()
		if err != nil {
			return err
		}
		f.have, f.durable, f.found, f.named = size, size, size, true // identify brings its name to the disk
		h.bytes += size
		if name == wire.Metadata {
			if f.sumNow, err = sumOf(opened, size); err != nil {
				return err
			}
			f.sum = f.sumNow
		}
	}
	return h.store.disk.Sync(files, nil)
}

// identify reads of which trace the directory is, or notes that.
func (h *Host) identify(trace string) error {
	f, err := h.store.disk.Open(filepath.Join(h.dir, traceFile))
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	b := make([]byte, min(size, 64))
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		return err
	}
	// What an earlier process left is told as stored. So its names must be on the disk too, those of the directories above included.
	dirs := []string{h.dir, filepath.Dir(h.dir), h.store.dir}
	for name := range h.files {
		if dir := filepath.Join(h.dir, filepath.FromSlash(filepath.Dir(name))); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if h.trace = strings.TrimSpace(string(b)); wire.CheckTrace(h.trace) == nil {
		return h.store.disk.Sync([]File{f}, dirs)
	}
	if len(h.files) > 0 {
		return fmt.Errorf("%s has files of a trace that is not known: move them away, or record into another session", h.dir)
	}
	// A power cut may leave a file of zeros, before anything was stored.
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte(trace+"\n"), 0); err != nil {
		return err
	}
	h.trace = trace
	return h.store.disk.Sync([]File{f}, dirs)
}

// close lets go of the directory if all is on the disk and told. Nothing is applied any more then.
func (h *Host) close() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.dirty)+len(h.syncing)+len(h.dirs)+len(h.acked) > 0 {
		return false
	}
	h.closed = true
	for _, f := range h.files {
		h.store.forget(f)
	}
	return true
}
