package file

import (
	"bytes"
	"unicode/utf8"
)

// maxOpen bounds the brackets that are open at a time: the time that the YAML parser takes grows with their square.
const maxOpen = 1000

// bom is the byte order mark that editors of Windows write at the start of UTF-8.
const bom = "\ufeff"

// readable returns the text without a byte order mark; false after a problem that the YAML parser would not say well.
func (r *reader) readable(text []byte) ([]byte, bool) {
	text = bytes.TrimPrefix(text, []byte(bom))
	at, open := Position{1, 1}, 0
	for rest := text; len(rest) > 0; {
		c, n := utf8.DecodeRune(rest)
		if c == utf8.RuneError && n == 1 {
			r.problem(at, "byte %#x is not UTF-8: save the file as UTF-8", rest[0])
			return nil, false
		}
		switch rest = rest[n:]; c {
		case '[', '{':
			open++
		case ']', '}':
			open = max(open-1, 0)
		}
		if open > maxOpen {
			r.problem(at, "more than %d brackets are open", maxOpen)
			return nil, false
		}
		if at.Column++; c == '\n' {
			at = Position{at.Line + 1, 1}
		}
	}
	return text, true
}
