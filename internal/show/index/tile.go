package index

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"sync"
)

const (
	tileBits  = 10
	tileBins  = 1 << tileBits
	mostExact = 512     // items of a lane that a tile has one by one
	mostTile  = 4 << 20 // bytes of a tile
)

// Modes of lanes in a tile: exact items by the kind of the lane, and bins behind these.
const inBins = 4

// Flags of a tile. If its lanes are too many to fit, it has fewer and longer bins, and fewer exact items, by a shift. If
// even one bin a lane is too much, the last lanes are missing.
const (
	isFinal    = 1
	shiftAt    = 1 // from this bit on four bits are the shift
	lanesLeft  = 1 << 5
	unsettled  = 1 << 6 // of a timeline that grows: it is to be asked for again
	knownTiles = 1<<7 - 1
)

// Tile returns tile i of a level and a group, as docs/viewer.md has it.
func (x *Index) Tile(group, level int, i int64) ([]byte, error) {
	if group < 0 || group >= len(x.groups) || level < 0 || level > x.about.Top || i < 0 {
		return nil, fmt.Errorf("index: no tile %d.%d.%d (groups 0 to %d, levels 0 to %d)", group, level, i, len(x.groups)-1, x.about.Top)
	}
	if i > x.about.Span>>(level+tileBits) {
		return []byte{1, 0}, nil
	}
	return makeTile(fileLanes{x}, x.groups[group], level, i, x.mostTile)
}

// makeTile makes tile i of a level of some lanes, of at most so many bytes.
func makeTile(of laneSource, lanes []int, level int, i int64, most int) ([]byte, error) {
	t := takeTiler(of)
	defer t.giveBack()
	t.level, t.from = level, i<<(level+tileBits)
	t.to = t.from + tileBins<<level
	flags := byte(0)
	for t.shift = 0; ; {
		done, err := t.fill(lanes, most)
		if err != nil {
			return nil, err
		}
		if done == len(lanes) {
			break
		}
		if t.shift == tileBits {
			t.final, flags = false, lanesLeft
			break
		}
		// Those that are there tell how much too much all are.
		t.shift = min(t.shift+max(bits.Len(uint(len(lanes)/max(done, 1)))-1, 1), tileBits)
	}
	flags |= byte(t.shift) << shiftAt
	if t.final {
		flags |= isFinal
	}
	head := binary.AppendUvarint([]byte{flags}, uint64(t.lanes))
	return append(head, t.out...), nil
}

// fill makes the lanes of a tile, and returns how many fitted.
func (t *tiler) fill(lanes []int, most int) (int, error) {
	t.begin()
	done := t.fillInParts(lanes, most)
	n, err := t.fillInTurn(lanes[done:], most)
	return done + n, err
}

func (t *tiler) begin() { t.out, t.lanes, t.number, t.final = t.out[:0], 0, -1, true }

// fillInTurn makes lanes one after the other, behind those that are there, and returns how many fitted.
func (t *tiler) fillInTurn(lanes []int, most int) (int, error) {
	for i, n := range lanes {
		before, count, number := len(t.out), t.lanes, t.number
		if err := t.lane(n, t.lanesOf.kind(n)); err != nil {
			return 0, err
		}
		if len(t.out)+tileHead > most {
			t.out, t.lanes, t.number = t.out[:before], count, number
			return i, nil
		}
	}
	return len(lanes), nil
}

// tileHead is how long flags and the number of lanes are at most.
const tileHead = 1 + binary.MaxVarintLen32

var tiles = sync.Pool{New: func() any { return new(tiler) }}

func takeTiler(of laneSource) *tiler {
	t := tiles.Get().(*tiler)
	t.lanesOf = of
	return t
}

func (t *tiler) giveBack() {
	t.lanesOf, t.walker.x = nil, nil
	tiles.Put(t)
}

// tiler makes one tile.
type tiler struct {
	lanesOf  laneSource
	walker   walker
	level    int
	shift    int // see lanesLeft
	from, to int64
	out      []byte
	lanes    int
	number   int // of the lane before
	final    bool
	exact    collect
	bins     bins
}

func (t *tiler) lane(number int, kind laneKind) error {
	most, level := int64(mostExact>>t.shift), t.level+t.shift
	count := tally{kind: kind, from: t.from, to: t.to, enough: most}
	if err := t.lanesOf.walk(&t.walker, number, &count); err != nil {
		return err
	}
	before := latest{before: t.from}
	if kind == counter {
		if err := t.lanesOf.walk(&t.walker, number, &before); err != nil {
			return err
		}
	}
	if count.count == 0 && !before.known {
		return nil
	}
	mode := byte(kind)
	var entries int
	if count.count > most {
		t.final = false
		mode += inBins
		t.bins.reset(kind, level, t.from, t.to)
		if err := t.lanesOf.summed(&t.walker, number, &t.bins); err != nil {
			return err
		}
		if entries = t.bins.used(); entries == 0 {
			return nil // messages that are only received here
		}
	} else {
		t.exact = collect{kind: kind, from: t.from, to: t.to, items: t.exact.items[:0]}
		if err := t.lanesOf.walk(&t.walker, number, &t.exact); err != nil {
			return err
		}
		entries = len(t.exact.items)
		switch kind {
		case instants:
			inOrder(t.exact.items)
		case messages:
			// Of those sent at one instant in the order of their events, by which the page goes from one to the next.
			slices.SortStableFunc(t.exact.items, func(a, b item) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.event, b.event)) })
		}
	}
	t.out = binary.AppendUvarint(t.out, uint64(number-t.number))
	t.number = number
	t.lanes++
	t.out = binary.AppendUvarint(append(t.out, mode), uint64(entries))
	if kind == counter {
		if before.known {
			t.out = appendFloat(append(t.out, 1), before.value)
		} else {
			t.out = append(t.out, 0)
		}
	}
	if mode >= inBins {
		t.out = t.bins.append(t.out)
	} else {
		t.appendExact(kind)
	}
	return nil
}

