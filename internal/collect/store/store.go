// Package store keeps traces of other hosts while they are recorded: for each session and host a directory that is byte for byte what the
// recorder wrote, as far as it has come. What is written is told as stored only when it is on the disk.
//
//	DIR/SESSION/HOST/metadata, kernel_2_0, packets/web.pcapng   as the recorder names them
//	DIR/SESSION/HOST/.trace                                     the UUID of the trace that this is
//	DIR/SESSION/HOST/.boot                                      since when the machine has not lost power, with all that is there
//
// Names are checked before they are used: nothing is written outside of a host's directory.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits says how much a store takes. A field that is 0 has the default.
type Limits struct {
	Hosts    int   // in all sessions, 4096
	Sessions int   // of a host, 4096
	Files    int   // of a host in a session, 16384
	AllFiles int   // of a host in all sessions, 262144
	Bytes    int64 // of a host in a session, 1 TiB
	Open     int   // files that are open at a time, 512
}

func (l Limits) withDefaults() Limits {
	if l.Hosts == 0 {
		l.Hosts = 4096
	}
	if l.Sessions == 0 {
		l.Sessions = 4096
	}
	if l.Files == 0 {
		l.Files = 1 << 14
	}
	if l.AllFiles == 0 {
		l.AllFiles = 1 << 18
	}
	if l.Bytes == 0 {
		l.Bytes = 1 << 40
	}
	if l.Open == 0 {
		l.Open = 512
	}
	return l
}

// Store is a directory of sessions. Any goroutine may call its methods.
type Store struct {
	dir    string
	disk   Disk
	limits Limits

	counting sync.Mutex     // of counts, counted and totals
	counts   map[string]int // sessions of each host on the disk
	counted  time.Time
	totals   map[string]*total // by host

	mu      sync.Mutex
	hosts   map[key]*Host
	loading map[string]chan struct{} // hosts of which a directory is begun; closed at the end
	open    []*file                  // that have a descriptor
	clock   uint64                   // counts uses of files
	rested  uint64                   // the clock at the last Rest
	cuts    map[key]map[string]int64 // of hosts that were let go of: files that were cut, and nobody has asked for it

	syncing sync.Mutex // one Sync at a time
}

type key struct{ session, host string }

// ErrGap is wrapped by the error of [Host.Apply] for a range behind the end of its file: what is between has not come.
var ErrGap = errors.New("what is before it has not come")

// ErrLimit is wrapped by errors that say that a limit of the store is reached.
var ErrLimit = errors.New("a limit is reached")

// ErrBusy is wrapped by errors of files that cannot be opened before others are synced: call [Store.Sync] and try again.
var ErrBusy = errors.New("too many files wait for the disk")

// New returns the store in a directory, which is made.
func New(dir string, disk Disk, l Limits) (*Store, error) {
	if err := disk.MkdirAll(dir); err != nil {
		return nil, err
	}
	return &Store{dir: dir, disk: disk, limits: l.withDefaults(), hosts: make(map[key]*Host), totals: make(map[string]*total), loading: make(map[string]chan struct{}), cuts: make(map[key]map[string]int64)}, nil
}

// Root returns the directory of all sessions.
func (s *Store) Root() string { return s.dir }

// Dir returns the directory of a host in a session.
func (s *Store) Dir(session, host string) string { return filepath.Join(s.dir, session, host) }

// Sync brings to the disk what was applied, and returns the hosts of which more is there now. Of a host whose bytes could not be written
// the error is returned; it goes on from what is on the disk, so that its agent sends the rest again.
func (s *Store) Sync() (stored []*Host, err error) {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	hosts := s.Hosts()
	var files []File
	var dirs []string
	for _, h := range hosts {
		f, d := h.begin()
		if len(f)+len(d) > 0 {
			files, dirs, stored = append(files, f...), append(dirs, d...), append(stored, h)
		}
	}
	if len(stored) == 0 {
		return nil, nil
	}
	slices.Sort(dirs)
	err = s.disk.Sync(files, slices.Compact(dirs))
	for _, h := range stored {
		h.end(err == nil)
	}
	return stored, err
}

// Close syncs and closes all files.
func (s *Store) Close() error {
	_, err := s.Sync()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.open {
		err = errors.Join(err, f.f.Close())
		f.f = nil
	}
	s.open = nil
	return err
}

// Rest closes the files that were not used since it was called last: those of programs that have ended. Call it every few seconds.
func (s *Store) Rest() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	s.open = slices.DeleteFunc(s.open, func(f *file) bool {
		if f.used > s.rested || f.busy.Load() {
			return false
		}
		errs = append(errs, f.f.Close())
		f.f = nil
		return true
	})
	s.rested = s.clock
	return errors.Join(errs...)
}

// use opens a file if it is not, and closes the one that was not used for longest if there are too many. A file that is written to is
// not closed before it was synced.
func (s *Store) use(f *file) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	f.used = s.clock
	if f.f != nil {
		return nil
	}
	if len(s.open) >= s.limits.Open {
		oldest := -1
		for i, o := range s.open {
			if !o.busy.Load() && (oldest < 0 || o.used < s.open[oldest].used) {
				oldest = i
			}
		}
		if oldest < 0 {
			return fmt.Errorf("%s: %w: %d", f.path, ErrBusy, len(s.open))
		}
		o := s.open[oldest]
		if err := o.f.Close(); err != nil {
			return err
		}
		o.f = nil
		s.open = slices.Delete(s.open, oldest, oldest+1)
	}
	opened, err := s.disk.Open(f.path)
	if err != nil {
		return err
	}
	f.f = opened
	s.open = append(s.open, f)
	return nil
}

// Sessions lists the sessions and the hosts of each, as they are on the disk.
func (s *Store) Sessions() (map[string][]string, error) {
	sessions, err := s.disk.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]string)
	for _, e := range sessions {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		hosts, err := s.disk.ReadDir(filepath.Join(s.dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		out[e.Name()] = nil
		for _, h := range hosts {
			if h.IsDir() && !strings.HasPrefix(h.Name(), ".") {
				out[e.Name()] = append(out[e.Name()], h.Name())
			}
		}
	}
	return out, nil
}
