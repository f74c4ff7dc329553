package ctf

import (
	"bytes"
	"encoding/binary"
	"math"

	"meridian/trace"
)

// encoder writes values by their types into one packet. A value that does not fit its type is converted as near as possible and
// counted, never rejected: a recorder must not stop for one odd value.
type encoder struct {
	bitWriter
	slots   []uint64
	misfits uint64 // values that are not what their types say
	nuls    uint64 // NULs in texts, which end at one: each was replaced
	scratch []byte
}

var absentValue trace.Value // a value that is absent

// valueAt returns a value, an absent one beyond the end.
func valueAt(values []trace.Value, i int) *trace.Value {
	if i < len(values) {
		return &values[i]
	}
	return &absentValue
}

func (e *encoder) store(slot int, v uint64) {
	if slot < 0 {
		return
	}
	for slot >= len(e.slots) {
		e.slots = append(e.slots, 0)
	}
	e.slots[slot] = v
}

func (e *encoder) load(slot int) uint64 {
	if slot < 0 || slot >= len(e.slots) {
		return 0
	}
	return e.slots[slot]
}

// structure writes the fields of n: values has one for each, or for each that is not implied.
func (e *encoder) structure(n *encodeNode, values []trace.Value) {
	if e.at&(n.align-1) != 0 {
		e.bitWriter.align(n.align)
	}
	whole := len(values) == len(n.fields)
	next := 0
	for i := range n.fields {
		f := &n.fields[i]
		if f.implied && !whole {
			e.integer(f, n.implication(f, values))
			continue
		}
		v := valueAt(values, next)
		next++
		// The common case at once: a little-endian integer of whole bytes, of the right kind.
		if f.plain && e.at&7 == 0 && (v.Kind == trace.Uint && v.Bits <= f.capacity || v.Kind == trace.Int && f.fitsSigned(v.Bits)) {
			p := e.at >> 3
			if p+9 > len(e.b) {
				e.room(0)
			}
			binary.LittleEndian.PutUint64(e.b[p:], v.Bits)
			e.at += f.size
			continue
		}
		e.value(f, v)
	}
	if next < len(values) {
		e.misfits++
	}
}

// fitsSigned reports whether the integer can hold the signed number.
func (n *encodeNode) fitsSigned(v uint64) bool {
	if !n.signed {
		return v <= n.capacity && v <= math.MaxInt64
	}
	shift := 64 - n.size
	return int64(v)<<shift>>shift == int64(v)
}

func (e *encoder) value(n *encodeNode, v *trace.Value) {
	switch n.kind {
	case Integer:
		bits := uint64(0)
		fits := false
		switch v.Kind {
		case trace.Uint, trace.Bool:
			bits, fits = v.Bits, v.Bits <= n.capacity
		case trace.Int:
			bits, fits = v.Bits, n.fitsSigned(v.Bits)
		case trace.Float:
			bits = uint64(int64(v.Float()))
		}
		if !fits {
			e.misfits++
		}
		e.integer(n, bits)
	case Float:
		e.float(n, v)
	case CString:
		e.align(8)
		e.text(v)
	case Struct:
		if n.wrap {
			one := [1]trace.Value{*v}
			e.structure(n, one[:])
			return
		}
		if v.Kind != trace.Struct && (v.Kind != trace.None || len(n.fields) > 0) {
			e.misfits++
		}
		e.structure(n, v.Items)
	case FixedArray:
		e.array(n, v, n.length)
	case Sequence:
		count := e.load(n.fromSlot)
		if have := uint64(max(len(v.Items), len(v.Data))); count > have+1<<20 {
			count = have // a length that stands elsewhere and has nothing to do with the values
		}
		e.array(n, v, int(count))
	case Variant:
		e.variant(n, v)
	case Optional:
		there := containsValue(n.selectors[0], e.load(n.fromSlot), n.tagSigned)
		if there != (v.Kind != trace.None) {
			e.misfits++
		}
		if there {
			e.value(n.elem, v)
		}
	}
}

func (e *encoder) integer(n *encodeNode, bits uint64) {
	e.align(n.align)
	e.put(bits, n.size, n.big)
	if n.slot >= 0 {
		// Others see the value as it was written.
		bits &= topOf(n.size)
		if n.signed {
			bits = uint64(int64(bits) << (64 - n.size) >> (64 - n.size))
		}
		e.store(n.slot, bits)
	}
}

func (e *encoder) float(n *encodeNode, v *trace.Value) {
	f, ok := v.Number()
	if !ok {
		e.misfits++
	}
	e.align(n.align)
	if n.size == 64 {
		e.put(math.Float64bits(f), 64, n.big)
		return
	}
	e.put(uint64(math.Float32bits(float32(f))), 32, n.big)
}

// raw returns the bytes of a text, or of any other value as people read it.
func (e *encoder) raw(v *trace.Value) []byte {
	if v.Kind == trace.Text || v.Kind == trace.Bytes {
		return v.Data
	}
	e.misfits++
	e.scratch = v.Append(e.scratch[:0], &trace.Type{})
	return e.scratch
}

// text writes bytes and a NUL. A NUL inside them is replaced by U+2400.
func (e *encoder) text(v *trace.Value) {
	data := e.raw(v)
	for {
		i := bytes.IndexByte(data, 0)
		if i < 0 {
			break
		}
		e.nuls++
		e.bytes(data[:i])
		e.bytes([]byte("␀"))
		data = data[i+1:]
	}
	e.bytes(data)
	e.put(0, 8, false)
}

func (e *encoder) array(n *encodeNode, v *trace.Value, count int) {
	e.align(n.align)
	if n.octets && (v.Kind == trace.Text || v.Kind == trace.Bytes) && e.at&7 == 0 {
		data := v.Data
		if len(data) != count && (len(data) > count || !n.text) {
			e.misfits++ // a text that is short is only padded
		}
		data = data[:min(len(data), count)]
		e.bytes(data)
		e.zeros(count - len(data))
		return
	}
	if v.Kind != trace.Array && (v.Kind != trace.None || count > 0) || len(v.Items) != count {
		e.misfits++
	}
	for i := range count {
		if i < len(v.Items) {
			e.value(n.elem, &v.Items[i])
		} else {
			e.value(n.elem, &absentValue)
		}
	}
}

func (e *encoder) zeros(n int) {
	e.room(n)
	clear(e.b[e.at>>3 : e.at>>3+n])
	e.at += 8 * n
}

func (e *encoder) variant(n *encodeNode, v *trace.Value) {
	option := selectOption(n.selectors, e.load(n.fromSlot), n.tagSigned)
	if option < 0 {
		e.misfits++
		return
	}
	if v.Kind != trace.Variant || v.Bits != uint64(option) || len(v.Items) != 1 {
		e.misfits++
		e.value(&n.fields[option], &absentValue)
		return
	}
	e.value(&n.fields[option], &v.Items[0])
}
