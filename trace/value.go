package trace

import (
	"math"
	"strconv"
)

// ValueKind is what a field holds.
type ValueKind uint8

const (
	None ValueKind = iota // absent
	Bool
	Int
	Uint
	Float
	Text    // UTF-8, though nothing from a trace is to be trusted to be
	Bytes   // raw
	Struct  // a value for each of the type's fields
	Array   // any number of values of one type
	Variant // one of the type's fields
)

// String returns the name of the kind: "int", "struct", "variant".
func (k ValueKind) String() string {
	if k <= Variant {
		return [...]string{"none", "bool", "int", "uint", "float", "text", "bytes", "struct", "array", "variant"}[k]
	}
	return "unknown"
}

// Field is a named part of a class or of a structure.
type Field struct {
	Name string
	Type Type
}

// Type is the shape of a field's values.
type Type struct {
	Kind   ValueKind
	Bits   int     // Int, Uint, Float: width; 0 stands for 64
	Base   int     // Int, Uint: how people read it: 2, 8, 10, 16; 0 stands for 10
	Labels []Label // Int, Uint: an enumeration's names
	Fields []Field // Struct: its members; Variant: its alternatives
	Elem   *Type   // Array
	Length int     // Array: how many values each has; 0 if that varies
}

// Label names the values from Low to High of an enumeration (of a Uint: their bits as int64).
type Label struct {
	Name      string
	Low, High int64
}

// Label returns the name of an enumeration's value, "" where it has none.
func (t *Type) Label(v *Value) string {
	for i := range t.Labels {
		l := &t.Labels[i]
		if t.Kind == Uint && v.Uint() >= uint64(l.Low) && v.Uint() <= uint64(l.High) ||
			t.Kind == Int && v.Int() >= l.Low && v.Int() <= l.High {
			return l.Name
		}
	}
	return ""
}

// Value is one field of one event. Data and Items belong to the maker of the value.
type Value struct {
	Bits  uint64  // Bool: 0 or 1; Int, Uint; Float: IEEE 754 bits of the float64; Variant: index of the alternative
	Data  []byte  // Text, Bytes
	Items []Value // Struct, Array: its values; Variant: the one
	Kind  ValueKind
}

// OfBool returns a Bool.
func OfBool(v bool) Value {
	if v {
		return Value{Kind: Bool, Bits: 1}
	}
	return Value{Kind: Bool}
}

// OfInt returns an Int.
func OfInt(v int64) Value { return Value{Kind: Int, Bits: uint64(v)} }

// OfUint returns a Uint.
func OfUint(v uint64) Value { return Value{Kind: Uint, Bits: v} }

// OfFloat returns a Float.
func OfFloat(v float64) Value { return Value{Kind: Float, Bits: math.Float64bits(v)} }

// OfText returns a Text.
func OfText(v string) Value { return Value{Kind: Text, Data: []byte(v)} }

// OfBytes returns Bytes that share v.
func OfBytes(v []byte) Value { return Value{Kind: Bytes, Data: v} }

// Int returns an Int; also a Uint or Bool as far as it fits.
func (v *Value) Int() int64 { return int64(v.Bits) }

// Uint returns a Uint; also an Int or Bool as far as it fits.
func (v *Value) Uint() uint64 { return v.Bits }

// Bool returns a Bool.
func (v *Value) Bool() bool { return v.Bits != 0 }

// Float returns a Float.
func (v *Value) Float() float64 { return math.Float64frombits(v.Bits) }

// Number returns any number as a float64; ok is false for any other value.
func (v *Value) Number() (n float64, ok bool) {
	switch v.Kind {
	case Bool, Uint:
		return float64(v.Bits), true
	case Int:
		return float64(int64(v.Bits)), true
	case Float:
		return v.Float(), true
	}
	return 0, false
}

// Clone returns a copy that shares nothing with v.
func (v *Value) Clone() Value {
	c := *v
	if v.Data != nil {
		c.Data = append([]byte{}, v.Data...)
	}
	if v.Items != nil {
		c.Items = make([]Value, len(v.Items))
		for i := range v.Items {
			c.Items[i] = v.Items[i].Clone()
		}
	}
	return c
}

// Append appends the value as people read it: numbers in the type's base (0x, 0b and a leading 0 marking it), an
// enumeration's label, text as it is, structures as {name: value, ...}, arrays as [value, ...], members
// of structures that are addresses as such ([Field.Address]), bytes in hexadecimal.
// The type must not be nil; a value that does not fit it is written as far as it does.
func (v *Value) Append(b []byte, t *Type) []byte {
	switch v.Kind {
	case Bool:
		return strconv.AppendBool(b, v.Bits != 0)
	case Int, Uint:
		return v.appendInteger(b, t)
	case Float:
		return strconv.AppendFloat(b, v.Float(), 'g', -1, 64)
	case Text:
		return append(b, v.Data...)
	case Bytes:
		const digits = "0123456789abcdef"
		for _, x := range v.Data {
			b = append(b, digits[x>>4], digits[x&15])
		}
		return b
	case Struct:
		b = append(b, '{')
		for i := range v.Items {
			if i > 0 {
				b = append(b, ", "...)
			}
			if i < len(t.Fields) {
				b = append(append(b, t.Fields[i].Name...), ": "...)
				b = t.Fields[i].Append(b, &v.Items[i])
			}
		}
		return append(b, '}')
	case Array:
		b = append(b, '[')
		for i := range v.Items {
			if i > 0 {
				b = append(b, ", "...)
			}
			if t.Elem != nil {
				b = v.Items[i].Append(b, t.Elem)
			}
		}
		return append(b, ']')
	case Variant:
		if v.Bits < uint64(len(t.Fields)) && len(v.Items) == 1 {
			return v.Items[0].Append(b, &t.Fields[v.Bits].Type)
		}
	}
	return b
}

func (v *Value) appendInteger(b []byte, t *Type) []byte {
	if name := t.Label(v); name != "" {
		return append(b, name...)
	}
	n := v.Bits
	if v.Kind == Int && int64(n) < 0 {
		if t.Base == 0 || t.Base == 10 {
			return strconv.AppendInt(b, int64(n), 10)
		}
		if t.Bits > 0 && t.Bits < 64 { // other bases show the bits as they stand
			n &= 1<<t.Bits - 1
		}
	}
	switch t.Base {
	case 2:
		return strconv.AppendUint(append(b, "0b"...), n, 2)
	case 8:
		return strconv.AppendUint(append(b, '0'), n, 8)
	case 16:
		return strconv.AppendUint(append(b, "0x"...), n, 16)
	}
	return strconv.AppendUint(b, n, 10)
}
