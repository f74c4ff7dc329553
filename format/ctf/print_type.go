package ctf

import (
	"fmt"
	"slices"
	"strings"
)

func (p *printer) indent(depth int) {
	for range depth {
		p.b = append(p.b, '\t')
	}
}

// structure prints struct { ... }, its fields one level deeper than depth.
func (p *printer) structure(t *Type, depth int) {
	names := p.fieldNames(t)
	p.add("struct {\n")
	p.frames = append(p.frames, printedFrame{t: t})
	natural := 1
	for i := range t.Fields {
		p.frames[len(p.frames)-1].before = i
		p.within(t.Fields[i].Name, func() { p.field(t.Fields[i].Type, names[i], depth+1) })
		natural = max(natural, alignment(t.Fields[i].Type, 0))
	}
	p.frames = p.frames[:len(p.frames)-1]
	p.indent(depth)
	p.add("}")
	if t.Align > natural {
		p.add(" align(%d)", t.Align)
	}
}

// alignment returns what a type is aligned to in CTF 1.8: a structure at least as its fields are, an array as its
// elements, a variant not at all.
func alignment(t *Type, depth int) int {
	if t == nil || depth > deepest {
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

// field prints a declaration, as C has it: the type of an array's elements, the name, the lengths.
func (p *printer) field(t *Type, name string, depth int) {
	p.indent(depth)
	if t == nil {
		p.fail("no type")
		return
	}
	if depth > deepest {
		p.fail("types nest deeper than %d", deepest)
		return
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
		p.fail("an array without a type of its elements")
		return
	}
	switch t.Kind {
	case Struct:
		p.structure(t, depth)
	case Variant:
		p.variant(t, depth)
	case Optional:
		p.optional(t, depth)
	default:
		p.add("%s", p.scalar(t))
	}
	p.add(" %s%s;\n", name, lengths.String())
}

// octet returns the type of one byte of a text or a blob.
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

func (p *printer) variant(t *Type, depth int) {
	if len(t.Select) != len(t.Fields) {
		p.fail("a variant whose alternatives are not all selected by something")
		return
	}
	p.add("variant <%s> {\n", p.reference(t.TagSlot))
	names := p.fieldNames(t)
	for i := range t.Fields {
		p.within(t.Fields[i].Name, func() { p.field(t.Fields[i].Type, names[i], depth+1) })
	}
	p.indent(depth)
	p.add("}")
}

// optional prints CTF 2's optional field as the variant that lies alike.
func (p *printer) optional(t *Type, depth int) {
	if len(t.Select) != 1 {
		p.fail("an optional field that nothing selects")
		return
	}
	p.add("variant <%s> {\n", p.reference(t.TagSlot))
	p.indent(depth + 1)
	p.add("struct { } _absent;\n")
	p.field(t.Elem, "_present", depth+1)
	p.indent(depth)
	p.add("}")
}

// scalar returns the name of a type without parts, declared on the way; enumerations stand for themselves.
func (p *printer) scalar(t *Type) string {
	if t.Reversed {
		p.fail("bits in reversed order need CTF 2")
	}
	switch t.Kind {
	case Integer, BitArray, Boolean:
		return p.enumeration(t, p.integer(t))
	case Float:
		return p.float(t)
	case CString:
		switch t.Encoding {
		case NoEncoding, UTF8:
			return "string"
		case ASCII:
			return "string { encoding = ASCII; }"
		}
		p.fail("text in UTF-16 or UTF-32 needs CTF 2")
	case VarInt:
		p.fail("an integer of variable length needs CTF 2")
	default:
		p.fail("a type of unknown kind %d", t.Kind)
	}
	return "string"
}

// integer returns the name of a plain integer: uint32, int64_hex, uint8_be_align1.
func (p *printer) integer(t *Type) string {
	signed, base := t.Signed, t.Base
	if t.Kind == BitArray {
		signed, base = false, 16
	}
	if t.Kind == Boolean {
		signed, base = false, 10
	}
	if t.Size < 1 || t.Size > 64 {
		p.fail("an integer of %d bits", t.Size)
		return "none"
	}
	name := "uint"
	if signed {
		name = "int"
	}
	name += fmt.Sprint(t.Size)
	text := fmt.Sprintf("size = %d; align = %d; signed = %t;", t.Size, max(t.Align, 1), signed)
	switch base {
	case 2, 8, 16:
		text += fmt.Sprintf(" base = %d;", base)
		name += map[int]string{2: "_bin", 8: "_oct", 16: "_hex"}[base]
	case 0, 10:
	default:
		p.fail("an integer of base %d", base)
	}
	switch t.Encoding {
	case NoEncoding:
	case UTF8:
		text, name = text+" encoding = UTF8;", name+"_utf8"
	case ASCII:
		text, name = text+" encoding = ASCII;", name+"_ascii"
	default:
		p.fail("text in UTF-16 or UTF-32 needs CTF 2")
	}
	text, name = p.order(t, text, name)
	if t.Align != 8 {
		name += fmt.Sprintf("_align%d", max(t.Align, 1))
	}
	clocked := t.Clock >= 0 && t.Clock < len(p.m.Clocks) && len(p.scopes) > 0 && p.scopes[len(p.scopes)-1].name != "trace.packet.header"
	if clocked {
		clock := p.clockName(t.Clock)
		text, name = text+fmt.Sprintf(" map = clock.%s.value;", clock), name+"_"+clock
	}
	return p.declare(name, "integer { "+text+" }", clocked)
}

// order adds the byte order of a type where it is not the trace's.
func (p *printer) order(t *Type, text, name string) (string, string) {
	if t.BigEndian == p.m.BigEndian {
		return text, name
	}
	word := byteOrderWord(t.BigEndian)
	return text + " byte_order = " + word + ";", name + "_" + word
}

func (p *printer) float(t *Type) string {
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
		p.fail("a floating-point number of %d bits, %d of them for the exponent and %d for the mantissa", t.Size, exponent, mantissa)
		return "none"
	}
	name := fmt.Sprintf("float%d", t.Size)
	if t.Size != 16 && t.Size != 32 && t.Size != 64 && t.Size != 128 {
		name += fmt.Sprintf("_%d_%d", exponent, mantissa)
	}
	text := fmt.Sprintf("exp_dig = %d; mant_dig = %d; align = %d;", exponent, mantissa, max(t.Align, 1))
	text, name = p.order(t, text, name)
	if t.Align != 8 {
		name += fmt.Sprintf("_align%d", max(t.Align, 1))
	}
	return p.declare(name, "floating_point { "+text+" }", false)
}

// declare gives a type a name at its first use.
func (p *printer) declare(name, text string, clocked bool) string {
	if !p.declared[name] {
		p.declared[name] = true
		line := fmt.Sprintf("typealias %s := %s;\n", text, name)
		if clocked {
			p.clocked = append(p.clocked, line...)
		} else {
			p.plain = append(p.plain, line...)
		}
	}
	return name
}

// enumeration returns enum : INTEGER { "label" = 1, ... } for an integer with labels, its own and those that variants want
// of it; the integer's name where there are none.
func (p *printer) enumeration(t *Type, integer string) string {
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
	var parts []string
	for _, l := range labels {
		// What the variant's alternative is called stands for the label of the same values and name.
		if !slices.ContainsFunc(wanted, func(o tagOption) bool { return sameLabel(l.Name, o.label) && sameRanges(l.Ranges, o.ranges) }) {
			parts = appendRanges(parts, l.Name, l.Ranges, signed)
		}
	}
	for _, o := range wanted {
		parts = appendRanges(parts, o.label, o.ranges, signed)
	}
	for _, o := range wanted {
		if o.optional && !slices.ContainsFunc(labels, func(l Label) bool { return sameLabel(l.Name, "_absent") }) {
			parts = appendRanges(parts, "_absent", otherRanges(o.ranges, t.Size, signed), signed)
		}
	}
	if len(parts) == 0 {
		return integer
	}
	return "enum : " + integer + " { " + strings.Join(parts, ", ") + " }"
}

// sameLabel says whether a label is that of an alternative, whose underscore a reader may have taken off.
func sameLabel(label, alternative string) bool {
	return label == alternative || "_"+label == alternative
}

func appendRanges(parts []string, label string, ranges []Range, signed bool) []string {
	for _, r := range ranges {
		low, high := fmt.Sprint(r.Low), fmt.Sprint(r.High)
		if !signed {
			low, high = fmt.Sprint(uint64(r.Low)), fmt.Sprint(uint64(r.High))
		}
		if low == high {
			parts = append(parts, fmt.Sprintf("%s = %s", quoted(label), low))
		} else {
			parts = append(parts, fmt.Sprintf("%s = %s ... %s", quoted(label), low, high))
		}
	}
	return parts
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
