package store

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// LetGo lets go of the hosts whose directories somebody has removed, and returns them: what was written there is gone, though the files are open.
// An agent that goes on with one begins anew.
func (s *Store) LetGo() (gone []*Host, err error) {
	s.syncing.Lock() // what is being synced stays open
	defer s.syncing.Unlock()
	there := make(map[string]map[string]bool) // hosts of a session
	for _, h := range s.Hosts() {
		names, known := there[h.Session]
		if !known {
			entries, err := s.disk.ReadDir(filepath.Join(s.dir, h.Session))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return gone, err
			}
			names = make(map[string]bool, len(entries))
			for _, e := range entries {
				names[e.Name()] = true
			}
			there[h.Session] = names
		}
		if names[h.Name] || !s.letGo(h) {
			continue
		}
		s.count(h.Name, -1)
		gone = append(gone, h)
	}
	return gone, nil
}

// letGo forgets a host. False: it was forgotten meanwhile.
func (s *Store) letGo(h *Host) bool {
	s.mu.Lock()
	is := s.hosts[key{h.Session, h.Name}] == h
	if is {
		delete(s.hosts, key{h.Session, h.Name})
		delete(s.cuts, key{h.Session, h.Name})
	}
	s.mu.Unlock()
	if !is {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, f := range h.files {
		s.forget(f)
	}
	h.dirty, h.syncing = nil, nil
	clear(h.dirs)
	clear(h.acked)
	return true
}
