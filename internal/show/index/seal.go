package index

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
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
// which must be called once, by any goroutine: until it returns, a further Freeze waits. After an error other than [ErrFull] the events stay
// in memory, and no further seal succeeds.
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
	if l.failed {
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
		x.renew()
	}
	l.tail, l.bytes = memoryPart{}, 0
	l.seals++
	l.files.Lock()
	l.frozen = append(slices.Clip(l.frozen), frozenPart{tail, w})
	l.files.Unlock()
	return func() error {
		defer l.sealing.Unlock()
		err := l.finish()
		l.failed = err != nil && !errors.Is(err, ErrFull)
		return err
	}, nil
}

// lay writes the oldest that is frozen, and puts the segment in its place.
func (l *Live) lay(w *segmentWriter) error {
	if room := l.b.options.room; room != nil {
		if err := room(); err != nil {
			return err
		}
	}
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
	l.frozen = slices.Clone(l.frozen[1:])
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
func mergeable(all []*segment, o *Options) []*segment {
	from := int64(0)
	for i := 0; i+mergeOf <= len(all); i++ {
		run := all[i : i+mergeOf]
		same := run[mergeOf-1].end-run[0].Begin <= maxMerged
		for _, s := range run {
			same = same && s.level() == run[0].level()
		}
		if same && o.small(run, from) {
			return run
		}
		from = all[i].Span
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
	run := slices.Clone(mergeable(l.segments, &l.b.options))
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
	// Every segment has a state, so that OpenLive can go on behind any.
	var err error
	if w.state, err = last.state(); err != nil {
		return false, err
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
