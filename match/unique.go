package match

import (
	"math/bits"

	"meridian/clock"
	"meridian/trace"
)

// table joins two lists by key where the key occurs once on each side. It is open-addressed and reused, so that joining
// allocates nothing once it has grown.
type table struct {
	slots []slot
	shift uint
}

type slot struct {
	key           uint64
	time          [2]clock.HostTime // first rttVote at each end
	count         [2]uint8          // occurrences further apart than repeatWithin; 2 stands for more
	used, settled bool
}

// most is how many keys are joined at a time. Longer lists are taken by parts of the keys' range, each a pass over both,
// so that the table stays within a few tens of megabytes whatever one connection holds.
const most = 1 << 19

// matchUnique adds a message for every key that both ends saw once, and returns how many keys both saw of which one end
// saw several. unmatched, if not nil, is told the places in up (end 0) and down (end 1) whose key the other end never saw.
func (t *table) matchUnique(up, down []acknowledgement, link *link, unmatched func(end, place int)) (ambiguous int64) {
	if len(up) == 0 || len(down) == 0 {
		for end, list := range [][]acknowledgement{up, down} {
			for i := range list {
				if unmatched != nil {
					unmatched(end, i)
				}
			}
		}
		return 0
	}
	parts := uint64((len(up)+len(down))/most + 1)
	for part := range parts {
		ambiguous += t.matchPart([2][]acknowledgement{up, down}, part, parts, link, unmatched)
	}
	return ambiguous
}

func (t *table) matchPart(ends [2][]acknowledgement, part, parts uint64, link *link, unmatched func(end, place int)) (ambiguous int64) {
	in := func(a *acknowledgement) bool { return parts == 1 || a.key%parts == part }
	n := 0
	for _, list := range ends { // counted and not guessed: the makers of packets could have chosen their keys
		for i := range list {
			if in(&list[i]) {
				n++
			}
		}
	}
	t.reset(n)
	for end, list := range ends {
		for i := range list {
			if in(&list[i]) {
				t.record(&list[i], end)
			}
		}
	}
	for end, list := range ends { // the receiver's last, in its order: the messages come nearly in time order
		for i := range list {
			if !in(&list[i]) {
				continue
			}
			s := t.find(list[i].key)
			switch {
			case s.count[1-end] == 0:
				if unmatched != nil {
					unmatched(end, i)
				}
			case end == 0 || s.settled:
			case s.count[0] > 1 || s.count[1] > 1:
				s.settled = true
				ambiguous++
			default:
				s.settled = true
				link.add(trace.Message{Sent: s.time[0], Received: s.time[1]})
			}
		}
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

func (t *table) record(a *acknowledgement, end int) {
	s := t.find(a.key)
	s.used, s.key = true, a.key
	switch {
	case s.count[end] == 0:
		s.count[end], s.time[end] = 1, a.time
	case !within(a.time, s.time[end], repeatWithin):
		s.count[end] = 2
	}
}
