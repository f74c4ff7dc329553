package ctf

import (
	"encoding/binary"
	"math"
	"unicode/utf16"
	"unicode/utf8"

	"meridian/trace"
)

// maxValues limits the values of one event: a sequence of bits would take 512 times the memory of its packet.
const maxValues = 1 << 17

// eventDecoder decodes fields that a program has skipped before, so that they lie within the packet. Its memory is
// reused for the next event.
type eventDecoder struct {
	packetState
	spare []trace.Value // free room for items
	arena []trace.Value // where spare was cut from
	used  int           // values of this event
	cut   int64         // array elements dropped so far
	text  []byte        // text that had to be made
}

// outOfRoom is a position behind every packet, where a field ends that was not decoded for lack of room.
const outOfRoom = maxPacketBits

// reset gives up the values of the event before.
func (d *eventDecoder) reset() {
	if d.used > len(d.arena) {
		d.arena = make([]trace.Value, min(2*d.used, maxValues))
	}
	d.spare, d.used, d.text = d.arena, 0, d.text[:0]
}

// take returns room for n values, fewer if the event has too many.
func (d *eventDecoder) take(n uint64) []trace.Value {
	if room := uint64(maxValues - d.used); n > room {
		n = room
	}
	d.used += int(n)
	if n > uint64(len(d.spare)) {
		// Items cut from the old arena keep it alive.
		d.spare = make([]trace.Value, max(n, 64))
	}
	v := d.spare[:n:n]
	d.spare = d.spare[n:]
	return v
}

// fields decodes fields that follow each other.
func (d *eventDecoder) fields(makers []fieldDecoder, values []trace.Value, pos uint64) uint64 {
	data := d.data
	values = values[:len(makers)]
	for i := range makers {
		n, v := &makers[i], &values[i]
		if pos > d.end { // behind something that had no room
			*v = trace.Value{}
			continue
		}
		switch n.kind {
		case decodeUint:
			pos = (pos + n.mask) &^ n.mask
			var x uint64
			if i := pos >> 3; n.plain && pos&7 == 0 && i+8 <= uint64(len(data)) {
				x = binary.LittleEndian.Uint64(data[i:]) & n.valueMask
			} else {
				x = loadBits(data, pos, n.width, n.big)
			}
			*v = trace.Value{Kind: trace.Uint, Bits: x}
			if n.slot >= 0 {
				d.slots[n.slot] = x
			}
			pos += uint64(n.width)
		case decodeInt:
			pos = (pos + n.mask) &^ n.mask
			var x uint64
			if i := pos >> 3; n.plain && pos&7 == 0 && i+8 <= uint64(len(data)) {
				x = signExtend(binary.LittleEndian.Uint64(data[i:]), n.width)
			} else {
				x = signExtend(loadBits(data, pos, n.width, n.big), n.width)
			}
			*v = trace.Value{Kind: trace.Int, Bits: x}
			if n.slot >= 0 {
				d.slots[n.slot] = x
			}
			pos += uint64(n.width)
		case decodeFloat64:
			pos = (pos + n.mask) &^ n.mask
			*v = trace.Value{Kind: trace.Float, Bits: loadBits(d.data, pos, 64, n.big)}
			pos += 64
		default:
			pos = d.value(n, v, pos)
		}
	}
	return pos
}

