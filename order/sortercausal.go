package order

import (
	"maps"
	"time"

	"meridian/clock"
)

// sorterCauses has the messages whose ends a [Sorter] holds, or emitted a short time ago, and the consequences that wait.
type sorterCauses struct {
	*sorterRows
	flows   flowTable
	waiting queue[deadline] // consequences without their reason, as they began to wait
	emitted queue[deadline] // reasons that consequences may still come for
	timeout time.Duration   // of waiting
	keep    time.Duration   // of reasons that were emitted
	most    int             // of those
}

// deadline is an instant at which a consequence has waited long enough, or a reason is forgotten.
type deadline struct {
	at     clock.TimelineTime
	number uint64 // of the event, which tells whether the slot is still its
	flow   uint64
	slot   int32
}

func newSorterCauses(rows *sorterRows, o *SorterOptions) sorterCauses {
	c := sorterCauses{sorterRows: rows, timeout: o.ReasonTimeout, keep: o.MostFrame, most: o.MostEvents}
	if keep := o.MostFrame + o.ReasonTimeout; keep > c.keep {
		c.keep = keep
	}
	return c
}

// expect notes a reason that is held.
func (s *sorterCauses) expect(slot int32, h *heldEvent) {
	f := s.flows.add(h.event.Flow)
	if !f.emitted && f.reason == none {
		f.reason = slot
	}
}

// await takes a consequence out of the heap until its reason is emitted. If the reason is held, a short time later, the
// consequence's stream waits with it: so its events stay in order. Else only the consequence waits.
func (s *sorterCauses) await(slot int32, h *heldEvent, f *flow, now clock.TimelineTime) {
	if f == nil {
		f = s.flows.add(h.event.Flow)
	}
	row := &s.all[h.row]
	switch {
	case h.state&outsideRow != 0:
		s.heap.pop()
	case s.mayPark(h, f):
		row.parked = true
		s.heap.pop()
	default:
		s.advance(row, h)
		h.state |= outsideRow
		h.next = none
	}
	h.state |= waits
	if f.last == none {
		f.first = slot
	} else {
		s.store.at(f.last).nextWaiting = slot
	}
	f.last = slot
	s.waiting.push(deadline{at: now.Add(s.timeout), number: h.number, flow: f.id, slot: slot})
}

// maxParked is how many streams may wait for each other in a chain.
const maxParked = 64

// mayPark reports whether the stream of a consequence may wait for the reason: it must come soon, and not be behind an event that
// waits for this stream.
func (s *sorterCauses) mayPark(h *heldEvent, f *flow) bool {
	if f.reason == none || s.store.at(f.reason).key.Sub(h.key) > s.mostLift {
		return false
	}
	for range maxParked {
		reason := s.store.at(f.reason)
		if reason.state&outsideRow != 0 {
			return true
		}
		row := &s.all[reason.row]
		if reason.row == h.row {
			return false
		}
		if !row.parked {
			return true
		}
		f = s.flows.find(s.store.at(row.head).event.Flow)
		if f == nil || f.reason == none {
			return true
		}
	}
	return false
}

// happened notes a reason that is being emitted. The consequences that waited for it go on.
func (s *sorterCauses) happened(h *heldEvent, shown, now clock.TimelineTime) {
	f := s.flows.add(h.event.Flow)
	if f.emitted {
		return
	}
	f.emitted, f.reason, f.shown, f.host, f.mapNumber = true, none, shown, h.host, h.mapNumber
	f.time, f.low, f.bounded = h.time, h.low, h.bounded
	for slot := f.first; slot != none; {
		next := s.store.at(slot).nextWaiting
		s.goOn(slot)
		slot = next
	}
	f.first, f.last = none, none
	s.emitted.push(deadline{at: now.Add(s.keep), flow: f.id})
	if s.emitted.len() > s.most {
		s.forget()
	}
}

// goOn puts a consequence that waited back into the heap.
func (s *sorterCauses) goOn(slot int32) {
	h := s.store.at(slot)
	h.state &^= waits
	h.nextWaiting = none
	if h.state&outsideRow == 0 {
		s.all[h.row].parked = false
	}
	s.heap.push(slot)
}

// forget removes the reason that was emitted first.
func (s *sorterCauses) forget() {
	if f := s.flows.find(s.emitted.first().flow); f != nil {
		s.flows.remove(f)
	}
	s.emitted.pop()
}

// endWaits ends the waiting of consequences, and the memory of reasons, that has taken long enough. It reports whether there are such
// consequences.
func (s *sorterCauses) endWaits(now clock.TimelineTime) (ended bool) {
	for !s.waiting.empty() && s.waiting.first().at <= now {
		ended = s.endWait() || ended
	}
	for !s.emitted.empty() && s.emitted.first().at <= now {
		s.forget()
	}
	return ended
}

// endOldestWait ends the waiting of the consequence that has waited for longest; false if none waits.
func (s *sorterCauses) endOldestWait() bool {
	for !s.waiting.empty() {
		if s.endWait() {
			return true
		}
	}
	return false
}

// endWait ends the waiting of the first of those that began to wait; false if its reason has come.
func (s *sorterCauses) endWait() bool {
	d := *s.waiting.first()
	s.waiting.pop()
	h := s.store.at(d.slot)
	if h.number != d.number || h.state&waits == 0 {
		return false
	}
	// Those that wait for one reason are in the order of their deadlines: this is the first.
	f := s.flows.find(d.flow)
	f.first = h.nextWaiting
	if f.first == none {
		f.last = none
		if f.reason == none {
			s.flows.remove(f)
		}
	}
	h.state |= timedOut
	s.goOn(d.slot)
	return true
}

// minAsked is how many pairs of hosts an askLimit keeps before it deletes old ones.
const minAsked = 1 << 10

// askLimit calls Ask, for the same two hosts once in a while.
type askLimit struct {
	call  func(from, to int)
	every time.Duration
	asked map[[2]int32]clock.TimelineTime
	most  int // entries at which old ones are deleted
}

func newAskLimit(o *SorterOptions) askLimit {
	return askLimit{call: o.Ask, every: o.AskEvery, asked: make(map[[2]int32]clock.TimelineTime), most: minAsked}
}

// ask reports whether it called.
func (a *askLimit) ask(from, to int32, now clock.TimelineTime) bool {
	if a.call == nil || from == to {
		return false
	}
	pair := [2]int32{from, to}
	if at, ok := a.asked[pair]; ok && now.Sub(at) < a.every {
		return false
	}
	if len(a.asked) >= a.most {
		maps.DeleteFunc(a.asked, func(_ [2]int32, at clock.TimelineTime) bool { return now.Sub(at) >= a.every })
		a.most = max(2*len(a.asked), minAsked)
	}
	a.asked[pair] = now
	a.call(int(from), int(to))
	return true
}
