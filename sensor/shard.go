package sensor

import (
	"sync/atomic"
	"unsafe"

	"meridian/sensor/ring"
)

// shard is the part of the ring that one goroutine at a time writes.
type shard struct {
	*ring.Shard
	number uint64
	slices uint64        // that began here
	busy   atomic.Uint32 //lint:ignore U1000 only where shards are claimed (pin_claim.go)
	_      [128]byte     // other shards are other processors'
}

// maxShards is how many processors (GOMAXPROCS) may emit. Events of those beyond are lost, and counted.
const maxShards = 1 << 12

const eventHead = ring.HeadSize

var (
	shards     [maxShards + 1]atomic.Pointer[shard] // by processor; nil until its first event, the last for ever (enter)
	shardCount atomic.Uint32                        // among how many a goroutine chooses, where shards are claimed
	lost       atomic.Int64                         // events for which there was no shard
	begun      [maxShards]uint64                    // slices of recordings that have ended; only while one starts, stops or opens
)

// shardOf returns the shard of a processor, nil if it has none yet or is beyond those that may emit.
func shardOf(processor int) *shard {
	if uint(processor) >= maxShards {
		return nil
	}
	return shards[processor].Load()
}

// nextSlice numbers a slice that begins here; no two of a process have the same, since one that began in a recording may
// end in the next.
func (s *shard) nextSlice() uint64 {
	s.slices++
	return s.number<<40 | s.slices
}

func putHead(p unsafe.Pointer, stamp uint64, class uint32, n int) unsafe.Pointer {
	ring.PutHead(p, uint16(class), n, stamp)
	return unsafe.Add(p, eventHead)
}

// open makes the shard of a number; nil if the ring has no such or is closed.
func (r *recorder) open(i int) *shard {
	r.opening.Lock()
	defer r.opening.Unlock()
	if s := shardOf(i); s != nil {
		return s
	}
	if i >= min(r.ring.Shards(), maxShards) || r.closed {
		return nil
	}
	s := &shard{Shard: r.ring.Shard(i), number: uint64(i + 1), slices: begun[i]}
	shards[i].Store(s)
	return s
}

// close removes all shards, and waits for the goroutines that are writing to one.
func (r *recorder) close() error {
	r.opening.Lock()
	defer r.opening.Unlock()
	r.closed = true
	shardCount.Store(0)
	var taken []*shard
	for i := range shards {
		if s := shards[i].Swap(nil); s != nil {
			taken = append(taken, s)
		}
	}
	retire(taken)
	for _, s := range taken {
		begun[s.number-1] = s.slices
	}
	return r.ring.Close()
}
