package index

import (
	"encoding/binary"
	"math"
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

// decodeLeaf appends the items of a page to items. What n says of them holds for each, or the page is refused.
func decodeLeaf(items []item, page []byte, k laneKind, n *node, l limits) ([]item, error) {
	d := decoder{b: page}
	if laneKind(d.byte()) != k || d.byte() != 0 || d.u() != uint64(n.count) || n.count > int64(len(page)) {
		return nil, damaged("the page at offset %d is not what leads to it says", n.at)
	}
	at, event := n.first, int64(0)
	for range n.count {
		var it item
		switch k {
		case instants:
			it.at = at + int64(d.u())
			it.to = it.at
			c := d.u()
			d.bad = d.bad || c >= l.classes
			it.class = uint32(c)
			it.event = event + d.s()
			d.bad = d.bad || it.at < at
			at = it.at
		case sliced:
			it.at = at + int64(d.u())
			it.to = it.at + int64(d.u())
			c := d.u()
			d.bad = d.bad || c>>2 >= l.classes || it.at < at || it.to < it.at
			it.class, it.flags = uint32(c>>2), uint8(c&3)
			it.event = event + d.s()
			it.other = it.event + d.s()
			at = it.to
		case counter:
			it.at = at + int64(d.u())
			it.to = int64(d.word())
			it.event = event + d.s()
			v := it.value()
			d.bad = d.bad || it.at < at || math.IsNaN(v) || math.IsInf(v, 0)
			at = it.at
		case messages:
			it.at = at + d.s()
			it.to = it.at + d.s()
			it.flags = d.byte()
			it.event = event + d.s()
			it.other = it.event + d.s()
			d.bad = d.bad || it.flags > uint8(Certain) || it.other < 0
			at = it.at
		}
		event = it.event
		from, to := it.extent(k)
		if d.bad || it.at < n.first || it.at > n.last || from < n.begin || to > n.end ||
			event < 0 || event >= l.events || it.other < -1 || it.other >= l.events {
			return nil, damaged("the page at offset %d contradicts what leads to it", n.place.at)
		}
		items = append(items, it)
	}
	return items, nil
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
	b = binary.AppendVarint(b, n.place.at-before.place.at)
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
		for _, x := range n.top.few {
			if b = binary.AppendUvarint(b, uint64(x.w)); x.w > 0 {
				b = binary.AppendUvarint(b, uint64(x.class))
			}
		}
		b = binary.AppendUvarint(b, uint64(n.top.any))
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
	n.place.at = before.place.at + d.s()
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
		for i := range n.top.few {
			w := d.u()
			if w == 0 {
				continue
			}
			c := d.u()
			d.bad = d.bad || c >= l.classes || w > math.MaxInt64
			n.top.few[i] = weight{uint32(c), int64(w)}
		}
		c := d.u()
		d.bad = d.bad || c >= l.classes
		n.top.any = uint32(c)
	case counter:
		n.least, n.greatest, n.final = d.float(), d.float(), d.float()
		for _, v := range [...]float64{n.least, n.greatest, n.final} {
			d.bad = d.bad || math.IsNaN(v) || math.IsInf(v, 0)
		}
	case messages:
		n.quickest, n.slowest = d.s(), d.s()
		n.worst = Verdict(d.byte())
		d.bad = d.bad || n.worst > Certain
	}
	return n
}

// decodeFan appends the nodes of a page to nodes. They are a level below n, lie within it and have as many items as it, so
// that no page can lead around in a circle, nor to more items than there are.
func decodeFan(nodes []node, page []byte, k laneKind, n *node, l limits) ([]node, error) {
	d := decoder{b: page}
	if laneKind(d.byte()) != k || int(d.byte()) != n.level {
		return nil, damaged("the page at offset %d is not what leads to it says", n.place.at)
	}
	count := d.length(len(page))
	var before node
	left := n.count
	for range count {
		x := d.node(k, n.level-1, &before, l)
		left -= x.count
		if d.bad || x.begin < n.begin || x.end > n.end || x.first < n.first || x.last > n.last || left < 0 ||
			k != messages && x.first < before.last {
			break
		}
		nodes = append(nodes, x)
		before = x
	}
	if d.bad || left != 0 {
		return nil, damaged("the page at offset %d contradicts what leads to it", n.place.at)
	}
	return nodes, nil
}
