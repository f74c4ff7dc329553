package ctf

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonValue is a JSON value that knows its line. Objects keep the order of their members: the labels of an
// enumeration shall stay as their author put them.
type jsonValue struct {
	kind  jsonKind
	text  string // jsonText; of a jsonNumber as it stands
	truth bool
	names []string // jsonObject
	items []*jsonValue
	line  int
}

type jsonKind uint8

const (
	jsonNull jsonKind = iota
	jsonBool
	jsonNumber
	jsonText
	jsonArray
	jsonObject
)

func (k jsonKind) String() string {
	return [...]string{"null", "a boolean", "a number", "a text", "an array", "an object"}[k]
}

// member returns a member of an object, nil without it.
func (v *jsonValue) member(name string) *jsonValue {
	if v == nil || v.kind != jsonObject {
		return nil
	}
	for i, n := range v.names {
		if n == name {
			return v.items[i]
		}
	}
	return nil
}

// jsonReader reads JSON values one after another, with records' separators between them (RFC 7464) or not.
type jsonReader struct {
	src       string
	at        int
	line      int
	allocated int
	depth     int
}

// recordSeparator begins every text of a sequence; no JSON text contains one.
const recordSeparator = '\x1e'

type jsonError struct {
	line int
	what string
}

func (e *jsonError) Error() string { return e.what }

func (r *jsonReader) fail(format string, args ...any) error {
	return &jsonError{r.line, "JSON: " + fmt.Sprintf(format, args...)}
}

func (r *jsonReader) blanks(separators bool) {
	for ; r.at < len(r.src); r.at++ {
		switch c := r.src[r.at]; {
		case c == '\n':
			r.line++
		case c == ' ' || c == '\t' || c == '\r':
		case separators && (c == recordSeparator || c == 0): // packets may be padded
		default:
			return
		}
	}
}

// next returns the next value, nil at the end.
func (r *jsonReader) next() (*jsonValue, error) {
	r.blanks(true)
	if r.at >= len(r.src) {
		return nil, nil
	}
	r.depth, r.allocated = 0, 0
	return r.value()
}

// skip goes to the next record's separator; where there is none, to the end.
func (r *jsonReader) skip() {
	rest := r.src[r.at:]
	n := strings.IndexByte(rest, recordSeparator)
	if n < 0 {
		n = len(rest)
	}
	r.line += strings.Count(rest[:n], "\n")
	r.at += n
}

func (r *jsonReader) value() (*jsonValue, error) {
	r.blanks(false)
	if r.at >= len(r.src) {
		return nil, r.fail("unexpected end within a value")
	}
	if r.allocated += 176; r.allocated > maxAllocation {
		return nil, r.fail("values need more than %d MiB", maxAllocation>>20)
	}
	v := &jsonValue{line: r.line}
	switch c := r.src[r.at]; {
	case c == '{' || c == '[':
		if r.depth++; r.depth > 4*maxDepth {
			return nil, r.fail("values nested deeper than %d levels", 4*maxDepth)
		}
		defer func() { r.depth-- }()
		return v, r.compound(v, c == '{')
	case c == '"':
		v.kind = jsonText
		var err error
		v.text, err = r.text()
		return v, err
	case c == '-' || isDigit(c):
		start := r.at
		for r.at < len(r.src) && (isDigit(r.src[r.at]) || strings.IndexByte("+-.eE", r.src[r.at]) >= 0) {
			r.at++
		}
		v.kind, v.text = jsonNumber, r.src[start:r.at]
		if _, err := strconv.ParseFloat(v.text, 64); err != nil && !strings.Contains(err.Error(), "range") {
			return nil, r.fail("invalid number %.40q", v.text)
		}
		return v, nil
	}
	for i, word := range [...]string{"null", "false", "true"} {
		if strings.HasPrefix(r.src[r.at:], word) {
			r.at += len(word)
			if i > 0 {
				v.kind, v.truth = jsonBool, i == 2
			}
			return v, nil
		}
	}
	return nil, r.fail("expected a value, found %q", r.src[r.at])
}

// compound reads an array or an object.
func (r *jsonReader) compound(v *jsonValue, object bool) error {
	end := byte(']')
	if v.kind = jsonArray; object {
		v.kind, end = jsonObject, '}'
	}
	r.at++
	for first := true; ; first = false {
		if r.blanks(false); r.at < len(r.src) && r.src[r.at] == end && first {
			r.at++
			return nil
		}
		if object {
			if r.at >= len(r.src) || r.src[r.at] != '"' {
				return r.fail("expected a member name")
			}
			name, err := r.text()
			if err != nil {
				return err
			}
			if r.blanks(false); r.at >= len(r.src) || r.src[r.at] != ':' {
				return r.fail("expected ':' after %.40q", name)
			}
			r.at++
			v.names = append(v.names, name)
		}
		item, err := r.value()
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
		switch r.blanks(false); {
		case r.at < len(r.src) && r.src[r.at] == ',':
			r.at++
		case r.at < len(r.src) && r.src[r.at] == end:
			r.at++
			return nil
		default:
			return r.fail("expected ',' or %q", end)
		}
	}
}

func (r *jsonReader) text() (string, error) {
	r.at++
	start := r.at
	for r.at < len(r.src) && r.src[r.at] != '"' {
		if c := r.src[r.at]; c < ' ' {
			return "", r.fail("unterminated string")
		} else if c == '\\' {
			r.at++
		}
		r.at++
	}
	if r.at = min(r.at, len(r.src)); r.at == len(r.src) {
		return "", r.fail("unterminated string")
	}
	raw := r.src[start:r.at]
	r.at++
	if !strings.Contains(raw, `\`) {
		return raw, nil
	}
	return r.unescaped(raw)
}

func (r *jsonReader) unescaped(raw string) (string, error) {
	const letters, meant = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	r.allocated += len(raw)
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		i++
		if k := strings.IndexByte(letters, raw[i]); k >= 0 {
			out = append(out, meant[k])
			continue
		}
		c, ok := hexRune(raw[i:])
		if !ok {
			return "", r.fail("invalid escape sequence in a string")
		}
		i += 4
		if utf16.IsSurrogate(c) {
			if low, ok := hexRune(strings.TrimPrefix(raw[i+1:], `\`)); ok && utf16.DecodeRune(c, low) != utf8.RuneError {
				c = utf16.DecodeRune(c, low)
				i += 6
			}
		}
		out = utf8.AppendRune(out, c)
	}
	return string(out), nil
}

// hexRune reads u0041.
func hexRune(s string) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[1:5], 16, 32)
	return rune(n), err == nil
}
