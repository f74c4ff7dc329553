package index

import (
	"encoding/binary"
	"math"
	"slices"
)

// A page of a tree: its kind and its level, a byte each, how many there are, and they.
//
//	instant: at (from the one before; the first from the page's first), class, event (signed, from the one before)
//	slice:   begin (from the end of the one before; the first from the page's first), length, flags and name<<2, event
//	         (signed, from the one before), the event that ended it (signed, from the event)
//	counter: at, value (8 bytes), event
//	message: sent (signed, from the one before; the first from the page's first), delay (signed), verdict,
//	         sending event (signed, from the one before), receiving event (signed, from the sending one)
//	node:    see appendNode

// appendLeaf encodes items; s is their summary.
func appendLeaf(b []byte, k laneKind, items []item, s *summary) []byte {
	b = binary.AppendUvarint(append(b, byte(k), 0), uint64(len(items)))
	at, event := s.first, int64(0)
	for i := range items {
		it := &items[i]
		switch k {
		case instants:
			b = binary.AppendUvarint(b, uint64(it.at-at))
			b = binary.AppendUvarint(b, uint64(it.class))
			b = binary.AppendVarint(b, it.event-event)
			at = it.at
		case sliced:
			b = binary.AppendUvarint(b, uint64(it.at-at))
			b = binary.AppendUvarint(b, uint64(it.to-it.at))
			b = binary.AppendUvarint(b, uint64(it.class)<<2|uint64(it.flags))
			b = binary.AppendVarint(b, it.event-event)
			b = binary.AppendVarint(b, it.other-it.event)
			at = it.to
		case counter:
			b = binary.AppendUvarint(b, uint64(it.at-at))
			b = binary.LittleEndian.AppendUint64(b, uint64(it.to))
			b = binary.AppendVarint(b, it.event-event)
			at = it.at
		case messages:
			b = binary.AppendVarint(b, it.at-at)
			b = binary.AppendVarint(b, it.to-it.at)
			b = append(b, it.flags)
			b = binary.AppendVarint(b, it.event-event)
			b = binary.AppendVarint(b, it.other-it.event)
			at = it.at
		}
		event = it.event
	}
	return b
}

// limits are what numbers in an index must be below.
type limits struct {
	classes uint64
	events  int64
}

// leaf decodes the items of a page. What n says of them holds for each, or the page is refused.
func (w *walker) leaf(page []byte, k laneKind, n *node) ([]item, error) {
	l := &w.x.limits
	d := decoder{b: page}
	if laneKind(d.byte()) != k || d.byte() != 0 || d.u() != uint64(n.count) || n.count > int64(len(page)) || d.bad {
		return nil, damaged("wrong kind or size of the page at offset %d", n.pageRef.at)
	}
	w.items = slices.Grow(w.items[:0], int(n.count))[:n.count]
	items, good := w.items, true
	if k == counter {
		good = decodeCounter(items, d.b, n)
	} else if w.varints, good = varints(w.varints[:0], d.b); good {
		switch k {
		case instants:
			good = decodeInstants(items, w.varints, n)
		case sliced:
			good = decodeSlices(items, w.varints, n)
		case messages:
			good = decodeMessages(items, w.varints, n)
		}
	}
	for i := range items {
		it := &items[i]
		good = good && it.at >= n.first && it.at <= n.last && (uint64(it.class) < l.classes || k == counter || k == messages) &&
			uint64(it.event) < uint64(l.events) && it.other >= -1 && it.other < l.events
	}
	if !good {
		return nil, damaged("the page at offset %d contradicts its parent", n.pageRef.at)
	}
	return items, nil
}

func decodeInstants(items []item, v []uint64, n *node) bool {
	if len(v) != 3*len(items) {
		return false
	}
	at, event, good := n.first, int64(0), true
	for k := range items {
		x := v[3*k : 3*k+3 : 3*k+3]
		good = good && x[0] <= far && x[1] <= math.MaxUint32
		at += int64(x[0])
		event += signed(x[2])
		items[k] = item{at: at, to: at, event: event, other: -1, class: uint32(x[1])}
		good = good && at <= n.last
	}
	return good
}

func decodeSlices(items []item, v []uint64, n *node) bool {
	if len(v) != 5*len(items) {
		return false
	}
	at, event, good := n.first, int64(0), true
	for k := range items {
		x := v[5*k : 5*k+5 : 5*k+5]
		good = good && x[0] <= far && x[1] <= far && x[2]>>2 <= math.MaxUint32
		at += int64(x[0])
		to := at + int64(x[1])
		event += signed(x[3])
		items[k] = item{at: at, to: to, event: event, other: event + signed(x[4]), class: uint32(x[2] >> 2), flags: uint8(x[2] & 3)}
		at = to
		good = good && at <= n.end && at >= 0
	}
	return good
}

