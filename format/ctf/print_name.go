package ctf

import "meridian/sensor/tsdl"

// printedRoles are the names by which CTF 1.8 identifies the role of a field of a header or a context.
var printedRoles = map[Role]string{
	PacketMagic: "magic", TraceUUID: "uuid", StreamClassID: "stream_id", StreamID: "stream_instance_id",
	PacketBegin: "timestamp_begin", PacketEnd: "timestamp_end", PacketContent: "content_size", PacketSize: "packet_size",
	EventsDiscarded: "events_discarded", PacketSequence: "packet_seq_num", CPU: "cpu_id", EventClassID: "id", Stamp: "timestamp",
}

// fieldNames returns the names of the fields of a structure or variant as they are printed. Readers remove a leading
// underscore, so names differ without it, and differ from those of roles, which have none.
func (p *printer) fieldNames(t *Type) []string {
	if names, ok := p.names[t]; ok {
		return names
	}
	names := make([]string, len(t.Fields))
	taken := tsdl.Names{}
	for i := range t.Fields {
		if f := t.Fields[i].Type; f != nil && f.Role != NoRole {
			if name := printedRoles[f.Role]; name != "" && !taken[name] {
				taken[name] = true
				names[i] = name
			}
		}
	}
	for i := range t.Fields {
		if names[i] == "" {
			names[i] = tsdl.FieldName(t.Fields[i].Name, taken)
		}
	}
	p.names[t] = names
	return names
}
