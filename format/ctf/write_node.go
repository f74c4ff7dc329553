package ctf

import (
	"fmt"

	"meridian/trace"
)

// encodeNode is a type compiled for writing.
type encodeNode struct {
	kind        Kind
	size        int // bits
	align       int
	big         bool
	signed      bool
	role        Role
	octets      bool // an array of bytes, which may come as one text
	text        bool // and is meant as one
	plain       bool // a little-endian integer of whole bytes without a slot and with no padding before it
	slot        int  // where others look for the value, -1
	fromSlot    int  // the slot of the length or the selector
	length      int
	fields      []encodeNode
	elem        *encodeNode
	selectors   [][]Range
	tagSigned   bool
	absent      uint64 // Optional: a selector that means it is not there
	wrap        bool   // a structure around one value, which is given without it
	implied     bool   // the value is not given but follows from that of a later field of the structure:
	sourceValue int    // of this one among the values given,
	sourceField int    // which is this one among the fields,
	sourceDepth int    // inside so many arrays
	capacity    uint64 // Integer: the largest length or selector
}

// newEncodeNode compiles a type. Where is its path, for errors.
func (c *Encoder) newEncodeNode(t *Type, where string, depth int) (encodeNode, error) {
	l := encodeNode{slot: -1, fromSlot: -1, wrap: c.wraps[t]}
	if t == nil {
		return l, fmt.Errorf("%s: missing field type", where)
	}
	if depth > maxTypeDepth {
		return l, fmt.Errorf("%s: types nested deeper than %d levels", where, maxTypeDepth)
	}
	if max(t.Slot, t.LengthSlot, t.TagSlot) >= maxSlots {
		return l, fmt.Errorf("%s: invalid field reference: slot %d (0 to %d)", where, max(t.Slot, t.LengthSlot, t.TagSlot), maxSlots-1)
	}
	l.kind, l.size, l.align, l.big, l.signed = t.Kind, t.Size, max(t.Align, 1), t.BigEndian, t.Signed
	l.role, l.slot, l.tagSigned = t.Role, t.Slot, t.TagSigned
	if l.align&(l.align-1) != 0 || l.align > 1<<16 {
		return l, fmt.Errorf("%s: invalid alignment of %d bits (powers of two up to 2^16)", where, t.Align)
	}
	if t.Reversed {
		return l, fmt.Errorf("%s: cannot write reversed bit order", where)
	}
	var err error
	switch t.Kind {
	case Boolean, BitArray:
		l.kind, l.signed = Integer, false
		fallthrough
	case Integer:
		if t.Size < 1 || t.Size > 64 {
			return l, fmt.Errorf("%s: invalid integer size %d (1 to 64 bits)", where, t.Size)
		}
		l.capacity = topOf(t.Size)
		if l.signed {
			l.capacity >>= 1
		}
		l.plain = !l.big && l.size%8 == 0 && l.align <= 8 && l.slot < 0
	case Float:
		if t.Size != 32 && t.Size != 64 {
			return l, fmt.Errorf("%s: cannot write floating-point numbers of %d bits (32, 64)", where, t.Size)
		}
	case CString:
		if t.Encoding > ASCII {
			return l, fmt.Errorf("%s: cannot write strings of an encoding other than UTF-8 and ASCII", where)
		}
		l.align = 8
	case TextArray, TextSeq, BlobArray, BlobSeq:
		if t.Encoding > ASCII {
			return l, fmt.Errorf("%s: cannot write strings of an encoding other than UTF-8 and ASCII", where)
		}
		l.octets, l.text = true, t.Kind == TextArray || t.Kind == TextSeq
		l.elem = &encodeNode{kind: Integer, size: 8, align: 8, slot: -1, fromSlot: -1, capacity: 255}
		l.align = 8
		if l.kind = FixedArray; t.Kind == TextSeq || t.Kind == BlobSeq {
			l.kind = Sequence
		}
		err = l.compileLength(t, where)
	case FixedArray, Sequence:
		elem, err := c.newEncodeNode(t.Elem, where+"[]", depth+1)
		if err != nil {
			return l, err
		}
		l.elem, l.align = &elem, elem.align
		l.octets = elem.kind == Integer && elem.size == 8 && elem.align <= 8 && elem.slot < 0
		l.text = l.octets && t.Elem.Encoding != NoEncoding
		return l, l.compileLength(t, where)
	case Struct:
		err = l.compileStruct(c, t, where, depth)
	case Variant:
		err = l.compileVariant(c, t, where, depth)
	case Optional:
		err = l.compileOptional(c, t, where, depth)
	default:
		return l, fmt.Errorf("%s: cannot write types of kind %d", where, t.Kind)
	}
	return l, err
}

