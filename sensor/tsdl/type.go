package tsdl

import (
	"fmt"
	"strings"
)

// Type is the declaration of a type, or the name of an alias.
type Type string

// Named returns a field of the type.
func (t Type) Named(name string) Field { return Field{t, name} }

// String is the type of a text that ends at a NUL.
const String Type = "string"

// Integer describes an integer of a fixed number of bits.
type Integer struct {
	Size, Align int // bits
	Signed      bool
	Base        int    // in which readers print it: 2, 8, 16; 0 and 10 are the usual one and are not written
	Encoding    string // "UTF8" or "ASCII" where it is a character of a text; "" for none
	ByteOrder   string // "le", "be"; "" for the trace's
	Clock       string // the name of the clock whose cycles it counts; "" for none
}

// Type returns the declaration.
func (i Integer) Type() Type {
	b := fmt.Appendf(nil, "integer { size = %d; align = %d; signed = %t;", i.Size, i.Align, i.Signed)
	if i.Base != 0 && i.Base != 10 {
		b = fmt.Appendf(b, " base = %d;", i.Base)
	}
	if i.Encoding != "" {
		b = fmt.Appendf(b, " encoding = %s;", i.Encoding)
	}
	if i.ByteOrder != "" {
		b = fmt.Appendf(b, " byte_order = %s;", i.ByteOrder)
	}
	if i.Clock != "" {
		b = fmt.Appendf(b, " map = clock.%s.value;", i.Clock)
	}
	return Type(append(b, " }"...))
}

// Float describes a floating-point number. Its size is Exponent + Mantissa bits, the mantissa with the sign.
type Float struct {
	Exponent, Mantissa, Align int    // bits
	ByteOrder                 string // "le", "be"; "" for the trace's
}

// Type returns the declaration.
func (f Float) Type() Type {
	b := fmt.Appendf(nil, "floating_point { exp_dig = %d; mant_dig = %d; align = %d;", f.Exponent, f.Mantissa, f.Align)
	if f.ByteOrder != "" {
		b = fmt.Appendf(b, " byte_order = %s;", f.ByteOrder)
	}
	return Type(append(b, " }"...))
}

// Label names a range of an enumeration's values, both ends included.
type Label struct {
	Name      string
	Low, High int64
}

// Labels returns the labels of the values 0, 1, 2, ....
func Labels(names ...string) []Label {
	list := make([]Label, len(names))
	for i, name := range names {
		list[i] = Label{name, int64(i), int64(i)}
	}
	return list
}

// Enum returns an enumeration over an integer. Where that has no sign, the bits of Low and High stand for a uint64.
func Enum(integer Type, signed bool, labels ...Label) Type {
	parts := make([]string, len(labels))
	for i, l := range labels {
		low, high := fmt.Sprint(l.Low), fmt.Sprint(l.High)
		if !signed {
			low, high = fmt.Sprint(uint64(l.Low)), fmt.Sprint(uint64(l.High))
		}
		parts[i] = Quote(l.Name) + " = " + low
		if low != high {
			parts[i] += " ... " + high
		}
	}
	return Type(fmt.Sprintf("enum : %s { %s }", integer, strings.Join(parts, ", ")))
}

// Field is a member of a structure, or an alternative of a variant. Behind the name the lengths of arrays may stand, in
// brackets: numbers, or the names of fields ahead.
type Field struct {
	Type Type
	Name string
}

// Struct returns a structure with a line for each field. Its last line is depth tabs deep, the fields one more.
func Struct(depth int, fields ...Field) Type { return block("struct", depth, fields) }

// Aligned returns a structure that is aligned to bits, where its fields ask for less.
func (t Type) Aligned(bits int) Type { return Type(fmt.Sprintf("%s align(%d)", t, bits)) }

// Variant returns a variant that the enumeration of the name tag selects from, laid out as [Struct].
func Variant(tag string, depth int, fields ...Field) Type {
	return block("variant <"+tag+">", depth, fields)
}

func block(head string, depth int, fields []Field) Type {
	tabs := strings.Repeat("\t", depth)
	var b strings.Builder
	b.WriteString(head + " {\n")
	for _, f := range fields {
		fmt.Fprintf(&b, "%s\t%s %s;\n", tabs, f.Type, f.Name)
	}
	b.WriteString(tabs + "}")
	return Type(b.String())
}

// Inline returns a structure in one line around what [Members] returned.
func Inline(members string) Type { return Type("struct {" + members + "}") }

// Members returns fields in one line, as they stand between the braces of a structure.
func Members(fields ...Field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = fmt.Sprintf("%s %s;", f.Type, f.Name)
	}
	return strings.Join(parts, " ")
}

func byteOrder(big bool) string {
	if big {
		return "be"
	}
	return "le"
}
