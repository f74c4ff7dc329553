// Package index stores a timeline so that any interval of it is drawn fast, however many events there are. The input is
// records in order of time, read once. The output is tiles, the bytes from which the page of `meridian view` draws, and
// events, searches and violations. docs/viewer.md defines the tiles.
//
//	trace.TimelineEvent --> row --> instants ---.                      .--> Tile
//	                          \---> nest: slices -+--> trees of pages --+
//	                          |---> counters ----'     in the file      |--> Events: the ends of a slice, of a message
//	                          '---> pairs: messages --> links ----------'
//	                          '---> blocks of 256 events, compressed -------> Events, Search
//
// Items on one lane do not overlap, so they are sorted by begin and by end alike. Messages do overlap; they are in the order
// in which they were complete. Each lane has a tree (node.go): a page of 48 to 128 items, a page of 32 to 96 pages, and so
// on. A page's summary is stored with the reference to it: number of items, interval, busy time, most frequent class, least,
// greatest and last value, worst verdict. A bin of a tile adds up the summaries of the pages within it. Only pages that
// cross its border are opened. These are few, since pages end where bins of large tiles do.
//
// The file is header, pages, directory (the structures of about.go, the roots of the trees, the list of blocks) and trailer.
// Pages are read on demand; the directory and at most 32 MB of the file are in memory. Every page has a checksum. Its
// contents are also checked against its reference, so that a forged page cannot lead out of the file, into a cycle, or to
// more items than the file has.
//
// Building costs a few hundred nanoseconds an event; reading a tile is proportional to its bins. Memory while building
// is bounded: 40 bytes for each of at most a million items not yet in a page, half a million message ends that wait for
// their partners, 20 bytes for each block of events.
//
// The summary by heaviest class is that of Misra and Gries, "Finding repeated elements" (1982); the buckets of delays are
// those of HdrHistogram.
package index

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"
)

// Index answers what the page asks for. Any number of goroutines may ask at once.
type Index struct {
	directory
	f       *os.File
	unnamed string // a file without a name, to be removed where that could not be done before
	pages   pageReader
	groups  [][]int // of each, its lanes
	sent    [][]int // of each row, the links from it
	got     [][]int // and to it
	slices  [][]int // and its lanes of slices
	limits  limits
	// mostTile is how many bytes a tile has at most.
	mostTile int
}

// IsIndex reports whether a file looks like an index.
func IsIndex(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [len(magic)]byte
	_, err = io.ReadFull(f, b[:])
	return err == nil && string(b[:]) == magic
}

// Open opens an index file.
func Open(path string) (*Index, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	var x *Index
	if err == nil {
		x, err = open(f, info.Size())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}

func open(f *os.File, size int64) (*Index, error) {
	x, err := read(f, size)
	if err != nil {
		return nil, err
	}
	x.f = f
	return x, nil
}

// read reads and validates the directory of an index of some size.
func read(f io.ReaderAt, size int64) (*Index, error) {
	b, at, err := readDirectory(f, size, magic)
	if err != nil {
		return nil, err
	}
	x := &Index{pages: newPageReader(f, at, new(pageCache)), mostTile: mostTile}
	if err := x.decode(b); err != nil {
		return nil, err
	}
	return x, x.arrange()
}

// readDirectory returns the directory of a file with some magic, and where it begins.
func readDirectory(f io.ReaderAt, size int64, magic string) (directory []byte, begin int64, err error) {
	if size < headerSize+trailerSize {
		return nil, 0, damaged("%d bytes are too few for an index", size)
	}
	head, tail := make([]byte, headerSize), make([]byte, trailerSize)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, 0, fmt.Errorf("index: %w", err)
	}
	if string(head[:len(magic)]) != magic {
		return nil, 0, errors.New("index: not an index file")
	}
	if v := binary.LittleEndian.Uint32(head[len(magic):]); v != version {
		return nil, 0, fmt.Errorf("index: file version %d, want %d; make the index again from the traces", v, version)
	}
	if _, err := f.ReadAt(tail, size-trailerSize); err != nil {
		return nil, 0, fmt.Errorf("index: %w", err)
	}
	at, n := binary.LittleEndian.Uint64(tail), binary.LittleEndian.Uint64(tail[8:])
	if string(tail[24:]) != magic || at < headerSize || n > uint64(size-trailerSize) || at != uint64(size-trailerSize)-n {
		return nil, 0, damaged("no trailer")
	}
	b := make([]byte, n)
	if _, err := f.ReadAt(b, int64(at)); err != nil {
		return nil, 0, fmt.Errorf("index: %w", err)
	}
	if crc32.Checksum(b, castagnoli) != binary.LittleEndian.Uint32(tail[16:]) {
		return nil, 0, damaged("wrong checksum of the directory")
	}
	return b, int64(at), nil
}

