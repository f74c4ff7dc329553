// Package logical orders events by causality alone, without any time: in go the events of every clock in their order,
// with the messages between them, out comes which event happened before which.
//
//	clock 0:  ---- send 1 ----------------- receive 2 ----
//	                    \                  /
//	clock 1:  --------- receive 1 --- send 2 --- local ---
//
// An event happened before another if it is earlier on the same clock, or is the send of a message whose receive is or
// happened before the other (Lamport, Time, clocks, and the ordering of events in a distributed system, CACM 21, 1978).
// Two events of which neither happened before the other are concurrent.
//
//   - [Lamport] numbers events such that what happened before has the smaller number; the converse does not hold.
//   - [Vector] decides for any two events (Mattern 1988, Fidge 1988): for each, it knows how many events of every clock
//     came before. A receive costs the number of clocks.
//   - [Tree] says the same as Vector. It keeps the vectors as trees, by the clock that each entry was learnt from, so that a receive
//     costs about the number of entries that it changes (Mathur, Pavlogiannis, Tunc, Viswanathan: A tree clock data
//     structure for causal orderings in concurrent executions, ASPLOS 2022). The tree clocks of Landes (Tree clocks: an efficient and
//     entirely dynamic logical time system, PDCN 2007) are others: they serve processes that are created and end while
//     vectors are exchanged. Here all clocks are known beforehand.
//
// Vector and Tree keep of every clock what changed and when, not a vector for each event, so that memory grows with what
// is learnt: at worst the number of receives times that of clocks, mostly far less. While they work they hold an entry for
// every clock for each clock and each message on its way, 4 bytes in a vector and 24 in a tree; beyond 16 GiB they fail. An
// entry that changes costs a tree some fifty times what looking at an entry costs a vector (BenchmarkJoin). So trees pay where
// there are many clocks, in the thousands, and a receive brings news of less than one in a hundred.
package logical

import (
	"fmt"
	"math"
)

// Kind is what an event does.
type Kind uint8

const (
	Local   Kind = iota // nothing that another clock hears of
	Send                // sends Message
	Receive             // receives Message
)

// Event is something that happened on a clock, which is given by a number from 0. The numbers need not be dense: only the
// clocks that have events take memory. Message names a message; it has one
// send at most and any number of receives, as a broadcast has. A receive whose send is not among the events is as good
// as local.
type Event struct {
	Clock   int
	Kind    Kind
	Message int
	// Gap is how many local events of its clock, between the one before it and itself, are not listed. They count all the same.
	// -1 says that it is no further event: the receive before it on its clock receives this message too, as the end of a
	// collective operation does.
	Gap int
}

// maxClocks is above the greatest number of a clock: [Order.At] returns an entry for each number up to the greatest.
const maxClocks = 1 << 20

// Lamport returns a number for each event, from 1, that is greater than those of all that happened before: one more than
// the greater of its predecessor's on the same clock and its message's send's. The events of each clock come in their
// order; how clocks interleave does not matter. It fails if a message is sent twice, a clock is not one of 0 to 2^20-1, a gap
// is below -1 or follows no receive, a clock has 2^31 events or more, or messages go in a circle. The cost is O(n) for n events.
func Lamport(events []Event) ([]int64, error) {
	s, err := newSchedule(events)
	if err != nil {
		return nil, err
	}
	numbers := make([]int64, len(events))
	err = s.run(func(e, send int) error {
		if p := s.before[e]; p >= 0 {
			numbers[e] = numbers[p]
		}
		numbers[e] += int64(events[e].Gap)
		if send >= 0 {
			numbers[e] = max(numbers[e], numbers[send])
		}
		numbers[e]++
		return nil
	})
	if err != nil {
		return nil, err
	}
	return numbers, nil
}

// schedule brings events into an order in which all that happened before comes before.
type schedule struct {
	events   []Event
	clocks   []int   // the clocks that have events, in the order of their first ones
	clock    []int32 // by event: where clocks has its clock
	position []int32 // by event: its number on its clock, from 1
	before   []int32 // by event: the one before it on its clock, -1 for the first
	after    []int32 // and the one after it, -1 for the last
	sends    []int32 // by event: of a receive the event that sent its message, else -1
	receives []int32 // by event: how many receive what it sent
}

