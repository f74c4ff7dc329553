package ctf

import "slices"

// metadata puts the fragments together.
func (p *fragmentParser) metadata() (*Metadata, error) {
	if len(p.streams) == 0 {
		return nil, p.located(&jsonError{p.reader.line, "no data stream class"}, nil)
	}
	a := &assembly{file: p.file, w: p.w, resolver: resolver{m: &p.m, file: p.file, exactNames: true, clocks: p.clocks,
		shared: map[scalar]*Type{}}}
	clocks := map[uint64]int{}
	for i := range p.streams {
		s := &p.streams[i]
		a.streams = append(a.streams, s.streamDecl)
		clocks[s.id] = -1
		if s.clock != "" {
			clocks[s.id] = p.clocks[s.clock]
		}
	}
	a.events, a.header = p.events, p.header
	a.begin = func(c *StreamClass) { c.Clock = clocks[c.ID] }
	a.role = func(r *resolver, s *fieldClass, t *Type, name string) *Type {
		return roleInFull(r, s, t, name, a.clock)
	}
	return a.assemble()
}

// roleInFull gives a field the role that CTF 2 ties to its class in so many words, by the scope in which it is used.
func roleInFull(r *resolver, s *fieldClass, t *Type, name string, clock int) *Type {
	role := NoRole
	for _, n := range s.roles {
		switch {
		case r.scope == inPacketHeader && n == "packet-magic-number":
			role = PacketMagic
		case r.scope == inPacketHeader && n == "metadata-stream-uuid" && t.Kind == BlobArray && t.Length == 16:
			role = TraceUUID
		case r.scope == inPacketHeader && n == "data-stream-class-id":
			role = StreamClassID
		case r.scope == inPacketHeader && n == "data-stream-id":
			role = StreamID
		case r.scope == inPacketContext && n == "default-clock-timestamp":
			role = PacketBegin
		case r.scope == inPacketContext && n == "packet-end-default-clock-timestamp":
			role = PacketEnd
		case r.scope == inPacketContext && n == "packet-content-length":
			role = PacketContent
		case r.scope == inPacketContext && n == "packet-total-length":
			role = PacketSize
		case r.scope == inPacketContext && n == "discarded-event-record-counter-snapshot":
			role = EventsDiscarded
		case r.scope == inPacketContext && n == "packet-sequence-number":
			role = PacketSequence
		case r.scope == inEventHeader && n == "event-record-class-id":
			role = EventClassID
		case r.scope == inEventHeader && n == "default-clock-timestamp":
			role = Stamp
		}
	}
	if r.scope == inPacketContext && role == NoRole && name == "cpu_id" && t.Kind == Integer {
		role = CPU // a custom of LTTng's
	}
	number := (t.Kind == Integer || t.Kind == VarInt) && !t.Signed
	stamp := slices.Contains([]Role{PacketBegin, PacketEnd, Stamp}, role)
	if role == NoRole || role != TraceUUID && !number || stamp && clock < 0 {
		return t
	}
	c := *t
	if c.Role = role; stamp {
		c.Clock = clock
	}
	return &c
}
