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
	sums            []node    // of chunkSize pending items each
	before          tailSizes // of the tail before
	least, greatest float64   // of a counter
	worst           Verdict   // of messages
}

// chunkSize is how many items in memory are summed up together, so that a tile need not look at each.
const chunkSize = 64

// tailSizes is how long a lane's slices were when they were sealed. The next tail is made as long: it need not grow, and be copied, again.
type tailSizes struct{ pending, sums int }

// renew begins a new tail.
func (l *lane) renew() {
	l.memory.before = tailSizes{len(l.pending), len(l.sums)}
	l.pending, l.sums = nil, nil
}

// room makes room for the first item of a tail.
func (l *lane) room() {
	if n := l.memory.before; n.pending > chunkSize && l.pending == nil {
		l.pending = make([]item, 0, n.pending+n.pending/8)
		l.sums = make([]node, 0, n.sums+n.sums/8+1)
	}
}

// sumUp notes what the item that was added last changes.
func (l *lane) sumUp() {
	n := len(l.pending)
	it := &l.pending[n-1]
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
	if n%chunkSize == 0 {
		var s node
		for i := range l.pending[n-chunkSize:] {
			s.add(&l.pending[n-chunkSize+i], l.kind)
		}
		s.reach = s.end
		if n := len(l.sums); n > 0 {
			s.reach = max(s.reach, l.sums[n-1].reach)
		}
		l.sums = append(l.sums, s)
	}
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
		for k := i * chunkSize; k < (i+1)*chunkSize; k++ {
			v.item(&m.items[k])
		}
	}
	for k := len(m.sums) * chunkSize; k < len(m.items); k++ {
		v.item(&m.items[k])
	}
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

func (m *memoryPart) summed(w *walker, n int, b *bins) error { return m.walk(w, n, b) }

func (m *memoryPart) events() blockList {
	return blockList{blocks: m.blocks, packed: m.packed, end: m.end}
}
