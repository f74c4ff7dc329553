package ctf

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// metadata puts together what the declarations said: streams with their events, types resolved, roles given by name.
func (p *tsdl) metadata() (*Metadata, error) {
	if !p.trace.there {
		return nil, p.errorf(p.line, "there is no trace block; is this the metadata of a CTF trace?")
	}
	if p.trace.order == nativeOrder {
		return nil, p.errorf(p.trace.line, "the trace block does not say the byte order")
	}
	m := &Metadata{Major: p.trace.major, Minor: p.trace.minor, BigEndian: p.trace.order == bigEndian,
		Env: p.env, Clocks: p.clocks}
	if m.Major != 1 {
		return nil, p.errorf(p.trace.line, "the trace is CTF %d.%d; TSDL is read of 1.8", m.Major, m.Minor)
	}
	if p.trace.uuid != "" {
		if m.UUID, m.HasUUID = parseUUID(p.trace.uuid); !m.HasUUID {
			p.w.Add(p.file, "the trace's UUID is none", strconv.Quote(p.trace.uuid))
		}
	}
	r := &resolver{m: m, file: p.file, native: m.BigEndian, clocks: map[string]int{}, shared: map[scalar]*Type{},
		role: roleByName, spent: p.spent}
	for i := range m.Clocks {
		r.clocks[m.Clocks[i].Name] = i
	}
	var err error
	if m.PacketHeader, err = r.root(inPacketHeader, p.trace.header); err != nil {
		return nil, err
	}
	if err := p.resolveStreams(r); err != nil {
		return nil, err
	}
	m.Slots = r.slots
	return m, nil
}

// resolveStreams makes the streams, each with its events. One that cannot be made is left out, unless it is the last.
func (p *tsdl) resolveStreams(r *resolver) error {
	if len(p.streams) == 0 {
		p.streams = []streamDecl{{}} // a trace of one stream need not say so
	}
	events := p.eventsByStream()
	for i := range p.streams {
		s := &p.streams[i]
		c, err := p.resolveStream(r, s)
		if err != nil {
			if i == len(p.streams)-1 && len(r.m.Streams) == 0 {
				return err
			}
			p.leaveOut("a stream", err)
			continue
		}
		seen := make(map[uint64]bool, len(events[s.id]))
		for _, d := range events[s.id] {
			if seen[d.class.ID] {
				p.leaveOut("an event", p.errorf(d.line, "stream %d has an event %d already", s.id, d.class.ID))
				continue
			}
			r.forget(inEventContext)
			e := d.class
			if e.Context, err = r.root(inEventContext, d.context); err == nil {
				e.Payload, err = r.root(inEventPayload, d.payload)
			}
			if err != nil {
				p.leaveOut("an event", err)
				continue
			}
			seen[e.ID] = true
			c.Events = append(c.Events, e)
		}
		r.m.Streams = append(r.m.Streams, *c)
	}
	return nil
}

func (p *tsdl) errorf(line int, format string, args ...any) error {
	r := resolver{file: p.file}
	return r.errorf(line, format, args...)
}

func (p *tsdl) leaveOut(what string, err error) {
	p.w.Add(p.file, what+" cannot be understood and is left out", strings.TrimPrefix(err.Error(), p.file+":"))
}

func (p *tsdl) resolveStream(r *resolver, s *streamDecl) (*StreamClass, error) {
	c := &StreamClass{ID: s.id, Name: s.name, Clock: -1}
	r.forget(inPacketContext)
	var err error
	if c.PacketContext, err = r.root(inPacketContext, s.packetContext); err != nil {
		return nil, err
	}
	if c.EventHeader, err = r.root(inEventHeader, s.eventHeader); err != nil {
		return nil, err
	}
	if c.EventContext, err = r.root(inStreamEventContext, s.eventContext); err != nil {
		return nil, err
	}
	for _, t := range []*Type{c.EventHeader, c.PacketContext} {
		if c.Clock < 0 {
			c.Clock = stampClock(t)
		}
	}
	return c, nil
}

// stampClock returns the clock of the first stamp in a type.
func stampClock(t *Type) int {
	if t == nil {
		return -1
	}
	switch t.Role {
	case Stamp, PacketBegin, PacketEnd:
		return t.Clock
	}
	for i := range t.Fields {
		if c := stampClock(t.Fields[i].Type); c >= 0 {
			return c
		}
	}
	return stampClock(t.Elem)
}

// eventsByStream sorts the events to their streams, those that name none to the only one.
func (p *tsdl) eventsByStream() map[uint64][]*eventDecl {
	known := map[uint64]bool{}
	for i := range p.streams {
		known[p.streams[i].id] = true
	}
	of := map[uint64][]*eventDecl{}
	for i := range p.events {
		d := &p.events[i]
		switch {
		case !d.hasStream && len(p.streams) == 1:
			d.stream = p.streams[0].id
		case !known[d.stream]:
			p.leaveOut("an event", p.errorf(d.line, "stream %d is not declared", d.stream))
			continue
		}
		of[d.stream] = append(of[d.stream], d)
	}
	return of
}

// roleByName gives a field of the headers and the packet context the role that CTF 1.8 ties to its name.
func roleByName(r *resolver, s *shape, t *Type, name string) *Type {
	role := NoRole
	switch name = strings.TrimPrefix(name, "_"); r.now {
	case inPacketHeader:
		role = map[string]Role{"magic": PacketMagic, "uuid": TraceUUID, "stream_id": StreamClassID,
			"stream_instance_id": StreamID}[name]
	case inPacketContext:
		role = map[string]Role{"timestamp_begin": PacketBegin, "timestamp_end": PacketEnd, "content_size": PacketContent,
			"packet_size": PacketSize, "events_discarded": EventsDiscarded, "packet_seq_num": PacketSequence,
			"cpu_id": CPU}[name]
	case inEventHeader:
		if name == "id" {
			role = EventClassID
		} else if t.Kind == Integer && (t.Clock >= 0 || name == "timestamp") {
			role = Stamp
		}
	}
	if role == NoRole || role == TraceUUID && (t.Kind != FixedArray || t.Length != 16) ||
		role != TraceUUID && t.Kind != Integer {
		return t
	}
	c := *t
	c.Role = role
	if (role == Stamp || role == PacketBegin || role == PacketEnd) && c.Clock < 0 {
		c.Clock = r.onlyClock()
	}
	return &c
}

// onlyClock returns the clock of stamps that name none: the only one there is. A trace without any is taken to count
// nanoseconds.
func (r *resolver) onlyClock() int {
	switch len(r.m.Clocks) {
	case 0:
		r.m.Clocks = append(r.m.Clocks, Clock{Name: "default", Frequency: 1e9, Epoch: true})
		return 0
	case 1:
		return 0
	}
	return -1
}

// parseUUID reads xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx.
func parseUUID(s string) (id [16]byte, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, false
	}
	n, err := hex.Decode(id[:], []byte(strings.ReplaceAll(s, "-", "")))
	return id, n == 16 && err == nil
}
