package live

import (
	"cmp"
	"slices"

	"meridian/clock"
	"meridian/order"
)

// lane orders the events of one component. Instants of different components cannot be compared: each has its own present, and none is
// late for another.
type lane struct {
	pace
	component int
	sorter    *order.Sorter
	near      int64 // when an event came that is not far ahead of the present, by Session.elapsed
}

// take moves the present to an event, unless it is far ahead while others are not: a clock was set, and alignment has not found it yet. What was recorded
// before is read faster than time passes, and moves it at once.
func (l *lane) take(at, elapsed int64, before bool) {
	if far := l.any && at-l.pace.now(elapsed) > maxLead; !far {
		l.near = elapsed
	} else if !before && elapsed-l.near < alignTime {
		return
	}
	l.show(at, elapsed)
}

func (l *lane) now(elapsed int64) clock.TimelineTime { return clock.TimelineTime(l.pace.now(elapsed)) }

// lane returns that of a component.
func (s *Session) lane(component int) *lane {
	l := s.lanes[component]
	if l == nil {
		l = &lane{component: component, sorter: order.NewSorter(s.o.Sorter)}
		s.lanes[component] = l
	}
	return l
}

// inOrder returns the lanes in the order of their components.
func (s *Session) inOrder() []*lane {
	s.ordered = s.ordered[:0]
	for _, l := range s.lanes {
		s.ordered = append(s.ordered, l)
	}
	slices.SortFunc(s.ordered, func(a, b *lane) int { return cmp.Compare(a.component, b.component) })
	return s.ordered
}

// flush hands on all that is held.
func (s *Session) flush() error {
	for _, l := range s.inOrder() {
		if err := l.sorter.Flush(s.emit); err != nil {
			return err
		}
	}
	return nil
}

// restart begins to order anew, after all that is held was handed on.
func (s *Session) restart() error {
	if err := s.flush(); err != nil {
		return err
	}
	s.before = s.stats()
	s.before.Frame = 0 // of sorters that are no more
	clear(s.lanes)
	return nil
}

// stats returns the counts of all sorters that there have been.
func (s *Session) stats() order.SorterStats {
	all := s.before
	for _, l := range s.inOrder() {
		stats := l.sorter.Stats()
		all.Add(&stats)
	}
	return all
}

// frame returns how long events wait at most now.
func (s *Session) frame() (most int64) {
	for _, l := range s.lanes {
		most = max(most, int64(l.sorter.Frame()))
	}
	return most
}

// presentOf returns the present of the component that a host is in.
func (s *Session) presentOf(host int) clock.TimelineTime {
	for _, in := range s.inputs {
		if l := s.lanes[in.place.Component]; in.host == host && in.began && l != nil {
			return l.now(s.elapsed())
		}
	}
	return s.Now()
}

// first returns where the timeline begins, as far as the first events of the inputs tell. At is that of one of them.
func (s *Session) first(at clock.TimelineTime) clock.TimelineTime {
	for _, in := range s.inputs {
		if in.has {
			at = min(at, in.place.At)
		} else if in.from < len(in.held) {
			at = min(at, s.place(in.number, in.held[in.from].Time).At)
		}
	}
	for _, l := range s.lanes {
		if due, any := l.sorter.Due(); any {
			at = min(at, due.Add(-l.sorter.Frame()))
		}
	}
	return at
}

// pace is a time that goes on by itself, and is moved forward by what is ahead of it.
type pace struct {
	at, since int64
	any       bool
}

func (p *pace) now(elapsed int64) int64 { return p.at + elapsed - p.since }

func (p *pace) show(at, elapsed int64) {
	if !p.any || at > p.now(elapsed) {
		*p = pace{at, elapsed, true}
	}
}
