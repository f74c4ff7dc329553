package cause

import (
	"cmp"
	"math/bits"
	"slices"
)

// child is a slice below a span: a request, or work within the process.
type child struct {
	begin, end int64
	row, class int
	event      int64
	request    int // -1 for work within the process
}

// children are the slices of a model by the span above each. They have numbers: those of spans among the requests come first, then
// Ends, then Inner. Children of one span are a chain of numbers, which is sorted when it is asked for: most never are.
//
// The first of each chain is in a table with open addressing. Its slots hold 32 bits of the hash of trace and parent, and 1 more than the
// number; 0 is an empty one. So 4 bytes a slice are needed and 8 to 32 a span, and nothing is allocated for each.
type children struct {
	m        *Model
	requests []Request
	table    []uint64
	next     []int32 // 1 more than the next of the chain; 0 behind the last
}

func newChildren(m *Model, requests []Request) *children {
	x := &children{m: m, requests: requests}
	n := len(requests) + len(m.Ends) + len(m.Inner)
	if m.Spans.Len() == 0 {
		return x
	}
	x.next = make([]int32, n)
	x.table = make([]uint64, 1<<bits.Len(uint(2*min(n, m.Spans.Len()))))
	asked := make([]bool, len(m.Spans.at.places)) // slices that are requests
	for i := range requests {
		if r := &requests[i]; r.Kind == KindSpan && r.Event >= 0 && r.Event < int64(len(asked)) {
			asked[r.Event] = true
			x.put(i)
		}
	}
	for i := len(requests); i < n; i++ {
		if event := x.event(i); event >= 0 && event < int64(len(asked)) && !asked[event] {
			x.put(i)
		}
	}
	return x
}

// event is the one that begins a slice.
func (x *children) event(number int) int64 {
	ends, inner := number-len(x.requests), number-len(x.requests)-len(x.m.Ends)
	switch {
	case ends < 0:
		return x.requests[number].Event
	case inner < 0:
		return x.m.Ends[ends].Event
	}
	return x.m.Inner[inner].Event
}

func (x *children) child(number int) child {
	if number < len(x.requests) {
		r := &x.requests[number]
		return child{r.Begin, r.End, r.Client, r.Class, r.Event, number}
	}
	s, inner := (*Slice)(nil), number-len(x.requests)-len(x.m.Ends)
	if inner < 0 {
		s = &x.m.Ends[number-len(x.requests)]
	} else {
		s = &x.m.Inner[inner]
	}
	return child{s.Begin, s.End, s.Row, s.Class, s.Event, -1}
}

// put adds a slice to the chain of its parent, if it has one.
func (x *children) put(number int) {
	s, is := x.m.Spans.Of(x.event(number))
	if !is || s.Parent == 0 {
		return
	}
	slot := x.slot(s.Trace, s.Parent)
	x.next[number] = int32(uint32(*slot))
	*slot = hashOf(s.Trace, s.Parent)>>32<<32 | uint64(number+1)
}

// slot returns the one of a span, which is empty where none has been put below it. There always is an empty one: the table has twice as many as
// spans with names.
func (x *children) slot(trace, parent uint64) *uint64 {
	hash, mask := hashOf(trace, parent), uint64(len(x.table)-1)
	for at := hash; ; at++ {
		slot := &x.table[at&mask]
		if *slot == 0 {
			return slot
		}
		if *slot>>32 == hash>>32 {
			if s, _ := x.m.Spans.Of(x.event(int(uint32(*slot)) - 1)); s.Trace == trace && s.Parent == parent {
				return slot
			}
		}
	}
}

// of returns the slices below a span, those that end last first.
func (x *children) of(trace, id uint64) (list []child) {
	if len(x.table) == 0 {
		return nil
	}
	for n := int(uint32(*x.slot(trace, id))); n > 0; n = int(x.next[n-1]) {
		list = append(list, x.child(n-1))
	}
	slices.Reverse(list) // in order of their numbers, which decide between equal ones
	slices.SortStableFunc(list, func(a, b child) int { return cmp.Or(cmp.Compare(b.end, a.end), cmp.Compare(b.begin, a.begin)) })
	return list
}

// hashOf mixes all bits of both into all bits of the hash.
func hashOf(trace, id uint64) uint64 {
	high, low := bits.Mul64(trace^0x9e3779b97f4a7c15, id^0xd6e8feb86659fd93)
	return (high ^ low) * 0xff51afd7ed558ccd
}
