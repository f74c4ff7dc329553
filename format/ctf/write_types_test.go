package ctf

import (
	"bytes"
	"strings"
	"testing"

	"meridian/trace"
)

// The event classes of everyType, by index.
const (
	ints = iota
	odd
	oddBig
	floats
	texts
	arrays
	variants
	optional
	empty
)

// everyType returns metadata with every type that CTF 1.8 has.
func everyType() *Metadata {
	m := usualMetadata()
	s := &m.Streams[0]
	slots := 0
	length := func(bits int) *Type {
		l := integerType(bits)
		l.Slot = slots
		slots++
		return l
	}
	n1, n2, n3, tag, outer := length(8), length(16), length(32), length(8), length(5)
	bits := func(size int, big, signed bool) *Type {
		return with(integerType(size), func(t *Type) { t.Align, t.BigEndian, t.Signed = 1, big, signed })
	}
	s.EventContext = structType(Field{"outer", outer}, Field{"odd name/ü", integerType(8)}, Field{"odd name?_", integerType(8)}, Field{"Bool", integerType(8)})
	add := func(name string, fields ...Field) {
		s.Events = append(s.Events, EventClass{ID: uint64(len(s.Events)), Name: name, Payload: structType(fields...)})
	}
	hex := with(integerType(32), func(t *Type) { t.Base = 16 })
	colour := with(signedType(16), func(t *Type) {
		t.Labels = []Label{{"red \"x\"", []Range{{-32768, -1}}}, {"int", []Range{{0, 0}}}, {"green", []Range{{5, 7}, {9, 9}}}}
	})
	big64 := with(integerType(64), func(t *Type) { t.Labels = []Label{{"top", []Range{{-2, -1}}}} })
	least64 := with(signedType(64), func(t *Type) { t.Labels = []Label{{"least", []Range{{-1 << 63, -1 << 63}}}} })
	text := with(kindType(FixedArray), func(t *Type) {
		t.Length, t.Elem = 6, with(integerType(8), func(t *Type) { t.Encoding = UTF8 })
	})
	sequence := func(from *Type, elem *Type) *Type {
		return with(kindType(Sequence), func(t *Type) { t.LengthSlot, t.Elem = from.Slot, elem })
	}
	array := func(n uint64, elem *Type) *Type {
		return with(kindType(FixedArray), func(t *Type) { t.Length, t.Elem = n, elem })
	}
	variant := with(kindType(Variant), func(t *Type) {
		t.TagSlot, t.Select = tag.Slot, [][]Range{{{0, 0}}, {{1, 3}, {7, 7}}, {{200, 255}}}
		t.Fields = []Field{{"int", signedType(32)}, {"text", kindType(CString)}, {"none", structType()}}
	})
	tag.Labels = []Label{{"int", []Range{{0, 0}}}, {"other", []Range{{2, 2}}}}

	add("int: ü \"quoted\\ \n", Field{"a", integerType(8)}, Field{"b", signedType(13)}, Field{"c", bigType(signedType(64))}, Field{"d", hex}, Field{"e", colour},
		Field{"f", big64}, Field{"g", least64})
	add("odd bits", Field{"a", bits(3, false, false)}, Field{"b", bits(7, false, true)}, Field{"c", bits(64, false, false)}, Field{"d", bits(33, false, true)},
		Field{"e", integerType(8)})
	add("odd bits, big-endian", Field{"a", bits(3, true, false)}, Field{"b", bits(7, true, true)}, Field{"c", bits(64, true, false)}, Field{"d", bits(33, true, true)},
		Field{"e", bigType(integerType(16))})
	add("floats", Field{"f", floatType(32)}, Field{"d", floatType(64)}, Field{"x", bigType(floatType(64))})
	add("texts", Field{"s", kindType(CString)}, Field{"a", text}, Field{"n1", n1},
		Field{"q", sequence(n1, with(integerType(8), func(t *Type) { t.Encoding = ASCII }))})
	add("arrays", Field{"m", array(2, array(3, integerType(16)))}, Field{"n2", n2}, Field{"v", sequence(n2, structType(Field{"x", integerType(8)},
		Field{"y", array(2, kindType(CString))}))}, Field{"w", sequence(outer, integerType(8))})
	add("variants", Field{"tag", tag}, Field{"v", variant})
	n3.Labels = nil
	add("optional", Field{"there", n3}, Field{"o", with(kindType(Optional), func(t *Type) {
		t.TagSlot, t.Select, t.Elem = n3.Slot, [][]Range{{{1, 1}}}, floatType(64)
	})})
	add("nothing")
	return m
}

