package index

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"meridian/trace"
)

// The file begins with magic and the version, then come pages, then the directory, and a trailer at its end:
//
//	magic [8] version u32 0 u32 | pages, each with its CRC-32C | directory | at u64, size u64, its CRC u32, 0 u32, magic [8]
const (
	magic       = "\x89MerIdx\n"
	version     = 1
	headerSize  = 16
	trailerSize = 32
)

// directory is all of an index that is held in memory.
type directory struct {
	about      *About
	fields     [][]trace.Field // by class
	violations *Violations
	events     int64
	blocks     []block
	lanes      []laneRoot
	attached   []attachment
}

// laneRoot is where the tree of a lane begins. Lanes are in order of their number.
type laneRoot struct {
	group  int
	kind   laneKind
	owner  int // row, or link
	root   node
	coarse []coarse // from the finest on
}

func (b *Builder) directory() (*directory, error) {
	d := &directory{events: b.events, blocks: b.blockList, attached: b.attached, about: b.facts().about()}
	for i := range b.schema.Classes {
		d.fields = append(d.fields, b.schema.Classes[i].Fields)
	}
	var lanes []*lane
	// A lane's number is its index in the directory.
	root := func(l *lane, group, owner int) (int, *node, error) {
		n, err := b.sorter.trees.finish(l)
		d.lanes = append(d.lanes, laneRoot{group: group, kind: l.kind, owner: owner, root: n})
		lanes = append(lanes, l)
		return len(d.lanes) - 1, &d.lanes[len(d.lanes)-1].root, err
	}
	for i, w := range b.sorter.rows {
		into := &d.about.Rows[i].Lanes
		add := func(l *lane, x Lane) error {
			if l == nil {
				return nil
			}
			number, n, err := root(l, int(w.host), i)
			x.Lane, x.Kind, x.Items, x.Least, x.Greatest = number, l.kind.String(), l.items, n.least, n.greatest
			*into = append(*into, x)
			return err
		}
		if err := add(w.instants, Lane{}); err != nil {
			return nil, err
		}
		for depth, l := range w.nest.lanes {
			if err := add(l, Lane{Depth: depth}); err != nil {
				return nil, err
			}
		}
		for _, c := range w.counters {
			if err := add(c.lane, Lane{Name: counterName(&b.schema.Classes[c.class], c.field)}); err != nil {
				return nil, err
			}
		}
	}
	numbers := make(map[*link]int)
	for i, l := range b.sorter.pairs.order {
		number, n, err := root(l.lane, len(b.hosts), i)
		if err != nil {
			return nil, err
		}
		numbers[l] = number
		d.about.Links = append(d.about.Links, Link{Lane: number, From: int(l.from), To: int(l.to), Messages: l.lane.items, Worst: n.worst})
	}
	d.violations = b.sorter.pairs.list(func(l *link) int { return numbers[l] })
	return d, b.sorter.trees.coarsen(d.lanes, lanes, limits{classes: uint64(len(b.classes)), events: b.events}, topLevel(b.last), tileBins)
}

// write lays the directory down at the end, with what frames the file.
func (d *directory) write(s *store) error {
	b, err := d.encode()
	if err != nil {
		return err
	}
	return s.frame(magic, b)
}

func (d *directory) encode() ([]byte, error) {
	var b []byte
	for _, part := range []any{d.about, d.fields, d.violations} {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, fmt.Errorf("index: %w", err)
		}
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	b = binary.AppendUvarint(b, uint64(d.events))
	b = appendLanes(appendBlocks(b, d.blocks, 0), d.lanes)
	b = binary.AppendUvarint(b, uint64(len(d.attached)))
	for _, x := range d.attached {
		b = append(binary.AppendUvarint(b, uint64(len(x.name))), x.name...)
		b = binary.AppendUvarint(b, uint64(x.at))
		b = binary.AppendUvarint(b, uint64(x.size))
	}
	return b, nil
}

// appendBlocks encodes where the events from one on are.
func appendBlocks(b []byte, blocks []block, first int64) []byte {
	b = binary.AppendUvarint(b, uint64(len(blocks)))
	before := block{first: first}
	for _, x := range blocks {
		b = binary.AppendVarint(b, x.at-before.at)
		b = binary.AppendUvarint(b, uint64(x.size))
		b = binary.AppendUvarint(b, uint64(x.first-before.first))
		b = binary.LittleEndian.AppendUint64(b, x.classes)
		b = binary.LittleEndian.AppendUint64(b, x.rows)
		before = x
	}
	return b
}

func appendLanes(b []byte, lanes []laneRoot) []byte {
	b = binary.AppendUvarint(b, uint64(len(lanes)))
	for i := range lanes {
		x := &lanes[i]
		b = binary.AppendUvarint(b, uint64(x.group))
		b = binary.AppendUvarint(b, uint64(x.owner))
		b = append(b, byte(x.kind), byte(x.root.level))
		b = appendNode(b, x.kind, &x.root, &node{})
		b = binary.AppendUvarint(b, uint64(len(x.coarse)))
		for _, c := range x.coarse {
			b = binary.AppendUvarint(append(b, byte(c.level)), uint64(len(c.pages)))
			end := int64(0)
			for _, p := range c.pages {
				b = binary.AppendUvarint(b, uint64(p.at-end))
				b = binary.AppendUvarint(b, uint64(p.size))
				b = binary.AppendUvarint(b, uint64(p.first))
				b = binary.AppendUvarint(b, uint64(p.last-p.first))
				end = p.at + p.size
			}
		}
	}
	return b
}
