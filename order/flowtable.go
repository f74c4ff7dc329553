package order

import (
	"math/bits"

	"meridian/clock"
)

// flowTable finds the messages of which an end is held, or whose sending was emitted a short time ago. It is a hash table with
// open addressing (linear probing, deletion by shifting back): unlike a Go map, it allocates only when it grows. A *flow is void
// after the next add or remove.
type flowTable struct {
	places []flow // a power of two, or none; at most 3/4 are taken
	taken  int
	shift  int // 64 less the bits of a place
}

// flow is what is known of one message.
type flow struct {
	id          uint64 // 0: an unused place
	reason      int32  // the slot of its sending, which was not emitted yet; none
	first, last int32  // slots of the consequences that wait, in the order of their deadlines; none
	host        int32  // of the sending that was emitted
	mapNumber   int
	time, low   clock.TimelineTime // of the sending that was emitted, as it was pushed
	shown       clock.TimelineTime
	emitted     bool
	bounded     bool
}

func (t *flowTable) place(id uint64) int {
	// The upper bits of the product depend on all of id, and ids may differ in some of their bits only.
	return int((id ^ id>>32) * 0x9e3779b97f4a7c15 >> t.shift)
}

// find returns a message, nil if it is not there.
func (t *flowTable) find(id uint64) *flow {
	if t.taken == 0 {
		return nil
	}
	for i := t.place(id); t.places[i].id != 0; i = (i + 1) & (len(t.places) - 1) {
		if t.places[i].id == id {
			return &t.places[i]
		}
	}
	return nil
}

// add returns a message, which may be new. The id is not 0.
func (t *flowTable) add(id uint64) *flow {
	if f := t.find(id); f != nil {
		return f
	}
	if 4*(t.taken+1) > 3*len(t.places) {
		t.grow()
	}
	t.taken++
	f := t.unused(id)
	*f = flow{id: id, reason: none, first: none, last: none}
	return f
}

func (t *flowTable) unused(id uint64) *flow {
	i := t.place(id)
	for t.places[i].id != 0 {
		i = (i + 1) & (len(t.places) - 1)
	}
	return &t.places[i]
}

func (t *flowTable) grow() {
	old := t.places
	t.places = make([]flow, max(64, 2*len(old)))
	t.shift = 65 - bits.Len(uint(len(t.places)))
	for i := range old {
		if old[i].id != 0 {
			*t.unused(old[i].id) = old[i]
		}
	}
}

// remove forgets a message that is there.
func (t *flowTable) remove(f *flow) {
	mask := len(t.places) - 1
	hole := t.place(f.id)
	for t.places[hole].id != f.id {
		hole = (hole + 1) & mask
	}
	t.taken--
	for i := (hole + 1) & mask; t.places[i].id != 0; i = (i + 1) & mask {
		// What lies at i may move to the hole unless its own place is between the two.
		if (i-t.place(t.places[i].id))&mask >= (i-hole)&mask {
			t.places[hole] = t.places[i]
			hole = i
		}
	}
	t.places[hole] = flow{}
}
