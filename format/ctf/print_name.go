package ctf

import (
	"strconv"
	"unicode/utf8"
)

// underscored are the keywords of TSDL that begin with an underscore, without it: what a name with the usual underscore before it can be.
var underscored = map[string]bool{"Bool": true, "Complex": true, "Imaginary": true}

// reserved are the other keywords of TSDL.
var reserved = map[string]bool{
	"align": true, "callsite": true, "char": true, "clock": true, "const": true, "double": true, "enum": true, "env": true,
	"event": true, "float": true, "floating_point": true, "int": true, "integer": true, "long": true, "short": true,
	"signed": true, "stream": true, "string": true, "struct": true, "trace": true, "typealias": true, "typedef": true,
	"unsigned": true, "variant": true, "void": true,
}

// identifierOf returns a name with every character that no identifier has replaced by an underscore, one for each.
func identifierOf(name, empty string) string {
	if name == "" {
		return empty
	}
	b := make([]byte, 0, len(name))
	for _, r := range name {
		switch {
		case r < utf8.RuneSelf && (r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'):
			b = append(b, byte(r))
		default:
			b = append(b, '_')
		}
	}
	return string(b)
}

// plainIdentifier returns a name for where no underscore is put before it: of clocks and of the environment.
func plainIdentifier(name, empty string) string {
	name = identifierOf(name, empty)
	if '0' <= name[0] && name[0] <= '9' || reserved[name] || name[0] == '_' && underscored[name[1:]] {
		return empty + "_" + name
	}
	return name
}

// distinctName returns name, or name with a number where it is taken already, and takes it.
func distinctName(name string, taken map[string]bool) string {
	result := name
	for n := 2; taken[result]; n++ {
		result = name + "_" + strconv.Itoa(n)
	}
	taken[result] = true
	return result
}

// printedRoles are the names by which CTF 1.8 knows what a field of a header or a context means.
var printedRoles = map[Role]string{
	PacketMagic: "magic", TraceUUID: "uuid", StreamClassID: "stream_id", StreamID: "stream_instance_id",
	PacketBegin: "timestamp_begin", PacketEnd: "timestamp_end", PacketContent: "content_size", PacketSize: "packet_size",
	EventsDiscarded: "events_discarded", PacketSequence: "packet_seq_num", CPU: "cpu_id", EventClassID: "id", Stamp: "timestamp",
}

// fieldNames returns the names of the fields of a structure or variant as they are printed. Readers take an underscore
// off, so names are told apart without it, and from those of roles that have none.
func (p *printer) fieldNames(t *Type) []string {
	if names, ok := p.names[t]; ok {
		return names
	}
	names := make([]string, len(t.Fields))
	taken := map[string]bool{}
	for i := range t.Fields {
		if f := t.Fields[i].Type; f != nil && f.Role != NoRole {
			if name := printedRoles[f.Role]; name != "" && !taken[name] {
				taken[name] = true
				names[i] = name
			}
		}
	}
	for i := range t.Fields {
		if names[i] != "" {
			continue
		}
		name := identifierOf(t.Fields[i].Name, "field")
		if underscored[name] {
			name += "_"
		}
		names[i] = "_" + distinctName(name, taken)
	}
	p.names[t] = names
	return names
}

// quoted returns a text as TSDL writes it. Its readers know the escapes of C; a NUL would end the text for them, so it
// stands as the picture that Unicode has of it.
func quoted(s string) string {
	b := []byte{'"'}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == 0:
			b = append(b, "␀"...)
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}
