package pull

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"meridian/clock"
)

// Members calls yield with the name and the raw value of every member of an object, in their order, until it returns
// false. It returns [ErrSyntax] where the object is none; what came before that was yielded, and
// so was an object or an array that is cut by the end: its beginning may be sound.
func Members(raw []byte, yield func(name, value []byte) bool) error {
	i, ok := open(raw, '{')
	if !ok {
		return ErrSyntax
	}
	for first := true; ; first = false {
		if i = space(raw, i); i < len(raw) && raw[i] == '}' && first {
			return nil
		}
		name := i
		if i >= len(raw) || raw[i] != '"' {
			return ErrSyntax
		}
		if i = pass(raw, i); i < 0 {
			return ErrSyntax
		}
		key := raw[name+1 : i-1]
		if i = space(raw, i); i >= len(raw) || raw[i] != ':' {
			return ErrSyntax
		}
		i = space(raw, i+1)
		value := i
		if i = pass(raw, i); i < 0 {
			if torn(raw, value) {
				yield(key, raw[value:])
			}
			return ErrSyntax
		}
		if bytes.IndexByte(key, '\\') >= 0 {
			key, _ = Text(nil, raw[name:name+len(key)+2])
		}
		if !yield(key, raw[value:i]) {
			return nil
		}
		if i = space(raw, i); i >= len(raw) || raw[i] != ',' && raw[i] != '}' {
			return ErrSyntax
		}
		if raw[i] == '}' {
			return nil
		}
		i++
	}
}

// Elements calls yield with the raw value of every element of an array, in their order, until it returns false.
func Elements(raw []byte, yield func(value []byte) bool) error {
	i, ok := open(raw, '[')
	if !ok {
		return ErrSyntax
	}
	for first := true; ; first = false {
		if i = space(raw, i); i < len(raw) && raw[i] == ']' && first {
			return nil
		}
		value := i
		if i = pass(raw, i); i < 0 {
			if torn(raw, value) {
				yield(raw[value:])
			}
			return ErrSyntax
		}
		if !yield(raw[value:i]) {
			return nil
		}
		if i = space(raw, i); i >= len(raw) || raw[i] != ',' && raw[i] != ']' {
			return ErrSyntax
		}
		if raw[i] == ']' {
			return nil
		}
		i++
	}
}

func open(raw []byte, bracket byte) (int, bool) {
	i := space(raw, 0)
	return i + 1, i < len(raw) && raw[i] == bracket
}

func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// pass returns the index behind the value that begins at i, -1 if there is none.
func pass(raw []byte, i int) int {
	var s scanner
	if i >= len(raw) || !s.begin(raw[i]) {
		return -1
	}
	n, done := s.scan(raw[i:])
	if !done && !s.scalar() {
		return -1
	}
	return i + n
}

// torn says whether an object or an array begins at i.
func torn(raw []byte, i int) bool { return i < len(raw) && (raw[i] == '{' || raw[i] == '[') }

// IsText says whether a raw value is a string.
func IsText(raw []byte) bool { return len(raw) >= 2 && raw[0] == '"' && raw[len(raw)-1] == '"' }

// IsNull says whether a raw value is null.
func IsNull(raw []byte) bool { return string(raw) == "null" }

// Text appends the characters of a raw string to dst; false if it is none. What is escaped wrongly becomes U+FFFD.
func Text(dst, raw []byte) ([]byte, bool) {
	if !IsText(raw) {
		return dst, false
	}
	raw = raw[1 : len(raw)-1]
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 >= len(raw) {
			return append(dst, raw...), true
		}
		dst = append(dst, raw[:i]...)
		c := raw[i+1]
		raw = raw[i+2:]
		switch c {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			var r rune
			r, raw = escaped(raw)
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
}

// escaped reads the digits behind a backslash and a u, and those of a second one where two make a character.
func escaped(raw []byte) (rune, []byte) {
	if len(raw) < 4 {
		return utf8.RuneError, raw
	}
	n, err := strconv.ParseUint(string(raw[:4]), 16, 16)
	if err != nil {
		return utf8.RuneError, raw
	}
	raw = raw[4:]
	if !utf16.IsSurrogate(rune(n)) {
		return rune(n), raw
	}
	if len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
		if low, err := strconv.ParseUint(string(raw[2:6]), 16, 16); err == nil {
			if r := utf16.DecodeRune(rune(n), rune(low)); r != utf8.RuneError {
				return r, raw[6:]
			}
		}
	}
	return utf8.RuneError, raw
}

