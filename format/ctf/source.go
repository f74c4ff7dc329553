package ctf

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// Source brings the events of all streams of a trace, merged by their times; those of equal times in the order of the
// streams. It is a [trace.Source].
//
// The fields of a class are those of the event's payload and then the context that the tracer added: the processor, what
// else the event header says, the context of the stream's events, and the event's own.
type Source struct {
	t       *Trace
	cursors []cursor
	heap    []turn
	current *Reader
	streams []trace.Stream
	classes []trace.Class
	files   map[string]int // rows of files
	cpus    map[uint64]int
	table   rowTable
	placed  []trace.Value
	done    bool
}

// cursor is a reader and the row of the packet that it is in.
type cursor struct {
	r     *Reader
	row   int
	entry int // the packet of the row
}

// turn is when a cursor's event comes. For the first of the heap it may have been given out.
type turn struct {
	time clock.HostTime
	k    int // the cursor
}

var _ trace.Source = (*Source)(nil)

// Events returns the trace's events from the beginning. Closing the source closes the trace.
func (t *Trace) Events() *Source {
	s := &Source{t: t, files: map[string]int{}, cpus: map[uint64]int{}}
	s.classify()
	for _, stream := range t.Streams {
		r := stream.Reader()
		if r.Next() != nil {
			if s.t.plan.meridian && r.Packets > 0 && r.sp.row.name >= 0 && r.sp.row.scope == PacketContextScope {
				s.named(r) // a row to which others belong
			}
			continue
		}
		c := cursor{r: r, entry: -1}
		s.place(&c)
		s.heap = append(s.heap, turn{r.now, len(s.cursors)})
		s.cursors = append(s.cursors, c)
	}
	for i := len(s.heap)/2 - 1; i >= 0; i-- {
		s.sink(i)
	}
	return s
}

// Next fills e with the next event.
func (s *Source) Next(e *trace.Event) error {
	if r := s.current; r != nil {
		// The reader is moved only now: until here its values were the caller's.
		if r.Next() == nil {
			s.heap[0].time = r.now
			if c := &s.cursors[s.heap[0].k]; c.entry != r.number || r.sp.row.scope == CommonContextScope {
				s.place(c)
			}
		} else {
			last := len(s.heap) - 1
			s.heap[0] = s.heap[last]
			s.heap = s.heap[:last]
		}
		s.sink(0)
	}
	if len(s.heap) == 0 {
		s.current = nil
		return io.EOF
	}
	c := &s.cursors[s.heap[0].k]
	r := c.r
	if s.current != r {
		s.current = r
	}
	ev := r.ev
	*e = trace.Event{Time: r.now, Stream: c.row, Class: ev.number, Phase: ev.phase}
	if ev.marks.any {
		ev.mark(e, r.slots)
	}
	return nil
}

// sink restores the heap below i.
func (s *Source) sink(i int) {
	h := s.heap
	if i >= len(h) {
		return
	}
	c := h[i]
	for {
		k := 2*i + 1
		if k >= len(h) {
			break
		}
		if k+1 < len(h) && h[k+1].before(h[k]) {
			k++
		}
		if !h[k].before(c) {
			break
		}
		h[i] = h[k]
		i = k
	}
	h[i] = c
}

func (a turn) before(b turn) bool {
	return a.time < b.time || a.time == b.time && a.k < b.k
}

// Values returns the fields of the event.
func (s *Source) Values() []trace.Value {
	if s.current == nil {
		return nil
	}
	v := s.current.Values()
	ev := s.current.ev
	if ev.back != nil {
		v = ev.back.restore(v)
	}
	if ev.place != nil {
		n := len(s.classes[ev.number].Fields)
		s.placed = slices.Grow(s.placed[:0], n)[:n]
		clear(s.placed)
		for i, k := range ev.place {
			s.placed[k] = v[i]
		}
		v = s.placed
	}
	return v
}

// Reader returns the reader that stands on the event, for who wants to know more of it; it must not be moved.
func (s *Source) Reader() *Reader { return s.current }