func (x *Index) decode(b []byte) error {
	d := decoder{b: b}
	for _, part := range []any{&x.about, &x.fields, &x.violations} {
		text := d.bytes(d.length(len(d.b)))
		if d.bad {
			return damaged("directory cut short")
		}
		if err := json.Unmarshal(text, part); err != nil {
			return damaged("directory: %v", err)
		}
	}
	if x.about == nil || x.violations == nil || len(x.fields) != len(x.about.Classes) || x.about.Span < 0 || x.about.Span > far {
		return damaged("directory incomplete")
	}
	x.about.Top = topLevel(x.about.Span)
	x.events = int64(d.u())
	if x.events < 0 || x.events != x.about.Events {
		return damaged("%d events, the directory says %d", x.events, x.about.Events)
	}
	x.limits = limits{classes: uint64(len(x.about.Classes)), events: x.events}
	x.blocks = d.blocks(0, x.events)
	items := int64(0)
	for range d.length(len(d.b)) {
		l, ok := d.lane(len(x.about.Hosts), x.about.Span, x.limits)
		if !ok {
			return damaged("invalid lane %d", len(x.lanes))
		}
		if l.kind != counter {
			items = sum(items, l.root.count)
		}
		// Each event is an instant or an end of a slice, and may be an end of a message.
		if d.bad || items > 2*x.events {
			return damaged("lane %d has more items than the file holds", len(x.lanes))
		}
		x.lanes = append(x.lanes, l)
	}
	for range d.length(len(d.b)) {
		x.attached = append(x.attached, attachment{d.text(), pageRef{int64(d.u()), int64(d.u())}})
	}
	if d.bad || len(d.b) > 0 {
		return damaged("extra bytes after the directory")
	}
	return nil
}

// lane reads where a lane is, of a group of up to so many.
func (d *decoder) lane(groups int, span int64, of limits) (l laneRoot, ok bool) {
	l = laneRoot{group: d.length(groups), owner: d.length(math.MaxInt32)}
	l.kind = laneKind(d.byte())
	level := d.byte()
	if l.kind >= laneKinds || level > 32 {
		d.bad = true
	}
	l.root = d.node(l.kind, int(level), &node{}, of)
	if d.bad || l.root.count > of.events || l.root.end > span && l.kind != messages {
		return l, false
	}
	l.coarse = d.coarse(span)
	return l, true
}

// blocks reads where the events from one on and before another are: blocks in order, of 1 to mostInBlock events each.
func (d *decoder) blocks(first, end int64) (out []block) {
	before := block{first: first}
	for i := range d.length(len(d.b)) {
		y := block{pageRef: pageRef{before.at + d.s(), int64(d.u())}, first: before.first + int64(d.u()), classes: d.word(), rows: d.word()}
		if n := y.first - before.first; i == 0 && n != 0 || i > 0 && (n < 1 || n > mostInBlock) {
			d.bad = true
		}
		if d.bad {
			return nil
		}
		out = append(out, y)
		before = y
	}
	if n := end - before.first; (len(out) > 0) != (end > first) || n > mostInBlock || end > first && n < 1 {
		d.bad = true
	}
	return out
}

