package ctf

import (
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
)

var errNoTrace = errors.New("no trace block")

// metadata puts together what the declarations said, roles given by name.
func (p *tsdlParser) metadata() (*Metadata, error) {
	if !p.trace.there {
		return nil, p.errorf(p.line, "%w: not the metadata of a CTF trace", errNoTrace)
	}
	if p.trace.order == nativeOrder {
		return nil, p.errorf(p.trace.line, "trace block without byte_order")
	}
	m := &Metadata{Major: int(p.trace.major), Minor: int(p.trace.minor), BigEndian: p.trace.order == bigEndian,
		Env: p.env, Clocks: p.clocks}
	if m.Major != 1 {
		return nil, p.errorf(p.trace.line, "unsupported CTF version %d.%d (TSDL: 1.8)", m.Major, m.Minor)
	}
	if p.trace.uuid != "" {
		if m.UUID, m.HasUUID = parseUUID(p.trace.uuid); !m.HasUUID {
			p.w.Add(p.file, "invalid trace UUID ignored", strconv.Quote(p.trace.uuid))
		}
	}
	a := &assembly{file: p.file, w: p.w, header: p.trace.header, streams: p.streams, events: p.events,
		resolver: resolver{m: m, file: p.file, bigEndian: m.BigEndian, clocks: map[string]int{}, shared: map[scalar]*Type{}, labels: map[*Label]map[string][]Range{},
			role: roleByName}}
	for i := range m.Env {
		e := &m.Env[i]
		e.Name, e.Text = a.own(e.Name), a.own(e.Text)
	}
	for i := range m.Clocks {
		c := &m.Clocks[i]
		c.Name, c.Description, c.UUID = a.own(c.Name), a.own(c.Description), a.own(c.UUID)
		a.resolver.clocks[m.Clocks[i].Name] = i
	}
	if len(a.streams) == 0 {
		if p.firstSkipped != nil {
			return nil, p.firstSkipped // it may have been the stream, without whose header no event can be read
		}
		a.streams = []streamDecl{{}} // a trace of one stream need not say so
	}
	a.done = func(c *StreamClass) {
		if c.Clock = stampClock(c.EventHeader); c.Clock < 0 {
			c.Clock = stampClock(c.PacketContext)
		}
	}
	return a.assemble()
}

func (p *tsdlParser) errorf(line int, format string, args ...any) error {
	r := resolver{file: p.file}
	return r.errorf(line, format, args...)
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

// roleOfName are the names of fields that CTF 1.8 gives a role, by the scope in which they have it.
var roleOfName = map[dynamicScope]map[string]Role{
	inPacketHeader: {"magic": PacketMagic, "uuid": TraceUUID, "stream_id": StreamClassID, "stream_instance_id": StreamID},
	inPacketContext: {"timestamp_begin": PacketBegin, "timestamp_end": PacketEnd, "content_size": PacketContent,
		"packet_size": PacketSize, "events_discarded": EventsDiscarded, "packet_seq_num": PacketSequence, "cpu_id": CPU},
	inEventHeader: {"id": EventClassID, "timestamp": Stamp},
}

// roleByName gives a field of the headers and the packet context the role that CTF 1.8 ties to its name. Of fields of one name
// in a structure the first has it.
func roleByName(r *resolver, _ *fieldClass, t *Type, name string) *Type {
	name = strings.TrimPrefix(name, "_")
	role := roleOfName[r.scope][name]
	if n := len(r.enclosing); n > 0 && slices.ContainsFunc(r.enclosing[n-1].t.Fields, func(f Field) bool { return f.Name == name && f.Type.Role == role }) {
		role = NoRole
	}
	if r.scope == inEventHeader && role == NoRole && t.Clock >= 0 {
		role = Stamp
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
