package ctf

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
	"meridian/trace"
)

// reference decodes a type bit by bit, as the specification says, without programs and fast paths.
type reference struct {
	data  []byte
	pos   uint64
	slots map[int]uint64
}

// cut is what it panics with where the data end.
type cut struct{}

func (r *reference) align(n int) {
	for r.pos%uint64(n) != 0 {
		r.pos++
	}
}

func (r *reference) bits(width int, big bool) uint64 {
	if r.pos+uint64(width) > uint64(len(r.data))*8 {
		panic(cut{})
	}
	var v uint64
	for i := range uint64(width) {
		b := bit(r.data, r.pos+i, big)
		if big {
			v = v<<1 | b
		} else {
			v |= b << i
		}
	}
	r.pos += uint64(width)
	return v
}

func (r *reference) octets(n uint64) []byte {
	if n > uint64(len(r.data)) {
		panic(cut{})
	}
	var b []byte
	for range n {
		b = append(b, byte(r.bits(8, false)))
	}
	return b
}

func (r *reference) alignment(t *Type) int {
	n := max(t.Align, 1)
	switch t.Kind {
	case Struct:
		for _, f := range t.Fields {
			n = max(n, r.alignment(f.Type))
		}
	case FixedArray, Sequence:
		n = max(n, r.alignment(t.Elem))
	case CString, TextArray, TextSeq, BlobArray, BlobSeq, VarInt:
		n = max(n, 8)
	case Variant, Optional:
		n = 1
	}
	return n
}

func (r *reference) integer(t *Type) string {
	v := r.bits(t.Size, t.BigEndian)
	if t.Signed {
		v = signExtend(v, uint8(t.Size))
	}
	if t.Slot >= 0 {
		r.slots[t.Slot] = v
	}
	if t.Signed {
		return fmt.Sprint(int64(v))
	}
	return fmt.Sprint(v)
}

func (r *reference) value(t *Type) string {
	r.align(r.alignment(t))
	switch t.Kind {
	case Integer:
		return r.integer(t)
	case VarInt:
		var v uint64
		for shift := 0; ; shift += 7 {
			b := r.bits(8, false)
			if shift > 56 {
				panic(cut{}) // more than these tests go into
			}
			v |= b & 127 << shift
			if b < 128 {
				if t.Signed && b&64 != 0 {
					v |= ^uint64(0) << (shift + 7)
				}
				break
			}
		}
		if t.Slot >= 0 {
			r.slots[t.Slot] = v
		}
		if t.Signed {
			return fmt.Sprint(int64(v))
		}
		return fmt.Sprint(v)
	case CString:
		var b []byte
		for {
			c := byte(r.bits(8, false))
			if c == 0 {
				return fmt.Sprintf("%q", b)
			}
			b = append(b, c)
		}
	case TextSeq, TextArray:
		n := t.Length
		if t.Kind == TextSeq {
			n = r.slots[t.LengthSlot]
		}
		text, _, _ := strings.Cut(string(r.octets(n)), "\x00")
		return fmt.Sprintf("%q", text)
	case BlobSeq:
		return fmt.Sprintf("%x", r.octets(r.slots[t.LengthSlot]))
	case Struct:
		var parts []string
		for _, f := range t.Fields {
			parts = append(parts, r.value(f.Type))
		}
		return fmt.Sprint(parts)
	case FixedArray, Sequence:
		n := t.Length
		if t.Kind == Sequence {
			n = r.slots[t.LengthSlot]
		}
		if n > 1000 {
			panic(cut{})
		}
		parts := []string{}
		for range n {
			parts = append(parts, r.value(t.Elem))
		}
		return fmt.Sprint(parts)
	case Variant:
		for i := range t.Select {
			if containsValue(t.Select[i], r.slots[t.TagSlot], t.TagSigned) {
				return r.value(t.Fields[i].Type)
			}
		}
		panic(cut{})
	case Optional:
		if containsValue(t.Select[0], r.slots[t.TagSlot], t.TagSigned) {
			return r.value(t.Elem)
		}
		return "none"
	}
	panic("unknown")
}

// shown prints a decoded value as the reference does.
func shownValue(v *trace.Value) string {
	switch v.Kind {
	case trace.None:
		return "none"
	case trace.Int:
		return fmt.Sprint(v.Int())
	case trace.Uint:
		return fmt.Sprint(v.Uint())
	case trace.Text:
		return fmt.Sprintf("%q", v.Data)
	case trace.Bytes:
		return fmt.Sprintf("%x", v.Data)
	case trace.Variant:
		return shownValue(&v.Items[0])
	}
	parts := []string{}
	for i := range v.Items {
		parts = append(parts, shownValue(&v.Items[i]))
	}
	return fmt.Sprint(parts)
}