func (l *encodeNode) compileVariant(c *Encoder, t *Type, where string, depth int) error {
	l.align, l.fromSlot, l.selectors = 1, t.TagSlot, t.Select
	if len(t.Select) != len(t.Fields) {
		return fmt.Errorf("%s: variant whose options lack selector ranges", where)
	}
	l.fields = make([]encodeNode, len(t.Fields))
	for i, f := range t.Fields {
		var err error
		if l.fields[i], err = c.newEncodeNode(f.Type, where+"."+f.Name, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (l *encodeNode) compileOptional(c *Encoder, t *Type, where string, depth int) error {
	l.align, l.fromSlot, l.selectors = 1, t.TagSlot, t.Select
	if len(t.Select) != 1 || len(t.Select[0]) == 0 {
		return fmt.Errorf("%s: optional field without selector ranges", where)
	}
	elem, err := c.newEncodeNode(t.Elem, where, depth+1)
	if err != nil {
		return err
	}
	l.elem = &elem
	if rest := otherRanges(t.Select[0], 64, false); len(rest) > 0 {
		l.absent = uint64(rest[0].Low)
	}
	return nil
}

// maxArrayLength bounds the length of arrays that are written.
const maxArrayLength = 1 << 28

func (l *encodeNode) compileLength(t *Type, where string) error {
	if l.kind == Sequence {
		l.fromSlot = t.LengthSlot
		return nil
	}
	if t.Length > maxArrayLength {
		return fmt.Errorf("%s: array length %d exceeds %d", where, t.Length, maxArrayLength)
	}
	l.length = int(t.Length)
	return nil
}

// compileStruct compiles the fields and finds those whose values follow from others: a length that precedes its
// sequence, a selector before its variant.
func (l *encodeNode) compileStruct(c *Encoder, t *Type, where string, depth int) error {
	l.fields = make([]encodeNode, len(t.Fields))
	for i := range t.Fields {
		f, err := c.newEncodeNode(t.Fields[i].Type, where+"."+t.Fields[i].Name, depth+1)
		if err != nil {
			return err
		}
		l.fields[i] = f
		l.align = max(l.align, f.align)
	}
	for i := range l.fields {
		f := &l.fields[i]
		if f.kind != Integer || f.slot < 0 {
			continue
		}
		for j := i + 1; j < len(l.fields) && !f.implied; j++ {
			for d, x := 0, &l.fields[j]; x != nil && !f.implied; d, x = d+1, x.elem {
				if x.fromSlot == f.slot {
					f.implied, f.sourceField, f.sourceDepth = true, j, d
				}
				if x.kind != FixedArray && x.kind != Sequence {
					break
				}
			}
		}
	}
	given := make([]int, len(l.fields)) // by field: which of the values given is its
	n := 0
	for i := range l.fields {
		given[i] = n
		if !l.fields[i].implied {
			n++
		}
	}
	for i := range l.fields {
		if f := &l.fields[i]; f.implied {
			f.sourceValue = given[f.sourceField]
		}
	}
	return nil
}

// implication returns what the value of a length or selector f of l has to be for the values given.
func (l *encodeNode) implication(f *encodeNode, values []trace.Value) uint64 {
	x := &l.fields[f.sourceField]
	var v *trace.Value
	if f.sourceValue < len(values) {
		v = &values[f.sourceValue]
	}
	for range f.sourceDepth {
		x = x.elem
		if v != nil && len(v.Items) > 0 {
			v = &v.Items[0]
		} else {
			v = nil
		}
	}
	switch x.kind {
	case Sequence:
		if v == nil {
			return 0
		}
		return min(uint64(max(len(v.Items), len(v.Data))), f.capacity)
	case Variant:
		option := uint64(0)
		if v != nil && v.Kind == trace.Variant && v.Bits < uint64(len(x.selectors)) {
			option = v.Bits
		}
		if option < uint64(len(x.selectors)) && len(x.selectors[option]) > 0 {
			return uint64(x.selectors[option][0].Low)
		}
	case Optional:
		if v == nil || v.Kind == trace.None {
			return x.absent
		}
		return uint64(x.selectors[0][0].Low)
	}
	return 0
}

// widest returns how many bits of a stamp the header can hold at most: in any of its variants' alternatives.
func (l *encodeNode) widest(role Role) int {
	if l.kind == Integer && l.role == role {
		return l.size
	}
	n := 0
	for i := range l.fields {
		n = max(n, l.fields[i].widest(role))
	}
	return n
}
