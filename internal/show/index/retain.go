package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ErrFull is what a seal of a [Live] fails with when there is no room on its disk. The events stay in memory, the last maxFrozen tails of
// them, and the next seal tries again. After an older tail was dropped nothing more is written: what is on the disk ends there.
var ErrFull = errors.New("index: no room on its disk")

// maxFrozen is how many sealed tails wait in memory for room on the disk.
const maxFrozen = 6

// frozenPart is a tail that is sealed, until its segment is there.
type frozenPart struct {
	*memoryPart
	w *segmentWriter
}

// gap is what a timeline has no longer: events from first on and before end, shown from one instant to another.
type gap struct{ first, end, from, to int64 }

// Full says whether an error is for want of room on a disk.
func Full(err error) bool {
	return errors.Is(err, ErrFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// finish writes what is frozen, the oldest first.
func (l *Live) finish() error {
	for {
		l.files.Lock()
		if len(l.frozen) == 0 {
			l.files.Unlock()
			return nil
		}
		oldest, torn := l.frozen[0], l.torn
		l.files.Unlock()
		err := ErrFull
		if !torn {
			err = l.lay(oldest.w)
		}
		if err != nil && !Full(err) {
			return err
		}
		if err != nil {
			l.bound()
			return fmt.Errorf("%w: %s", ErrFull, l.dir)
		}
	}
}

// bound drops what is in memory beyond maxFrozen tails.
func (l *Live) bound() {
	l.files.Lock()
	defer l.files.Unlock()
	for len(l.frozen) > maxFrozen {
		w := l.frozen[0].w
		g := gap{first: w.Begin, end: w.End, from: 0, to: w.Span}
		if n := len(l.segments); n > 0 {
			g.from = l.segments[n-1].Span
		}
		if n := len(l.gaps); l.torn && n > 0 {
			g.first, g.from = l.gaps[n-1].first, l.gaps[n-1].from
			l.gaps = slices.Clone(l.gaps[:n-1])
		}
		l.gaps = append(slices.Clip(l.gaps), g)
		l.frozen, l.torn = slices.Clone(l.frozen[1:]), true
		l.drops++
	}
}

// small says whether segments may become one though the oldest are dropped: one is at most an eighth of what is kept.
func (o *Options) small(run []*segment, from int64) bool {
	bytes := int64(0)
	for _, s := range run {
		bytes += s.size
	}
	return (o.KeepBytes == 0 || bytes <= o.KeepBytes/mergeOf) && (o.KeepTime == 0 || run[len(run)-1].Span-from <= o.KeepTime/mergeOf)
}

// Drop removes the oldest segments that Options.KeepTime and KeepBytes do not keep; it reports whether there were any. The last stays, whatever
// it takes. Another goroutine may call it while the timeline grows.
func (l *Live) Drop() (bool, error) {
	l.compacting.Lock()
	defer l.compacting.Unlock()
	o := &l.b.options
	l.files.Lock()
	all := l.segments
	l.files.Unlock()
	bytes, n := int64(0), 0
	for _, s := range all {
		bytes += s.size
	}
	for n < len(all)-1 && (o.KeepBytes > 0 && bytes > o.KeepBytes || o.KeepTime > 0 && all[len(all)-1].Span-all[n].Span > o.KeepTime) {
		bytes -= all[n].size
		n++
	}
	if n == 0 {
		return false, nil
	}
	if err := l.writeFirst(all[n].First); err != nil {
		return false, err
	}
	l.files.Lock()
	l.segments = slices.Clone(l.segments[n:])
	l.dropFirst(all[n-1])
	l.drops++
	l.files.Unlock()
	for _, s := range all[:n] {
		s.release()
		_ = os.Remove(s.path) // what cannot be removed now, OpenLive removes
	}
	return true, nil
}

// dropFirst notes that all up to a segment is gone.
func (l *Live) dropFirst(last *segment) {
	g := gap{end: last.end, to: last.Span}
	if len(l.gaps) > 0 && l.gaps[0].first == 0 {
		l.gaps = l.gaps[1:]
	}
	l.gaps = slices.Concat([]gap{g}, l.gaps)
}

// firstFile names, in decimal, the first seal that is kept, if it is not 1. It is replaced before segments are removed: without it a segment that is
// missing would be taken for one that was lost.
const firstFile = "first"

func (l *Live) writeFirst(seal int64) error {
	path := filepath.Join(l.dir, firstFile)
	if err := os.WriteFile(path+".new", strconv.AppendInt(nil, seal, 10), 0o666); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	return nil
}

func (l *Live) readFirst() (int64, error) {
	text, err := os.ReadFile(filepath.Join(l.dir, firstFile))
	if errors.Is(err, os.ErrNotExist) {
		return 1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("index: %w", err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n < 1 {
		return 0, damaged("%s: does not name a seal", filepath.Join(l.dir, firstFile))
	}
	return n, nil
}

// Size returns how many bytes the segments take.
func (l *Live) Size() (bytes int64) {
	l.files.Lock()
	defer l.files.Unlock()
	for _, s := range l.segments {
		bytes += s.size
	}
	return bytes
}

// gone returns an error if an event was dropped.
func (v *View) gone(event int64) error {
	for _, g := range v.gaps {
		if event >= g.first && event < g.end {
			return fmt.Errorf("events %d to %d were dropped from the index", g.first, g.end-1)
		}
	}
	return nil
}

// begin returns the first instant of a segment's items that began in it, about.
func (s *segment) begin() int64 {
	first := s.Span
	for i := range s.x.lanes {
		if l := &s.x.lanes[i]; l.kind == instants || l.kind == counter {
			first = min(first, l.root.first)
		}
	}
	return first
}
