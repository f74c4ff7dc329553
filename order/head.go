package order

import (
	"context"

	"meridian/clock"
)

// waiting refers to a frame of a batch that was not emitted yet.
type waiting struct {
	time   clock.TimelineTime
	number int
	batch  *batch
	item   int
}

func (w *waiting) before(o *waiting) bool {
	return w.time < o.time || w.time == o.time && w.number < o.number
}

// head is the earliest frame of a source together with those that wait behind it.
//
// Frames that come in order of time, nearly all, stand in a queue; one that comes late goes into a heap. The earliest is
// the first of either. It may be emitted once no frame still unread can be before it: up to the floor of the last batch,
// or at any time when the source has ended. If the source's memory is full first, the earliest is emitted untimely, since
// waiting on would be for ever.
type head struct {
	waiting // the head itself
	source  int
	feed    *feed
	queue   queue[waiting]
	late    []waiting
	floor   clock.TimelineTime
	held    int // bytes of the batches with frames in queue or late, or the head
	ended   bool
}

func newHead(source int, f *feed) *head { return &head{source: source, feed: f} }

// before orders heads by time, then source.
func (h *head) before(o *head) bool {
	return h.time < o.time || h.time == o.time && h.source < o.source
}

// advance gives the frame at the head back and goes on to the next; false if there is none.
func (h *head) advance(ctx context.Context) (bool, error) {
	if b := h.batch; b != nil {
		h.batch = nil
		if b.left--; b.left == 0 {
			h.held -= cap(b.bytes)
			h.feed.free <- b // never blocks: it holds as many as there are
		}
	}
	for {
		first := h.first()
		if first != nil && (first.time <= h.floor || h.ended || h.held >= memory-h.feed.size) {
			h.waiting = *first
			h.pop(first)
			return true, nil
		}
		if h.ended {
			return false, nil
		}
		select {
		case b, ok := <-h.feed.full:
			if !ok {
				// A feed that failed ends in the same way. Then Merge returns its error, whatever is emitted
				// until ctx says so here.
				h.ended = true
				continue
			}
			h.accept(b)
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// accept lines the frames of a batch up.
func (h *head) accept(b *batch) {
	h.held += cap(b.bytes)
	h.floor = b.floor
	for i := range b.items {
		w := waiting{time: b.items[i].time, number: b.items[i].number, batch: b, item: i}
		if h.queue.empty() || !w.before(h.queue.last()) {
			h.queue.push(w)
		} else {
			h.late = append(h.late, w)
			up(h.late)
		}
	}
}

func (h *head) first() *waiting {
	switch {
	case h.queue.empty() && len(h.late) == 0:
		return nil
	case h.queue.empty(), len(h.late) > 0 && h.late[0].before(h.queue.first()):
		return &h.late[0]
	}
	return h.queue.first()
}

// pop removes what first returned.
func (h *head) pop(first *waiting) {
	if len(h.late) > 0 && first == &h.late[0] {
		n := len(h.late) - 1
		h.late[0] = h.late[n]
		h.late = h.late[:n]
		sink(h.late)
		return
	}
	h.queue.pop()
}

// up restores the heap after an append, sink after its first was replaced.
func up(heap []waiting) {
	for i := len(heap) - 1; i > 0; {
		p := (i - 1) / 2
		if !heap[i].before(&heap[p]) {
			return
		}
		heap[i], heap[p] = heap[p], heap[i]
		i = p
	}
}

func sink(heap []waiting) {
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(heap) {
			return
		}
		if c+1 < len(heap) && heap[c+1].before(&heap[c]) {
			c++
		}
		if !heap[c].before(&heap[i]) {
			return
		}
		heap[i], heap[c] = heap[c], heap[i]
		i = c
	}
}

// queue is a ring that doubles when it is full.
type queue[T any] struct {
	ring        []T  // its length is a power of two, or zero
	front, back uint // count on and on; places are their remainders
}

func (q *queue[T]) empty() bool { return q.front == q.back }
func (q *queue[T]) first() *T   { return &q.ring[q.front&uint(len(q.ring)-1)] }
func (q *queue[T]) last() *T    { return &q.ring[(q.back-1)&uint(len(q.ring)-1)] }
func (q *queue[T]) len() int    { return int(q.back - q.front) }
func (q *queue[T]) pop()        { q.front++ }

func (q *queue[T]) push(w T) {
	if int(q.back-q.front) == len(q.ring) {
		grown := make([]T, max(1024, 2*len(q.ring)))
		n := uint(0)
		for ; !q.empty(); q.pop() {
			grown[n] = *q.first()
			n++
		}
		q.ring, q.front, q.back = grown, 0, n
	}
	q.ring[q.back&uint(len(q.ring)-1)] = w
	q.back++
}