func (t *tiler) appendExact(k laneKind) {
	b := t.out
	at, event, other := t.from, int64(0), int64(0)
	for i := range t.exact.items {
		it := &t.exact.items[i]
		switch k {
		case instants:
			b = binary.AppendUvarint(b, uint64(it.at-at))
			b = binary.AppendUvarint(b, uint64(it.class))
			b = binary.AppendVarint(b, it.event-event)
			at = it.at
		case sliced:
			b = binary.AppendVarint(b, it.at-at)
			b = binary.AppendUvarint(b, uint64(it.to-it.at))
			b = append(b, it.flags)
			b = binary.AppendUvarint(b, uint64(it.class))
			b = binary.AppendVarint(b, it.event-event)
			at = it.to
		case counter:
			b = binary.AppendUvarint(b, uint64(it.at-at))
			b = appendFloat(b, it.value())
			b = binary.AppendVarint(b, it.event-event)
			at = it.at
		case messages:
			b = binary.AppendVarint(b, it.at-at)
			b = binary.AppendVarint(b, it.to-it.at)
			b = append(b, it.flags)
			b = binary.AppendVarint(b, it.event-event)
			b = binary.AppendVarint(b, it.other-other)
			at, other = it.at, it.other
		}
		event = it.event
	}
	t.out = b
}

// bins sums up what lies in each bin of a tile: a visitor that takes pages as they are where they lie in one bin.
type bins struct {
	kind     laneKind
	level    int
	from, to int64
	low      int // bins that are not empty lie between these
	high     int
	bins     [tileBins]summary
}

func (b *bins) reset(k laneKind, level int, from, to int64) {
	if b.high > b.low {
		clear(b.bins[b.low:b.high])
	}
	b.kind, b.level, b.from, b.to, b.low, b.high = k, level, from, to, tileBins, 0
}

// at returns a bin that something is about to be put in.
func (b *bins) at(i int) *summary {
	b.low, b.high = min(b.low, i), max(b.high, i+1)
	return &b.bins[i]
}

func (b *bins) number(at int64) int { return int((at - b.from) >> b.level) }

func (b *bins) node(n *node) bool {
	first, last := n.first, n.last
	if b.kind == sliced {
		last = max(last, n.end-1) // slices that end with the bin are within it
		if n.end <= b.from && n.last < b.from {
			return false
		}
	}
	if first >= b.to || last < b.from {
		return false
	}
	if first >= b.from && last < b.to && b.number(first) == b.number(last) {
		b.at(b.number(first)).merge(&n.summary, b.kind)
		return false
	}
	return true
}

func (b *bins) item(it *item) {
	if b.kind == sliced {
		b.slice(it)
		return
	}
	if it.at >= b.from && it.at < b.to {
		b.at(b.number(it.at)).add(it, b.kind)
	}
}

// slice adds to each bin what of a slice lies in it. It counts where it begins.
func (b *bins) slice(it *item) {
	if it.at >= b.from && it.at < b.to {
		s := b.at(b.number(it.at))
		s.count++
		if it.to == it.at {
			s.top.add(it.class, sliceWeight(it.at, it.to))
		}
	}
	for at, end := max(it.at, b.from), min(it.to, b.to); at < end; {
		i := b.number(at)
		next := min(b.from+int64(i+1)<<b.level, end)
		b.at(i).part(it.class, next-at)
		at = next
	}
}

func (s *summary) empty() bool { return s.count == 0 && s.busy == 0 }

func (b *bins) used() (n int) {
	for i := b.low; i < b.high; i++ {
		if !b.bins[i].empty() {
			n++
		}
	}
	return n
}

func (b *bins) append(out []byte) []byte {
	before := -1
	for i := b.low; i < b.high; i++ {
		s := &b.bins[i]
		if s.empty() {
			continue
		}
		out = binary.AppendUvarint(out, uint64(i-before))
		before = i
		switch b.kind {
		case instants:
			out = binary.AppendUvarint(binary.AppendUvarint(out, uint64(s.count)), uint64(s.top.most()))
		case sliced:
			out = binary.AppendUvarint(out, uint64(s.count))
			out = append(out, fraction(s.busy, b.level))
			out = binary.AppendUvarint(out, uint64(s.top.most()))
		case counter:
			out = appendFloat(appendFloat(appendFloat(out, s.least), s.greatest), s.final)
		case messages:
			out = binary.AppendUvarint(out, uint64(s.count))
			out = binary.AppendVarint(out, s.quickest)
			out = binary.AppendVarint(out, s.slowest)
			out = append(out, byte(s.worst))
		}
	}
	return out
}

// fraction returns how much of a bin is busy, of 255: nothing only if nothing is, and all only if all is.
func fraction(busy int64, level int) byte {
	length := int64(1) << level
	switch {
	case busy <= 0:
		return 0
	case busy >= length:
		return 255
	}
	return byte(min(max(float64(busy)/float64(length)*255, 1), 254))
}
