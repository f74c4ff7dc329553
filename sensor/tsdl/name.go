package tsdl

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// identifier returns a name in which every character that no identifier of TSDL has is an underscore; empty for no name.
func identifier(name, empty string) string {
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

// Names are the names that are taken in a structure, in the environment, or among clocks.
type Names map[string]bool

// take returns name, with a number behind it (_2, _3, ...) where it is taken already, and takes it.
func (n Names) take(name string) string {
	result := name
	for i := 2; n[result]; i++ {
		result = name + "_" + strconv.Itoa(i)
	}
	n[result] = true
	return result
}

// FieldName returns the identifier of a field or of a variant's alternative: an underscore, then name with an underscore for
// each character that no identifier has, then a number if this is taken. It takes it, without the first underscore.
func FieldName(name string, taken Names) string {
	name = identifier(name, "field")
	if keywords["_"+name] {
		name += "_"
	}
	return "_" + taken.take(name)
}

// PlainName returns an identifier for where readers take no underscore off: of clocks and of the environment's entries. An
// empty name becomes empty, and empty stands before a name that is a keyword or begins with a digit.
func PlainName(name, empty string, taken Names) string {
	name = identifier(name, empty)
	if '0' <= name[0] && name[0] <= '9' || keywords[name] {
		name = empty + "_" + name
	}
	return taken.take(name)
}

// keywords are TSDL's (CTF 1.8.3, appendix C.1.2).
var keywords = map[string]bool{
	"align": true, "callsite": true, "char": true, "clock": true, "const": true, "double": true, "enum": true, "env": true,
	"event": true, "float": true, "floating_point": true, "int": true, "integer": true, "long": true, "short": true,
	"signed": true, "stream": true, "string": true, "struct": true, "trace": true, "typealias": true, "typedef": true,
	"unsigned": true, "variant": true, "void": true, "_Bool": true, "_Complex": true, "_Imaginary": true,
}

// Quote returns a text as TSDL writes it, between quotes and with the escapes of C. A NUL, which would end the text for its
// readers, becomes the picture that Unicode has of it, U+2400.
func Quote(s string) string {
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

// UUID returns the text of a UUID (RFC 9562, section 4).
func UUID(u [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