func (s *Source) Streams() []trace.Stream { return s.streams }
func (s *Source) Classes() []trace.Class  { return s.classes }

// Close closes the trace.
func (s *Source) Close() error {
	if s.done {
		return nil
	}
	s.done, s.current, s.heap = true, nil, nil
	return s.t.Close()
}

// classify makes the classes. Event classes of one name and the same fields, in several channels, are one; so are those
// of a trace of Meridian's that only lack some.
func (s *Source) classify() {
	type made struct {
		ep    *eventPlan
		class trace.Class
	}
	var all []made
	for _, sp := range s.t.plan.list {
		for _, ep := range sp.events {
			c := classOf(sp, ep)
			if s.t.plan.meridian {
				c = ep.restoreClass(c)
			}
			all = append(all, made{ep, c})
		}
	}
	if s.t.plan.meridian {
		slices.SortStableFunc(all, func(a, b made) int { return len(b.class.Fields) - len(a.class.Fields) })
	}
	seen := map[string]int{}
	byName := map[string][]int{}
	for _, m := range all {
		key, _ := json.Marshal(m.class)
		n, ok := seen[string(key)]
		if !ok && s.t.plan.meridian {
			for _, k := range byName[m.class.Name] {
				if m.ep.place, ok = embed(&m.class, &s.classes[k]); ok {
					n = k
					break
				}
			}
		}
		if !ok {
			n = len(s.classes)
			seen[string(key)] = n
			byName[m.class.Name] = append(byName[m.class.Name], n)
			s.classes = append(s.classes, m.class)
		}
		m.ep.number = n
	}
}

func classOf(sp *streamPlan, ep *eventPlan) trace.Class {
	c := trace.Class{Name: ep.class.Name, Category: ep.class.Namespace}
	if c.Name == "" {
		c.Name = fmt.Sprintf("event %d", ep.class.ID)
	}
	c.Fields = append(c.Fields, fieldsOf(ep.class.Payload)...)
	own := len(c.Fields)
	if sp.hasCPU {
		c.Fields = append(c.Fields, trace.Field{Name: "cpu_id", Type: trace.Type{Kind: trace.Uint, Bits: 32}})
	}
	for _, k := range sp.extra {
		f := sp.class.EventHeader.Fields[k]
		c.Fields = append(c.Fields, trace.Field{Name: f.Name, Type: shapeOf(f.Type)})
	}
	c.Fields = append(c.Fields, fieldsOf(sp.class.EventContext)...)
	c.Fields = append(c.Fields, fieldsOf(ep.class.Context)...)
	for i := len(ep.taken) - 1; i >= 0; i-- {
		k := ep.taken[i]
		c.Fields = append(c.Fields[:k:k], c.Fields[k+1:]...)
	}
	c.Context = len(c.Fields) - own
	return c
}

// place finds the row of a reader's packet: the one that the packet context names, in a trace of Meridian's; else the
// processor's, whichever channel it is of; else the file's.
func (s *Source) place(c *cursor) {
	r := c.r
	c.entry = r.number
	switch {
	case r.sp.row.name >= 0:
		c.row = s.named(r)
	case r.packet.HasCPU:
		n, ok := s.cpus[r.packet.CPU]
		if !ok {
			n = s.add(trace.Stream{Name: fmt.Sprintf("CPU %d", r.packet.CPU), Kind: trace.CPU, ID: int64(r.packet.CPU)})
			s.cpus[r.packet.CPU] = n
		}
		c.row = n
	default:
		name := filepath.Base(r.s.Path)
		n, ok := s.files[name]
		if !ok {
			n = s.add(trace.Stream{Name: name, ID: int64(r.packet.Stream)})
			s.files[name] = n
		}
		c.row = n
	}
}

func (s *Source) add(row trace.Stream) int {
	row.Parent = -1
	s.streams = append(s.streams, row)
	return len(s.streams) - 1
}