// Decimal returns a raw number, or a string that holds one, times ten to the power of shift, rounded to the nearest
// integer; false for what is no number or beyond what a clock can show.
func Decimal[T clock.Time](raw []byte, shift int) (T, bool) {
	if IsText(raw) {
		raw = raw[1 : len(raw)-1]
	}
	i, negative := 0, false
	if len(raw) > 0 && (raw[0] == '-' || raw[0] == '+') {
		negative = raw[0] == '-'
		i = 1
	}
	digits := raw[i:]
	whole, seen := -1, 0 // digits before the point
	for n, c := range digits {
		if c >= '0' && c <= '9' {
			seen++
			continue
		}
		if c == '.' && whole < 0 {
			whole = seen
			continue
		}
		if c != 'e' && c != 'E' || seen == 0 {
			return 0, false
		}
		exponent, err := strconv.ParseInt(string(digits[n+1:]), 10, 32)
		if err != nil || exponent > 1<<20 || exponent < -1<<20 {
			return 0, false
		}
		shift += int(exponent)
		digits = digits[:n]
		break
	}
	if seen == 0 {
		return 0, false
	}
	if whole < 0 {
		whole = seen
	}
	whole += shift // how many digits make the integer
	v, position := uint64(0), 0
	for _, c := range digits {
		if c == '.' {
			continue
		}
		if position >= whole {
			if position == whole && c >= '5' {
				v++
			}
			break
		}
		if v > uint64(clock.Limit)/10 {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
		position++
	}
	for ; v > 0 && position < whole; position++ {
		if v > uint64(clock.Limit)/10 {
			return 0, false
		}
		v *= 10
	}
	if v >= uint64(clock.Limit) {
		return 0, false
	}
	if negative {
		return -T(v), true
	}
	return T(v), true
}

// Outline returns the paths that occur at the beginning of a JSON text, which may be cut anywhere, down to a depth:
// ".data", ".data[].spans". Only the first values of an array are looked at, and only the first 256 paths are kept.
func Outline(head []byte, depth int) map[string]bool {
	paths := make(map[string]bool)
	outline(bytes.TrimPrefix(head, []byte("\ufeff")), "", depth, paths)
	return paths
}

func outline(raw []byte, path string, depth int, paths map[string]bool) {
	i := space(raw, 0)
	if i >= len(raw) || depth == 0 || len(paths) > 256 {
		return
	}
	list := raw[i] == '['
	if !list && raw[i] != '{' {
		return
	}
	i++
	for n := 0; ; n++ {
		i = space(raw, i)
		name := path + "[]"
		if list {
			if n == 8 {
				return
			}
		} else {
			end := pass(raw, i)
			if end < 0 || raw[i] != '"' || end-i > 100 {
				return
			}
			name = path + "." + string(raw[i+1:end-1])
			if i = space(raw, end); i >= len(raw) || raw[i] != ':' {
				return
			}
			i = space(raw, i+1)
		}
		paths[name] = true
		end := pass(raw, i)
		part := raw[min(i, len(raw)):]
		if end > 0 {
			part = raw[i:end]
		}
		outline(part, name, depth-1, paths)
		if end < 0 {
			return
		}
		if i = space(raw, end); i >= len(raw) || raw[i] != ',' {
			return
		}
		i++
	}
}
