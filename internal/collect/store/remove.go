package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// removedPrefix begins the names of directories that are being removed, beside those of hosts.
const removedPrefix = ".removed."

// Remove removes the directory of a host in a session if may permits it, which is asked when nothing is written there any more. False: it does not, or
// something has come that is not on the disk and told yet. The directory is gone as a whole or not at all. An agent that goes on with
// it begins anew: it is told that nothing is there.
func (s *Store) Remove(session, name string, may func(Content) bool) (removed bool, err error) {
	defer s.alone(name)()
	if h := s.host(session, name); h != nil {
		if !h.close() {
			return false, nil
		}
		s.mu.Lock()
		delete(s.hosts, key{session, name})
		s.rememberCuts(h)
		s.mu.Unlock()
	}
	c, err := s.Content(session, name)
	if err != nil || !may(c) {
		return false, err
	}
	dir := s.Dir(session, name)
	hidden := filepath.Join(filepath.Dir(dir), removedPrefix+name)
	if err := s.removeAll(hidden); err != nil {
		return false, err
	}
	if err := s.disk.Rename(dir, hidden); err != nil {
		return false, err
	}
	s.count(name, -1)
	if err := s.disk.Sync(nil, []string{filepath.Dir(dir)}); err != nil {
		return true, err
	}
	if err := s.removeAll(hidden); err != nil {
		return true, err
	}
	_ = s.disk.Remove(filepath.Dir(dir)) // unless there are other hosts
	return true, nil
}

// Sweep removes what an earlier process began to remove.
func (s *Store) Sweep() error {
	sessions, err := s.Sessions()
	if err != nil {
		return err
	}
	var errs []error
	for session := range sessions {
		entries, err := s.disk.ReadDir(filepath.Join(s.dir, session))
		if err != nil {
			errs = append(errs, err)
		}
		for _, e := range entries {
			if e.IsDir() && strings.HasPrefix(e.Name(), removedPrefix) {
				errs = append(errs, s.removeAll(filepath.Join(s.dir, session, e.Name())))
			}
		}
	}
	return errors.Join(errs...)
}

// removeAll removes a directory of files and of directories of files.
func (s *Store) removeAll(dir string) error {
	entries, err := s.disk.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			err = s.removeAll(path)
		} else {
			err = s.disk.Remove(path)
		}
		if err != nil {
			return fmt.Errorf("removing %s: %w", dir, err)
		}
	}
	return s.disk.Remove(dir)
}
