package eventbuffer

import (
	"encoding/binary"
	"math"
	"strconv"

	"meridian/trace"
)

// Fields of an item lie in the trace's bytes as
//
//	count | field  kind  payload | field  kind  payload | ...
//
// with count and field as varints, field an index into those of the class, and for payload a byte for Bool, a varint for
// Int and Uint, eight bytes for Float, a varint and as many bytes for the rest, which is kept as text.

// encode appends the pending fields, and before them those at old, and returns where they begin, plus 1.
func (b *Builder) encode(class, old int) int {
	if len(b.pending) == 0 {
		return old
	}
	t := b.t
	at, before, from := len(t.bytes), 0, 0
	if old > 0 {
		n, k := binary.Uvarint(t.bytes[old-1:])
		before, from = int(n), old-1+k
	}
	t.bytes = binary.AppendUvarint(t.bytes, uint64(before+len(b.pending)))
	written := 0
	if before > 0 {
		end := from
		for range before {
			_, _, end = t.field(end)
		}
		t.bytes = append(t.bytes, t.bytes[from:end]...)
	}
	mark := len(t.bytes)
	for i := range b.pending {
		p := &b.pending[i]
		f, ok := b.field(class, i, p.name)
		if !ok {
			b.Dropped++
			continue
		}
		widen(&t.classes[class].Fields[f].Type, &p.value)
		t.bytes = appendField(t.bytes, f, &p.value)
		written++
	}
	if dropped := len(b.pending) - written; dropped > 0 { // rare: write the count anew
		tail := append([]byte{}, t.bytes[mark:]...)
		t.bytes = t.bytes[:at]
		count := binary.AppendUvarint(nil, uint64(before+written))
		t.bytes = append(t.bytes, count...)
		if before > 0 {
			end := from
			for range before {
				_, _, end = t.field(end)
			}
			t.bytes = append(t.bytes, t.bytes[from:end]...)
		}
		t.bytes = append(t.bytes, tail...)
	}
	b.pending = b.pending[:0]
	return at + 1
}

// field returns the index of a class's field. Items of a class mostly have their fields in one order.
func (b *Builder) field(class, guess int, name []byte) (int, bool) {
	fields := b.t.classes[class].Fields
	if guess < len(fields) && fields[guess].Name == string(name) {
		return guess, true
	}
	if f, known := b.fields[class][string(name)]; known {
		return f, true
	}
	if len(fields) == maxFields {
		return 0, false
	}
	if b.fields[class] == nil {
		b.fields[class] = make(map[string]int)
	}
	b.fields[class][string(name)] = len(fields)
	b.t.classes[class].Fields = append(fields, trace.Field{Name: string(name)})
	return len(fields), true
}

// widen makes a type hold a value too: integers become floats among floats, and anything text among others.
func widen(t *trace.Type, v *trace.Value) {
	switch {
	case v.Kind == trace.None || t.Kind == v.Kind:
	case t.Kind == trace.None:
		t.Kind = v.Kind
		if t.Kind > trace.Text {
			t.Kind = trace.Text
		}
	case isNumber(t.Kind) && isNumber(v.Kind):
		t.Kind = trace.Float
	default:
		t.Kind = trace.Text
	}
}

func isNumber(k trace.ValueKind) bool {
	return k == trace.Int || k == trace.Uint || k == trace.Float
}

func appendField(b []byte, field int, v *trace.Value) []byte {
	b = binary.AppendUvarint(b, uint64(field))
	switch v.Kind {
	case trace.None:
		return append(b, byte(trace.None))
	case trace.Bool:
		return append(b, byte(trace.Bool), byte(v.Bits&1))
	case trace.Int:
		return binary.AppendVarint(append(b, byte(trace.Int)), v.Int())
	case trace.Uint:
		return binary.AppendUvarint(append(b, byte(trace.Uint)), v.Bits)
	case trace.Float:
		return binary.LittleEndian.AppendUint64(append(b, byte(trace.Float)), v.Bits)
	}
	b = binary.AppendUvarint(append(b, byte(trace.Text)), uint64(len(v.Data)))
	return append(b, v.Data...)
}

// field reads the field at an index of the trace's bytes, and returns the index behind it.
func (t *Trace) field(at int) (int, trace.Value, int) {
	f, n := binary.Uvarint(t.bytes[at:])
	at += n
	v := trace.Value{Kind: trace.ValueKind(t.bytes[at])}
	at++
	switch v.Kind {
	case trace.None:
	case trace.Bool:
		v.Bits = uint64(t.bytes[at])
		at++
	case trace.Int:
		x, n := binary.Varint(t.bytes[at:])
		v.Bits = uint64(x)
		at += n
	case trace.Uint:
		v.Bits, n = binary.Uvarint(t.bytes[at:])
		at += n
	case trace.Float:
		v.Bits = binary.LittleEndian.Uint64(t.bytes[at:])
		at += 8
	default:
		length, n := binary.Uvarint(t.bytes[at:])
		at += n
		v.Data = t.bytes[at : at+int(length) : at+int(length)]
		at += int(length)
	}
	return int(f), v, at
}

// values decodes the fields of an item into the order of its class, each as its field's type has it.
func (t *Trace) values(it *Item, out []trace.Value) []trace.Value {
	fields := t.classes[it.Class].Fields
	out = append(out[:0], make([]trace.Value, len(fields))...)
	if it.fields == 0 {
		return out
	}
	n, k := binary.Uvarint(t.bytes[it.fields-1:])
	at := it.fields - 1 + k
	for range n {
		var f int
		var v trace.Value
		f, v, at = t.field(at)
		out[f] = convert(v, fields[f].Type.Kind)
	}
	return out
}

func convert(v trace.Value, to trace.ValueKind) trace.Value {
	if v.Kind == trace.None || v.Kind == to {
		return v
	}
	if to == trace.Float {
		n, _ := v.Number()
		return trace.OfFloat(n)
	}
	switch v.Kind {
	case trace.Bool:
		return trace.OfText(strconv.FormatBool(v.Bits != 0))
	case trace.Int:
		return trace.OfText(strconv.FormatInt(v.Int(), 10))
	case trace.Uint:
		return trace.OfText(strconv.FormatUint(v.Bits, 10))
	case trace.Float:
		return trace.OfText(strconv.FormatFloat(math.Float64frombits(v.Bits), 'g', -1, 64))
	}
	return v
}