// coarse reads where the coarse levels of a lane are. Pages of one level lie one behind the other.
func (d *decoder) coarse(span int64) (out []coarse) {
	for range d.length(64) {
		c := coarse{level: int(d.byte())}
		end := int64(0)
		for range d.length(len(d.b)) {
			p := coarsePage{pageRef: pageRef{end + int64(d.u()), int64(d.u())}, first: int64(d.u())}
			p.last = p.first + int64(d.u())
			if c.level > 62 || p.at < end || p.size < 0 || p.size > longestPage || p.first < 0 || p.last < p.first || p.last > span>>c.level {
				d.bad = true
			}
			if d.bad {
				return nil
			}
			end = p.at + p.size
			c.pages = append(c.pages, p)
		}
		if n := len(out); n > 0 && out[n-1].level >= c.level {
			d.bad = true
		}
		out = append(out, c)
	}
	return out
}

// arrange groups the lanes and checks what the parts of the directory say of one another.
func (x *Index) arrange() error {
	a := x.about
	for i := range a.Rows {
		if r := &a.Rows[i]; r.Host < 0 || r.Host >= len(a.Hosts) || r.Clock < -1 || r.Clock >= len(a.Clocks) ||
			r.Parent < -1 || r.Parent >= len(a.Rows) || !sound(r.Clocks, a.Span, len(a.Clocks)) {
			return damaged("invalid row %d", i)
		}
	}
	for i := range a.Clocks {
		if h := a.Clocks[i].Host; h < 0 || h >= len(a.Hosts) {
			return damaged("invalid clock %d", i)
		}
	}
	x.groups = make([][]int, len(a.Hosts)+1)
	x.sent, x.got, x.slices = make([][]int, len(a.Rows)), make([][]int, len(a.Rows)), make([][]int, len(a.Rows))
	for n := range x.lanes {
		l := &x.lanes[n]
		x.groups[l.group] = append(x.groups[l.group], n)
		if l.kind != messages {
			if l.owner >= len(a.Rows) || a.Rows[l.owner].Host != l.group {
				return damaged("lane %d belongs to no row", n)
			}
			if l.kind == sliced {
				x.slices[l.owner] = append(x.slices[l.owner], n)
			}
			continue
		}
		if l.owner >= len(a.Links) || l.group != len(a.Hosts) {
			return damaged("lane %d is not of a link", n)
		}
		k := &a.Links[l.owner]
		if k.From < 0 || k.From >= len(a.Rows) || k.To < 0 || k.To >= len(a.Rows) {
			return damaged("invalid link %d", l.owner)
		}
		x.sent[k.From] = append(x.sent[k.From], n)
		x.got[k.To] = append(x.got[k.To], n)
	}
	return nil
}

// About returns what the index knows of the timeline. It is not to be changed.
func (x *Index) About() *About { return x.about }

// Reach returns how many hosts there are, and the top level.
func (x *Index) Reach() (hosts, top int) { return len(x.about.Hosts), x.about.Top }

// Violations returns the messages that are not in order. It is not to be changed.
func (x *Index) Violations() *Violations { return x.violations }

// Attachment returns what was attached under a name; nil if nothing was.
func (x *Index) Attachment(name string) ([]byte, error) {
	for _, a := range slices.Backward(x.attached) {
		if a.name == name {
			b, err := x.pages.page(a.pageRef)
			return slices.Clone(b), err
		}
	}
	return nil, nil
}

// Close closes the file; one without a name is gone then.
func (x *Index) Close() error {
	if x.f == nil {
		return nil
	}
	err := x.f.Close()
	if x.unnamed != "" {
		_ = os.Remove(x.unnamed)
	}
	return err
}
