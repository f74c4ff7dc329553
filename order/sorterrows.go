package order

import (
	"time"

	"meridian/clock"
)

// sorterRows holds the events of a [Sorter]: a queue for each stream, in the order of its events, and a heap of those that may be
// the next.
type sorterRows struct {
	store    eventStore
	heap     eventHeap
	all      []sorterRow
	numbers  map[rowKey]int32
	byStream []int32 // the row of the stream that was used last; none
	mostLift time.Duration
}

// sorterRow is the queue of one stream, and how far it is.
type sorterRow struct {
	host       int32
	stream     int
	head, tail int32 // slots; none
	parked     bool  // the head waits for its reason and is not in the heap
	any        bool  // something was pushed
	stamp      clock.HostTime
	key        clock.TimelineTime // greatest so far
	shown      clock.TimelineTime // greatest that was emitted
	number     uint64             // greatest that was emitted, strays aside
	late       int64
	mostBehind time.Duration
}

type rowKey struct {
	host   int32
	stream int
}

type eventState uint8

const (
	stray      eventState = 1 << iota // its stamp is before that of its predecessor: it has no place in the order of its stream
	outsideRow                        // it is not in its row's queue
	waits                             // for its reason
	keepsTime                         // it is shown at its time, not at its key
	repaired
	violation
	timedOut
)

// shown returns the instant at which the event is shown.
func (h *heldEvent) shown() clock.TimelineTime {
	if h.state&keepsTime != 0 {
		return h.time
	}
	return h.key
}

func (s *sorterRows) init(mostLift time.Duration) {
	s.store, s.numbers, s.mostLift = newEventStore(), make(map[rowKey]int32), mostLift
	s.heap.store = &s.store
}

// push puts an event into its row.
func (s *sorterRows) push(slot int32, h *heldEvent) {
	h.row = s.row(h.host, h.event.Stream)
	row := &s.all[h.row]
	switch {
	case !row.any || h.time >= row.key:
	case h.event.Time < row.stamp:
		h.state |= stray | outsideRow
	case row.key.Sub(h.time) > s.mostLift:
		h.state |= outsideRow
	default:
		h.key = row.key
	}
	if h.state&outsideRow != 0 {
		s.heap.push(slot)
		return
	}
	row.any, row.key, row.stamp = true, h.key, h.event.Time
	if row.head == none {
		row.head, row.tail = slot, slot
		s.heap.push(slot)
		return
	}
	s.store.at(row.tail).next = slot
	row.tail = slot
}

// row returns the number of a stream's row. A stream of a schema has one host: the map is for streams that do not keep to it.
func (s *sorterRows) row(host int32, stream int) int32 {
	if stream < len(s.byStream) {
		if i := s.byStream[stream]; i != none && s.all[i].host == host {
			return i
		}
	}
	k := rowKey{host, stream}
	i, ok := s.numbers[k]
	if !ok {
		i = int32(len(s.all))
		s.all = append(s.all, sorterRow{host: host, stream: stream, head: none, tail: none})
		s.numbers[k] = i
	}
	if stream < maxStreamIndex {
		for stream >= len(s.byStream) {
			s.byStream = append(s.byStream, none)
		}
		s.byStream[stream] = i
	}
	return i
}

// advance takes the first of the heap out of it and of its row, and puts the next of the row into the heap. The next moves behind the
// first. One that would have to be moved by more than the most keeps its time, and becomes late.
func (s *sorterRows) advance(row *sorterRow, h *heldEvent) {
	row.key = max(row.key, h.key)
	if h.state&outsideRow != 0 {
		s.heap.pop()
		return
	}
	row.head = h.next
	if row.head == none {
		s.heap.pop()
		return
	}
	if next := s.store.at(row.head); next.key < h.key {
		next.key = h.key
		if next.key.Sub(next.time) > s.mostLift {
			next.state |= keepsTime
		}
	}
	s.heap.replace(row.head)
}
