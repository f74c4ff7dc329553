package ctf

import (
	"fmt"
	"slices"
	"strings"

	"meridian/sensor/tsdl"
)

// structure returns struct { ... }, its last line depth tabs deep.
func (p *printer) structure(t *Type, depth int) tsdl.Type {
	names := p.fieldNames(t)
	fields := make([]tsdl.Field, len(t.Fields))
	p.frames = append(p.frames, openStruct{t: t})
	natural := 1
	for i := range t.Fields {
		p.frames[len(p.frames)-1].done = i
		p.within(t.Fields[i].Name, func() { fields[i] = p.field(t.Fields[i].Type, names[i], depth+1) })
		natural = max(natural, alignment(t.Fields[i].Type, 0))
	}
	p.frames = p.frames[:len(p.frames)-1]
	s := tsdl.Struct(depth, fields...)
	if t.Align > natural {
		s = s.Aligned(t.Align)
	}
	return s
}

// alignment returns what a type is aligned to in CTF 1.8: a structure at least as its fields are, an array as its
// elements, a variant not at all.
func alignment(t *Type, depth int) int {
	if t == nil || depth > maxTypeDepth {
		return 1
	}
	switch t.Kind {
	case Struct:
		n := max(t.Align, 1)
		for i := range t.Fields {
			n = max(n, alignment(t.Fields[i].Type, depth+1))
		}
		return n
	case FixedArray, Sequence:
		return alignment(t.Elem, depth+1)
	case CString, TextArray, TextSeq, BlobArray, BlobSeq:
		return 8
	case Variant, Optional:
		return 1
	}
	return max(t.Align, 1)
}

// field returns a declaration, as C has it: the type of an array's elements, the name, the lengths.
func (p *printer) field(t *Type, name string, depth int) (f tsdl.Field) {
	if t == nil {
		p.fail("missing field type")
		return f
	}
	if depth > maxTypeDepth {
		p.fail("types nested deeper than %d levels", maxTypeDepth)
		return f
	}
	var lengths strings.Builder
	for peeling := true; peeling && t != nil; {
		switch t.Kind {
		case FixedArray:
			fmt.Fprintf(&lengths, "[%d]", t.Length)
			t = t.Elem
		case Sequence:
			fmt.Fprintf(&lengths, "[%s]", p.reference(t.LengthSlot))
			t = t.Elem
		case TextArray, BlobArray:
			fmt.Fprintf(&lengths, "[%d]", t.Length)
			t, peeling = p.octet(t), false
		case TextSeq, BlobSeq:
			fmt.Fprintf(&lengths, "[%s]", p.reference(t.LengthSlot))
			t, peeling = p.octet(t), false
		default:
			peeling = false
		}
	}
	if t == nil {
		p.fail("array without an element type")
		return f
	}
	f.Name = name + lengths.String()
	switch t.Kind {
	case Struct:
		f.Type = p.structure(t, depth)
	case Variant:
		f.Type = p.variant(t, depth)
	case Optional:
		f.Type = p.optional(t, depth)
	default:
		f.Type = p.scalar(t)
	}
	return f
}

// octet returns the type of one byte of a string or a blob.
func (p *printer) octet(t *Type) *Type {
	e := &Type{Kind: Integer, Size: 8, Align: 8, BigEndian: p.m.BigEndian, Base: 16, Clock: -1, Slot: -1, LengthSlot: -1, TagSlot: -1}
	if t.Kind == TextArray || t.Kind == TextSeq {
		e.Base, e.Encoding = 10, t.Encoding
		if e.Encoding == NoEncoding {
			e.Encoding = UTF8
		}
	}
	return e
}

func (p *printer) variant(t *Type, depth int) tsdl.Type {
	if len(t.Select) != len(t.Fields) {
		p.fail("variant with %d options and selectors for %d", len(t.Fields), len(t.Select))
		return ""
	}
	if !slices.ContainsFunc(t.Select, func(r []Range) bool { return len(r) > 0 }) {
		p.fail("variant of which no value selects an option")
	}
	tag := p.reference(t.TagSlot)
	names := p.fieldNames(t)
	options := make([]tsdl.Field, len(t.Fields))
	for i := range t.Fields {
		p.within(t.Fields[i].Name, func() { options[i] = p.field(t.Fields[i].Type, names[i], depth+1) })
	}
	return tsdl.Variant(tag, depth, options...)
}

