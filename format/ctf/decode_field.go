package ctf

import (
	"math"

	"meridian/trace"
)

// decoderKind is the layout that a fieldDecoder reads.
type decoderKind uint8

const (
	decodeUint decoderKind = iota
	decodeInt
	decodeReversed // an integer in reversed bit order
	decodeBool
	decodeFloat64
	decodeFloat32
	decodeFloat // any other
	decodeVarInt
	decodeString
	decodeText  // length from count, or ref: text up to a NUL
	decodeBytes // the same: bytes
	decodeStruct
	decodeArray
	decodeVariant
	decodeOptional
)

// fieldDecoder says how to decode a field into a trace.Value.
type fieldDecoder struct {
	kind      decoderKind
	width     uint8
	big       bool
	signed    bool
	codeUnit  uint8 // bytes of a code unit of text
	slot      int32 // where others look for the value; -1
	from      int32 // where the length or the selector stands; -1
	mask      uint64
	plain     bool   // little-endian, or a byte: where it begins at a byte, it is
	valueMask uint64 // those bits of a word
	count     uint64
	valueKind trace.ValueKind // of an integer
	fields    []fieldDecoder  // Struct, Variant
	elem      []fieldDecoder  // Array, Optional: the one
	skip      []op            // Array: the program that gets over it when it is cut
	zeroSize  bool            // Array: of elements of no size, of which any number costs a packet nothing
	t         *Type
}

// decoder compiles the decoder of a type.
func (c *compiler) decoder(t *Type) fieldDecoder {
	x := c.extent(t)
	n := fieldDecoder{t: t, mask: x.align - 1, big: t.BigEndian, signed: t.Signed, width: uint8(min(t.Size, 255)),
		slot: c.slot(t.Slot), from: -1, codeUnit: t.Encoding.codeUnit(), valueKind: trace.Uint}
	if c.err != nil {
		return n
	}
	n.plain, n.valueMask = !t.BigEndian || t.Size == 8, ^uint64(0)>>(64-min(n.width, 64))
	switch t.Kind {
	case Integer, BitArray:
		n.kind = decodeUint
		if t.Signed && t.Kind == Integer {
			n.kind, n.valueKind = decodeInt, trace.Int
		}
		if t.Reversed {
			n.kind = decodeReversed
		}
	case Boolean:
		n.kind = decodeBool
	case VarInt:
		n.kind = decodeVarInt
		if t.Signed {
			n.valueKind = trace.Int
		}
	case Float:
		switch {
		case t.Size == 64 && t.Exponent <= 11 && !t.Reversed:
			n.kind = decodeFloat64
		case t.Size == 32 && (t.Exponent == 8 || t.Exponent == 0) && !t.Reversed:
			n.kind = decodeFloat32
		default:
			n.kind = decodeFloat
		}
	case CString:
		n.kind = decodeString
	case TextArray:
		n.kind, n.count = decodeText, t.Length
	case TextSeq:
		n.kind, n.from = decodeText, c.slot(t.LengthSlot)
	case BlobArray:
		n.kind, n.count = decodeBytes, t.Length
	case BlobSeq:
		n.kind, n.from = decodeBytes, c.slot(t.LengthSlot)
	case Struct:
		n.kind = decodeStruct
		n.fields = c.decoders(t)
	case FixedArray, Sequence:
		if t.Kind == FixedArray {
			n.count = t.Length
		} else {
			n.from = c.slot(t.LengthSlot)
		}
		switch {
		case isText(t):
			n.kind, n.codeUnit = decodeText, 1
		case isBytes(t):
			n.kind = decodeBytes
		default:
			n.kind, n.elem, n.skip = decodeArray, []fieldDecoder{c.decoder(t.Elem)}, c.compile(t)
			e := c.extent(t.Elem)
			n.zeroSize = e.fixed && e.size == 0
		}
	case Variant:
		n.kind, n.from, n.mask = decodeVariant, c.slot(t.TagSlot), 0
		n.fields = c.decoders(t)
	case Optional:
		n.kind, n.from, n.mask, n.elem = decodeOptional, c.slot(t.TagSlot), 0, []fieldDecoder{c.decoder(t.Elem)}
	}
	return n
}

// decoders compiles the fields of a structure or a variant; nil has none.
func (c *compiler) decoders(t *Type) []fieldDecoder {
	if t == nil {
		return nil
	}
	makers := make([]fieldDecoder, len(t.Fields))
	for i := range t.Fields {
		if t.Fields[i].Type == nil {
			c.setError(errType)
			return nil
		}
		makers[i] = c.decoder(t.Fields[i].Type)
	}
	return makers
}

// isByte reports whether a type is an integer of one byte, aligned to bytes.
func isByte(t *Type) bool {
	return t.Kind == Integer && t.Size == 8 && t.Align >= 8 && !t.Reversed && t.Slot < 0
}

// isText reports whether an array is the text that its characters make up.
func isText(t *Type) bool {
	return (t.Kind == FixedArray || t.Kind == Sequence) && isByte(t.Elem) && t.Elem.Encoding != NoEncoding &&
		len(t.Elem.Labels) == 0
}

// isBytes reports whether an array is best shown as raw bytes: unsigned ones, read in base 16.
func isBytes(t *Type) bool {
	return (t.Kind == FixedArray || t.Kind == Sequence) && isByte(t.Elem) && !t.Elem.Signed && t.Elem.Base == 16 &&
		t.Elem.Encoding == NoEncoding && len(t.Elem.Labels) == 0
}

// traceTypeOf returns the type of the values that a fieldDecoder of t returns.
func traceTypeOf(t *Type) trace.Type {
	switch t.Kind {
	case Integer, BitArray, VarInt:
		s := trace.Type{Kind: trace.Uint, Bits: t.Size, Base: t.Base, Labels: labelsOf(t)}
		if t.Signed && t.Kind != BitArray {
			s.Kind = trace.Int
		}
		if t.Kind == VarInt {
			s.Bits = 0
		}
		return s
	case Boolean:
		return trace.Type{Kind: trace.Bool}
	case Float:
		return trace.Type{Kind: trace.Float, Bits: t.Size}
	case CString, TextArray, TextSeq:
		return trace.Type{Kind: trace.Text}
	case BlobArray, BlobSeq:
		return trace.Type{Kind: trace.Bytes}
	case Struct:
		return trace.Type{Kind: trace.Struct, Fields: fieldsOf(t)}
	case Variant:
		return trace.Type{Kind: trace.Variant, Fields: fieldsOf(t)}
	case Optional:
		return traceTypeOf(t.Elem)
	case FixedArray, Sequence:
		if isText(t) {
			return trace.Type{Kind: trace.Text}
		}
		if isBytes(t) {
			return trace.Type{Kind: trace.Bytes}
		}
		elem := traceTypeOf(t.Elem)
		s := trace.Type{Kind: trace.Array, Elem: &elem}
		if t.Kind == FixedArray {
			s.Length = int(min(t.Length, math.MaxInt32))
		}
		return s
	}
	return trace.Type{}
}

func fieldsOf(t *Type) []trace.Field {
	if t == nil {
		return nil
	}
	fields := make([]trace.Field, len(t.Fields))
	for i, f := range t.Fields {
		fields[i] = trace.Field{Name: f.Name, Type: traceTypeOf(f.Type)}
	}
	return fields
}

func labelsOf(t *Type) []trace.Label {
	var labels []trace.Label
	for _, l := range t.Labels {
		for _, r := range l.Ranges {
			labels = append(labels, trace.Label{Name: l.Name, Low: r.Low, High: r.High})
		}
	}
	return labels
}
