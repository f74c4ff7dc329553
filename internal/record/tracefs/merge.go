package tracefs

import "sync/atomic"

// lane is a processor's ring in one of the instances, of which the page that is being read is in memory.
type lane struct {
	cpu      int
	everyone bool // of the instance that records all processes
	fill     func([]byte) (int, error)
	layout   *pageLayout
	buffer   []byte
	page     page
	record   []byte        // the next event's, or nil
	stamp    uint64        // of it
	damaged  int64         // pages, or rests of them
	missed   atomic.Uint64 // events that its pages say were lost
}

// advance moves to the next event, reading as many pages as that takes. It says whether there is one.
func (l *lane) advance() (bool, error) {
	for {
		record, err := l.page.next()
		if err != nil {
			l.damaged++
		}
		if l.record = record; record != nil {
			l.stamp = l.page.stamp
			return true, nil
		}
		n, err := l.fill(l.buffer)
		if n == 0 || err != nil {
			return false, err
		}
		if err := l.page.open(l.layout, l.buffer[:n]); err != nil {
			l.damaged++
		}
		l.missed.Add(l.page.missed)
	}
}

// merge gives the events of all lanes up to a stamp, in the order of their stamps, and says how many. Each lane must have
// been found empty, or at a later event, after the last event of an earlier stamp was written; so the caller lets some
// time pass. A lane's own order stands in any case.
type merge struct {
	lanes []*lane
	heap  []*lane // those with an event, the earliest first
}

func (m *merge) until(limit uint64, give func(l *lane) error) (n int, err error) {
	m.heap = m.heap[:0]
	for _, l := range m.lanes {
		if l.record == nil {
			if ok, err := l.advance(); err != nil {
				return n, err
			} else if !ok {
				continue
			}
		}
		m.heap = append(m.heap, l)
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	for len(m.heap) > 0 && m.heap[0].stamp <= limit {
		l := m.heap[0]
		if err := give(l); err != nil {
			l.record = nil // it was given
			return n, err
		}
		n++
		ok, err := l.advance()
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

// sink moves a lane down to where those below it are later.
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
