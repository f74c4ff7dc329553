package ring

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestWriterAndReaderShareNothingUnordered runs both at full speed in memory that the race detector sees, which it does not
// where a file is mapped. In discard mode alone: in overwrite mode the reader copies what may change, and looks afterwards.
func TestWriterAndReaderShareNothingUnordered(t *testing.T) {
	w, open := inMemory(t, Options{Shards: 2, Buffers: 4, BufferSize: minBuffer})
	transfer(t, w, open(), 30000)
}

// TestOverwritingWriterNeverTearsAnEvent: what the reader gets, while the writer laps it, are whole events in order.
func TestOverwritingWriterNeverTearsAnEvent(t *testing.T) {
	w := made(t, Options{Overwrite: true})
	transfer(t, w, opened(t, w.Path()), 100000)
}

func TestReaderInAnotherMappingGetsAll(t *testing.T) {
	w := made(t, Options{})
	transfer(t, w, opened(t, w.Path()), 100000)
}

// transfer writes n events to each shard and checks that the reader gets each once and in order, or is told what is lost.
func transfer(t *testing.T, w *Ring, r *Reader, n uint64) {
	t.Helper()
	var writers sync.WaitGroup
	var stop atomic.Bool
	defer writers.Wait()
	defer stop.Store(true)
	for i := range w.Shards() {
		writers.Add(1)
		go func() {
			defer writers.Done()
			class, err := w.Register(Class{Name: fmt.Sprint("of shard ", i)})
			if err != nil {
				t.Error(err)
				return
			}
			s := w.Shard(i)
			for k := uint64(0); k < n && !stop.Load(); {
				if emit(s, class.ID, HeadSize+int(k*7%90), k) {
					k++
				} else {
					runtime.Gosched() // until the reader has made room
				}
			}
		}()
	}
	go func() {
		writers.Wait()
		w.Close()
	}()
	next := make([]uint64, w.Shards())
	lost := make([]uint64, w.Shards())
	for last := false; ; {
		var p Packet
		ok, err := r.Next(&p)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			if last {
				break
			}
			if last = r.Closed(); !last {
				runtime.Gosched()
			}
			continue
		}
		got := stamps(t, &p)
		if got[0] != next[p.Shard] && (!w.overwrite || got[0] < next[p.Shard] || p.Overwritten == lost[p.Shard]) {
			t.Fatalf("shard %d: event %d came, %d is next", p.Shard, got[0], next[p.Shard])
		}
		for k, s := range got {
			if s != got[0]+uint64(k) {
				t.Fatalf("shard %d: event %d behind %d", p.Shard, s, got[k-1])
			}
		}
		next[p.Shard], lost[p.Shard] = got[len(got)-1]+1, p.Overwritten
		if err := r.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	for i, k := range next {
		if k != n {
			t.Errorf("shard %d: %d events of %d", i, k, n)
		}
	}
}
