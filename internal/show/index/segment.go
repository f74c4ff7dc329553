package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
)

// A segment is a file of what came between two seals of a [Live], or of several such in turn. It is framed like an index,
// and its pages are the same. Its directory is a segmentHead, the list of blocks, and the lanes with items, whose owner
// is their number in the timeline. The state at its end is a page of its own. Events have their numbers in the timeline.
const segmentMagic = "\x89MerSeg\n"

// segmentHead says what a segment is.
type segmentHead struct {
	First, Last         int64 // seals
	Begin, End          int64 // events
	Classes             int64
	Span                int64 // the last instant
	StateAt, StateBytes int64
}

// segment is one that is open.
type segment struct {
	segmentHead
	end    int64 // events
	path   string
	size   int64         // of the file
	x      *Index        // its lanes and blocks
	places map[int]int32 // of lanes by their number in the timeline
	users  atomic.Int64
}

func (s *segment) acquire() { s.users.Add(1) }

// release closes the file when no view and no Live uses it.
func (s *segment) release() {
	if s.users.Add(-1) == 0 {
		_ = s.x.f.Close()
	}
}

func (s *segment) walk(w *walker, n int, v visitor) error {
	if i, ok := s.places[n]; ok {
		w.x = s.x
		return w.walk(&s.x.lanes[i], v)
	}
	return nil
}

// fewBins is how many bins a lane of a segment may lie in to be added up from its tree rather than from its steps.
const fewBins = 4

func (s *segment) summed(w *walker, n int, b *bins) error {
	i, ok := s.places[n]
	if !ok {
		return nil
	}
	l := &s.x.lanes[i]
	if l.root.begin >= b.to || l.root.end < b.from {
		return nil
	}
	if l.root.last>>b.level-l.root.first>>b.level >= fewBins {
		return fileLanes{s.x}.summed(w, int(i), b)
	}
	w.x = s.x
	return w.walk(l, b)
}

func (s *segment) events() blockList {
	return blockList{blocks: s.x.blocks, end: s.end, pages: &s.x.pages}
}

// segmentName is that of the file of the seals from first to last.
func segmentName(first, last int64) string { return fmt.Sprintf("%010d-%010d.segment", first, last) }

// laneKey is what a segment says of a lane.
type laneKey struct {
	number, host int
	kind         laneKind
}

// segmentWriter writes parts, one behind the other, as one segment.
type segmentWriter struct {
	segmentHead
	lanes []laneKey // by number
	parts []part
	state []byte
	risky bool // it need not outlast a power cut
}

// fewItems is how many items a leaf has at least that is copied as it is. The items of others are put together.
const fewItems = leastLeaf / 2

