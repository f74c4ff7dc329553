package ring

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"meridian/sensor/internal/testrand"
)

// bursts is a ring whose writers emit more at once than their own shards hold.
type bursts struct {
	*testing.T
	w         *Ring
	open      func() *Reader
	r         *Reader
	stamp     uint64
	waiting   map[uint64]bool // emitted and not taken yet
	last      []uint64        // stamp, by shard
	discarded uint64
	committed bool // all that was taken
}

// TestWriterWhoseShardIsFullGoesOnInASpareOne lets writers fill far more than their own shards at once, at random, and compares
// what comes out with what went in: each event once, in order within its shard, none discarded before all is full.
func TestWriterWhoseShardIsFullGoesOnInASpareOne(t *testing.T) {
	testrand.Check(t, func(t *testing.T, r *rand.Rand) {
		o := Options{Shards: 2, Spare: testrand.Between(r, 0, 3), Buffers: 2, BufferSize: minBuffer, Classes: 1, Metadata: 4096}
		b := &bursts{T: t, waiting: map[uint64]bool{}, last: make([]uint64, o.Shards+o.Spare), committed: true}
		b.w, b.open = inMemory(t, o)
		if _, err := b.w.Register(Class{Name: "x"}); err != nil {
			t.Fatal(err)
		}
		b.r = b.open()
		for range testrand.Between(r, 1, 100) {
			testrand.Pick(r,
				func() {
					i, size := r.IntN(2), testrand.Between(r, HeadSize, minBuffer)
					for range testrand.Between(r, 1, 200) {
						b.send(i, size)
					}
				},
				b.round,
				func() {
					if err := b.r.Commit(); err != nil {
						t.Fatal(err)
					}
					b.committed = true
				},
				func() {
					if b.committed { // else the next reader takes some again
						b.r = b.open()
					}
				},
			)()
		}
		b.round()
		if len(b.waiting) > 0 {
			t.Fatalf("%d events were never taken", len(b.waiting))
		}
		sum := uint64(0)
		for i := range b.last {
			sum += b.r.Discarded(i)
		}
		if sum != b.discarded {
			t.Fatalf("%d events were discarded, the ring counts %d", b.discarded, sum)
		}
	})
}

// send emits an event, which may be discarded only if no spare has room.
func (b *bursts) send(i, size int) {
	b.stamp++
	b.w.Shard(i).spareRetryIn = 0
	if emit(b.w.Shard(i), 0, size, b.stamp) {
		b.waiting[b.stamp] = true
		return
	}
	b.discarded++
	for k := range b.w.spares {
		if b.w.spares[k].shard.hasRoom(size) {
			b.Fatalf("event %d is discarded, and spare %d has room for it", b.stamp, k)
		}
	}
}

// round takes all there is.
func (b *bursts) round() {
	if err := b.r.Round(); err != nil {
		b.Fatal(err)
	}
	for {
		var p Packet
		ok, err := b.r.Next(&p)
		if err != nil {
			b.Fatal(err)
		}
		if !ok {
			return
		}
		for _, s := range stamps(b, &p) {
			if !b.waiting[s] || s <= b.last[p.Shard] {
				b.Fatalf("shard %d: event %d comes twice, or out of order", p.Shard, s)
			}
			delete(b.waiting, s)
			b.last[p.Shard] = s
		}
		b.committed = false
	}
}

// fill emits until an event is discarded and returns how many found room.
func fill(s *Shard) (n int) {
	for emit(s, 0, 64, uint64(n)) {
		n++
	}
	return n
}

func TestSparesAreForThoseWhomSomebodyReads(t *testing.T) {
	o := Options{Shards: 1, Spare: 3, Buffers: 2, BufferSize: minBuffer, Classes: 1, Metadata: 4096}
	one := 2 * minBuffer / 64
	w, open := inMemory(t, o)
	if n := fill(w.Shard(0)); n != one {
		t.Errorf("without a reader %d events found room, want %d", n, one)
	}
	open()
	for range spareRetryInterval { // it looks now and then
		w.Shard(0).drop()
	}
	w.Shard(0).spareRetryIn = 0
	if n := fill(w.Shard(0)); n != 3*one {
		t.Errorf("with a reader %d events more found room, want %d", n, 3*one)
	}
}

