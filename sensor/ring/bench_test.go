package ring

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

const sixIntegers = HeadSize + 6*8

// put is an event of six integers, as an emitter writes it. The stamp costs nothing here: what a clock costs is its own
// subject.
func put(s *Shard, h *uint32, id uint16, stamp uint64) {
	if atomic.LoadUint32(h) == 0 {
		return
	}
	p := s.Reserve(sixIntegers)
	if p == nil {
		return
	}
	PutHead(p, id, sixIntegers, stamp)
	p = unsafe.Add(p, HeadSize)
	*(*uint64)(p) = stamp
	*(*uint64)(unsafe.Add(p, 8)) = stamp
	*(*uint64)(unsafe.Add(p, 16)) = stamp
	*(*uint64)(unsafe.Add(p, 24)) = stamp
	*(*uint64)(unsafe.Add(p, 32)) = stamp
	*(*uint64)(unsafe.Add(p, 40)) = stamp
	s.Commit(sixIntegers, stamp)
}

// BenchmarkStore64 is the limit: the same bytes, and nobody is told.
func BenchmarkStore64(b *testing.B) {
	memory := make([]byte, 1<<20)
	base := unsafe.Pointer(&memory[0])
	for n := uint64(0); b.Loop(); n++ {
		p := unsafe.Add(base, n*64&(1<<20-1))
		for i := uintptr(0); i < 64; i += 8 {
			*(*uint64)(unsafe.Add(p, i)) = n
		}
	}
}

func BenchmarkEvent(b *testing.B) {
	w := made(b, Options{Dir: inMemoryDir(b), BufferSize: 64 << 10, Buffers: 16, Overwrite: true})
	defer w.Remove()
	h := registered(b, w, "step")
	s := w.Shard(0)
	b.ReportAllocs()
	for n := uint64(0); b.Loop(); n++ {
		put(s, h.Switch, h.ID, n)
	}
}

func BenchmarkEventOff(b *testing.B) {
	w := made(b, Options{Dir: inMemoryDir(b)})
	defer w.Remove()
	h := registered(b, w, "step")
	*h.Switch = 0
	s := w.Shard(0)
	for n := uint64(0); b.Loop(); n++ {
		put(s, h.Switch, h.ID, n)
	}
}

// BenchmarkTwoWriters is the time in which each of two writers, in shards side by side, writes one event.
func BenchmarkTwoWriters(b *testing.B) {
	w := made(b, Options{Dir: inMemoryDir(b), BufferSize: 64 << 10, Buffers: 16, Overwrite: true})
	defer w.Remove()
	h := registered(b, w, "step")
	var both sync.WaitGroup
	for i := range 2 {
		both.Add(1)
		go func() {
			defer both.Done()
			s := w.Shard(i)
			for n := range uint64(b.N) {
				put(s, h.Switch, h.ID, n)
			}
		}()
	}
	both.Wait()
}

// BenchmarkDropped is an event that finds no room.
func BenchmarkDropped(b *testing.B) {
	w := made(b, Options{Dir: inMemoryDir(b)})
	defer w.Remove()
	h := registered(b, w, "step")
	for n := uint64(0); b.Loop(); n++ {
		put(w.Shard(0), h.Switch, h.ID, n)
	}
}

// BenchmarkRead is the reader's time for an event, with that of writing it.
func BenchmarkRead(b *testing.B) {
	w := made(b, Options{Dir: inMemoryDir(b), BufferSize: 64 << 10, Buffers: 16})
	defer w.Remove()
	h := registered(b, w, "step")
	r := opened(b, w.Path())
	s := w.Shard(0)
	b.SetBytes(sixIntegers)
	for n := uint64(0); b.Loop(); n++ {
		put(s, h.Switch, h.ID, n)
		if n&0xfff == 0 {
			var p Packet
			for ok := true; ok; {
				var err error
				if ok, err = r.Next(&p); err != nil {
					b.Fatal(err)
				}
			}
			r.Commit()
		}
	}
}

// inMemoryDir is where rings usually lie: a file on a disk costs what the disk costs.
func inMemoryDir(b *testing.B) string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return b.TempDir()
}
