package ctf

import "meridian/trace"

// newType returns a type of which nothing is known but its kind.
func newType(kind Kind) *Type {
	return &Type{Kind: kind, Align: 1, Base: 10, Clock: -1, Slot: -1, LengthSlot: -1, TagSlot: -1}
}

func plainInteger(bits int, r Role) *Type {
	t := newType(Integer)
	t.Size, t.Align, t.Role = bits, 8, r
	return t
}

func signedInteger(bits int) *Type {
	t := plainInteger(bits, NoRole)
	t.Signed = true
	return t
}

func plainText() *Type {
	t := newType(CString)
	t.Align = 8
	return t
}

func structOfFields(fields ...Field) *Type {
	t := newType(Struct)
	t.Fields = fields
	return t
}

// enumerationOf returns the enumeration of the values below end.
func enumerationOf[T ~uint8](bits int, end T, name func(T) string) *Type {
	t := plainInteger(bits, NoRole)
	for i := range end {
		t.Labels = append(t.Labels, Label{name(i), []Range{{int64(i), int64(i)}}})
	}
	return t
}

// fieldsFor returns the fields that a field of the schema becomes: itself, after its length, its selector or its presence.
func (h *hostWriter) fieldsFor(name string, t *trace.Type, p *presence, depth int) []Field {
	if depth > maxTypeDepth {
		return []Field{{name, structOfFields()}}
	}
	if p.optional {
		present := plainInteger(8, NoRole)
		present.Labels = []Label{{"_absent", []Range{{0, 0}}}, {"_present", []Range{{1, 1}}}}
		present.Slot = h.slot()
		o := newType(Optional)
		o.TagSlot, o.Select = present.Slot, [][]Range{{{1, 1}}}
		there := *p
		there.optional = false
		o.Elem = h.typeFor(t, &there, depth+1)
		return []Field{{"_" + name + "_present", present}, {name, o}}
	}
	switch t.Kind {
	case trace.Array:
		elem := structOfFields()
		if t.Elem != nil {
			elem = h.typeFor(t.Elem, &p.parts[0], depth+1)
		}
		if t.Length > 0 {
			a := newType(FixedArray)
			a.Length, a.Elem = uint64(t.Length), elem
			return []Field{{name, a}}
		}
		return h.sequence(name, elem)
	case trace.Bytes:
		octet := plainInteger(8, NoRole)
		octet.Base = 16
		return h.sequence(name, octet)
	case trace.Variant:
		if len(t.Fields) == 0 {
			return []Field{{name, structOfFields()}}
		}
		tag := plainInteger(8, NoRole)
		if len(t.Fields) > 256 {
			tag.Size = 32
		}
		tag.Slot = h.slot()
		v := newType(Variant)
		v.TagSlot = tag.Slot
		for i := range t.Fields {
			v.Fields = append(v.Fields, Field{t.Fields[i].Name, h.typeFor(&t.Fields[i].Type, &p.parts[i], depth+1)})
			v.Select = append(v.Select, []Range{{int64(i), int64(i)}})
		}
		return []Field{{"_" + name + "_tag", tag}, {name, v}}
	case trace.Struct:
		s := structOfFields()
		for i := range t.Fields {
			s.Fields = append(s.Fields, h.fieldsFor(t.Fields[i].Name, &t.Fields[i].Type, &p.parts[i], depth+1)...)
		}
		return []Field{{name, s}}
	}
	return []Field{{name, scalarType(t)}}
}

func (h *hostWriter) sequence(name string, elem *Type) []Field {
	length := plainInteger(32, NoRole)
	length.Slot = h.slot()
	s := newType(Sequence)
	s.LengthSlot, s.Elem = length.Slot, elem
	return []Field{{"_" + name + "_length", length}, {name, s}}
}

// typeFor returns the one type that a type of the schema becomes where a second field is not possible: a
// structure of the two then, which the encoder treats as a wrapper.
func (h *hostWriter) typeFor(t *trace.Type, p *presence, depth int) *Type {
	fields := h.fieldsFor("value", t, p, depth)
	if len(fields) == 1 {
		return fields[0].Type
	}
	s := structOfFields(fields...)
	h.enc.wraps[s] = true
	return s
}

func (h *hostWriter) slot() int {
	h.slots++
	return h.slots - 1
}

// scalarType returns the type of a value without parts. An unknown kind becomes an empty structure.
func scalarType(t *trace.Type) *Type {
	switch t.Kind {
	case trace.Bool:
		b := plainInteger(8, NoRole)
		b.Labels = []Label{{"false", []Range{{0, 0}}}, {"true", []Range{{1, 1}}}}
		return b
	case trace.Int, trace.Uint:
		n := plainInteger(64, NoRole)
		if t.Bits > 0 && t.Bits < 64 {
			n.Size = t.Bits
		}
		n.Signed = t.Kind == trace.Int
		if t.Base == 2 || t.Base == 8 || t.Base == 16 {
			n.Base = t.Base
		}
		n.Labels = labelsFor(t.Labels, n.Size, n.Signed)
		return n
	case trace.Float:
		f := newType(Float)
		f.Align, f.Size = 8, 64
		if t.Bits > 0 && t.Bits <= 32 {
			f.Size = 32
		}
		return f
	case trace.Text:
		return plainText()
	}
	return structOfFields()
}

// labelsFor returns the labels of values that an integer can have.
func labelsFor(labels []trace.Label, bits int, signed bool) []Label {
	var out []Label
	top := topOf(bits)
	for _, l := range labels {
		low, high := l.Low, l.High
		if signed {
			low, high = max(low, -int64(top>>1)-1), min(high, int64(top>>1))
			if low > high {
				continue
			}
		} else {
			high = int64(min(uint64(high), top))
			if uint64(low) > uint64(high) {
				continue
			}
		}
		out = append(out, Label{l.Name, []Range{{low, high}}})
	}
	return out
}
