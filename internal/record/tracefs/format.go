package tracefs

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
)

// An event's format file:
//
//	name: net_dev_queue
//	ID: 2304
//	format:
//		field:unsigned short common_type;	offset:0;	size:2;	signed:0;
//		...
//		field:__data_loc char[] name;	offset:20;	size:4;	signed:0;
//
//	print fmt: ...
//
// header_page has the lines of the fields alone.
type format struct {
	name   string
	id     int
	fields []field
}

// field is a place in a record.
type field struct {
	name   string
	offset int
	size   int
	signed bool
	where  where
	count  int // elements of an array; 0 for what is none
}

// where says how a field's value is found.
type where uint8

const (
	here     where = iota
	located        // __data_loc: 16 bits of the offset, 16 bits of the length
	relative       // __rel_loc: the same, the offset from the field's end
)

// longestRecord bounds offsets and sizes: a record lies in one page of the ring, and places have 16 bits.
const longestRecord = 1 << 16

// parseFormat reads an event's format file, or header_page.
func parseFormat(text string) (*format, error) {
	f := &format{id: -1}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20) // some events print long tables of names
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		key, rest, _ := strings.Cut(line, ":")
		rest = strings.TrimSpace(rest)
		var err error
		switch key {
		case "name":
			f.name = rest
		case "ID":
			if f.id, err = strconv.Atoi(rest); err != nil || f.id < 0 || f.id > longestRecord {
				err = fmt.Errorf("%q is no number of an event", rest)
			}
		case "field":
			var one field
			if one, err = parseField(rest); err == nil {
				f.fields = append(f.fields, one)
			}
		case "print fmt":
			return f, nil
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return f, lines.Err()
}

// parseField reads "TYPE NAME[COUNT]; offset:N; size:N; signed:N;".
func parseField(s string) (field, error) {
	var f field
	declaration, rest, _ := strings.Cut(s, ";")
	has := 0
	for part := range strings.SplitSeq(rest, ";") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok {
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > longestRecord {
			return f, fmt.Errorf("field %q: %s of %q", declaration, key, value)
		}
		switch key {
		case "offset":
			f.offset = n
			has |= 1
		case "size":
			f.size = n
			has |= 2
		case "signed":
			f.signed = n != 0
		}
	}
	if has != 3 || f.offset+f.size > longestRecord {
		return f, fmt.Errorf("field %q has no place in a record", declaration)
	}
	declaration = strings.TrimSpace(declaration)
	switch {
	case strings.HasPrefix(declaration, "__data_loc "):
		f.where = located
	case strings.HasPrefix(declaration, "__rel_loc "):
		f.where = relative
	}
	if f.where != here && f.size != 4 {
		return f, fmt.Errorf("field %q: a place of %d bytes", declaration, f.size)
	}
	at := strings.LastIndexAny(declaration, " *") // "[]" of what is located stands before the name
	f.name = declaration[at+1:]
	if name, dimension, ok := strings.Cut(f.name, "["); ok {
		f.name = name
		count, err := strconv.Atoi(strings.TrimSuffix(dimension, "]"))
		if err != nil || count <= 0 || f.size%count != 0 {
			count = f.size // a dimension by a constant's name: only texts are so
		}
		f.count = count
	}
	if f.name == "" {
		return f, fmt.Errorf("field %q has no name", declaration)
	}
	return f, nil
}

// field returns a field by its name.
func (f *format) field(name string) (field, bool) {
	for i := range f.fields {
		if f.fields[i].name == name {
			return f.fields[i], true
		}
	}
	return field{}, false
}

// isNumber says whether the field is one that [field.number] reads.
func (f *field) isNumber() bool {
	return f.where == here && f.count == 0 && (f.size == 1 || f.size == 2 || f.size == 4 || f.size == 8)
}

// number reads a number, widened to 64 bits. The record holds the field.
func (f *field) number(r []byte) uint64 { return widen(r[f.offset:f.offset+f.size], f.signed) }

// element reads one of an array's numbers.
func (f *field) element(r []byte, i int) uint64 {
	size := f.size / f.count
	return widen(r[f.offset+i*size:][:size], f.signed)
}

// text reads a text up to its NUL. Ok is false if it is said to lie where the record is not.
func (f *field) text(r []byte) (text []byte, ok bool) {
	if f.where == here {
		return untilNUL(r[f.offset : f.offset+f.size]), true
	}
	place := le32(r[f.offset:])
	at, size := int(place&0xffff), int(place>>16)
	if f.where == relative {
		at += f.offset + f.size
	}
	if at+size > len(r) {
		return nil, false
	}
	return untilNUL(r[at : at+size]), true
}
