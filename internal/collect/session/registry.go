package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
)

// folder has the records, below the directory of a server. Its name is no session's.
const folder = ".sessions"

// Limits of a registry.
const (
	maxSessions = 1 << 14
	maxRecord   = 4 << 20 // bytes of a file
)

// ErrLimit is wrapped by the error of a registry that takes no more sessions.
var ErrLimit = errors.New("a limit is reached")

// Registry is the sessions that operators have started, each a file of JSON. Any goroutine may call its methods.
type Registry struct {
	dir  string
	disk store.Disk

	mu       sync.Mutex
	sessions map[string]wire.Session
}

// OpenRegistry reads the registry of a server's directory.
func OpenRegistry(dir string, disk store.Disk) (*Registry, error) {
	r := &Registry{dir: filepath.Join(dir, folder), disk: disk, sessions: make(map[string]wire.Session)}
	if err := disk.MkdirAll(r.dir); err != nil {
		return nil, err
	}
	entries, err := disk.ReadDir(r.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), ".json")
		if !is || strings.HasPrefix(name, ".") {
			continue
		}
		x, err := r.read(e.Name())
		if err == nil && x.Name != name {
			err = fmt.Errorf("it is of session %q", x.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w: remove the file to forget the session", filepath.Join(r.dir, e.Name()), err)
		}
		r.sessions[name] = x
	}
	return r, nil
}

func (r *Registry) read(name string) (x wire.Session, err error) {
	f, err := r.disk.Open(filepath.Join(r.dir, name))
	if err != nil {
		return x, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return x, err
	}
	if size > maxRecord {
		return x, fmt.Errorf("a record of %d bytes, of which %d are permitted", size, maxRecord)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		return x, err
	}
	if x, err = wire.Decode[wire.Session](b); err != nil {
		return x, err
	}
	return x, x.Check()
}

// Get returns a session.
func (r *Registry) Get(name string) (wire.Session, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, known := r.sessions[name]
	return x, known
}

// All returns all sessions, those that began first before others.
func (r *Registry) All() []wire.Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]wire.Session, 0, len(r.sessions))
	for _, x := range r.sessions {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b wire.Session) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// Wanted returns the running session that a host is to record: of several the one that began first.
func (r *Registry) Wanted(host string) (wire.Session, bool) {
	for _, x := range r.All() {
		if x.Running() && x.Wants(host) {
			return x, true
		}
	}
	return wire.Session{}, false
}

// Put merges what is said of a session with what is known, and returns the result when it is on the disk.
func (r *Registry) Put(x wire.Session) (merged wire.Session, changed bool, err error) {
	if err := x.Check(); err != nil {
		return x, false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known, is := r.sessions[x.Name]
	if is {
		if x = merge(known, x); same(&x, &known) {
			return known, false, nil
		}
	} else if len(r.sessions) >= maxSessions {
		return x, false, fmt.Errorf("session %s: %w: %d sessions: remove files of old ones from %s", x.Name, ErrLimit, maxSessions, r.dir)
	}
	if err := r.write(&x); err != nil {
		return x, false, err
	}
	r.sessions[x.Name] = x
	return x, true, nil
}

// write replaces the file of a session.
func (r *Registry) write(x *wire.Session) error {
	b, err := json.Marshal(x)
	if err != nil {
		return err
	}
	next := filepath.Join(r.dir, ".next")
	f, err := r.disk.Open(next)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(append(b, '\n'), 0)
	}
	if err == nil {
		err = r.disk.Sync([]store.File{f}, nil)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := r.disk.Rename(next, filepath.Join(r.dir, x.Name+".json")); err != nil {
		return err
	}
	return r.disk.Sync(nil, []string{r.dir, filepath.Dir(r.dir)})
}

// merge returns what two servers together know of a session: what began first, stopped when it was stopped first. The order in which records
// come does not matter.
func merge(a, b wire.Session) wire.Session {
	x, y := a, b
	if b.Since.Before(a.Since) || b.Since.Equal(a.Since) && string(definition(&b)) < string(definition(&a)) {
		x, y = b, a
	}
	if !y.Stopped.IsZero() && (x.Stopped.IsZero() || y.Stopped.Before(x.Stopped)) {
		x.Stopped = y.Stopped
	}
	return x
}

func same(a, b *wire.Session) bool {
	return a.Stopped.Equal(b.Stopped) && a.Since.Equal(b.Since) && string(definition(a)) == string(definition(b))
}

// definition is what an operator said of a session when it began.
func definition(x *wire.Session) []byte {
	return wire.Encode(wire.Control{Session: x.Name, Hosts: x.Hosts, Args: x.Args})
}
