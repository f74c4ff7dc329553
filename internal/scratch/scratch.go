// Package scratch gives a run a directory for temporary files, which is gone when the run is.
//
//	DIR/meridian-scratch-NUMBER/    made when it is first asked for, locked by the process, removed by Close
//
// A run that is killed leaves its directory behind. The next run that makes one in the same DIR removes it: the kernel has ended
// the lock with the process. Only directories of the same user are removed, and none where the system has no locks.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"meridian/internal/dirlock"
)

const prefix = "meridian-scratch-"

// Dir is a directory for temporary files. It is safe for concurrent use.
type Dir struct {
	under string
	mu    sync.Mutex
	path  string   // "" until it is made
	lock  *os.File // nil until then
}

// New returns a directory that will be made in another; in the system's for temporary files if under is "".
func New(under string) *Dir {
	if under == "" {
		under = os.TempDir()
	}
	return &Dir{under: under}
}

// Path returns the path of the directory, after making it and removing those that runs have left.
func (d *Dir) Path() (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.path != "" {
		return d.path, nil
	}
	removeLeft(d.under)
	const attempts = 10
	for range attempts {
		path, err := os.MkdirTemp(d.under, prefix)
		if err != nil {
			return "", fmt.Errorf("scratch directory: %w; name another with --scratch", err)
		}
		if d.lock, err = own(path); err == nil {
			d.path = path
			return path, nil
		}
		os.RemoveAll(path)
		if !errors.Is(err, errTaken) {
			return "", fmt.Errorf("scratch directory: %w", err)
		}
	}
	return "", fmt.Errorf("scratch directory: in %s each new one was removed by another process", d.under)
}

// errTaken is the error of a directory that another run takes for one that was left, since it was not locked yet.
var errTaken = errors.New("another process removes it")

// own locks a directory that was just made.
func own(path string) (*os.File, error) {
	lock, err := dirlock.Lock(path)
	if errors.Is(err, dirlock.ErrLocked) || errors.Is(err, os.ErrNotExist) {
		return nil, errTaken
	}
	if err != nil {
		return nil, err
	}
	locked, err := lock.Stat()
	if err == nil {
		var there os.FileInfo
		there, err = os.Stat(path)
		if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(locked, there) {
			err = errTaken // it was removed before the lock
		}
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// removeLeft removes what killed runs have left in a directory. What cannot be removed stays: it is no fault of this run.
func removeLeft(under string) {
	entries, err := os.ReadDir(under)
	if err != nil {
		return // making a directory there tells why
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		info, err := e.Info()
		if err != nil || !removable(info) {
			continue
		}
		path := filepath.Join(under, e.Name())
		lock, err := dirlock.Lock(path)
		if err != nil {
			continue
		}
		os.RemoveAll(path)
		lock.Close()
	}
}

// Close removes the directory with all that is in it. It may be called again.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.path == "" {
		return nil
	}
	err := errors.Join(os.RemoveAll(d.path), d.lock.Close())
	d.path, d.lock = "", nil
	return err
}
