package kernel

import (
	"bytes"
	"strings"

	"meridian/trace"
)

// plain is a field's name without the underscore that CTF 1.8 metadata put before it, lest it be a keyword.
func plain(name string) string { return strings.TrimPrefix(name, "_") }

// fieldIndex returns the index of the first of the named fields that a class has, or -1.
func fieldIndex(c *trace.Class, names ...string) int {
	for _, name := range names {
		for i := range c.Fields {
			if plain(c.Fields[i].Name) == name {
				return i
			}
		}
	}
	return -1
}

// number returns the integer value at an index, and whether there is one.
func number(values []trace.Value, at int) (int64, bool) {
	if at < 0 || at >= len(values) {
		return 0, false
	}
	switch values[at].Kind {
	case trace.Int, trace.Uint, trace.Bool:
		return values[at].Int(), true
	}
	return 0, false
}

// text returns the bytes of the text value at an index, up to the first NUL. They belong to the source.
func text(values []trace.Value, at int) []byte {
	if at < 0 || at >= len(values) || values[at].Kind != trace.Text && values[at].Kind != trace.Bytes {
		return nil
	}
	b := values[at].Data
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end]
	}
	return b
}
