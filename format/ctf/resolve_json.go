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

// rolesInFull are the roles of CTF 2, by the scope in which a field can have them.
var rolesInFull = map[dynamicScope]map[string]Role{
	inPacketHeader: {"packet-magic-number": PacketMagic, "metadata-stream-uuid": TraceUUID, "data-stream-class-id": StreamClassID,
		"data-stream-id": StreamID},
	inPacketContext: {"default-clock-timestamp": PacketBegin, "packet-end-default-clock-timestamp": PacketEnd,
		"packet-content-length": PacketContent, "packet-total-length": PacketSize,
		"discarded-event-record-counter-snapshot": EventsDiscarded, "packet-sequence-number": PacketSequence},
	inEventHeader: {"event-record-class-id": EventClassID, "default-clock-timestamp": Stamp},
}

// roleInFull gives a field the role that CTF 2 ties to its class in so many words, by the scope in which it is used.
func roleInFull(r *resolver, s *fieldClass, t *Type, name string, clock int) *Type {
	role := NoRole
	for _, n := range s.roles {
		of := rolesInFull[r.scope][n]
		if of != NoRole && (of != TraceUUID || t.Kind == BlobArray && t.Length == 16) {
			role = of
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