// lay writes the items of a lane behind those of another segment.
func (s *segment) lay(t *trees, w *walker, l *lane, n int, whole bool) error {
	i, ok := s.places[n]
	if !ok {
		return nil
	}
	w.x = s.x
	return w.leaves(l.kind, &s.x.lanes[i].root, func(n *node, page []byte) error {
		alone := len(l.pending) == 0 || len(l.pending) >= fewItems
		if whole && alone && n.count >= fewItems {
			if len(l.pending) > 0 {
				if err := t.leaf(l, len(l.pending)); err != nil {
					return err
				}
			}
			l.items += n.count
			return t.put(l, page, node{summary: n.summary})
		}
		items, err := w.leaf(page, l.kind, n)
		if err != nil {
			return err
		}
		for i := range items {
			if err := t.add(l, items[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// coarsen shows the steps of a lane that are not too coarse, or else its items.
func (s *segment) coarsen(w *walker, n int, c *coarsener) error {
	i, ok := s.places[n]
	if !ok {
		return nil
	}
	w.x = s.x
	l := &s.x.lanes[i]
	if x := l.coarseAt(c.levels[0].level); x != nil {
		return w.steps(l.kind, x, 0, math.MaxInt64, func(s *step) { c.step(s, x.level) })
	}
	return w.walk(l, c)
}

// write makes the file. It is there as a whole, or not at all.
func (w *segmentWriter) write(dir string) error {
	s, err := newStore(filepath.Join(dir, segmentName(w.First, w.Last)))
	if err != nil {
		return err
	}
	defer s.f.Close()
	err = w.fill(s)
	if err == nil && !w.risky {
		err = s.f.Sync()
	}
	if err == nil {
		err = s.publish()
	}
	if err != nil {
		s.discard()
		return err
	}
	if w.risky {
		return nil
	}
	return syncDir(dir)
}

func (w *segmentWriter) fill(s *store) error {
	roots, err := w.fillLanes(s)
	if err != nil {
		return err
	}
	e := extent{s: s, most: 1 << 20}
	var blocks []block
	for _, p := range w.parts {
		l := p.events()
		for i, b := range l.blocks {
			packed, err := l.at(i)
			if err == nil {
				b.pageRef, err = e.put(packed)
			}
			if err != nil {
				return err
			}
			blocks = append(blocks, b)
		}
	}
	p, err := e.put(w.state)
	if err != nil {
		return err
	}
	w.StateAt, w.StateBytes = p.at, p.size
	if err := e.flush(); err != nil {
		return err
	}
	var head bytes.Buffer
	if err := gob.NewEncoder(&head).Encode(w.segmentHead); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	b := append(binary.AppendUvarint(nil, uint64(head.Len())), head.Bytes()...)
	return s.frame(segmentMagic, appendLanes(appendBlocks(b, blocks, w.Begin), roots))
}

// fillLanes writes the items of each lane.
func (w *segmentWriter) fillLanes(s *store) (roots []laneRoot, err error) {
	t := &trees{s: s}
	var walk walker
	for _, k := range w.lanes {
		r := laneRoot{group: k.host + 1, kind: k.kind, owner: k.number}
		l := t.newLane(k.kind, k.host, 0)
		finest, whole := w.finest(k.number)
		for _, p := range w.parts {
			if err := p.lay(t, &walk, l, k.number, whole); err != nil {
				return nil, err
			}
		}
		if l.items == 0 {
			continue
		}
		if r.root, err = t.finish(l); err != nil {
			return nil, err
		}
		levels := l.coarseLevels(r.root.busy, segmentItemsAStep, topLevel(far), fewSteps)
		if whole {
			levels = levelsFrom(finest, &r.root)
		}
		if r.coarse, err = w.coarsen(&walk, k, levels, l.extent); err != nil {
			return nil, err
		}
		roots = append(roots, r)
	}
	return roots, t.flush()
}

// finest returns the finest coarse level of a lane in the segment that has most of its items; false if none of the segments has one. Where there is one, the
// items of the lane need not be looked at one by one to make a segment of several.
func (w *segmentWriter) finest(number int) (level int, ok bool) {
	most := int64(0)
	for _, p := range w.parts {
		s, is := p.(*segment)
		if !is {
			return 0, false
		}
		i, any := s.places[number]
		if !any {
			continue
		}
		if l := &s.x.lanes[i]; l.root.count > most && len(l.coarse) > 0 {
			most, level, ok = l.root.count, l.coarse[0].level, true
		}
	}
	return level, ok
}

// levelsFrom returns the levels from the finest on, up to one that has few steps whatever lies in them.
func levelsFrom(finest int, root *node) (levels []int) {
	for level := finest; ; level += 2 {
		levels = append(levels, level)
		if root.end>>level-root.begin>>level < fewSteps || level+2 > topLevel(far) {
			return levels
		}
	}
}

// coarsen makes the levels of a lane, whose pages go straight to the file.
func (w *segmentWriter) coarsen(walk *walker, k laneKey, levels []int, e *extent) ([]coarse, error) {
	if len(levels) == 0 {
		return nil, nil
	}
	c := newCoarsener(k.kind, levels, func(m madePage) error { return m.put(e) })
	for _, p := range w.parts {
		if err := p.coarsen(walk, k.number, c); err != nil {
			return nil, err
		}
	}
	err := c.finish()
	return c.coarse(), err
}

// syncDir makes a renaming last.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	defer f.Close()
	_ = f.Sync() // some file systems cannot
	return nil
}

// openSegment opens a segment that the caller then uses.
func openSegment(path string, c *pageCache) (*segment, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	s := &segment{path: path, places: make(map[int]int32)}
	if err := s.read(f, c); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.acquire()
	return s, nil
}

func (s *segment) read(f *os.File, c *pageCache) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	b, begin, err := readDirectory(f, info.Size(), segmentMagic)
	if err != nil {
		return err
	}
	d := decoder{b: b}
	if err := gob.NewDecoder(bytes.NewReader(d.bytes(d.length(len(b))))).Decode(&s.segmentHead); err != nil {
		return damaged("directory: %v", err)
	}
	s.size = info.Size()
	h := &s.segmentHead
	if d.bad || h.First < 1 || h.Last < h.First || h.Begin < 0 || h.End < h.Begin || h.Classes < 0 || h.Span < 0 || h.Span > far {
		return damaged("directory incomplete")
	}
	s.end = h.End
	s.x = &Index{f: f, pages: newPageReader(f, begin, c), limits: limits{classes: uint64(h.Classes), events: h.End}}
	s.x.blocks = d.blocks(h.Begin, h.End)
	for range d.length(len(d.b)) {
		l, ok := d.lane(1<<31-1, h.Span, s.x.limits)
		if !ok {
			return damaged("invalid lane %d", len(s.x.lanes))
		}
		s.places[l.owner] = int32(len(s.x.lanes))
		s.x.lanes = append(s.x.lanes, l)
	}
	if d.bad || len(d.b) > 0 {
		return damaged("extra bytes after the directory")
	}
	return nil
}

// state returns the state at the end of a segment.
func (s *segment) state() ([]byte, error) {
	return s.x.pages.page(pageRef{s.StateAt, s.StateBytes})
}

// keys lists the lanes of segments, by their number.
func keys(segments []*segment) (out []laneKey) {
	seen := make(map[int]bool)
	for _, s := range segments {
		for i := range s.x.lanes {
			if l := &s.x.lanes[i]; !seen[l.owner] {
				seen[l.owner] = true
				out = append(out, laneKey{number: l.owner, host: l.group - 1, kind: l.kind})
			}
		}
	}
	slices.SortFunc(out, func(a, b laneKey) int { return cmp.Compare(a.number, b.number) })
	return out
}
