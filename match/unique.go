package match

import (
	"math/bits"

	"meridian/trace"
)

// table joins two lists by key where the key occurs once on each side. It is open-addressed and reused, so that joining
// allocates nothing once it has grown.
type table struct {
	slots []slot
	shift uint
}

type slot struct {
	key          uint64
	time         [2]int64 // first sighting at each end
	count        [2]uint8 // sightings further apart than repeatWithin; 2 stands for more
	used, settle bool
}

// matchUnique adds a message for every key that both ends saw once, and returns how many keys both saw of which one end
// saw several.
func (t *table) matchUnique(up, down []acknowledgement, link *link) (ambiguous int64) {
	if len(up) == 0 || len(down) == 0 {
		return 0
	}
	t.reset(len(up) + len(down))
	for i := range up {
		t.sight(up[i], 0)
	}
	for i := range down {
		t.sight(down[i], 1)
	}
	// In the order of the receiver, so that the messages come nearly in time order.
	for i := range down {
		s := t.find(down[i].key)
		if s.settle || s.count[0] == 0 {
			continue
		}
		s.settle = true
		if s.count[0] > 1 || s.count[1] > 1 {
			ambiguous++
			continue
		}
		link.add(trace.Message{Sent: s.time[0], Received: s.time[1]})
	}
	return ambiguous
}

func (t *table) reset(n int) {
	size := 1 << bits.Len(uint(2*n))
	if size > cap(t.slots) {
		t.slots = make([]slot, size)
	} else {
		t.slots = t.slots[:size]
		clear(t.slots)
	}
	t.shift = uint(64 - bits.Len(uint(size-1)))
}

func (t *table) find(key uint64) *slot {
	mask := uint64(len(t.slots) - 1)
	for i := key >> t.shift; ; i = (i + 1) & mask {
		s := &t.slots[i&mask]
		if !s.used || s.key == key {
			return s
		}
	}
}

func (t *table) sight(a acknowledgement, end int) {
	s := t.find(a.key)
	s.used, s.key = true, a.key
	switch {
	case s.count[end] == 0:
		s.count[end], s.time[end] = 1, a.time
	case !within(a.time, s.time[end], repeatWithin):
		s.count[end] = 2
	}
}
