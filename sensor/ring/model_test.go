package ring

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"meridian/sensor/internal/testrand"
)

// sent is an event of the model: a queue of these is all that a shard is.
type sent struct {
	stamp uint64
	size  int
	sub   int // sub-buffer, counted for ever
}

// queue is what the model knows of a shard.
type queue struct {
	all       []sent // committed by the writer
	read      int    // how many of them the reader took
	committed int    // how many it committed
	discarded uint64
	sub, fill int   // sub-buffer that is being written, and what it holds
	reserved  *sent // and filled, not committed
}

// first returns which event is the first that is not overwritten, from one on.
func (q *queue) first(from int, o Options) int {
	for o.Overwrite && from < len(q.all) && q.all[from].sub <= q.sub-o.Buffers {
		from++
	}
	return from
}

// inMemory returns both sides of a ring that lies in Go's own memory, where the race detector sees it.
func inMemory(t interface{ Fatal(...any) }, o Options) (*Ring, func() *Reader) {
	s, err := o.layout()
	if err != nil {
		t.Fatal(err)
	}
	words := make([]uint64, s.size/8)
	mem := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), s.size)
	w := newRing(s, o.shards(), mem, func(uint64, uint64) error { return nil })
	if err := w.prepare(o, [16]byte{}); err != nil {
		t.Fatal(err)
	}
	head := slices.Clone(mem[:headerSize])
	return w, func() *Reader {
		s, err := readLayout(head, int64(len(mem)))
		if err != nil {
			t.Fatal(err)
		}
		r := newReader(s, mem, head, "")
		if err := r.begin(); err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// model is a ring beside the queues that it must behave as.
type model struct {
	*testing.T
	o      Options
	w      *Ring
	open   func() *Reader
	r      *Reader
	queues []queue
	stamp  uint64
}

// TestRingIsAQueue interleaves the steps of writer and reader at random and compares every packet with a queue. A reader that
// dies is one whose position is forgotten.
func TestRingIsAQueue(t *testing.T) {
	testrand.Check(t, func(t *testing.T, r *rand.Rand) {
		m := &model{T: t, o: Options{Shards: 2, Buffers: 1 << testrand.Between(r, 1, 3), BufferSize: minBuffer, Classes: 3, Metadata: 4096,
			Overwrite: r.IntN(2) == 1}}
		m.w, m.open = inMemory(t, m.o)
		for c := range 3 {
			if _, err := m.w.Register(Class{Name: fmt.Sprint(c)}); err != nil {
				t.Fatal(err)
			}
		}
		m.r, m.queues = m.open(), make([]queue, m.o.Shards)
		size := func() int {
			if r.IntN(2) == 0 {
				return testrand.Between(r, HeadSize, 80)
			}
			return testrand.Between(r, 500, minBuffer)
		}
		for range testrand.Between(r, 1, 100) {
			i := r.IntN(m.o.Shards)
			testrand.Pick(r,
				func() { m.reserve(i, size()) },
				func() { m.commit(i) },
				func() {
					for range testrand.Between(r, 1, 30) {
						m.reserve(i, size())
						m.commit(i)
					}
				},
				m.take, m.safe, m.die, m.snapshot,
			)()
		}
	})
}

func (m *model) reserve(i, size int) {
	q := &m.queues[i]
	m.stamp++
	q.reserved = nil
	p := m.w.Shard(i).Reserve(size)
	if p == nil {
		q.discarded++
		if m.o.Overwrite {
			m.Fatalf("shard %d: dropped in overwrite mode", i)
		}
		if q.committed == len(q.all) {
			m.Fatalf("shard %d: no room for %d bytes, and all was committed", i, size)
		}
		return
	}
	if q.fill+size > m.o.BufferSize {
		q.sub, q.fill = q.sub+1, 0
	}
	q.reserved = &sent{m.stamp, size, q.sub}
	PutHead(p, uint16(m.stamp%3), size, m.stamp)
	for k := HeadSize; k < size; k++ {
		*(*byte)(unsafe.Add(p, k)) = byte(m.stamp) + byte(k)
	}
}

func (m *model) commit(i int) {
	if q := &m.queues[i]; q.reserved != nil {
		m.w.Shard(i).Commit(q.reserved.size, q.reserved.stamp)
		q.all = append(q.all, *q.reserved)
		q.fill += q.reserved.size
		q.reserved = nil
	}
}

// take takes a packet, if there is one.
func (m *model) take() {
	var p Packet
	ok, err := m.r.Next(&p)
	if err != nil {
		m.Fatal(err)
	}
	if !ok {
		for i, q := range m.queues {
			if q.first(q.read, m.o) != len(q.all) {
				m.Fatalf("shard %d: nothing to take, and %d of %d events were", i, q.read, len(q.all))
			}
		}
		return
	}
	q := &m.queues[p.Shard]
	got := stamps(m, &p)
	if first := q.first(q.read, m.o); first != q.read {
		if p.Overwritten == 0 {
			m.Fatalf("shard %d: %d events were overwritten, and the packet does not say so", p.Shard, first-q.read)
		}
		q.read = first
	}
	for _, s := range got {
		if q.read == len(q.all) || q.all[q.read].stamp != s {
			m.Fatalf("shard %d: event %d out of order", p.Shard, s)
		}
		q.read++
	}
	if p.Discarded != q.discarded {
		m.Fatalf("shard %d: %d discarded, the packet says %d", p.Shard, q.discarded, p.Discarded)
	}
}

// safe commits what was taken.
func (m *model) safe() {
	if err := m.r.Commit(); err != nil {
		m.Fatal(err)
	}
	for i := range m.queues {
		m.queues[i].committed = m.queues[i].read
	}
}

// die replaces the reader by one that knows only what is in the ring.
func (m *model) die() {
	m.r = m.open()
	for i := range m.queues {
		m.queues[i].read = m.queues[i].committed
	}
}

func (m *model) snapshot() {
	got := make([][]uint64, m.o.Shards)
	if err := m.r.Snapshot(func(p *Packet) error {
		got[p.Shard] = append(got[p.Shard], stamps(m, p)...)
		return nil
	}); err != nil {
		m.Fatal(err)
	}
	for i, q := range m.queues {
		want := q.all[q.first(q.committed, m.o):]
		if !slices.EqualFunc(got[i], want, func(s uint64, e sent) bool { return s == e.stamp }) {
			m.Fatalf("shard %d: the snapshot has %v, the queue %v", i, got[i], want)
		}
	}
}
