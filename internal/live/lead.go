package live

import (
	"fmt"

	"meridian/clock"
)

// lead finds stamps that lie far ahead of all others of an input, as a tracer that is wrong writes one. The present is as late as the latest stamp,
// so one would make all that follow late. Such an event tells nothing of the present until others confirm it:
//
//	1, 2, 3601, 3, 4, ...          wrong: it waits for its time in the sorter, or for the end
//	1, 2, 3601, 3602, 3603, ...    the clock was set, or nothing was recorded for an hour: taken after some time, or so many events
//
// Alignment gets all stamps at once. Of several hosts, messages tell meanwhile where the clock is, and the event is where the others are.
type lead struct {
	pace         // of the stamps that were taken
	events int   // ahead of it in a row
	since  int64 // when the first of them was read, by Session.elapsed
	most   clock.HostTime
}

const (
	// maxLead is how far a stamp may be ahead of the present of its input, ns.
	maxLead = 10_000_000_000
	// confirmTime is how long nothing but stamps ahead must come until these are taken, ns, and confirmEvents how many of them. Those of several hosts wait for
	// messages; what was recorded before is read in order and does not.
	confirmTime, confirmEvents = 1_000_000_000, 256
	alignTime, alignEvents     = 3_000_000_000, 1 << 14
	behindEvents               = 16
)

// leads reports whether the event that was read is to tell nothing, for it may be far ahead of what comes next.
func (in *input) leads() bool {
	l, at := &in.lead, in.event.Time
	now := clock.HostTime(l.now(in.s.elapsed()))
	if !l.any || clock.Sub(at, now) <= maxLead {
		if l.events > 0 {
			in.s.ahead += int64(l.events)
			in.s.warnings.AddN(in.dir, "event stamped more than 10 s ahead of all others: it waits for its time, or for the end", fmt.Sprintf("at %d ns", int64(l.most)), int64(l.events))
		}
		l.events = 0
		l.show(int64(at), in.s.elapsed())
		return false
	}
	if l.events == 0 {
		l.since, l.most = in.s.elapsed(), at
	}
	l.events++
	l.most = max(l.most, at)
	return !in.confirmed()
}

// confirmed takes stamps that were ahead for what the clock shows, if nothing spoke against them.
func (in *input) confirmed() bool {
	l, events, length := &in.lead, alignEvents, int64(alignTime)
	switch {
	case in.s.wasBehind:
		events = behindEvents
	case in.s.alone:
		events, length = confirmEvents, confirmTime
	}
	if l.events == 0 || l.events <= events && in.s.elapsed()-l.since < length {
		return false
	}
	l.events = 0
	l.show(int64(l.most), in.s.elapsed())
	return true
}

// confirm takes stamps that nothing spoke against for long, though nothing more comes.
func (s *Session) confirm() {
	for _, in := range s.inputs {
		if !in.confirmed() {
			continue
		}
		at := in.lead.most
		s.goOn(clock.Sub(at, in.first))
		if s.alone {
			s.lane(0).show(int64(at), s.elapsed())
			continue
		}
		if !s.warming {
			p := s.place(in.number, at)
			s.lane(p.Component).take(int64(p.At), s.elapsed(), s.behind || s.wasBehind)
		}
	}
}