func newSchedule(events []Event) (*schedule, error) {
	n := len(events)
	s := &schedule{events: events, clock: make([]int32, n), position: make([]int32, n), before: make([]int32, n), after: make([]int32, n),
		sends: make([]int32, n), receives: make([]int32, n)}
	sent, numbers := make(map[int]int32), make(map[int]int32)
	for i, e := range events {
		if e.Clock < 0 || e.Clock >= maxClocks {
			return nil, fmt.Errorf("logical: event %d: clock %d out of range: 0 to %d", i, e.Clock, maxClocks-1)
		}
		number, known := numbers[e.Clock]
		if !known {
			number = int32(len(s.clocks))
			numbers[e.Clock] = number
			s.clocks = append(s.clocks, e.Clock)
		}
		s.clock[i] = number
		if e.Kind == Send {
			if other, ok := sent[e.Message]; ok {
				return nil, fmt.Errorf("logical: message %d is sent by event %d and by event %d", e.Message, other, i)
			}
			sent[e.Message] = int32(i)
		}
	}
	last := make([]int32, len(s.clocks))
	for c := range last {
		last[c] = -1
	}
	for i, e := range events {
		c := s.clock[i]
		s.before[i], s.after[i], s.sends[i] = last[c], -1, -1
		position := 1 + int64(e.Gap)
		if p := last[c]; p >= 0 {
			s.after[p] = int32(i)
			position += int64(s.position[p])
		}
		if e.Gap < 0 && (e.Gap < -1 || e.Kind != Receive || last[c] < 0 || events[last[c]].Kind != Receive) {
			return nil, fmt.Errorf("logical: event %d: gap %d, which is -1 for a further message of one receive, or at least 0", i, e.Gap)
		}
		if position > math.MaxInt32 {
			return nil, fmt.Errorf("logical: clock %d has more than %d events", e.Clock, math.MaxInt32)
		}
		s.position[i] = int32(position)
		last[c] = int32(i)
		if e.Kind == Receive {
			if from, ok := sent[e.Message]; ok {
				s.sends[i] = from
				s.receives[from]++
			}
		}
	}
	return s, nil
}

// run visits every event, after all that happened before it, together with the send of what it receives, or -1. It keeps
// to the order in which the events are given as far as it can: where that is already one in which sends come first, no
// more messages are on their way than really were.
// It ends with the first error of visit.
func (s *schedule) run(visit func(e, send int) error) error {
	// A clock stops at a receive whose send was not visited, and waits in that send's list to be woken.
	done := make([]bool, len(s.events))
	waiting, following := make([]int32, len(s.events)), make([]int32, len(s.clocks))
	for i := range waiting {
		waiting[i] = -1
	}
	var woken []int32
	visited := 0
	for i := range s.events {
		if p := s.before[i]; p >= 0 && !done[p] {
			continue // its clock waits, and comes by here when it is woken
		}
		woken = append(woken[:0], int32(i))
		for len(woken) > 0 {
			e := woken[len(woken)-1]
			woken = woken[:len(woken)-1]
			for ; e >= 0 && int(e) <= i; e = s.after[e] {
				send := s.sends[e]
				if send >= 0 && !done[send] {
					c := s.clock[e]
					following[c] = waiting[send]
					waiting[send] = e
					break
				}
				if err := visit(int(e), int(send)); err != nil {
					return err
				}
				done[e] = true
				visited++
				for w := waiting[e]; w >= 0; w = following[s.clock[w]] {
					woken = append(woken, w)
				}
			}
		}
	}
	if visited == len(s.events) {
		return nil
	}
	for i := range done {
		if !done[i] {
			return fmt.Errorf("logical: the messages form a cycle before clock %d, event %d: the event would happen before itself", s.events[i].Clock, i)
		}
	}
	return nil
}
