package logical

import "sort"

// Order decides which events happened before which. It may be used by several goroutines at once.
type Order struct {
	position []int32
	clock    []int32 // by event: the number of its clock
	clocks   []int   // by number: the clock
	maxClock int     // the greatest clock, -1 without events
	// learnt holds by number of a clock, and by that of the other clock of which it learnt, at which of its own events it learnt of how many
	// of the other's, both rising.
	learnt  []map[int32][]entry
	entries int
}

type entry struct{ at, known int32 }

func newOrder(s *schedule) *Order {
	o := &Order{clock: s.clock, clocks: s.clocks, position: s.position, learnt: make([]map[int32][]entry, len(s.clocks)), maxClock: -1}
	for i := range o.learnt {
		o.learnt[i] = make(map[int32][]entry)
		o.maxClock = max(o.maxClock, s.clocks[i])
	}
	return o
}

// learn notes that a clock, given by its number, at its event at, knows of so many events of another.
func (o *Order) learn(clock, at, other, known int32) {
	o.learnt[clock][other] = append(o.learnt[clock][other], entry{at, known})
	o.entries++
}

// HappenedBefore says whether event a happened before event b, given by their index among the events
// ordered. No event happened before itself. The
// cost is a binary search in what b's clock learnt of a's.
func (o *Order) HappenedBefore(a, b int) bool {
	if o.clock[a] == o.clock[b] {
		return o.position[a] < o.position[b]
	}
	return o.known(b, o.clock[a]) >= o.position[a]
}

// Concurrent says whether neither of two different events happened before the other.
func (o *Order) Concurrent(a, b int) bool {
	return a != b && !o.HappenedBefore(a, b) && !o.HappenedBefore(b, a)
}

// At returns the vector of event e: for every clock, how many of its events, listed or in gaps, happened before e, e itself
// being counted. Of a receive of several messages, only the last one listed knows all. Its length is one more than the greatest clock.
func (o *Order) At(e int) []int32 {
	v := make([]int32, o.maxClock+1)
	for i, c := range o.clocks {
		v[c] = o.known(e, int32(i))
	}
	return v
}

// Entries returns how many changes of vectors were kept: what memory and the cost of [Tree] grow with.
func (o *Order) Entries() int { return o.entries }

// known returns how many events of a clock, given by its number, happened before event e.
func (o *Order) known(e int, clock int32) int32 {
	at := o.position[e]
	if o.clock[e] == clock {
		return at
	}
	list := o.learnt[o.clock[e]][clock]
	i := sort.Search(len(list), func(i int) bool { return list[i].at > at })
	if i == 0 {
		return 0
	}
	return list[i-1].known
}
