package match

import (
	"math/bits"
	"unsafe"

	"meridian/clock"
	"meridian/trace"
)

// table joins two lists by key. It is open-addressed and reused, so that joining allocates nothing once it has grown.
type table struct {
	slots   []slot
	shift   uint
	several []several    // of keys with more than one copy at an end, by slot.several-1
	memory  trace.Memory // of the lists; nil: Go's heap
}

type slot struct {
	key     uint64
	time    [2]clock.HostTime // of the first copy at each end
	count   [2]uint8          // copies at each end; maxTimes+1 stands for more
	used    bool
	decided bool
	several uint32
}

// most is how many keys are joined at a time. Longer lists are taken by parts of the keys' range, each a pass over both,
// so that the table stays within 32 MiB whatever one connection holds.
const most = 1 << 18

// join offers a finding the keys that both ends saw: a message of those that each saw once, the stamps of the others. It
// counts the copies of every key in the finding's census. unmatched, if not nil, is told the places in up (end 0) and down
// (end 1) whose key the other end never saw.
func (t *table) join(up, down []acknowledgement, f *finding, unmatched func(end, place int)) {
	if short := len(up)+len(down) <= maxShort; !short && (len(up) == 0 || len(down) == 0) {
		for end, list := range [][]acknowledgement{up, down} {
			for i := range list {
				if unmatched != nil {
					unmatched(end, i)
				}
			}
		}
		return
	}
	parts := uint64((len(up)+len(down))/most + 1)
	for part := range parts {
		t.joinPart([2][]acknowledgement{up, down}, part, parts, f, unmatched)
	}
}

func (t *table) joinPart(ends [2][]acknowledgement, part, parts uint64, f *finding, unmatched func(end, place int)) {
	in := func(a *acknowledgement) bool { return parts == 1 || a.key%parts == part }
	n := 0
	for _, list := range ends { // counted and not guessed: the makers of packets could have chosen their keys
		for from, to := range stretches(list, t.memory) {
			for i := from; i < to; i++ {
				if in(&list[i]) {
					n++
				}
			}
		}
	}
	t.reset(n)
	for end, list := range ends {
		for from, to := range stretches(list, t.memory) {
			for i := from; i < to; i++ {
				if in(&list[i]) {
					t.record(&list[i], end)
				}
			}
		}
	}
	for end, list := range ends { // the receiver's last, in its order: the messages come nearly in time order
		lone := loneKeys{begun: len(ends[0])+len(ends[1]) <= maxShort}
		short := lone.begun
		for i := range list {
			if i%stretch == stretch-1 {
				trace.TouchedIn(t.memory, stretch*int(unsafe.Sizeof(list[i])))
			}
			if !in(&list[i]) {
				continue
			}
			s := t.find(list[i].key)
			if s.count[1-end] == 0 {
				if unmatched != nil {
					unmatched(end, i)
				}
				if !s.decided {
					s.decided = true
					lone.wait(int(s.count[end]))
				}
				continue
			}
			lone.pass(&f.census, end)
			if end == 1 && !s.decided {
				s.decided = true
				t.offer(s, f)
			}
		}
		if short {
			lone.pass(&f.census, end)
		}
	}
}

// maxShort is the number of packets at both ends up to which a flow is so short that both captures were running all its time.
const maxShort = 64

// loneKeys counts the keys that one end alone saw, by their copies, between the first and the last key that both saw: outside
// of these the other end's capture may not have run.
type loneKeys struct {
	waiting [maxCopies + 1]int32
	any     bool // some wait
	begun   bool
}

func (l *loneKeys) wait(count int) {
	l.waiting[min(count, maxCopies)]++
	l.any = true
}

// pass notes a key that both ends saw.
func (l *loneKeys) pass(c *census, end int) {
	if l.begun && l.any {
		for count, n := range l.waiting {
			if end == 0 {
				c[count][0] += n
			} else {
				c[0][count] += n
			}
		}
	}
	if l.any {
		l.waiting, l.any = [maxCopies + 1]int32{}, false
	}
	l.begun = true
}

// offer hands a key that both ends saw to a finding.
func (t *table) offer(s *slot, f *finding) {
	f.census.add(int(s.count[0]), int(s.count[1]))
	switch {
	case s.several == 0:
		f.link.add(trace.Message{Sent: s.time[0], Received: s.time[1]})
	case s.count[0] > maxTimes || s.count[1] > maxTimes:
		f.dropped += int64(t.several[s.several-1].received)
	default:
		all := t.several[s.several-1]
		all.count = s.count
		for end := range s.count {
			all.time[end][0] = s.time[end]
		}
		f.several = append(f.several, all)
	}
}

func (t *table) reset(n int) {
	size := 1 << bits.Len(uint(2*n))
	if size > cap(t.slots) {
		t.slots = make([]slot, size)
	} else {
		t.slots = t.slots[:size]
		clear(t.slots)
	}
	t.several = t.several[:0]
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
	n := s.count[end]
	s.count[end] = min(n+1, maxTimes+1)
	if n == 0 {
		s.time[end] = a.time
	} else if s.several == 0 {
		t.several = append(t.several, several{received: uint32(s.count[1]) - uint32(end)})
		s.several = uint32(len(t.several))
	}
	if s.several == 0 {
		return
	}
	all := &t.several[s.several-1]
	if end == 1 {
		all.received++
	}
	if n > 0 && n < maxTimes {
		all.time[end][n] = a.time
	}
}
