package ring

import (
	"errors"
	"sync/atomic"
	"unsafe"
)

// Shard is the part of a ring that one goroutine at a time writes. The three calls of an event:
//
//	p := s.Reserve(size)         // nil: no room, and counted
//	PutHead(p, id, size, stamp)  // then the fields from p + HeadSize
//	s.Commit(size, stamp)        // now readers see it
//
// An event that is reserved and not committed never was.
type Shard struct {
	position uint64         // where the next event goes
	end      uint64         // end of the sub-buffer that position is in
	mask     uint64         // bytes of the shard, less 1
	base     unsafe.Pointer // of its sub-buffers
	control  unsafe.Pointer // of its control block

	ring      *Ring
	number    int // of the part that it writes now
	discarded uint64
	again     uint64           // how many must be discarded before pages are asked for again
	handle    int              // its number for Claim, whatever part it writes
	tired     int              // how many are to be discarded before a spare is looked for again
	_         [128 - 11*8]byte // the next shard's writer has cache lines of its own, also where they are fetched in pairs
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

// Reserve returns where an event of size bytes, head included, is to be written, or nil where there is no room: the event is
// then counted as discarded. The size must be at least HeadSize, at most 65535 and at most that of a sub-buffer, or the
// event is counted as discarded or breaks those behind it.
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

// Commit publishes the event that was reserved last, whose head says size, no more than was reserved, and stamp.
func (s *Shard) Commit(size int, stamp uint64) {
	s.position += uint64(size)
	*(*uint64)(unsafe.Add(s.control, atLastStamp)) = stamp
	publish((*uint64)(s.control), s.position)
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
		if s.discarded < s.again {
			return s.drop()
		}
		if r.reserve(r.data(s.number)+next, uint64(r.bufferSize)) != nil {
			s.again = s.discarded + 1024
			return s.drop()
		}
	case r.overwrite:
		// Who reads what is about to be overwritten must learn it before the first byte of it changes.
		publish((*uint64)(unsafe.Add(s.control, atOldest)), end-total)
		fence()
	case atomic.LoadUint64((*uint64)(unsafe.Add(s.control, atConsumed))) < end-total:
		if !s.spare(size) {
			return s.drop()
		}
		p := s.Reserve(size)
		s.tired = 0 // not before: who changes what is consumed under our hands must not keep us here
		return p
	}
	if s.end-s.position >= eventHead {
		rest := unsafe.Add(s.base, s.position&s.mask)
		PutHead(rest, 0, 0, 0)
	}
	s.position, s.end = next, end
	s.tired = 0 // a reader has come meanwhile
	return unsafe.Add(s.base, next&s.mask)
}

func (s *Shard) drop() unsafe.Pointer {
	s.discarded++
	publish((*uint64)(unsafe.Add(s.control, atDiscarded)), s.discarded)
	return nil
}

// Shards returns how many there are, spare ones aside.
func (r *Ring) Shards() int { return len(r.shards) }

// Shard returns one for a program that shares them out itself. Claim knows nothing of that: use the one or the other.
func (r *Ring) Shard(i int) *Shard { return &r.shards[i] }

// Claim returns a shard that nobody has, until Release.
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

// Release gives a claimed shard to the next who claims one.
func (r *Ring) Release(s *Shard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claimed[s.handle] = false
	atomic.StoreUint32(word32(r.mem, r.control(s.number)+atOwner), 0)
}
