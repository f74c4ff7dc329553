package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"meridian/trace"
)

// Seal writes the tail as a segment. When it returns, all events so far outlast a crash, and OpenLive returns resume with
// them: what the caller needs to go on behind the last.
func (l *Live) Seal(resume []byte) error {
	finish, err := l.Freeze(resume)
	if err != nil {
		return err
	}
	return finish()
}

// Freeze begins a seal: what comes afterwards belongs to the next. It takes some milliseconds. The rest is done by finish,
// which must be called once, by any goroutine: until it returns, a further Freeze waits. After an error the events stay in
// memory, and no further seal succeeds.
func (l *Live) Freeze(resume []byte) (finish func() error, err error) {
	l.sealing.Lock()
	defer func() {
		if err != nil {
			l.sealing.Unlock()
		}
	}()
	if l.closed {
		return nil, errors.New("index: Seal after Close")
	}
	if l.frozen != nil {
		return nil, errors.New("index: an earlier seal failed")
	}
	b := l.b
	if b.err != nil {
		return nil, b.err
	}
	b.grow()
	state, err := encodeState(l, resume)
	if err != nil {
		return nil, err
	}
	b.blocks.send()
	tail := &memoryPart{blocks: l.tail.blocks, packed: l.tail.packed, end: b.events}
	w := &segmentWriter{parts: []part{tail}, state: state, risky: b.options.risky, segmentHead: segmentHead{First: l.seals + 1, Last: l.seals + 1,
		Begin: l.tailBegin(), End: b.events, Classes: int64(len(b.classes)), Span: b.last}}
	for _, x := range b.sorter.trees.lanes {
		tail.lanes = append(tail.lanes, memoryLane{items: x.pending, sums: x.sums})
		if len(x.pending) > 0 {
			w.lanes = append(w.lanes, laneKey{number: x.number, host: x.host, kind: x.kind})
		}
		x.pending, x.sums = nil, nil
	}
	l.tail, l.bytes = memoryPart{}, 0
	l.seals++
	l.files.Lock()
	l.frozen = tail
	l.files.Unlock()
	return func() error {
		defer l.sealing.Unlock()
		return l.finish(w)
	}, nil
}

// finish writes what is frozen, and puts the segment in its place.
func (l *Live) finish(w *segmentWriter) error {
	if err := w.write(l.dir); err != nil {
		return err
	}
	s, err := openSegment(filepath.Join(l.dir, segmentName(w.First, w.Last)), l.cache)
	if err != nil {
		return err
	}
	l.files.Lock()
	defer l.files.Unlock()
	l.segments = append(slices.Clip(l.segments), s)
	l.frozen = nil
	return nil
}

// Merging: a segment of level n is of at most mergeOf^n seals.
const (
	mergeOf = 8
	// maxMerged is how many events a merged segment has at most, about.
	maxMerged = 1 << 27
)

func (s *segment) level() (n int) {
	for seals := s.Last - s.First + 1; seals >= mergeOf; seals /= mergeOf {
		n++
	}
	return n
}

// mergeable returns segments that are to be one: as many as mergeOf, next to each other, of one level.
func mergeable(all []*segment) []*segment {
	for i := len(all) - mergeOf; i >= 0; i-- {
		run := all[i : i+mergeOf]
		same := run[mergeOf-1].end-run[0].Begin <= maxMerged
		for _, s := range run {
			same = same && s.level() == run[0].level()
		}
		if same {
			return run
		}
	}
	return nil
}

// Compact merges some segments into one, if there are enough; it reports whether it did, and may then do more. An event is
// merged once for each factor of 8 by which the timeline is longer than a tail. Another goroutine may call it while the
// timeline grows.
func (l *Live) Compact() (bool, error) {
	l.compacting.Lock()
	defer l.compacting.Unlock()
	l.files.Lock()
	run := slices.Clone(mergeable(l.segments))
	newest := len(run) > 0 && run[len(run)-1] == l.segments[len(l.segments)-1]
	l.files.Unlock()
	if len(run) == 0 {
		return false, nil
	}
	last := run[len(run)-1]
	w := &segmentWriter{lanes: keys(run), risky: l.b.options.risky, segmentHead: segmentHead{First: run[0].First, Last: last.Last, Begin: run[0].Begin, End: last.end,
		Classes: last.Classes, Span: last.Span}}
	for _, s := range run {
		w.parts = append(w.parts, s)
	}
	if newest {
		state, err := last.state()
		if err != nil {
			return false, err
		}
		w.state = state
	}
	if err := w.write(l.dir); err != nil {
		return false, err
	}
	s, err := openSegment(filepath.Join(l.dir, segmentName(w.First, w.Last)), l.cache)
	if err != nil {
		return false, err
	}
	l.files.Lock()
	i := slices.Index(l.segments, run[0])
	l.segments = slices.Concat(l.segments[:i], []*segment{s}, l.segments[i+len(run):])
	l.files.Unlock()
	for _, old := range run {
		old.release()
		// What cannot be removed now, OpenLive removes: the new segment has its seals.
		_ = os.Remove(old.path)
	}
	return true, nil
}

// OpenLive goes on with the index in a directory, behind its last seal: schema becomes what it was then, and resume is what
// that seal was given. What was not sealed is gone, and is to be written again. If there is no seal yet, resume is nil
// and the schema stays.
func OpenLive(dir string, schema *trace.Schema, o Options) (l *Live, resume []byte, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, nil, fmt.Errorf("index: %w", err)
	}
	l = newLive(dir, schema, o)
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
	for _, x := range files {
		if x.last <= l.seals { // it has been merged into the one before
			_ = os.Remove(x.path)
			continue
		}
		if x.first != l.seals+1 {
			return damaged("%s: seal %d is missing before it", x.path, l.seals+1)
		}
		s, err := openSegment(x.path, l.cache)
		if err != nil {
			return err
		}
		if s.First != x.first || s.Last != x.last || s.Begin != l.sealed() {
			s.release()
			return damaged("%s: it holds seals %d to %d, from event %d on", x.path, s.First, s.Last, s.Begin)
		}
		l.segments = append(l.segments, s)
		l.seals = x.last
	}
	return nil
}
