package order

import "meridian/clock"

// eventHeap has the events that may be the next: the first of each row, and those that stand in no row. Events of the same
// instant are ordered by host, stream, and as they were pushed.
type eventHeap struct {
	entries []heapEntry
	store   *eventStore
}

type heapEntry struct {
	key  clock.TimelineTime // of the event
	slot int32
}

func (q *eventHeap) before(a, b *heapEntry) bool {
	return a.key < b.key || a.key == b.key && q.beforeAtOnce(a.slot, b.slot)
}

func (q *eventHeap) beforeAtOnce(a, b int32) bool {
	x, y := q.store.at(a), q.store.at(b)
	switch {
	case x.host != y.host:
		return x.host < y.host
	case x.event.Stream != y.event.Stream:
		return x.event.Stream < y.event.Stream
	}
	return x.number < y.number
}

func (q *eventHeap) push(slot int32) {
	q.entries = append(q.entries, heapEntry{q.store.at(slot).key, slot})
	for i := len(q.entries) - 1; i > 0; {
		p := (i - 1) / 2
		if !q.before(&q.entries[i], &q.entries[p]) {
			return
		}
		q.entries[i], q.entries[p] = q.entries[p], q.entries[i]
		i = p
	}
}

// pop removes the first.
func (q *eventHeap) pop() {
	n := len(q.entries) - 1
	q.entries[0] = q.entries[n]
	q.entries = q.entries[:n]
	if n > 0 {
		q.sink()
	}
}

// replace puts an event in the place of the first. It may be the first itself, whose key has grown.
func (q *eventHeap) replace(slot int32) {
	q.entries[0] = heapEntry{q.store.at(slot).key, slot}
	q.sink()
}

// sink moves the first to its place.
func (q *eventHeap) sink() {
	e := q.entries
	moved := e[0]
	i := 0
	for {
		c := 2*i + 1
		if c >= len(e) {
			break
		}
		if c+1 < len(e) && q.before(&e[c+1], &e[c]) {
			c++
		}
		if !q.before(&e[c], &moved) {
			break
		}
		e[i] = e[c]
		i = c
	}
	e[i] = moved
}