func decodeMessages(items []item, v []uint64, n *node) bool {
	if len(v) != 5*len(items) {
		return false
	}
	at, event, good := n.first, int64(0), true
	for k := range items {
		x := v[5*k : 5*k+5 : 5*k+5]
		at += signed(x[0])
		event += signed(x[3])
		it := item{at: at, to: at + signed(x[1]), event: event, other: event + signed(x[4]), flags: uint8(x[2])}
		from, to := it.extent(messages)
		good = good && x[2] <= uint64(n.worst) && from >= n.begin && to <= n.end && it.other >= 0
		items[k] = it
	}
	return good
}

func decodeCounter(items []item, b []byte, n *node) bool {
	d := decoder{b: b}
	at, event, good := n.first, int64(0), true
	for k := range items {
		v := d.u()
		bits := d.word()
		at += int64(v)
		event += d.s()
		items[k] = item{at: at, to: int64(bits), event: event, other: -1}
		x := math.Float64frombits(bits)
		good = good && v <= far && at <= n.last && x >= n.least && x <= n.greatest
	}
	return good && !d.bad && len(d.b) == 0
}

// appendFan encodes nodes.
func appendFan(b []byte, k laneKind, nodes []node) []byte {
	b = binary.AppendUvarint(append(b, byte(k), byte(nodes[0].level+1)), uint64(len(nodes)))
	var before node
	for i := range nodes {
		b = appendNode(b, k, &nodes[i], &before)
		before = nodes[i]
	}
	return b
}

// appendNode encodes a node, whose level is known: where its page is, what it sums up.
func appendNode(b []byte, k laneKind, n, before *node) []byte {
	b = binary.AppendVarint(b, n.pageRef.at-before.pageRef.at)
	b = binary.AppendUvarint(b, uint64(n.size))
	b = binary.AppendUvarint(b, uint64(n.count))
	b = binary.AppendVarint(b, n.first-before.first)
	b = binary.AppendUvarint(b, uint64(n.last-n.first))
	b = binary.AppendUvarint(b, uint64(n.first-n.begin))
	b = binary.AppendUvarint(b, uint64(n.end-n.last))
	switch k {
	case instants, sliced:
		if k == sliced {
			b = binary.AppendUvarint(b, uint64(n.busy))
		}
		b = appendDominant(b, &n.top)
	case counter:
		b = appendFloat(appendFloat(appendFloat(b, n.least), n.greatest), n.final)
	case messages:
		b = binary.AppendVarint(b, n.quickest)
		b = binary.AppendVarint(b, n.slowest)
		b = append(b, byte(n.worst))
	}
	return b
}

// node decodes what appendNode wrote.
func (d *decoder) node(k laneKind, level int, before *node, l limits) (n node) {
	n.level = level
	n.pageRef.at = before.pageRef.at + d.s()
	n.size = int64(d.u())
	n.count = int64(d.u())
	n.first = before.first + d.s()
	n.last = n.first + int64(d.u())
	n.begin = n.first - int64(d.u())
	n.end = n.last + int64(d.u())
	d.bad = d.bad || n.count < 1 || n.begin < 0 || n.first < n.begin || n.last < n.first || n.end < n.last || n.end > far
	switch k {
	case instants, sliced:
		if k == sliced {
			n.busy = int64(d.u())
			d.bad = d.bad || n.busy < 0
		}
		n.top = d.dominant(l)
	case counter:
		n.least, n.greatest, n.final = d.number(), d.number(), d.number()
	case messages:
		n.quickest, n.slowest = d.s(), d.s()
		n.worst = Verdict(d.byte())
		d.bad = d.bad || n.worst > Certain
	}
	return n
}

// decodeFan appends the nodes of a page to nodes. They are a level below n, lie within it and have as many items
// together. So pages cannot form a cycle or lead to more items than there are.
func decodeFan(nodes []node, page []byte, k laneKind, n *node, l limits) ([]node, error) {
	d := decoder{b: page}
	if laneKind(d.byte()) != k || int(d.byte()) != n.level {
		return nil, damaged("wrong kind or size of the page at offset %d", n.pageRef.at)
	}
	count := d.length(len(page))
	var before node
	left := n.count
	for range count {
		x := d.node(k, n.level-1, &before, l)
		left -= x.count
		if d.bad || x.begin < n.begin || x.end > n.end || x.first < n.first || x.last > n.last || left < 0 ||
			(k == sliced || k == counter) && x.first < before.last {
			d.bad = true // left is 0 if only the last node is wrong
			break
		}
		nodes = append(nodes, x)
		before = x
	}
	if d.bad || left != 0 {
		return nil, damaged("the page at offset %d contradicts its parent", n.pageRef.at)
	}
	return nodes, nil
}
