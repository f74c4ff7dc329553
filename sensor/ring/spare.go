package ring

import (
	"sync/atomic"
	"unsafe"
)

// A writer whose shard is full, because a reader that is there did not come in time or because the program emits all at
// once what it had no time for, goes on in a spare one and leaves its own for the next who needs one. So a ring is as
// large as the worst delay makes it, where a larger one for each processor would be that large always. For readers spare
// shards are shards: the events of each are in order.
//
//	writer 0:  shard 0 | full          spares: shard 64, 65, ...    -->    writer 0:  shard 64 |     spares: shard 0, 65, ...
//
// Without a reader no spare is taken, since nobody would empty the first.

// spare is a place among the spares. Who has set taken may use what it holds.
type spare struct {
	taken atomic.Uint32
	shard Shard
}

// restful is how many events are discarded between two looks for a spare, which cost much more than to discard one.
const restful = 64

// spare exchanges the part of the ring that s writes for one with room for an event, and says whether there was one.
func (s *Shard) spare(size int) bool {
	r := s.ring
	if s.tired > 0 {
		s.tired--
		return false
	}
	s.tired = restful
	if atomic.LoadUint32(word32(r.mem, atReader)) == 0 {
		return false
	}
	for i := range r.spares {
		p := &r.spares[i]
		if !p.taken.CompareAndSwap(0, 1) {
			continue // another writer is at it
		}
		found := p.shard.roomy(size)
		if found {
			owner := atomic.SwapUint32((*uint32)(unsafe.Add(s.control, atOwner)), 0)
			handle := s.handle
			*s, p.shard = p.shard, *s
			s.handle, s.tired = handle, restful
			atomic.StoreUint32((*uint32)(unsafe.Add(s.control, atOwner)), owner)
		}
		p.taken.Store(0)
		if found {
			return true
		}
	}
	return false
}

// roomy says whether an event finds room, now or in the next sub-buffer.
func (s *Shard) roomy(size int) bool {
	end, total := s.end+uint64(s.ring.bufferSize), s.mask+1
	return uint64(size) <= s.end-s.position || end <= total ||
		atomic.LoadUint64((*uint64)(unsafe.Add(s.control, atConsumed))) >= end-total
}
