package tracefs

import "sync/atomic"

// cursor reads the events of a processor's ring, page by page.
type cursor struct {
	cpu      int
	everyone bool // the ring is of the instance that records all processes
	readPage func([]byte) (int, error)
	layout   *pageLayout
	buffer   []byte
	page     page
	record   []byte        // of the next event, or nil
	stamp    uint64        // of the next event
	damaged  atomic.Uint64 // pages that were skipped, from their beginning or from within, and invalid records
	gaps     atomic.Uint64 // switches that must have been between two that were reported
	missed   atomic.Uint64 // events that were lost by what the pages say
}

func newCursor(cpu int, l *pageLayout) *cursor {
	return &cursor{cpu: cpu, layout: l, buffer: make([]byte, l.size())}
}

// advance moves to the next event, reading pages as needed. It reports whether there is one.
func (c *cursor) advance() (bool, error) {
	for {
		record, err := c.page.next()
		if err != nil {
			c.damaged.Add(1)
		}
		if c.record = record; record != nil {
			c.stamp = c.page.stamp
			return true, nil
		}
		n, err := c.readPage(c.buffer)
		if n == 0 || err != nil {
			return false, err
		}
		if err := c.page.open(c.layout, c.buffer[:n]); err != nil {
			c.damaged.Add(1)
		}
		c.missed.Add(c.page.missed)
	}
}

// merge merges the events of cursors by their stamps, with a heap. The events of one cursor stay in their order in any case.
type merge struct {
	cursors []*cursor
	heap    []*cursor // of those with an event, the earliest first
}

// until passes on the events up to a stamp, in the order of their stamps, and returns how many. All these must have been
// written when a cursor reads its ring: the caller waits until the limit is old enough.
func (m *merge) until(limit uint64, each func(c *cursor) error) (n int, err error) {
	m.heap = m.heap[:0]
	for _, c := range m.cursors {
		if c.record == nil {
			if ok, err := c.advance(); err != nil {
				return n, err
			} else if !ok {
				continue
			}
		}
		m.heap = append(m.heap, c)
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	for len(m.heap) > 0 && m.heap[0].stamp <= limit {
		c := m.heap[0]
		if err := each(c); err != nil {
			c.record = nil // it was passed on
			return n, err
		}
		n++
		ok, err := c.advance()
		if err != nil {
			return n, err
		}
		if !ok {
			last := len(m.heap) - 1
			m.heap[0] = m.heap[last]
			m.heap = m.heap[:last]
		}
		m.sink(0)
	}
	return n, nil
}

// sink restores the heap where the cursor at i may be later than those below it.
func (m *merge) sink(i int) {
	h := m.heap
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1].stamp < h[child].stamp {
			child++
		}
		if h[i].stamp <= h[child].stamp {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
