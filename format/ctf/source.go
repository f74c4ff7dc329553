package ctf

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

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
	rows    map[string]int // by name and kind
	cpus    map[uint64]int
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
	time int64
	k    int // the cursor
}

var _ trace.Source = (*Source)(nil)

// Events returns the trace's events from the beginning. Closing the source closes the trace.
func (t *Trace) Events() *Source {
	s := &Source{t: t, rows: map[string]int{}, cpus: map[uint64]int{}}
	s.classify()
	for _, stream := range t.Streams {
		r := stream.Reader()
		if r.Next() != nil {
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
			if c := &s.cursors[s.heap[0].k]; c.entry != r.number {
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
	return s.current.Values()
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

// classify makes the classes. Event classes of one name and the same fields, in several channels, are one.
func (s *Source) classify() {
	seen := map[string]int{}
	for _, sp := range s.t.plan.list {
		for _, ep := range sp.events {
			c := classOf(sp, ep)
			key, _ := json.Marshal(c)
			n, ok := seen[string(key)]
			if !ok {
				n = len(s.classes)
				seen[string(key)] = n
				s.classes = append(s.classes, c)
			}
			ep.number = n
		}
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
	case s.t.plan.meridian && r.sp.row.name >= 0:
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
		n, ok := s.rows[name]
		if !ok {
			n = s.add(trace.Stream{Name: name, ID: int64(r.packet.Stream)})
			s.rows[name] = n
		}
		c.row = n
	}
}

func (s *Source) add(row trace.Stream) int {
	row.Parent = -1
	s.streams = append(s.streams, row)
	return len(s.streams) - 1
}

// named finds the row that a packet context of Meridian's names.
func (s *Source) named(r *Reader) int {
	_, fields := r.Fields(PacketContextScope)
	at := r.sp.row
	row := trace.Stream{}
	if at.kind >= 0 {
		row.Kind = kindNamed(fields[at.kind].Data)
	}
	if at.id >= 0 {
		row.ID = fields[at.id].Int()
	}
	key := fmt.Sprintf("%d %d %s", row.Kind, row.ID, fields[at.name].Data)
	if n, ok := s.rows[key]; ok {
		return n
	}
	row.Name = string(fields[at.name].Data)
	n := s.add(row)
	s.rows[key] = n
	return n
}
