package ring

import (
	"sync/atomic"
	"unsafe"
)

// A shard is full if its reader did not come in time, or if the program emits a burst. Its writer then exchanges it for a spare
// one, and the full one becomes a spare. So a ring takes as much memory as the worst delay needs, and not as much for every
// processor all the time. To readers spare shards are shards: the events of each are in order.
//
//	writer 0:  shard 0 | full          spares: shard 64, 65, ...    -->    writer 0:  shard 64 |     spares: shard 0, 65, ...
//
// Without a reader no spare is taken, since none would ever be emptied. A reader that is announced (listen.go) is one.

// spare holds one spare shard. The writer that has set taken from 0 to 1 may use it, until it stores 0: the two are acquire
// and release of a lock that is only ever tried.
type spare struct {
	taken atomic.Uint32
	shard Shard
}

// spareRetryInterval is how many events are discarded between two looks for a spare. A look costs much more than a discarded event.
const spareRetryInterval = 64

// spare exchanges the memory that s writes for that of a spare with room for an event, and says whether there was one.
func (s *Shard) spare(size int) bool {
	r := s.ring
	if s.spareRetryIn > 0 {
		s.spareRetryIn--
		return false
	}
	s.spareRetryIn = spareRetryInterval
	if atomic.LoadUint32(word32(r.mem, atReader)) == 0 {
		return false
	}
	for i := range r.spares {
		p := &r.spares[i]
		if !p.taken.CompareAndSwap(0, 1) {
			continue // another writer is at it
		}
		found := p.shard.hasRoom(size)
		if found {
			owner := atomic.SwapUint32((*uint32)(unsafe.Add(s.control, atOwner)), 0)
			handle := s.handle
			*s, p.shard = p.shard, *s
			s.handle, s.spareRetryIn = handle, spareRetryInterval
			atomic.StoreUint32((*uint32)(unsafe.Add(s.control, atOwner)), owner)
		}
		p.taken.Store(0)
		if found {
			return true
		}
	}
	return false
}

// hasRoom says whether an event of that size fits, in this sub-buffer or in the next.
func (s *Shard) hasRoom(size int) bool {
	end, total := s.end+uint64(s.ring.bufferSize), s.mask+1
	return uint64(size) <= s.end-s.position || end <= total ||
		atomic.LoadUint64((*uint64)(unsafe.Add(s.control, atConsumed))) >= end-total
}