// optional returns the variant with the same layout as CTF 2's optional field.
func (p *printer) optional(t *Type, depth int) tsdl.Type {
	if len(t.Select) != 1 {
		p.fail("optional field without selector ranges")
		return ""
	}
	tag := p.reference(t.TagSlot)
	absent := tsdl.Type("struct { }").Named("_absent")
	return tsdl.Variant(tag, depth, absent, p.field(t.Elem, "_present", depth+1))
}

// scalar returns the name of a type without parts, declared on the way; enumerations stand for themselves.
func (p *printer) scalar(t *Type) tsdl.Type {
	if t.Reversed {
		p.fail("reversed bit order needs CTF 2")
	}
	switch t.Kind {
	case Integer, BitArray, Boolean:
		return p.enumeration(t, p.integer(t))
	case Float:
		return p.float(t)
	case CString:
		switch t.Encoding {
		case NoEncoding, UTF8:
			return tsdl.String
		case ASCII:
			return "string { encoding = ASCII; }"
		}
		p.fail("UTF-16 and UTF-32 strings need CTF 2")
	case VarInt:
		p.fail("variable-length integers need CTF 2")
	default:
		p.fail("unknown kind of type %d", t.Kind)
	}
	return tsdl.String
}

// integer returns the name of a plain integer: uint32, int64_hex, uint8_be_align1.
func (p *printer) integer(t *Type) tsdl.Type {
	i := tsdl.Integer{Size: t.Size, Align: max(t.Align, 1), Signed: t.Signed, Base: t.Base, ByteOrder: p.byteOrder(t)}
	switch t.Kind {
	case BitArray:
		i.Signed, i.Base = false, 16
	case Boolean:
		i.Signed, i.Base = false, 10
	}
	if t.Size < 1 || t.Size > 64 {
		p.fail("invalid integer size %d (1 to 64 bits)", t.Size)
		return ""
	}
	name := "uint"
	if i.Signed {
		name = "int"
	}
	name += fmt.Sprint(t.Size)
	switch i.Base {
	case 2, 8, 16:
		name += map[int]string{2: "_bin", 8: "_oct", 16: "_hex"}[i.Base]
	case 0, 10:
	default:
		p.fail("invalid integer base %d (2, 8, 10, 16)", i.Base)
	}
	switch t.Encoding {
	case NoEncoding:
	case UTF8:
		i.Encoding, name = "UTF8", name+"_utf8"
	case ASCII:
		i.Encoding, name = "ASCII", name+"_ascii"
	default:
		p.fail("UTF-16 and UTF-32 strings need CTF 2")
	}
	name += layoutSuffix(t, i.ByteOrder)
	aliases := &p.plain
	if t.Clock >= 0 && t.Clock < len(p.clocks) && len(p.scopes) > 0 && p.scopes[len(p.scopes)-1].name != "trace.packet.header" {
		i.Clock = p.clocks[t.Clock]
		name, aliases = name+"_"+i.Clock, &p.clocked
	}
	return p.declare(name, i.Type(), aliases)
}

// byteOrder returns the byte order of a type where it is not the trace's.
func (p *printer) byteOrder(t *Type) string {
	switch {
	case t.BigEndian == p.m.BigEndian:
		return ""
	case t.BigEndian:
		return "be"
	}
	return "le"
}

// layoutSuffix returns the part of an alias's name that gives its byte order and alignment.
func layoutSuffix(t *Type, byteOrder string) string {
	suffix := ""
	if byteOrder != "" {
		suffix = "_" + byteOrder
	}
	if t.Align != 8 {
		suffix += fmt.Sprintf("_align%d", max(t.Align, 1))
	}
	return suffix
}

