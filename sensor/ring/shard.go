package ring

import (
	"errors"
	"sync/atomic"
	"unsafe"
)

// Shard is the part of a ring that one goroutine at a time writes. An event takes three calls:
//
//	p := s.Reserve(size)         // nil: no room, and the event is counted as discarded
//	PutHead(p, id, size, stamp)  // then the fields from p + HeadSize
//	s.Commit(size, stamp)        // now readers see it
//
// An event that is reserved and not committed does not exist; the next Reserve returns the same memory. A Shard is not safe
// for concurrent use, and its methods are not interrupted by themselves: a signal handler needs a shard of its own.
type Shard struct {
	position uint64         // where the next event goes
	end      uint64         // end of the sub-buffer that position is in
	mask     uint64         // bytes of the shard, less 1
	base     unsafe.Pointer // of its sub-buffers
	control  unsafe.Pointer // of its control block

	ring         *Ring
	number       int // of the part that it writes now
	discarded    uint64
	pagesRetryAt uint64           // discarded events at which pages are requested again
	handle       int              // its number for Claim, whatever part it writes
	spareRetryIn int              // events to discard before the next look for a spare
	_            [128 - 11*8]byte // the next shard's writer has cache lines of its own, also where they are fetched in pairs
}

// HeadSize is the bytes of an event in front of its fields, MaxSize the most that an event may have with them.
const (
	HeadSize = eventHead
	MaxSize  = maxEventSize
)

func (s *Shard) init(r *Ring, i int) {
	s.ring, s.number, s.handle, s.mask = r, i, i, r.shardSize()-1
	s.base = unsafe.Pointer(&r.mem[r.data(i)])
	s.control = unsafe.Pointer(&r.mem[r.control(i)])
}

// Reserve returns where an event of size bytes, head included, is to be written, or nil if there is no room: the event is
// then counted as discarded. The size must be from HeadSize to MaxSize and at most that of a sub-buffer. A larger one is
// counted as discarded; a smaller one is not checked on the fast path and makes the events behind it unreadable.
func (s *Shard) Reserve(size int) unsafe.Pointer {
	if uint64(size) > s.end-s.position {
		return s.enter(size)
	}
	return unsafe.Add(s.base, s.position&s.mask)
}

// PutHead writes the head of a reserved event.
func PutHead(p unsafe.Pointer, id uint16, size int, stamp uint64) {
	*(*uint64)(p) = stamp
	*(*uint32)(unsafe.Add(p, 8)) = uint32(id) | uint32(size)<<16
}

// Commit publishes the event that was reserved last. size and stamp must be those of its head, and size at most what was
// reserved. The store is a release: a reader that loads the new position also sees the bytes of the event.
func (s *Shard) Commit(size int, stamp uint64) {
	// Both in registers: behind the store of the stamp, which might be to s, they would be loaded again.
	position, control := s.position+uint64(size), s.control
	s.position = position
	*(*uint64)(unsafe.Add(control, atLastStamp)) = stamp
	publish((*uint64)(control), position)
}

// enter goes to the next sub-buffer and returns its beginning, or nil where it may not.
func (s *Shard) enter(size int) unsafe.Pointer {
	r, next, total := s.ring, s.end, s.mask+1
	if size < eventHead || size > maxEventSize || size > r.bufferSize {
		return s.drop()
	}
	end := next + uint64(r.bufferSize)
	switch {
	case end <= total: // the first time round
		if s.discarded < s.pagesRetryAt {
			return s.drop()
		}
		if r.reserve(r.data(s.number)+next, uint64(r.bufferSize)) != nil {
			s.pagesRetryAt = s.discarded + 1024
			return s.drop()
		}
	case r.overwrite:
		// A reader that copies this sub-buffer must learn that it is lost before the first byte of it changes. publish orders
		// oldest behind the events that are already there, the fence orders the stores of the next event behind oldest: a
		// reader that has copied one of these bytes finds, behind its own fence (Reader.take), the new oldest.
		publish((*uint64)(unsafe.Add(s.control, atOldest)), end-total)
		fence()
	// An acquire: the reader's loads of these bytes are before its store of consumed (Commit), and the stores that
	// follow here are behind this load. So no event is overwritten while it is being copied.
	case atomic.LoadUint64((*uint64)(unsafe.Add(s.control, atConsumed))) < end-total:
		if !s.spare(size) {
			return s.drop()
		}
		p := s.Reserve(size)
		s.spareRetryIn = 0 // behind Reserve, so that a file in which consumed is changed by others cannot keep the writer here
		return p
	}
	if s.end-s.position >= eventHead {
		rest := unsafe.Add(s.base, s.position&s.mask)
		PutHead(rest, 0, 0, 0)
	}
	s.position, s.end = next, end
	s.spareRetryIn = 0 // a reader has come meanwhile
	return unsafe.Add(s.base, next&s.mask)
}

func (s *Shard) drop() unsafe.Pointer {
	s.discarded++
	publish((*uint64)(unsafe.Add(s.control, atDiscarded)), s.discarded)
	return nil
}

// Shards returns how many there are, spare ones aside.
func (r *Ring) Shards() int { return len(r.shards) }

// Shard returns shard i, of 0 to Shards()-1, for a program that distributes them itself. Claim does not know of that: use the one
// or the other.
func (r *Ring) Shard(i int) *Shard { return &r.shards[i] }

// Claim returns a shard that is free, and reserves it until Release.
func (r *Ring) Claim() (*Shard, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, taken := range r.claimed {
		if !taken {
			r.claimed[i] = true
			s := &r.shards[i]
			atomic.StoreUint32(word32(r.mem, r.control(s.number)+atOwner), thread())
			return s, nil
		}
	}
	return nil, errors.New("ring: all shards are claimed; release one or make the ring with more (Options.Shards)")
}

// Release makes a claimed shard free.
func (r *Ring) Release(s *Shard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claimed[s.handle] = false
	atomic.StoreUint32(word32(r.mem, r.control(s.number)+atOwner), 0)
}
