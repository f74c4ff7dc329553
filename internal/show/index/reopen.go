package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"meridian/internal/dirlock"
	"meridian/trace"
)

// OpenLive goes on with the index in a directory, behind its last seal: schema becomes what it was then, and resume is what
// that seal was given. What was not sealed is gone, and is to be written again; so is what lies from a damaged segment
// on. If there is no seal yet, resume is nil and the schema stays.
func OpenLive(dir string, schema *trace.Schema, o Options) (l *Live, resume []byte, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, nil, fmt.Errorf("index: %w", err)
	}
	l = newLive(dir, schema, o)
	if err := l.own(); err != nil {
		return nil, nil, err
	}
	if err := openSegments(l); err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	if n := len(l.segments); n > 0 {
		last := l.segments[n-1]
		state, err := last.state()
		if err == nil {
			resume, err = decodeState(l, state)
		}
		if err == nil && l.b.events != last.end {
			err = damaged("%s: the state is of event %d", last.path, l.b.events)
		}
		if err != nil {
			return nil, nil, errors.Join(err, l.Close())
		}
		l.seals = last.Last
	}
	return l, resume, nil
}

// own makes the caller the one writer of the directory until Close.
func (l *Live) own() (err error) {
	if l.lock, err = dirlock.Lock(l.dir); errors.Is(err, dirlock.ErrLocked) {
		err = fmt.Errorf("index: %s: another process writes to it: end that one first, or name another directory", l.dir)
	}
	return err
}

// openSegments opens those that make up the timeline, and removes what a crash left.
func openSegments(l *Live) error {
	list, err := os.ReadDir(l.dir)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	type file struct {
		first, last int64
		path        string
	}
	var files []file
	for _, e := range list {
		x := file{path: filepath.Join(l.dir, e.Name())}
		if n, _ := fmt.Sscanf(e.Name(), "%d-%d.segment", &x.first, &x.last); n == 2 && e.Name() == segmentName(x.first, x.last) {
			files = append(files, x)
		} else if strings.HasPrefix(e.Name(), ".") && strings.Contains(e.Name(), ".segment.") {
			_ = os.Remove(x.path) // not complete
		}
	}
	slices.SortFunc(files, func(a, b file) int {
		if a.first != b.first {
			return int(a.first - b.first)
		}
		return int(b.last - a.last)
	})
	first, err := l.readFirst()
	if err != nil {
		return err
	}
	l.seals = first - 1
	for _, x := range files {
		if x.last <= l.seals { // it has been merged into the one before
			_ = os.Remove(x.path)
			continue
		}
		s, err := openSegment(x.path, l.cache)
		var of *fs.PathError
		if errors.As(err, &of) { // it may be sound
			return err
		}
		if err != nil || x.first != l.seals+1 || s.First != x.first || s.Last != x.last || (len(l.segments) > 0 || first == 1) && s.Begin != l.sealed() {
			if err == nil {
				s.release()
			}
			_ = os.Remove(x.path) // damaged, or it follows on one that was
			continue
		}
		if len(l.segments) == 0 && first > 1 {
			l.gaps = []gap{{end: s.Begin, to: s.begin()}}
		}
		l.segments = append(l.segments, s)
		l.seals = x.last
	}
	return nil
}
