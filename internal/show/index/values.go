package index

import (
	"encoding/binary"
	"math"

	"meridian/trace"
)

// A value is a byte for its kind, and its contents. Numbers are varints, or 8 bytes where these are shorter. Text and
// bytes have their length first, structures and arrays their number of elements.
const (
	tagNone = iota
	tagFalse
	tagTrue
	tagInt
	tagUint
	tagWideInt
	tagWideUint
	tagFloat
	tagText
	tagBytes
	tagStruct
	tagArray
	tagChoice
)

const (
	longestValue = 1 << 20 // bytes of text; what is beyond is cut off
	deepestValue = 32      // structures within structures
	mostValues   = 1 << 16 // in one event, all structures and arrays included
)

// valueEncoder appends values, of one event at a time, and notes what was too much.
type valueEncoder struct {
	left int  // how many the event may still have
	cut  bool // something was left out
}

func (e *valueEncoder) append(b []byte, v *trace.Value, depth int) []byte {
	if e.left--; e.left < 0 || depth > deepestValue {
		e.cut = true
		return append(b, tagNone)
	}
	switch v.Kind {
	case trace.Bool:
		if v.Bits != 0 {
			return append(b, tagTrue)
		}
		return append(b, tagFalse)
	case trace.Int:
		if n := int64(v.Bits); n >= 1<<55 || n < -1<<55 {
			return binary.LittleEndian.AppendUint64(append(b, tagWideInt), v.Bits)
		}
		return binary.AppendVarint(append(b, tagInt), int64(v.Bits))
	case trace.Uint:
		if v.Bits >= 1<<56 {
			return binary.LittleEndian.AppendUint64(append(b, tagWideUint), v.Bits)
		}
		return binary.AppendUvarint(append(b, tagUint), v.Bits)
	case trace.Float:
		return binary.LittleEndian.AppendUint64(append(b, tagFloat), v.Bits)
	case trace.Text, trace.Bytes:
		data, tag := v.Data, byte(tagText)
		if v.Kind == trace.Bytes {
			tag = tagBytes
		}
		// Once one event has that much text, no more is taken of it.
		if n := longestValue * e.left / mostValues; len(data) > n {
			data, e.cut = data[:n], true
		}
		e.left -= len(data) * mostValues / longestValue
		return append(binary.AppendUvarint(append(b, tag), uint64(len(data))), data...)
	case trace.Struct, trace.Array:
		items, tag := v.Items, byte(tagStruct)
		if v.Kind == trace.Array {
			tag = tagArray
		}
		if len(items) > e.left {
			items, e.cut = items[:max(e.left, 0)], true
		}
		b = binary.AppendUvarint(append(b, tag), uint64(len(items)))
		for i := range items {
			b = e.append(b, &items[i], depth+1)
		}
		return b
	case trace.Variant:
		if len(v.Items) == 1 {
			return e.append(binary.AppendUvarint(append(b, tagChoice), v.Bits), &v.Items[0], depth+1)
		}
	}
	return append(b, tagNone)
}

// value decodes one value, whose text belongs to what is decoded.
func (d *decoder) value(depth int) (v trace.Value) {
	switch d.byte() {
	case tagFalse:
		v.Kind = trace.Bool
	case tagTrue:
		v.Kind, v.Bits = trace.Bool, 1
	case tagInt:
		v.Kind, v.Bits = trace.Int, uint64(d.s())
	case tagUint:
		v.Kind, v.Bits = trace.Uint, d.u()
	case tagWideInt:
		v.Kind, v.Bits = trace.Int, d.word()
	case tagWideUint:
		v.Kind, v.Bits = trace.Uint, d.word()
	case tagFloat:
		v.Kind, v.Bits = trace.Float, math.Float64bits(d.float())
	case tagText:
		v.Kind, v.Data = trace.Text, d.bytes(d.length(len(d.b)))
	case tagBytes:
		v.Kind, v.Data = trace.Bytes, d.bytes(d.length(len(d.b)))
	case tagStruct:
		v.Kind, v.Items = trace.Struct, d.values(depth)
	case tagArray:
		v.Kind, v.Items = trace.Array, d.values(depth)
	case tagChoice:
		v.Kind, v.Bits = trace.Variant, d.u()
		if depth > deepestValue {
			d.b, d.bad = nil, true
			return trace.Value{}
		}
		v.Items = []trace.Value{d.value(depth + 1)}
	}
	return v
}

// values decodes how many values there are, and them; each takes a byte at least.
func (d *decoder) values(depth int) []trace.Value {
	n := d.length(min(len(d.b), mostValues))
	if depth > deepestValue {
		d.b, d.bad = nil, true
	}
	var out []trace.Value
	for range n {
		if d.bad {
			return nil
		}
		out = append(out, d.value(depth+1))
	}
	return out
}