const everyTypePrinted = `
[01:46:40.000000000] HOST int: ü "quoted\ 
: { a = 255, b = -4096, c = -9223372036854775808, d = 0xBEEF, e = ( "red \"x\"" : container = -5 ), f = ( "top" : container = 18446744073709551615 ), g = ( "least" : container = -9223372036854775808 ) }
[01:46:41.500000001] HOST int: ü "quoted\ 
: { a = 0, b = 4095, c = 9223372036854775807, d = 0x0, e = ( "green" : container = 9 ), f = ( <unknown> : container = 0 ), g = ( <unknown> : container = 0 ) }
[01:46:43.000000002] HOST odd bits: { a = 5, b = -64, c = 18446744073709551614, d = -4294967296, e = 1 }
[01:46:44.500000003] HOST odd bits, big-endian: { a = 5, b = -64, c = 18446744073709551614, d = -4294967296, e = 258 }
[01:46:46.000000004] HOST odd bits, big-endian: { a = 2, b = 63, c = 1, d = -2, e = 65534 }
[01:46:47.500000005] HOST floats: { f = 1.5, d = -0.1, x = 3e+300 }
[01:46:49.000000006] HOST texts: { s = "grün\"\n", a = "abc", n1 = 3, q = "xyz" }
[01:46:50.500000007] HOST texts: { s = "", a = "abcdef", n1 = 0, q = "" }
[01:46:52.000000008] HOST arrays: { m = [ [0] = [ [0] = 1, [1] = 2, [2] = 3 ], [1] = [ [0] = 4, [1] = 5, [2] = 6 ] ], n2 = 2, v = [ [0] = { x = 1, y = [ [0] = "p", [1] = "" ] }, [1] = { x = 2, y = [ [0] = "q", [1] = "r" ] } ], w = [ [0] = 8, [1] = 9 ] }
[01:46:53.500000009] HOST variants: { tag = ( "_int" : container = 0 ), v = { -1 } }
[01:46:55.000000010] HOST variants: { tag = ( "_text" : container = 1 ), v = { "text" } }
[01:46:56.500000011] HOST variants: { tag = ( "_text" : container = 7 ), v = { "seven" } }
[01:46:58.000000012] HOST variants: { tag = ( "_none" : container = 200 ), v = { { } } }
[01:46:59.500000013] HOST optional: { there = ( "_present" : container = 1 ), o = { 2.5 } }
[01:47:01.000000014] HOST optional: { there = ( "_absent" : container = 0 ), o = { { } } }
[01:47:02.500000015] HOST nothing: { }
`

func TestEveryTypeOfCTF18IsWrittenAsBabeltraceReadsIt(t *testing.T) {
	m := everyType()
	var out bytes.Buffer
	w, err := NewEncoder(m).NewStream(&out, 0, StreamOptions{PacketSize: 300, Instance: 7, Context: []trace.Value{trace.OfUint(3)}})
	if err != nil {
		t.Fatal(err)
	}
	U, I, F, T := trace.OfUint, trace.OfInt, trace.OfFloat, trace.OfText
	context := []trace.Value{U(2), U(1), U(2), U(3)}
	now := uint64(0)
	write := func(event int, fields ...trace.Value) {
		t.Helper()
		if err := w.Write(event, now, context, nil, fields); err != nil {
			t.Fatal(err)
		}
		now += 1_500_000_001
	}
	write(ints, U(255), I(-4096), I(-1<<63), U(0xbeef), I(-5), U(1<<64-1), I(-1<<63))
	write(ints, U(0), I(4095), I(1<<63-1), U(0), I(9), U(0), I(0))
	write(odd, U(5), I(-64), U(1<<64-2), I(-1<<32), U(1))
	write(oddBig, U(5), I(-64), U(1<<64-2), I(-1<<32), U(0x0102))
	write(oddBig, U(2), I(63), U(1), I(-2), U(0xfffe))
	write(floats, F(1.5), F(-0.1), F(3e300))
	write(texts, T("grün\"\n"), T("abc"), T("xyz"))
	write(texts, T(""), T("abcdef"), T(""))
	write(arrays, arrayOf(arrayOf(U(1), U(2), U(3)), arrayOf(U(4), U(5), U(6))), arrayOf(structOf(U(1), arrayOf(T("p"), T(""))), structOf(U(2), arrayOf(T("q"), T("r")))), arrayOf(U(8), U(9)))
	write(variants, choiceOf(0, I(-1)))
	write(variants, choiceOf(1, T("text")))
	write(variants, U(7), choiceOf(1, T("seven")))
	write(variants, choiceOf(2, structOf()))
	write(optional, F(2.5))
	write(optional, trace.Value{})
	write(empty)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if w.Misfits != 0 || w.Events != 16 || w.Packets < 3 || w.Bytes != uint64(out.Len()) {
		t.Errorf("%d misfits, %d events, %d packets, %d bytes of %d", w.Misfits, w.Events, w.Packets, w.Bytes, out.Len())
	}
	var got []string
	for _, l := range babeltrace(t, save(t, m, out.Bytes()), "--no-delta") {
		got = append(got, strings.Replace(strings.Replace(l, "{ cpu_id = 3 }, { outer = 2, odd_name__ = 1, odd_name___2 = 2, Bool_ = 3 }, ", "", 1), `web "1"\`, "HOST", 1))
	}
	sameLines(t, got, strings.Split(strings.TrimSpace(everyTypePrinted), "\n"))
}
