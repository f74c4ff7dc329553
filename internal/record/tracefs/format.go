package tracefs

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"meridian/internal/record/kernel"
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

// field is the layout of a field in a record.
type field struct {
	name     string
	offset   int
	size     int
	signed   bool
	location location
	count    int // elements of an array, else 0
}

// location says where a field's value is.
type location uint8

const (
	direct   location = iota // in the field
	absolute                 // __data_loc: the field has 16 bits of offset and 16 bits of length
	relative                 // __rel_loc: the same, with the offset from the field's end
)

// maxRecord bounds offsets and sizes: a record lies in one page of the ring, and locations have 16 bits.
const maxRecord = 1 << 16

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
			if f.id, err = strconv.Atoi(rest); err != nil || f.id < 0 || f.id > maxRecord {
				err = fmt.Errorf("invalid event ID %q", rest)
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
		if err != nil || n < 0 || n > maxRecord {
			return f, fmt.Errorf("field %q: invalid %s %q", declaration, key, value)
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
	if has != 3 || f.offset+f.size > maxRecord {
		return f, fmt.Errorf("field %q has no offset or size in a record", declaration)
	}
	declaration = strings.TrimSpace(declaration)
	switch {
	case strings.HasPrefix(declaration, "__data_loc "):
		f.location = absolute
	case strings.HasPrefix(declaration, "__rel_loc "):
		f.location = relative
	}
	if f.location != direct && f.size != 4 {
		return f, fmt.Errorf("field %q: invalid location of %d bytes", declaration, f.size)
	}
	at := strings.LastIndexAny(declaration, " *") // "[]" of a located array precedes the name
	f.name = declaration[at+1:]
	if name, dimension, ok := strings.Cut(f.name, "["); ok {
		f.name = name
		count, err := strconv.Atoi(strings.TrimSuffix(dimension, "]"))
		if err != nil || count <= 0 || f.size%count != 0 {
			count = f.size // the dimension is a constant's name, as only strings have
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

// isNumber reports whether [field.number] can read the field.
func (f *field) isNumber() bool {
	return f.location == direct && f.count == 0 && (f.size == 1 || f.size == 2 || f.size == 4 || f.size == 8)
}

// number reads a number, widened to 64 bits. The record holds the field.
func (f *field) number(r []byte) uint64 { return widen(r[f.offset:f.offset+f.size], f.signed) }

// element reads a number of an array.
func (f *field) element(r []byte, i int) uint64 {
	size := f.size / f.count
	return widen(r[f.offset+i*size:][:size], f.signed)
}

// text reads a string up to its NUL. Ok is false if its location is outside of the record.
func (f *field) text(r []byte) (text []byte, ok bool) {
	if f.location == direct {
		return kernel.UntilNUL(r[f.offset : f.offset+f.size]), true
	}
	word := le32(r[f.offset:])
	at, size := int(word&0xffff), int(word>>16)
	if f.location == relative {
		at += f.offset + f.size
	}
	if at+size > len(r) {
		return nil, false
	}
	return kernel.UntilNUL(r[at : at+size]), true
}
