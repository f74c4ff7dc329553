package ring

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
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
	s, err := o.shape()
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
		s, err := readShape(head, int64(len(mem)))
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

// TestRingIsAQueue interleaves the steps of writer and reader at random and holds every packet against a queue. A reader
// that dies is one whose place is forgotten.
func TestRingIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Shards: 2, Buffers: 1 << rapid.IntRange(1, 3).Draw(t, "log buffers"), BufferSize: minBuffer, Classes: 3, Metadata: 4096,
			Overwrite: rapid.Bool().Draw(t, "overwrite")}
		w, open := inMemory(t, o)
		for c := range 3 {
			if _, err := w.Register(Class{Name: fmt.Sprint(c)}); err != nil {
				t.Fatal(err)
			}
		}
		r := open()
		queues := make([]queue, o.Shards)
		stamp := uint64(0)

		reserve := func(i, size int) {
			q := &queues[i]
			stamp++
			q.reserved = nil
			p := w.Shard(i).Reserve(size)
			if p == nil {
				q.discarded++
				if o.Overwrite {
					t.Fatalf("shard %d: dropped in overwrite mode", i)
				}
				if q.committed == len(q.all) {
					t.Fatalf("shard %d: no room for %d bytes, and all was committed", i, size)
				}
				return
			}
			if q.fill+size > o.BufferSize {
				q.sub, q.fill = q.sub+1, 0
			}
			q.reserved = &sent{stamp, size, q.sub}
			PutHead(p, uint16(stamp%3), size, stamp)
			for k := HeadSize; k < size; k++ {
				*(*byte)(unsafe.Add(p, k)) = byte(stamp) + byte(k)
			}
		}
		commit := func(i int) {
			if q := &queues[i]; q.reserved != nil {
				w.Shard(i).Commit(q.reserved.size, q.reserved.stamp)
				q.all = append(q.all, *q.reserved)
				q.fill += q.reserved.size
				q.reserved = nil
			}
		}
		shard := rapid.IntRange(0, o.Shards-1)
		size := rapid.OneOf(rapid.IntRange(HeadSize, 80), rapid.IntRange(500, minBuffer))
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) { reserve(shard.Draw(t, "shard"), size.Draw(t, "size")) },
			"commit":  func(t *rapid.T) { commit(shard.Draw(t, "shard")) },
			"burst": func(t *rapid.T) {
				i := shard.Draw(t, "shard")
				for range rapid.IntRange(1, 30).Draw(t, "events") {
					reserve(i, size.Draw(t, "size"))
					commit(i)
				}
			},
			"take": func(t *rapid.T) {
				var p Packet
				ok, err := r.Next(&p)
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					for i, q := range queues {
						if q.first(q.read, o) != len(q.all) {
							t.Fatalf("shard %d: nothing to take, and %d of %d events were", i, q.read, len(q.all))
						}
					}
					return
				}
				q := &queues[p.Shard]
				got := stamps(t, &p)
				if first := q.first(q.read, o); first != q.read {
					if p.Overwritten == 0 {
						t.Fatalf("shard %d: %d events were overwritten, and the packet does not say so", p.Shard, first-q.read)
					}
					q.read = first
				}
				for _, s := range got {
					if q.read == len(q.all) || q.all[q.read].stamp != s {
						t.Fatalf("shard %d: event %d out of place", p.Shard, s)
					}
					q.read++
				}
				if p.Discarded != q.discarded {
					t.Fatalf("shard %d: %d discarded, the packet says %d", p.Shard, q.discarded, p.Discarded)
				}
			},
			"safe": func(t *rapid.T) {
				if err := r.Commit(); err != nil {
					t.Fatal(err)
				}
				for i := range queues {
					queues[i].committed = queues[i].read
				}
			},
			"die": func(t *rapid.T) {
				r = open()
				for i := range queues {
					queues[i].read = queues[i].committed
				}
			},
			"snapshot": func(t *rapid.T) {
				got := make([][]uint64, o.Shards)
				if err := r.Snapshot(func(p *Packet) error {
					got[p.Shard] = append(got[p.Shard], stamps(t, p)...)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				for i, q := range queues {
					want := q.all[q.first(q.committed, o):]
					if !slices.EqualFunc(got[i], want, func(s uint64, e sent) bool { return s == e.stamp }) {
						t.Fatalf("shard %d: the snapshot has %v, the queue %v", i, got[i], want)
					}
				}
			},
		})
	})
}
