package logical

import "sort"

// Order decides which events happened before which. It may be used by several goroutines at once.
type Order struct {
	events   []Event
	position []int32
	clocks   int
	// learnt holds by clock, and by the other clock of which it learnt, at which of its own events it learnt of how many
	// of the other's, both rising.
	learnt  []map[int32][]entry
	entries int
}

type entry struct{ at, known int32 }

func newOrder(s *schedule) *Order {
	o := &Order{events: s.events, position: s.position, clocks: s.clocks, learnt: make([]map[int32][]entry, s.clocks)}
	for i := range o.learnt {
		o.learnt[i] = make(map[int32][]entry)
	}
	return o
}

// learn notes that a clock, at its event at, knows of so many events of another.
func (o *Order) learn(clock, at, other, known int32) {
	o.learnt[clock][other] = append(o.learnt[clock][other], entry{at, known})
	o.entries++
}

// HappenedBefore says whether event a happened before event b, given by their index. No event happened before itself. The
// cost is a binary search in what b's clock learnt of a's.
func (o *Order) HappenedBefore(a, b int) bool {
	if o.events[a].Clock == o.events[b].Clock {
		return o.position[a] < o.position[b]
	}
	return o.known(b, o.events[a].Clock) >= o.position[a]
}

// Concurrent says whether neither of two different events happened before the other.
func (o *Order) Concurrent(a, b int) bool {
	return a != b && !o.HappenedBefore(a, b) && !o.HappenedBefore(b, a)
}

// At returns the vector of event e: for every clock, how many of its events happened before e, e itself being counted.
func (o *Order) At(e int) []int32 {
	v := make([]int32, o.clocks)
	for c := range v {
		v[c] = o.known(e, c)
	}
	return v
}

// Entries returns how many changes of vectors were kept: what memory and the cost of [Tree] grow with.
func (o *Order) Entries() int { return o.entries }

func (o *Order) known(e, clock int) int32 {
	at := o.position[e]
	if o.events[e].Clock == clock {
		return at
	}
	list := o.learnt[o.events[e].Clock][int32(clock)]
	i := sort.Search(len(list), func(i int) bool { return list[i].at > at })
	if i == 0 {
		return 0
	}
	return list[i-1].known
}
