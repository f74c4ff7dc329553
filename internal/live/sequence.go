package live

import (
	"fmt"
	"math"
	"path/filepath"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/order"
	"meridian/trace"
)

// sequence is the events of one stream in one file, which are read in one order whatever else comes. So their number says which
// of them were written, also to another session that reads the same files. Nearly all are written in that order; a receipt may have
// to wait for its sending, and be passed by others.
type sequence struct {
	in      *input
	stream  int // of the trace
	entries *order.SourceEntries
	file    string // within the directory
	trace   string // its UUID
	read    uint64 // events
	written progress
	before  *progress // of earlier sessions; nil for none
}

// progress is how far the events of a sequence are written: all before High but those of Missing.
type progress struct {
	High    uint64
	Missing map[uint64]bool `json:",omitempty"`
}

// has says whether an event is written.
func (p *progress) has(n uint64) bool { return n < p.High && !p.Missing[n] }

// add notes that an event is written.
func (p *progress) add(n uint64) {
	switch {
	case n == p.High:
		p.High++
	case n < p.High:
		delete(p.Missing, n)
	default:
		if p.Missing == nil {
			p.Missing = make(map[uint64]bool)
		}
		for ; p.High < n; p.High++ {
			p.Missing[p.High] = true
		}
		p.High++
	}
}

// merge returns what is written by either of two sessions.
func (p *progress) merge(o *progress) *progress {
	if o == nil {
		return p
	}
	m := &progress{High: max(p.High, o.High)}
	for _, list := range []map[uint64]bool{p.Missing, o.Missing} {
		for n := range list {
			if !p.has(n) && !o.has(n) {
				if m.Missing == nil {
					m.Missing = make(map[uint64]bool)
				}
				m.Missing[n] = true
			}
		}
	}
	return m
}

// subKey finds a sequence of an input.
type subKey struct {
	file   *ctf.Stream // which outlives its readers
	stream int
}

// sequence returns the number of the sequence of the event that was read.
func (in *input) sequence() int {
	k := subKey{stream: in.event.Stream}
	if in.trace != nil {
		k.file = in.trace.Reader().Stream()
	}
	if k == in.lastSub && in.began {
		return in.lastNumber
	}
	n, known := in.subs[k]
	if !known {
		n = len(in.s.sequences)
		in.subs[k] = n
		x := &sequence{in: in, stream: k.stream, entries: in.entries}
		if in.trace != nil {
			x.trace = fmt.Sprintf("%x", in.trace.Metadata().UUID)
		} else { // another one of this name begins at another time
			x.trace = fmt.Sprintf("capture from %d", in.event.Time)
		}
		if k.file != nil {
			x.file = filepath.Base(k.file.Path)
		}
		x.before = in.s.resumed.before(in, x)
		in.s.sequences = append(in.s.sequences, x)
	}
	in.lastSub, in.lastNumber = k, n
	return n
}

// name names a sequence for the next session: streams have other numbers there.
func (x *sequence) name() string {
	s := &trace.Stream{}
	if all := x.in.follower.Streams(); x.stream < len(all) {
		s = &all[x.stream]
	}
	return fmt.Sprintf("%s %s %d %d %s", x.trace, x.file, s.Kind, s.ID, s.Name)
}

// tag appends to the values of an event its number in its sequence, for emit.
func (in *input) tag(values []trace.Value) []trace.Value {
	in.tagged = append(append(in.tagged[:0], values...), trace.OfUint(in.n))
	return in.tagged
}

// emit hands on an event that the sorter releases.
func (s *Session) emit(r *trace.TimelineEvent, n order.Note) error {
	x := s.sequences[r.Stream]
	last := len(r.Values) - 1
	number := r.Values[last].Uint()
	r.Values = r.Values[:last]
	written := x.before != nil && x.before.has(number)
	x.written.add(number)
	r.Stream = x.entries.Stream(x.stream)
	s.keepWithin(r, &n)
	s.noteLate(r, &n)
	if !s.alone {
		x.in.handed(r)
	}
	if component, _ := s.schema.Component(r); s.shared[component] && !written {
		s.bounding.see(x.in.name, r.Bounded)
	}
	switch {
	case s.o.Rows:
		return x.in.write(r, x.stream, n, written)
	case written:
		return nil
	}
	return s.sink.Write(r, n)
}

// keepWithin takes back by how much an event was moved beyond its bounds: that is not how it happened, whatever the order. It is then
// behind events that were emitted before it, and says so.
func (s *Session) keepWithin(r *trace.TimelineEvent, n *order.Note) {
	if n.Moved <= 0 || !r.Bounded || r.Time <= r.High {
		return
	}
	back := min(r.Time.Sub(r.High), n.Moved)
	r.Time = r.Time.Add(-back)
	n.Moved -= back
	if n.Repaired && !n.Violation {
		s.inverted++
	}
	n.Late, n.Behind = true, n.Behind+back
}

// noteLate notes events that are behind ones which were handed on before their sorter began. One that is far ahead of the present, and was handed on for a
// new sorter to begin, makes none late.
func (s *Session) noteLate(r *trace.TimelineEvent, n *order.Note) {
	component, _ := s.schema.Component(r)
	last := s.last.of(component)
	if r.Time < *last {
		if !n.Late {
			n.Late, n.Behind = true, last.Sub(r.Time)
			s.before.Late++
			s.before.GreatestLateness = max(s.before.GreatestLateness, n.Behind)
		}
		return
	}
	if r.Time.Sub(*last) > maxLead && *last != math.MinInt64 {
		if l := s.lanes[component]; l != nil && l.any && int64(r.Time)-l.pace.now(s.elapsed()) > maxLead {
			return
		}
	}
	*last = r.Time
}

// lastInstants has an instant for each component, the least one at first.
type lastInstants struct {
	all     map[int]*clock.TimelineTime
	current *clock.TimelineTime // of the component that was asked for last: nearly always the same
	number  int
}

func (l *lastInstants) of(component int) *clock.TimelineTime {
	if l.current == nil || l.number != component {
		if l.all[component] == nil {
			if l.all == nil {
				l.all = make(map[int]*clock.TimelineTime)
			}
			l.all[component] = new(clock.TimelineTime(math.MinInt64))
		}
		l.current, l.number = l.all[component], component
	}
	return l.current
}
