package store

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"meridian/internal/collect/wire"
)

// total is how many files a host has in all sessions. They are counted when a file is to be added: on the disk for the first one, and anew, no more often than each
// recountEvery, where there is no room, since people and the archive remove some.
type total struct {
	mu      sync.Mutex
	files   int
	counted time.Time
}

// total returns that of a host. Hosts are as many as were admitted.
func (s *Store) total(host string) *total {
	s.counting.Lock()
	defer s.counting.Unlock()
	t := s.totals[host]
	if t == nil {
		t = new(total)
		s.totals[host] = t
	}
	return t
}

// addFile counts a file that a host is about to have. Its error wraps [ErrLimit].
func (s *Store) addFile(host string) error {
	t := s.total(host)
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.counted.IsZero() || t.files >= s.limits.AllFiles {
		if !t.counted.IsZero() && time.Since(t.counted) < recountEvery {
			return fmt.Errorf("host %s: %w: %d files in all sessions: raise --max-files-of-host of the server, or move old sessions away", host, ErrLimit, s.limits.AllFiles)
		}
		n, err := s.countFiles(host)
		if err != nil {
			return err
		}
		t.files, t.counted = n, time.Now()
	}
	t.files++
	return nil
}

// countFiles counts the files of a host on the disk.
func (s *Store) countFiles(host string) (n int, err error) {
	sessions, err := s.disk.ReadDir(s.dir)
	if err != nil {
		return 0, err
	}
	for _, e := range sessions {
		if wire.CheckSession(e.Name()) != nil {
			continue
		}
		names, failed := wire.List(s.Dir(e.Name(), host), s.disk.ReadDir)
		n, err = n+len(names), errors.Join(err, failed)
	}
	return n, err
}