// drawLayout makes up a type; slots of integers decoded before it are there to refer to.
func drawLayout(t *rapid.T, depth int, slots *[]int, next *int) *Type {
	n := newType(Kind(0))
	kinds := []Kind{Integer, Integer, Integer, VarInt, CString, TextArray, Struct, FixedArray}
	if len(*slots) > 0 {
		kinds = append(kinds, TextSeq, BlobSeq, Sequence, Variant, Optional)
	}
	n.Kind = rapid.SampledFrom(kinds).Draw(t, "kind")
	if depth == 0 && (n.Kind == Struct || n.Elem != nil || n.Kind >= Struct) {
		n.Kind = Integer
	}
	pick := func() int { return rapid.SampledFrom(*slots).Draw(t, "slot") }
	switch n.Kind {
	case Integer:
		n.Size = rapid.SampledFrom([]int{1, 3, 5, 8, 12, 16, 27, 32, 61, 64}).Draw(t, "size")
		n.Align = rapid.SampledFrom([]int{1, 1, 8, 8, 16, 32, 64}).Draw(t, "align")
		n.BigEndian = rapid.Bool().Draw(t, "big")
		n.Signed = rapid.Bool().Draw(t, "signed")
		if n.Size <= 5 && !n.Signed {
			n.Slot = *next
			*next++
			*slots = append(*slots, n.Slot)
		}
	case VarInt:
		n.Signed = rapid.Bool().Draw(t, "signed")
	case TextArray:
		n.Length = rapid.Uint64Range(0, 5).Draw(t, "length")
	case TextSeq, BlobSeq:
		n.LengthSlot = pick()
	case Struct:
		n.Align = rapid.SampledFrom([]int{1, 1, 8, 32}).Draw(t, "align")
		for i := range rapid.IntRange(0, 4).Draw(t, "fields") {
			n.Fields = append(n.Fields, Field{fmt.Sprint("f", i), drawLayout(t, depth-1, slots, next)})
		}
	case FixedArray:
		n.Length = rapid.Uint64Range(0, 4).Draw(t, "length")
		n.Elem = drawLayout(t, depth-1, slots, next)
	case Sequence:
		n.LengthSlot = pick()
		n.Elem = drawLayout(t, depth-1, slots, next)
	case Variant:
		n.TagSlot = pick()
		n.Fields = []Field{{"a", drawLayout(t, depth-1, slots, next)}, {"b", drawLayout(t, depth-1, slots, next)}}
		n.Select = [][]Range{{{0, 3}}, {{4, 20}, {21, 31}}}
	case Optional:
		n.TagSlot = pick()
		n.Elem = drawLayout(t, depth-1, slots, next)
		n.Select = [][]Range{{{1, 2}, {5, 9}}}
	}
	return n
}

func TestAnyTypeIsDecodedAsTheSpecificationTellsIt(t *testing.T) {
	drawn, decoded := 0, 0
	check := func(t *rapid.T) {
		drawn++
		var slots []int
		next := 0
		top := newType(Struct)
		for i := range rapid.IntRange(1, 6).Draw(t, "fields") {
			top.Fields = append(top.Fields, Field{fmt.Sprint("f", i), drawLayout(t, 3, &slots, &next)})
		}
		data := rapid.SliceOfN(rapid.Byte(), 8, 200).Draw(t, "data")
		start := uint64(rapid.IntRange(0, 9).Draw(t, "start"))

		want, end := "", uint64(0)
		func() {
			defer func() {
				if p := recover(); p != nil && p != (cut{}) {
					panic(p)
				}
			}()
			r := &reference{data: data, pos: start, slots: map[int]uint64{}}
			text := r.value(top)
			want, end = text, r.pos
		}()

		c := &compiler{extents: map[*Type]extent{}}
		program, fields := c.compile(top), c.decoders(top)
		if c.err != nil {
			t.Fatal(c.err)
		}
		var d eventDecoder
		d.data, d.end, d.zeroSizeLeft = data, uint64(len(data))*8, maxZeroSizeElements
		d.slots = make([]uint64, next+1)
		pos, ok := d.run(program, start)
		if want == "" {
			if ok && pos > d.end {
				t.Fatal("beyond the end")
			}
			return // the reference gives up earlier
		}
		if end > d.end { // only padding is missing
			return
		}
		decoded++
		if !ok || pos != end {
			t.Fatalf("skipped to %d, %v (%v), want %d", pos, ok, d.fault, end)
		}
		values := make([]trace.Value, len(fields))
		pos = d.fields(fields, values, alignTo(start, c.extent(top).align-1))
		if got := shownValue(&trace.Value{Kind: trace.Struct, Items: values}); got != want || pos != end {
			t.Fatalf("decoded to %d, want %d:\n got %s\nwant %s", pos, end, got, want)
		}
	}
	for range 20 {
		testseed.Check(t, check)
	}
	if decoded < drawn/4 {
		t.Errorf("only %d of %d drawn types had enough data", decoded, drawn)
	}
}
