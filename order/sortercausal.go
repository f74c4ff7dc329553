package order

import (
	"maps"

	"meridian/clock"
	"meridian/trace"
)

// deadline is an instant at which a consequence has waited long enough, or a reason is forgotten.
type deadline struct {
	at     clock.TimelineTime
	number uint64 // of the event, which tells whether the slot is still its
	flow   uint64
	slot   int32
}

// expect notes a reason that is held.
func (s *Sorter) expect(slot int32, h *heldEvent) {
	f := s.flows.add(h.event.Flow)
	if !f.emitted && (f.reason == none || h.key < s.store.at(f.reason).key) {
		f.reason = slot
	}
}

// settled reports whether the first of the heap may be emitted. If not, it was moved in the heap, or waits for its reason
// outside of it.
func (s *Sorter) settled(slot int32, h *heldEvent) bool {
	if h.event.Role != trace.Receives || h.event.Flow == 0 || h.state&timedOut != 0 {
		return true
	}
	f := s.flows.find(h.event.Flow)
	switch {
	case f != nil && f.emitted:
		return s.follows(slot, h, f)
	case s.options.ReasonTimeout < 0, s.last && (f == nil || f.reason == none):
		h.state |= timedOut
		return true
	}
	s.await(slot, h, f)
	return false
}

// follows reports whether a consequence is at an instant at which its reason, which was emitted, can have brought it about. A tachyon
// is moved to the first such.
func (s *Sorter) follows(slot int32, h *heldEvent, f *flow) bool {
	first := f.shown.Add(s.options.MinDelay)
	if h.shown() >= first {
		return true
	}
	h.key = max(h.key, first)
	h.state = h.state&^keepsTime | repaired
	compare := s.options.Comparable
	if h.bounded && f.bounded && h.high < f.low.Add(s.options.MinDelay) && (compare == nil || compare(f.mapNumber, h.mapNumber)) {
		h.state |= violation
	}
	if h.time < f.time.Add(s.options.MinDelay) { // else only because its reason was moved
		s.ask(f.host, h.host)
	}
	s.heap.replace(slot)
	return false
}

// ask calls Ask for two hosts unless it was called a short time ago.
func (s *Sorter) ask(from, to int32) {
	if s.options.Ask == nil || from == to {
		return
	}
	pair := [2]int32{from, to}
	if at, ok := s.asked[pair]; ok && s.now.Sub(at) < s.options.AskEvery {
		return
	}
	if len(s.asked) >= s.mostAsked {
		maps.DeleteFunc(s.asked, func(_ [2]int32, at clock.TimelineTime) bool { return s.now.Sub(at) >= s.options.AskEvery })
		s.mostAsked = max(2*len(s.asked), minAsked)
	}
	s.asked[pair] = s.now
	s.stats.Asked++
	s.options.Ask(int(from), int(to))
}

// await takes a consequence out of the heap until its reason is emitted. If the reason is held, a short time later, the
// consequence's stream waits with it: so its events stay in order. Else only the consequence waits.
func (s *Sorter) await(slot int32, h *heldEvent, f *flow) {
	if f == nil {
		f = s.flows.add(h.event.Flow)
	}
	row := &s.rows[h.row]
	switch {
	case h.state&outsideRow != 0:
		s.heap.pop()
	case s.mayPark(h, f):
		row.parked = true
		s.heap.pop()
	default:
		s.advanceRow(row, h)
		h.state |= outsideRow | waited
		h.next = none
	}
	h.state |= waits
	if f.last == none {
		f.first = slot
	} else {
		s.store.at(f.last).nextWaiting = slot
	}
	f.last = slot
	s.waiting.push(deadline{at: s.now.Add(s.options.ReasonTimeout), number: h.number, flow: f.id, slot: slot})
}

// maxParked is how many streams may wait for each other in a chain.
const maxParked = 64

// mayPark reports whether the stream of a consequence may wait for the reason: it must come soon, and not be behind an event that
// waits for this stream.
func (s *Sorter) mayPark(h *heldEvent, f *flow) bool {
	if f.reason == none || s.store.at(f.reason).key.Sub(h.key) > s.options.MostFrame {
		return false
	}
	for range maxParked {
		reason := s.store.at(f.reason)
		if reason.state&outsideRow != 0 {
			return true
		}
		row := &s.rows[reason.row]
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
func (s *Sorter) happened(h *heldEvent, shown clock.TimelineTime) {
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
	keep := s.options.MostFrame + max(s.options.ReasonTimeout, 0)
	if keep < 0 {
		keep = s.options.MostFrame
	}
	s.emitted.push(deadline{at: s.now.Add(keep), flow: f.id})
	if s.emitted.len() > s.options.MostEvents {
		s.forget()
	}
}

// goOn puts a consequence that waited back into the heap.
func (s *Sorter) goOn(slot int32) {
	h := s.store.at(slot)
	h.state &^= waits
	h.nextWaiting = none
	if h.state&outsideRow == 0 {
		s.rows[h.row].parked = false
	}
	s.heap.push(slot)
}

// forget removes the reason that was emitted first.
func (s *Sorter) forget() {
	if f := s.flows.find(s.emitted.first().flow); f != nil {
		s.flows.remove(f)
	}
	s.emitted.pop()
}

// endWaits ends the waiting of consequences, and the memory of reasons, that has taken long enough.
func (s *Sorter) endWaits() {
	for !s.waiting.empty() && s.waiting.first().at <= s.now {
		s.endOldestWait()
	}
	for !s.emitted.empty() && s.emitted.first().at <= s.now {
		s.forget()
	}
}

// endOldestWait ends the waiting of the consequence that has waited for longest; false if none waits.
func (s *Sorter) endOldestWait() bool {
	for !s.waiting.empty() {
		d := *s.waiting.first()
		s.waiting.pop()
		h := s.store.at(d.slot)
		if h.number != d.number || h.state&waits == 0 {
			continue // its reason came
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
	return false
}
