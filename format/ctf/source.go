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
	t          *Trace
	cursors    []cursor
	queue      []queuedEvent
	current    *Reader
	streams    []trace.Stream
	classes    []trace.Class
	numbers    map[string]int   // of classes, by all that they are
	byName     map[string][]int // classes
	byFile     map[string]int   // rows of files
	byCPU      map[uint64]int
	named      namedStreams
	rearranged []trace.Value
	closed     bool
}

// cursor is a reader and the stream of the packet that it is in.
type cursor struct {
	r           *Reader
	stream      int
	packetIndex int // the packet of the row
}

// queuedEvent is the time of a cursor's event. The caller may have the first one of the queue already.
type queuedEvent struct {
	time   clock.HostTime
	cursor int // the cursor
}

var _ trace.Source = (*Source)(nil)

func newSource(t *Trace) *Source {
	return &Source{t: t, numbers: map[string]int{}, byName: map[string][]int{}, byFile: map[string]int{}, byCPU: map[uint64]int{}}
}

// Events returns the trace's events from the beginning. Closing the source closes the trace.
func (t *Trace) Events() *Source {
	s := newSource(t)
	s.classify()
	for _, stream := range t.Streams {
		r := stream.Reader()
		if r.Next() != nil {
			if s.t.plan.meridian && r.Packets > 0 && r.sp.naming.name >= 0 && r.sp.naming.scope == PacketContextScope {
				s.namedStream(r) // a row to which others belong
			}
			continue
		}
		c := cursor{r: r, packetIndex: -1}
		s.assignStream(&c)
		s.queue = append(s.queue, queuedEvent{r.now, len(s.cursors)})
		s.cursors = append(s.cursors, c)
	}
	for i := len(s.queue)/2 - 1; i >= 0; i-- {
		s.siftDown(i)
	}
	return s
}

// Next fills e with the next event.
func (s *Source) Next(e *trace.Event) error {
	s.leave()
	if len(s.queue) == 0 {
		return io.EOF
	}
	c := &s.cursors[s.queue[0].cursor]
	r := c.r
	s.current = r
	ev := r.ev
	*e = trace.Event{Time: r.now, Stream: c.stream, Class: ev.number, Phase: ev.phase}
	if ev.links.any {
		ev.link(e, r.slots)
	}
	return nil
}

// leave moves the reader of the current event on. It is called only when the event's values are the caller's no longer.
func (s *Source) leave() {
	r := s.current
	if r == nil {
		return
	}
	s.current = nil
	if r.Next() == nil {
		s.queue[0].time = r.now
		if c := &s.cursors[s.queue[0].cursor]; c.packetIndex != r.packetIndex || r.sp.naming.scope == CommonContextScope {
			s.assignStream(c)
		}
	} else {
		last := len(s.queue) - 1
		s.queue[0] = s.queue[last]
		s.queue = s.queue[:last]
	}
	s.siftDown(0)
}

// push enters the event that a cursor's reader stands at.
func (s *Source) push(q queuedEvent) {
	s.queue = append(s.queue, q)
	h := s.queue
	i := len(h) - 1
	for ; i > 0 && q.before(h[(i-1)/2]); i = (i - 1) / 2 {
		h[i] = h[(i-1)/2]
	}
	h[i] = q
}

// siftDown restores the heap below i.
func (s *Source) siftDown(i int) {
	h := s.queue
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

func (a queuedEvent) before(b queuedEvent) bool {
	return a.time < b.time || a.time == b.time && a.cursor < b.cursor
}

// Values returns the fields of the event.
func (s *Source) Values() []trace.Value {
	if s.current == nil {
		return nil
	}
	v := s.current.Values()
	ev := s.current.ev
	if ev.restore != nil {
		v = ev.restore.restore(v)
	}
	if ev.order != nil {
		n := len(s.classes[ev.number].Fields)
		s.rearranged = slices.Grow(s.rearranged[:0], n)[:n]
		clear(s.rearranged)
		for i, k := range ev.order {
			s.rearranged[k] = v[i]
		}
		v = s.rearranged
	}
	return v
}

// Reader returns the reader of the event's stream: its packet, its cycles, its scopes. The caller must not call its Next.
func (s *Source) Reader() *Reader { return s.current }

func (s *Source) Streams() []trace.Stream { return s.streams }
func (s *Source) Classes() []trace.Class  { return s.classes }

// Close closes the trace.
func (s *Source) Close() error {
	if s.closed {
		return nil
	}
	s.closed, s.current, s.queue = true, nil, nil
	return s.t.Close()
}

// classify numbers the classes of the trace's plan. Event classes of one name and the same fields, in several channels, are one;
// so are those of a trace of Meridian's that only lack some. Classes of an earlier plan keep their numbers.
func (s *Source) classify() {
	type made struct {
		ep    *eventPlan
		class trace.Class
	}
	var all []made
	seen := map[*eventPlan]bool{} // several stream classes may share one
	for _, sp := range s.t.plan.list {
		for _, ep := range sp.events {
			if seen[ep] {
				continue
			}
			seen[ep] = true
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
	for _, m := range all {
		key, _ := json.Marshal(m.class)
		n, ok := s.numbers[string(key)]
		if !ok && s.t.plan.meridian {
			for _, k := range s.byName[m.class.Name] {
				if m.ep.order, ok = embedFields(&m.class, &s.classes[k]); ok {
					n = k
					break
				}
			}
		}
		if !ok {
			n = len(s.classes)
			s.numbers[string(key)] = n
			s.byName[m.class.Name] = append(s.byName[m.class.Name], n)
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
		c.Fields = append(c.Fields, trace.Field{Name: f.Name, Type: traceTypeOf(f.Type)})
	}
	c.Fields = append(c.Fields, fieldsOf(sp.class.EventContext)...)
	c.Fields = append(c.Fields, fieldsOf(ep.class.Context)...)
	for i := len(ep.hidden) - 1; i >= 0; i-- {
		k := ep.hidden[i]
		c.Fields = append(c.Fields[:k:k], c.Fields[k+1:]...)
	}
	c.Context = len(c.Fields) - own
	return c
}

// assignStream finds the stream of a reader's packet: the one that the packet context names, in a trace of Meridian's; else the
// processor's, whichever channel it is of; else the file's.
func (s *Source) assignStream(c *cursor) {
	r := c.r
	c.packetIndex = r.packetIndex
	switch {
	case r.sp.naming.name >= 0:
		c.stream = s.namedStream(r)
	case r.packet.HasCPU:
		n, ok := s.byCPU[r.packet.CPU]
		if !ok {
			n = s.addStream(trace.Stream{Name: fmt.Sprintf("CPU %d", r.packet.CPU), Kind: trace.CPU, ID: int64(r.packet.CPU)})
			s.byCPU[r.packet.CPU] = n
		}
		c.stream = n
	default:
		name := filepath.Base(r.s.Path)
		n, ok := s.byFile[name]
		if !ok {
			n = s.addStream(trace.Stream{Name: name, ID: int64(r.packet.Stream)})
			s.byFile[name] = n
		}
		c.stream = n
	}
}

func (s *Source) addStream(row trace.Stream) int {
	row.Parent = -1
	s.streams = append(s.streams, row)
	return len(s.streams) - 1
}
