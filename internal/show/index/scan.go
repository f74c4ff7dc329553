package index

import (
	"meridian/clock"
	"meridian/trace"
)

// Scanned is an event of [Index.Scan], valid until the next.
type Scanned struct {
	Event  int64
	At     int64          // ns since the origin: where it is shown
	Own    int64          // when it happened, by its host's clock: before At where it came after later events
	Stamp  clock.HostTime // of its host's clock
	Row    int
	Class  int
	Phase  trace.Phase
	coded  decoder
	values []trace.Value
}

// Fields returns the fields of a class.
func (x *Index) Fields(class int) []trace.Field { return x.fields[class] }

// Fields is as for an [Index].
func (v *View) Fields(class int) []trace.Field { return v.facts.schema.Classes[class].Fields }

func (v *View) fields() [][]trace.Field {
	out := make([][]trace.Field, len(v.facts.classes))
	for class := range out {
		out[class] = v.Fields(class)
	}
	return out
}

// Scan shows all events of some classes from an event on, in the order of the timeline, until see returns an error, which it returns.
// The cost is that of the blocks in which such classes occur.
func (x *Index) Scan(from int64, wanted func(class int) bool, see func(*Scanned) error) error {
	return scanOf(fileLanes{x}, len(x.fields), from, wanted, see)
}

// Scan is as for an [Index].
func (v *View) Scan(from int64, wanted func(class int) bool, see func(*Scanned) error) error {
	return scanOf(viewLanes{v}, len(v.facts.classes), from, wanted, see)
}

func scanOf(x eventSource, n int, from int64, wanted func(class int) bool, see func(*Scanned) error) error {
	var classes uint64
	want := make([]bool, n)
	for c := range want {
		if want[c] = wanted(c); want[c] {
			classes |= 1 << (c % 64)
		}
	}
	if classes == 0 {
		return nil
	}
	var s Scanned
	return scanEvents(x, from, func(b *block) bool { return b.classes&classes != 0 }, func(number int64, h *head, values *decoder) (bool, error) {
		if !want[h.class] {
			return true, nil
		}
		s.Event, s.At, s.Own, s.Stamp, s.Row, s.Class, s.Phase, s.coded = number, h.at, h.at-h.late, h.recorded, h.row, int(h.class), trace.Phase(h.flags&phaseBits), *values
		return true, see(&s)
	})
}

// Values returns the values of the event's fields: fewer than the class has where the event has fewer, none where it has none. They
// are valid until the next event.
func (s *Scanned) Values() ([]trace.Value, error) {
	s.values = s.values[:0]
	for d := s.coded; len(d.b) > 0; {
		s.values = append(s.values, d.value(0))
		if d.bad {
			return nil, damaged("the fields of event %d cannot be read", s.Event)
		}
	}
	return s.values, nil
}