func TestReaderThatHasLeftIsNone(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(Options{Dir: dir, Shards: 1, Spare: 1, Buffers: 2, BufferSize: minBuffer})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Unmap()
	there := func() uint32 { return atomic.LoadUint32(word32(w.mem, atReader)) }
	r, err := Open(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	if there() != 1 {
		t.Error("the ring does not say that it has a reader")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if there() != 0 {
		t.Error("the ring says that it has a reader which has left")
	}
}

// TestWritersShareSpares has as many goroutines as shards after the same few spares, and a reader at the same time.
func TestWritersShareSpares(t *testing.T) {
	const writers, events = 4, 20_000
	o := Options{Shards: writers, Spare: 3, Buffers: 2, BufferSize: minBuffer, Classes: 1, Metadata: 4096}
	w, open := inMemory(t, o)
	if _, err := w.Register(Class{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	r := open()
	var stamp, kept, dropped atomic.Uint64
	var all sync.WaitGroup
	for i := range writers {
		all.Add(1)
		go func() {
			defer all.Done()
			s := w.Shard(i)
			for range events {
				p := s.Reserve(HeadSize)
				if p == nil {
					dropped.Add(1)
					continue
				}
				at := stamp.Add(1) // not before: until then the part may have been another writer's
				PutHead(p, 0, HeadSize, at)
				s.Commit(HeadSize, at)
				kept.Add(1)
			}
		}()
	}
	over := make(chan struct{})
	go func() { all.Wait(); close(over) }()
	last, got := make([]uint64, writers+o.Spare), uint64(0)
	take := func() error {
		if err := r.Round(); err != nil {
			return err
		}
		for {
			var p Packet
			ok, err := r.Next(&p)
			if err != nil || !ok {
				return err
			}
			for _, s := range stamps(t, &p) {
				if s <= last[p.Shard] {
					return fmt.Errorf("shard %d: event %d after %d", p.Shard, s, last[p.Shard])
				}
				last[p.Shard] = s
				got++
			}
			if err := r.Commit(); err != nil {
				return err
			}
		}
	}
	for ended := false; !ended; {
		select {
		case <-over:
			ended = true
		default:
		}
		if err := take(); err != nil {
			t.Fatal(err)
		}
	}
	sum := uint64(0)
	for i := range last {
		sum += r.Discarded(i)
	}
	if got != kept.Load() || sum != dropped.Load() || got+sum != writers*events {
		t.Errorf("%d events taken of %d, %d counted as discarded of %d", got, kept.Load(), sum, dropped.Load())
	}
}

func TestRoundHasAnEndWhileTheProgramGoesOn(t *testing.T) {
	o := Options{Shards: 2, Buffers: 4, BufferSize: minBuffer, Classes: 1, Metadata: 4096}
	w, open := inMemory(t, o)
	if _, err := w.Register(Class{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	r, stamp := open(), uint64(0)
	more := func() {
		for i := range o.Shards {
			stamp++
			if !emit(w.Shard(i), 0, 40, stamp) {
				t.Fatal("no room")
			}
		}
	}
	more()
	for round := range 20 { // each takes what was there at its beginning, and all of it
		if err := r.Round(); err != nil {
			t.Fatal(err)
		}
		upto, got := stamp, 0
		for p := range packets(t, r) {
			got += p.Count
			if p.Last > upto {
				t.Fatalf("round %d: event %d was emitted after it had begun", round, p.Last)
			}
			more()
		}
		if want := []int{2, 4}[min(round, 1)]; got != want {
			t.Fatalf("round %d took %d events, want %d", round, got, want)
		}
		if err := r.Commit(); err != nil {
			t.Fatal(err)
		}
	}
}