func (p *printer) float(t *Type) tsdl.Type {
	exponent, mantissa := t.Exponent, t.Mantissa
	if exponent == 0 && mantissa == 0 {
		switch t.Size {
		case 16:
			exponent, mantissa = 5, 11
		case 32:
			exponent, mantissa = 8, 24
		case 64:
			exponent, mantissa = 11, 53
		case 128:
			exponent, mantissa = 15, 113
		}
	}
	if exponent < 1 || mantissa < 1 || exponent+mantissa != t.Size {
		p.fail("invalid floating-point layout: %d bits with an exponent of %d and a mantissa of %d", t.Size, exponent, mantissa)
		return ""
	}
	name := fmt.Sprintf("float%d", t.Size)
	if t.Size != 16 && t.Size != 32 && t.Size != 64 && t.Size != 128 {
		name += fmt.Sprintf("_%d_%d", exponent, mantissa)
	}
	f := tsdl.Float{Exponent: exponent, Mantissa: mantissa, Align: max(t.Align, 1), ByteOrder: p.byteOrder(t)}
	return p.declare(name+layoutSuffix(t, f.ByteOrder), f.Type(), &p.plain)
}

// declare gives a type a name at its first use.
func (p *printer) declare(name string, t tsdl.Type, aliases *tsdl.Metadata) tsdl.Type {
	if !p.declared[tsdl.Type(name)] {
		p.declared[tsdl.Type(name)] = true
		aliases.Alias(name, t)
	}
	return tsdl.Type(name)
}

// enumeration returns enum : INTEGER { "label" = 1, ... } for an integer with labels, its own and those that variants need
// of it; the integer's name where there are none.
func (p *printer) enumeration(t *Type, integer tsdl.Type) tsdl.Type {
	labels := t.Labels
	if t.Kind == Boolean && len(labels) == 0 {
		labels = []Label{{"false", []Range{{0, 0}}}}
		if top := topOf(t.Size); top != 0 {
			labels = append(labels, Label{"true", []Range{{1, int64(top)}}})
		}
	}
	signed := t.Signed && t.Kind == Integer
	var wanted []tagOption
	if t.Slot >= 0 {
		wanted = p.tags[t.Slot]
	}
	var all []tsdl.Label
	add := func(name string, ranges []Range) {
		for _, r := range ranges {
			all = append(all, tsdl.Label{Name: name, Low: r.Low, High: r.High})
		}
	}
	for _, l := range labels {
		// The variant's name of the option replaces a label of the same values and name.
		if !slices.ContainsFunc(wanted, func(o tagOption) bool { return sameLabel(l.Name, o.label) && slices.Equal(l.Ranges, o.ranges) }) {
			add(l.Name, l.Ranges)
		}
	}
	for _, o := range wanted {
		add(o.label, o.ranges)
	}
	for _, o := range wanted {
		if o.optional && !slices.ContainsFunc(labels, func(l Label) bool { return sameLabel(l.Name, "_absent") }) {
			add("_absent", otherRanges(o.ranges, t.Size, signed))
		}
	}
	if len(all) == 0 {
		return integer
	}
	return tsdl.Enum(integer, signed, all...)
}

// sameLabel reports whether a label is the name of an option, whose underscore a reader may have removed.
func sameLabel(label, alternative string) bool {
	return label == alternative || "_"+label == alternative
}

// topOf returns the largest value of so many bits.
func topOf(bits int) uint64 { return ^uint64(0) >> (64 - min(max(bits, 1), 64)) }

// otherRanges returns the values of an integer that are in none of the ranges.
func otherRanges(ranges []Range, size int, signed bool) []Range {
	// All are moved so that the least value is 0 and the order is that of unsigned numbers.
	shift, top := uint64(0), topOf(size)
	if signed {
		shift = top/2 + 1
	}
	type span struct{ low, high uint64 }
	var spans []span
	for _, r := range ranges {
		spans = append(spans, span{uint64(r.Low) + shift, uint64(r.High) + shift})
	}
	slices.SortFunc(spans, func(a, b span) int {
		if a.low < b.low {
			return -1
		}
		return 1
	})
	var rest []Range
	next := uint64(0)
	for _, s := range spans {
		if s.low > next {
			rest = append(rest, Range{int64(next - shift), int64(s.low - 1 - shift)})
		}
		if s.high >= top {
			return rest
		}
		next = max(next, s.high+1)
	}
	return append(rest, Range{int64(next - shift), int64(top - shift)})
}
