package index

// memory is what a lane has in a timeline that grows: its place there, and what is known of all its items, wherever they
// are. Those not yet in a file are the lane's pending ones.
type memory struct {
	number          int       // of the lane
	host            int       // -1 for links
	owner           int       // its row, or the number of its link
	depth           int       // of slices
	class, field    int       // of a counter
	sums            []summary // of chunkSize pending items each
	least, greatest float64   // of a counter
	worst           Verdict   // of messages
}

// chunkSize is how many items in memory are summed up together, so that a tile need not look at each.
const chunkSize = 64

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
		var s summary
		for i := range l.pending[n-chunkSize:] {
			s.add(&l.pending[n-chunkSize+i], l.kind)
		}
		l.sums = append(l.sums, s)
	}
}

// memoryLane is the part of a lane that is in memory: a copy, which does not change when the lane grows.
type memoryLane struct {
	items []item
	sums  []summary
}

// walk shows the items to a visitor, in chunks where it does not want each.
func (m *memoryLane) walk(v visitor) {
	for i := range m.sums {
		if !v.node(&node{summary: m.sums[i]}) {
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
