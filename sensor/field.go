package sensor

import (
	"reflect"
	"strings"
	"unsafe"

	"meridian/sensor/tsdl"
)

// Field is what an event's field may be: any integer, floating-point number, bool, string or bytes, or a type made of one.
// A time.Duration is its nanoseconds; a time.Time is given as its UnixNano.
type Field interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr |
		~float32 | ~float64 | ~bool | ~string | ~[]byte
}

// The code of a generic event must not look its types up while the program runs. It need not: Go compiles it once for each
// underlying type, and there the size of a value is a constant, so that only one branch of the functions below remains and a
// number is a single store. On machines of 64 bits only a string has 16 bytes and only a slice 24 (field_64.go; the
// others ask, field_32.go). All are inlined: what they cost the inliner is counted before the branches are cut.

// put writes a number at p, where there is room for it, and returns where the next one goes.
func put[T Field](p unsafe.Pointer, v T) unsafe.Pointer {
	*(*T)(p) = v
	return unsafe.Add(p, unsafe.Sizeof(v))
}

// putLong is put for text and bytes.
func putLong[T Field](p unsafe.Pointer, v T) unsafe.Pointer {
	if isText(v) {
		s := *(*string)(unsafe.Pointer(&v))
		copy(unsafe.Slice((*byte)(p), len(s)), s)
		p = unsafe.Add(p, len(s))
		*(*byte)(p) = 0
		return unsafe.Add(p, 1)
	}
	b := *(*[]byte)(unsafe.Pointer(&v))
	*(*uint32)(p) = uint32(len(b))
	p = unsafe.Add(p, 4)
	copy(unsafe.Slice((*byte)(p), len(b)), b)
	return unsafe.Add(p, len(b))
}

// MaxText is how many bytes of a string or of bytes an event keeps. What is longer is cut; a string that was cut ends
// with "…". Each cut is counted by the counter meridian:cut.
const MaxText = 4096

// fit returns text as an event can keep it: CTF's strings end at the first NUL, and nothing is longer than MaxText.
func fit[T Field](v T) T {
	if isText(v) {
		s := *(*string)(unsafe.Pointer(&v))
		if len(s) > MaxText || strings.IndexByte(s, 0) >= 0 {
			s = refit(s)
			return *(*T)(unsafe.Pointer(&s))
		}
	}
	if isBytes(v) {
		b := *(*[]byte)(unsafe.Pointer(&v))
		if len(b) > MaxText {
			cut.Add(1)
			b = b[:MaxText]
			return *(*T)(unsafe.Pointer(&b))
		}
	}
	return v
}

// cut counts strings and bytes that were longer than an event keeps.
var cut = NewCounter("meridian", "cut")

// refit is for the few strings that are not as they should be: a NUL becomes the picture that Unicode has of it.
func refit(s string) string {
	s = strings.ReplaceAll(s, "\x00", "␀")
	if len(s) <= MaxText {
		return s
	}
	cut.Add(1)
	end := MaxText - len("…")
	for end > MaxText-8 && s[end]&0xc0 == 0x80 { // not within a letter
		end--
	}
	return s[:end] + "…"
}

// member is one field as it is declared.
type member struct {
	name string
	kind reflect.Kind
}

func memberOf[T Field](name string) member { return member{name, reflect.TypeFor[T]().Kind()} }

// Kinds of fields that are none of Go's: the enumeration of roles, and a histogram's sequence of buckets.
const (
	roleKind    = reflect.Invalid
	bucketsKind = reflect.UnsafePointer
)

// declaration returns the members of a structure in TSDL, each of whole bytes and without padding. Other writers of rings, as
// meridian.h, declare theirs in the same words.
func declaration(members []member) string {
	var fields []tsdl.Field
	taken := tsdl.Names{}
	for _, m := range members {
		name := tsdl.FieldName(m.name, taken)
		switch m.kind {
		case bucketsKind, reflect.Slice:
			length := tsdl.FieldName(name+"_length", taken)
			fields = append(fields, integer(32, false).Named(length))
			name += "[" + length + "]"
		}
		fields = append(fields, typeOf(m.kind).Named(name))
	}
	return tsdl.Members(fields...)
}

// typeOf returns the type of a field, or of its elements where it is a sequence.
func typeOf(k reflect.Kind) tsdl.Type {
	switch k {
	case roleKind:
		return tsdl.Enum(integer(8, false), false, tsdl.Labels("none", "sends", "receives", "enters", "leaves")...)
	case bucketsKind:
		pair := tsdl.Members(integer(64, true).Named("_low"), integer(64, true).Named("_count"))
		return tsdl.Inline(" " + pair + " ").Aligned(8)
	case reflect.String:
		return tsdl.String
	case reflect.Slice:
		return tsdl.Integer{Size: 8, Align: 8, Base: 16}.Type()
	case reflect.Bool:
		return tsdl.Enum(integer(8, false), false, tsdl.Labels("false", "true")...)
	case reflect.Float32:
		return tsdl.Float{Exponent: 8, Mantissa: 24, Align: 8}.Type()
	case reflect.Float64:
		return tsdl.Float{Exponent: 11, Mantissa: 53, Align: 8}.Type()
	}
	return integer(integerOf(k))
}

func integer(bits int, signed bool) tsdl.Type {
	return tsdl.Integer{Size: bits, Align: 8, Signed: signed}.Type()
}

func integerOf(k reflect.Kind) (bits int, signed bool) {
	switch k {
	case reflect.Int8, reflect.Uint8:
		bits = 8
	case reflect.Int16, reflect.Uint16:
		bits = 16
	case reflect.Int32, reflect.Uint32:
		bits = 32
	case reflect.Int64, reflect.Uint64:
		bits = 64
	default:
		bits = 8 * int(unsafe.Sizeof(0))
	}
	return bits, k >= reflect.Int && k <= reflect.Int64
}