// value decodes one field.
func (d *eventDecoder) value(n *fieldDecoder, v *trace.Value, pos uint64) uint64 {
	pos = (pos + n.mask) &^ n.mask
	if pos > d.end {
		*v = trace.Value{}
		return pos
	}
	switch n.kind {
	case decodeUint, decodeInt, decodeReversed, decodeBool:
		load := loadBits
		if n.t.Reversed {
			load = loadReversed
		}
		x := load(d.data, pos, n.width, n.big)
		if n.valueKind == trace.Int {
			x = signExtend(x, n.width)
		}
		*v = trace.Value{Kind: n.valueKind, Bits: x}
		d.remember(n, x)
		if n.kind == decodeBool {
			*v = trace.OfBool(x != 0)
		}
		return pos + uint64(n.width)
	case decodeVarInt:
		x, end, ok := loadVar(d.data[:d.end>>3], pos>>3, n.signed)
		if !ok {
			*v = trace.Value{}
			return d.end
		}
		*v = trace.Value{Kind: n.valueKind, Bits: x}
		d.remember(n, x)
		return end << 3
	case decodeFloat64:
		*v = trace.Value{Kind: trace.Float, Bits: loadBits(d.data, pos, 64, n.big)}
		return pos + 64
	case decodeFloat32:
		f := math.Float32frombits(uint32(loadBits(d.data, pos, 32, n.big)))
		*v = trace.Value{Kind: trace.Float, Bits: math.Float64bits(float64(f))}
		return pos + 32
	case decodeFloat:
		*v = trace.OfFloat(loadFloat(d.data, pos, n.t))
		return pos + uint64(n.t.Size)
	case decodeString:
		i := pos >> 3
		end, ok := textEnd(d.data, i, d.end>>3, uint64(n.codeUnit))
		if !ok {
			*v = trace.Value{}
			return d.end
		}
		*v = trace.Value{Kind: trace.Text, Data: d.characters(d.data[i:end], n.t.Encoding)}
		return (end + uint64(n.codeUnit)) << 3
	case decodeText, decodeBytes:
		i, length := pos>>3, n.count
		if n.from >= 0 {
			length = d.slots[n.from]
		}
		length = min(length, d.end>>3-i)
		raw := d.data[i : i+length : i+length]
		*v = trace.Value{Kind: trace.Bytes, Data: raw}
		if n.kind == decodeText {
			if end, ok := textEnd(raw, 0, length, uint64(n.codeUnit)); ok {
				raw = raw[:end]
			}
			*v = trace.Value{Kind: trace.Text, Data: raw}
			if n.codeUnit > 1 {
				v.Data = d.characters(raw, n.t.Encoding)
			}
		}
		return (i + length) << 3
	case decodeStruct:
		items := d.take(uint64(len(n.fields)))
		*v = trace.Value{Kind: trace.Struct, Items: items}
		if len(items) < len(n.fields) {
			d.cut++
			*v = trace.Value{}
			return outOfRoom
		}
		return d.fields(n.fields, items, pos)
	case decodeArray:
		return d.array(n, v, pos)
	case decodeVariant:
		k := selectOption(n.t.Select, d.slots[n.from], n.t.TagSigned)
		items := d.take(1)
		if k < 0 || k >= len(n.fields) || len(items) == 0 {
			*v = trace.Value{}
			return pos
		}
		*v = trace.Value{Kind: trace.Variant, Bits: uint64(k), Items: items}
		return d.fields(n.fields[k:k+1], items, pos)
	case decodeOptional:
		*v = trace.Value{}
		if selectOption(n.t.Select, d.slots[n.from], n.t.TagSigned) == 0 {
			return d.value(&n.elem[0], v, pos)
		}
		return pos
	}
	*v = trace.Value{}
	return pos
}

func (d *eventDecoder) remember(n *fieldDecoder, x uint64) {
	if n.slot >= 0 {
		d.slots[n.slot] = x
	}
}

// array decodes the elements of an array, as many as there is room for.
func (d *eventDecoder) array(n *fieldDecoder, v *trace.Value, pos uint64) uint64 {
	count := n.count
	if n.from >= 0 {
		count = d.slots[n.from]
	}
	if n.zeroSize {
		shown := min(count, uint64(max(d.zeroSizeLeft, 0)))
		d.zeroSizeLeft -= int64(shown)
		*v = trace.Value{Kind: trace.Array, Items: d.take(shown)}
		for i := range v.Items {
			d.fields(n.elem, v.Items[i:i+1], pos)
		}
		return pos
	}
	items := d.take(count)
	*v = trace.Value{Kind: trace.Array, Items: items}
	start := pos
	if e := &n.elem[0]; len(items) > 0 && e.kind == decodeUint && e.plain && e.slot < 0 && e.mask < 8 && e.width&7 == 0 && pos&7 == 0 {
		step := uint64(e.width) >> 3
		if i, last := pos>>3, pos>>3+step*uint64(len(items)-1); last+8 <= uint64(len(d.data)) && (last+step)<<3 <= d.end {
			for k := range items {
				items[k] = trace.Value{Kind: trace.Uint, Bits: binary.LittleEndian.Uint64(d.data[i:]) & e.valueMask}
				i += step
			}
			if pos = i << 3; uint64(len(items)) == count {
				return pos
			}
			pos = start
		}
	}
	for i := range items {
		pos = d.fields(n.elem, items[i:i+1], pos)
	}
	if uint64(len(items)) == count && pos <= d.end {
		return pos
	}
	d.cut += int64(min(count-uint64(len(items)), math.MaxInt32))
	if n.from >= 0 {
		d.slots[n.from] = count // an element may have been what others refer to
	}
	end, ok := d.run(n.skip, start)
	if !ok {
		return d.end
	}
	return end
}

// characters returns text as UTF-8.
func (d *eventDecoder) characters(raw []byte, e Encoding) []byte {
	if e.codeUnit() == 1 {
		return raw
	}
	start := len(d.text)
	var order binary.ByteOrder = binary.LittleEndian
	if e == UTF16BE || e == UTF32BE {
		order = binary.BigEndian
	}
	if e.codeUnit() == 4 {
		for ; len(raw) >= 4; raw = raw[4:] {
			d.text = utf8.AppendRune(d.text, rune(order.Uint32(raw)&math.MaxInt32))
		}
		return d.text[start:len(d.text):len(d.text)]
	}
	for ; len(raw) >= 2; raw = raw[2:] {
		r := rune(order.Uint16(raw))
		if utf16.IsSurrogate(r) && len(raw) >= 4 {
			if both := utf16.DecodeRune(r, rune(order.Uint16(raw[2:]))); both != utf8.RuneError {
				r, raw = both, raw[2:]
			}
		}
		d.text = utf8.AppendRune(d.text, r)
	}
	return d.text[start:len(d.text):len(d.text)]
}
