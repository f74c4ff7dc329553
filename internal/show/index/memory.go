package index

import (
	"cmp"
	"slices"
)

// memory is what a lane has in a timeline that grows: its place there, and what is known of all its items, wherever they
// are. Those not yet in a file are the lane's pending ones.
type memory struct {
	number          int       // of the lane
	host            int       // -1 for links
	owner           int       // its row, or the number of its link
	depth           int       // of slices
	class, field    int       // of a counter
	sums            []node    // of the pending items, one for each chunk, which a leaf will hold
	summed          int       // pending items that these are of
	before          tailSizes // of the tail before
	least, greatest float64   // of a counter
	worst           Verdict   // of messages
}

// tailSizes is how long a lane's slices were when they were sealed. The next tail is made as long: it need not grow, and be copied, again.
type tailSizes struct{ pending, sums int }

// renew begins a new tail.
func (l *lane) renew() {
	l.memory.before = tailSizes{len(l.pending), len(l.sums)}
	l.pending, l.sums, l.summed = nil, nil, 0
}

// room makes room for the first item of a tail.
func (l *lane) room() {
	if n := l.memory.before; n.pending > mostLeaf && l.pending == nil {
		l.pending = make([]item, 0, n.pending+n.pending/8)
		l.sums = make([]node, 0, n.sums+n.sums/8+1)
	}
}

// sumUp notes what the item that was added last changes.
func (l *lane) sumUp() {
	it := &l.pending[len(l.pending)-1]
	switch l.kind {
	case counter:
		v := it.value()
		if l.items == 1 {
			l.least, l.greatest = v, v
		}
		l.least, l.greatest = min(l.least, v), max(l.greatest, v)
	case messages:
		l.worst = max(l.worst, Verdict(it.flags))
	}
	if len(l.pending)-l.summed >= mostLeaf {
		l.chunk()
	}
}

// chunk sums up what a leaf will hold, so that a tile need not look at each item. It ends where leaves do: few chunks cross the border of
// two bins.
func (l *lane) chunk() {
	s := node{from: l.summed}
	items := l.pending[l.summed:]
	items = items[:cutItems(items)]
	s.addAll(items, l.kind)
	s.reach = s.end
	if n := len(l.sums); n > 0 {
		s.reach = max(s.reach, l.sums[n-1].reach)
	}
	l.sums = append(l.sums, s)
	l.summed += len(items)
}

// memoryLane is the part of a lane that is in memory: a copy, which does not change when the lane grows.
type memoryLane struct {
	items []item
	sums  []node
}

// since is a visitor that needs no item which ends before an instant, but for the last such.
type since interface{ since() int64 }

func (t *tally) since() int64   { return t.from }
func (c *collect) since() int64 { return c.from }
func (l *latest) since() int64  { return l.before }
func (b *bins) since() int64    { return b.from }

// walk shows the items to a visitor, in chunks where it does not want each.
func (m *memoryLane) walk(v visitor) {
	first := 0
	if s, ok := v.(since); ok {
		from := s.since()
		first, _ = slices.BinarySearchFunc(m.sums, from, func(n node, from int64) int { return cmp.Compare(n.reach, from) })
		first = max(first-1, 0)
	}
	for i := first; i < len(m.sums); i++ {
		if !v.node(&m.sums[i]) {
			continue
		}
		items := m.chunk(i)
		for k := range items {
			v.item(&items[k])
		}
	}
	items := m.chunk(len(m.sums))
	for k := range items {
		v.item(&items[k])
	}
}

// chunk returns the items of a chunk; those behind the last, which are not summed up yet, for one more.
func (m *memoryLane) chunk(i int) []item {
	if i < len(m.sums) {
		s := &m.sums[i]
		return m.items[s.from : s.from+int(s.count)]
	}
	if i == 0 {
		return m.items
	}
	s := &m.sums[i-1]
	return m.items[s.from+int(s.count):]
}

// leafOf returns the items of a chunk as a leaf has them: instants in order. The items of the lane stay as they are, since views have them.
func (m *memoryLane) leafOf(i int, k laneKind) []item {
	items := m.chunk(i)
	if k == instants && !inTime(items) {
		items = slices.Clone(items)
		inOrder(items)
	}
	return items
}

// memoryPart is what came between two seals, while it is in memory.
type memoryPart struct {
	lanes  []memoryLane // by number; there may be fewer than the timeline has
	blocks []block
	packed [][]byte
	end    int64 // the number of the event behind the last
}

func (m *memoryPart) holds(n int) bool { return n < len(m.lanes) && len(m.lanes[n].items) > 0 }

func (m *memoryPart) walk(_ *walker, n int, v visitor) error {
	if m.holds(n) {
		m.lanes[n].walk(v)
	}
	return nil
}

// lay writes the items of a lane as leaves.
func (m *memoryPart) lay(t *trees, _ *walker, l *lane, n int, _ bool) error {
	if !m.holds(n) {
		return nil
	}
	x := &m.lanes[n]
	l.items += int64(len(x.items))
	for i := range x.sums {
		if err := t.lay(l, x.leafOf(i, l.kind), x.sums[i]); err != nil {
			return err
		}
	}
	if rest := x.chunk(len(x.sums)); len(rest) > 0 {
		l.pending = append(l.pending, rest...)
		return t.leaf(l, len(l.pending))
	}
	return nil
}

// coarsen shows the items of a lane.
func (m *memoryPart) coarsen(_ *walker, n int, c *coarsener) error {
	if !m.holds(n) {
		return nil
	}
	x := &m.lanes[n]
	for i := range len(x.sums) + 1 {
		items := x.leafOf(i, c.kind)
		for k := range items {
			c.item(&items[k])
		}
	}
	return nil
}

func (m *memoryPart) summed(w *walker, n int, b *bins) error { return m.walk(w, n, b) }

func (m *memoryPart) events() blockList {
	return blockList{blocks: m.blocks, packed: m.packed, end: m.end}
}
