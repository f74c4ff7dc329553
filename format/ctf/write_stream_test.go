package ctf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/trace"
)

// babeltrace returns what babeltrace2 prints of a trace, line by line, and fails at any warning of its own.
func babeltrace(t testing.TB, dir string, flags ...string) []string {
	t.Helper()
	cmd := exec.Command(peer(t, "babeltrace2"), append(flags, dir)...)
	cmd.Env = append(os.Environ(), "TZ=UTC", "BABELTRACE_TERM_COLOR=never", "LC_ALL=C.UTF-8")
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil || problems.Len() > 0 {
		t.Fatalf("babeltrace2 %s: %v\n%s", dir, err, problems.String())
	}
	text := strings.TrimSuffix(out.String(), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// Types for metadata written by hand.

func integerType(bits int) *Type {
	return &Type{Kind: Integer, Size: bits, Align: 8, Base: 10, Clock: -1, Slot: -1, LengthSlot: -1, TagSlot: -1}
}

func signedType(bits int) *Type { t := integerType(bits); t.Signed = true; return t }

func kindType(k Kind) *Type {
	return &Type{Kind: k, Align: 8, Clock: -1, Slot: -1, LengthSlot: -1, TagSlot: -1}
}

func structType(fields ...Field) *Type {
	t := kindType(Struct)
	t.Align, t.Fields = 1, fields
	return t
}

func with(t *Type, change func(*Type)) *Type { change(t); return t }

func roleType(bits int, r Role) *Type { t := integerType(bits); t.Role = r; return t }

func bigType(t *Type) *Type { t.BigEndian = true; return t }

func floatType(bits int) *Type { t := kindType(Float); t.Size = bits; return t }

// usualMetadata has one stream class with all that a packet can say of itself, and no events.
func usualMetadata() *Metadata {
	magic := roleType(32, PacketMagic)
	octet := integerType(8)
	uuid := kindType(FixedArray)
	uuid.Elem, uuid.Length, uuid.Role = octet, 16, TraceUUID
	stamp := func(bits int, r Role) *Type { t := roleType(bits, r); t.Clock = 0; return t }
	return &Metadata{
		Major: 1, Minor: 8, HasUUID: true, UUID: [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		Env: []Env{{Name: "hostname", Text: "web \"1\"\\", IsText: true}, {Name: "tracer_major", Number: 3},
			{Name: "least", Number: -1 << 63}, {Name: "string", Text: "ü", IsText: true}},
		Clocks: []Clock{{Name: "monotonic", UUID: "01020304-0506-0708-090a-0b0c0d0e0f10", Frequency: 1e9, OffsetSeconds: 1_000_000_000, Absolute: true, Epoch: true}},
		PacketHeader: structType(Field{"magic", magic}, Field{"uuid", uuid}, Field{"stream_id", roleType(32, StreamClassID)},
			Field{"stream_instance_id", roleType(64, StreamID)}),
		Streams: []StreamClass{{
			Clock: 0,
			PacketContext: structType(Field{"timestamp_begin", stamp(64, PacketBegin)}, Field{"timestamp_end", stamp(64, PacketEnd)},
				Field{"content_size", roleType(64, PacketContent)}, Field{"packet_size", roleType(64, PacketSize)},
				Field{"packet_seq_num", roleType(64, PacketSequence)}, Field{"events_discarded", roleType(64, EventsDiscarded)},
				Field{"cpu_id", roleType(32, CPU)}),
			EventHeader: structType(Field{"id", roleType(16, EventClassID)}, Field{"timestamp", stamp(64, Stamp)}),
		}},
	}
}

// save writes metadata and one stream into a new trace directory.
func save(t testing.TB, m *Metadata, stream []byte) string {
	t.Helper()
	dir := t.TempDir()
	var text bytes.Buffer
	if err := m.WriteTSDL(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "metadata"), text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "stream"), stream, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

func structOf(items ...trace.Value) trace.Value { return trace.Value{Kind: trace.Struct, Items: items} }
func arrayOf(items ...trace.Value) trace.Value  { return trace.Value{Kind: trace.Array, Items: items} }
func choiceOf(i int, v trace.Value) trace.Value {
	return trace.Value{Kind: trace.Variant, Bits: uint64(i), Items: []trace.Value{v}}
}

func TestEveryTypeOfCTF18IsWrittenAsBabeltraceReadsIt(t *testing.T) {
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
	add := func(name string, fields ...Field) int {
		s.Events = append(s.Events, EventClass{ID: uint64(len(s.Events)), Name: name, Payload: structType(fields...)})
		return len(s.Events) - 1
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

	ints := add("int: ü \"quoted\\ \n", Field{"a", integerType(8)}, Field{"b", signedType(13)}, Field{"c", bigType(signedType(64))}, Field{"d", hex}, Field{"e", colour},
		Field{"f", big64}, Field{"g", least64})
	odd := add("odd bits", Field{"a", bits(3, false, false)}, Field{"b", bits(7, false, true)}, Field{"c", bits(64, false, false)}, Field{"d", bits(33, false, true)},
		Field{"e", integerType(8)})
	oddBig := add("odd bits, big-endian", Field{"a", bits(3, true, false)}, Field{"b", bits(7, true, true)}, Field{"c", bits(64, true, false)}, Field{"d", bits(33, true, true)},
		Field{"e", bigType(integerType(16))})
	floats := add("floats", Field{"f", floatType(32)}, Field{"d", floatType(64)}, Field{"x", bigType(floatType(64))})
	texts := add("texts", Field{"s", kindType(CString)}, Field{"a", text}, Field{"n1", n1},
		Field{"q", sequence(n1, with(integerType(8), func(t *Type) { t.Encoding = ASCII }))})
	arrays := add("arrays", Field{"m", array(2, array(3, integerType(16)))}, Field{"n2", n2}, Field{"v", sequence(n2, structType(Field{"x", integerType(8)},
		Field{"y", array(2, kindType(CString))}))}, Field{"w", sequence(outer, integerType(8))})
	variants := add("variants", Field{"tag", tag}, Field{"v", variant})
	n3.Labels = nil
	optional := add("optional", Field{"there", n3}, Field{"o", with(kindType(Optional), func(t *Type) {
		t.TagSlot, t.Select, t.Elem = n3.Slot, [][]Range{{{1, 1}}}, floatType(64)
	})})
	add("nothing")

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
	write(8)
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
	want := strings.Split(strings.TrimSpace(`
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
`), "\n")
	sameLines(t, got, want)
}

// sameLines tells the first lines that differ.
func sameLines(t testing.TB, got, want []string) {
	t.Helper()
	wrong := 0
	for i := range max(len(got), len(want)) {
		g, w := "(nothing)", "(nothing)"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("line %d:\n got %s\nwant %s", i+1, g, w)
			if wrong++; wrong == 3 {
				t.FailNow()
			}
		}
	}
}

// lttngMetadata has the compact event header of LTTng's channels: 5 bits of id and 27 of the stamp while they are enough.
func lttngMetadata() *Metadata {
	m := usualMetadata()
	s := &m.Streams[0]
	bits := func(size, align int, r Role, clock int) *Type {
		return with(roleType(size, r), func(t *Type) { t.Align, t.Clock = align, clock })
	}
	id := bits(5, 1, EventClassID, -1)
	id.Slot = 0
	v := with(kindType(Variant), func(t *Type) {
		t.TagSlot, t.Select = 0, [][]Range{{{0, 30}}, {{31, 31}}}
		t.Fields = []Field{
			{"compact", structType(Field{"timestamp", bits(27, 1, Stamp, 0)})},
			{"extended", structType(Field{"id", bits(32, 8, EventClassID, -1)}, Field{"timestamp", bits(64, 8, Stamp, 0)})},
		}
	})
	s.EventHeader = with(structType(Field{"id", id}, Field{"v", v}), func(t *Type) { t.Align = 8 })
	for i := range 40 {
		s.Events = append(s.Events, EventClass{ID: uint64(i * i), Name: fmt.Sprint("e", i), Payload: structType(Field{"x", integerType(32)})})
	}
	return m
}

func TestHeadersOfLTTngTakeTheShortAlternativeWhileItIsEnough(t *testing.T) {
	m := lttngMetadata()
	var out bytes.Buffer
	w, err := NewEncoder(m).NewStream(&out, 0, StreamOptions{PacketSize: 2000})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var want []string
	size, now := 0, uint64(0)
	for i := range 3000 {
		e := random.IntN(40)
		step := uint64(1) << random.IntN(40) // over 2^27 often enough
		now += step
		if err := w.Write(e, now, nil, nil, []trace.Value{trace.OfUint(uint64(i))}); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("[%d.%09d] e%d: { x = %d }", 1e9+now/1e9, now%1e9, e, i))
		if size += 8; e*e > 30 || step >= 1<<27 {
			size += 9
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	// Every packet begins with 84 bytes of its own; its first event's stamp needs no more than 27 bits.
	if most := uint64(size) + 84*w.Packets; w.Bytes > most || w.Bytes < most-9*w.Packets {
		t.Errorf("%d bytes in %d packets, not %d", w.Bytes, w.Packets, most)
	}
	var got []string
	for _, l := range babeltrace(t, save(t, m, out.Bytes()), "--no-delta", "--clock-seconds") {
		got = append(got, strings.Replace(strings.Replace(l, `web "1"\ `, "", 1), "{ cpu_id = 0 }, ", "", 1))
	}
	sameLines(t, got, want)
}

func TestStampsOfOneWidthBeginAPacketAfterALongSilence(t *testing.T) {
	m := usualMetadata()
	s := &m.Streams[0]
	s.EventHeader = structType(Field{"id", roleType(8, EventClassID)}, Field{"timestamp", with(roleType(16, Stamp), func(t *Type) { t.Clock = 0 })})
	s.Events = []EventClass{{Name: "e"}}
	var out bytes.Buffer
	w, err := NewEncoder(m).NewStream(&out, 0, StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stamps := []uint64{5, 6, 65541, 65542, 1 << 40, 1<<40 + 65535, 1<<40 + 2*65535 + 1}
	for _, c := range stamps {
		if err := w.Write(0, c, nil, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if w.Packets != 3 {
		t.Errorf("%d packets", w.Packets)
	}
	var got, want []string
	for _, l := range babeltrace(t, save(t, m, out.Bytes()), "--no-delta", "--clock-cycles") {
		got = append(got, strings.Fields(l)[0])
	}
	for _, c := range stamps {
		want = append(want, fmt.Sprintf("[%020d]", c))
	}
	sameLines(t, got, want)
}

func TestPacketsAreAsLargeAsAskedAndGrowForOneEvent(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		m := usualMetadata()
		m.Streams[0].Events = []EventClass{{Name: "e", Payload: structType(Field{"s", kindType(CString)})}}
		var out bytes.Buffer
		sizes := &writes{to: &out}
		w, err := NewEncoder(m).NewStream(sizes, 0, StreamOptions{PacketSize: 512, Fixed: fixed})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for i, n := range []int{100, 100, 100, 100, 3000, 100, 900, 10, 422, 421, 1} {
			text := strings.Repeat("x", n)
			if i == 5 {
				w.Discard(7)
			}
			if err := w.Write(0, uint64(i), nil, nil, []trace.Value{trace.OfText(text)}); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprintf("{ s = %q }", text))
		}
		err = w.Flush()
		w.Begin(100) // a packet without events
		if err := errors.Join(err, w.Flush()); err != nil {
			t.Fatal(err)
		}
		sameLines(t, strings.Fields(fmt.Sprint(sizes.sizes)), strings.Fields(map[bool]string{
			false: "[417 195 3095 195 995 105 517 516 96 84]",
			true:  "[512 512 3584 512 1024 512 1024 1024 512 512]",
		}[fixed]))
		dir := save(t, m, out.Bytes())
		var got []string
		path := peer(t, "babeltrace2")
		text, err := exec.Command(path, "--no-delta", dir).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		discarded := 0
		for _, l := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			if _, fields, ok := strings.Cut(l, "{ cpu_id = 0 }, "); ok {
				got = append(got, fields)
			} else if strings.Contains(l, "Tracer discarded 7 events") {
				discarded++
			}
		}
		sameLines(t, got, want)
		if discarded != 1 {
			t.Errorf("babeltrace2 does not tell once of 7 events discarded:\n%.300s", text)
		}
	}
}

// writes notes how much is written at a time.
type writes struct {
	to    io.Writer
	sizes []int
}

func (w *writes) Write(p []byte) (int, error) {
	w.sizes = append(w.sizes, len(p))
	return w.to.Write(p)
}

func TestWhatDoesNotFitItsTypeIsWrittenAsNearAsCanBeAndCounted(t *testing.T) {
	m := usualMetadata()
	length := integerType(8)
	length.Slot = 0
	sequence := with(kindType(Sequence), func(t *Type) { t.LengthSlot, t.Elem = 0, integerType(8) })
	m.Streams[0].Events = []EventClass{{Name: "e", Payload: structType(Field{"a", integerType(8)}, Field{"b", signedType(8)},
		Field{"f", floatType(64)}, Field{"s", kindType(CString)}, Field{"n", length}, Field{"q", sequence})}}
	many := make([]trace.Value, 300)
	for i := range many {
		many[i] = trace.OfUint(7)
	}
	U, I, F, T := trace.OfUint, trace.OfInt, trace.OfFloat, trace.OfText
	good := []trace.Value{U(1), I(-1), F(1), T("t"), arrayOf(U(1))}
	for i, c := range []struct {
		at      int
		value   trace.Value
		misfits uint64
		want    string
	}{
		{0, U(255), 0, "a = 255,"}, {0, U(256), 1, "a = 0,"}, {0, I(-1), 1, "a = 255,"}, {0, T("x"), 1, "a = 0,"}, {0, F(12.7), 1, "a = 12,"},
		{1, I(-129), 1, "b = 127,"}, {1, U(127), 0, "b = 127,"}, {1, U(128), 1, "b = -128,"}, {1, trace.Value{}, 1, "b = 0,"},
		{2, I(-3), 0, "f = -3,"}, {2, T("1"), 1, "f = 0,"},
		{3, I(-3), 1, `s = "-3",`}, {3, T("a\x00b\x00"), 0, `s = "a␀b␀",`},
		{4, arrayOf(), 0, "n = 0, q = [ ]"}, {4, arrayOf(many...), 1, "n = 255,"}, {4, U(5), 1, "n = 0,"},
		{4, trace.OfBytes([]byte{1, 2}), 0, "n = 2, q = [ [0] = 1, [1] = 2 ]"}, {4, arrayOf(T("x"), U(3)), 1, "q = [ [0] = 0, [1] = 3 ]"},
	} {
		var out bytes.Buffer
		w, err := NewEncoder(m).NewStream(&out, 0, StreamOptions{Context: []trace.Value{U(0)}})
		if err != nil {
			t.Fatal(err)
		}
		values := append([]trace.Value{}, good...)
		values[c.at] = c.value
		if err := errors.Join(w.Write(0, 1, nil, nil, values), w.Flush()); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(babeltrace(t, save(t, m, out.Bytes())), "\n")
		if w.Misfits != c.misfits || !strings.Contains(got, c.want) {
			t.Errorf("%d: %d misfits, not %d; no %s in %s", i, w.Misfits, c.misfits, c.want, got)
		}
	}
}

func TestStampsBeforeTheLastAreRaisedAndCounted(t *testing.T) {
	m := usualMetadata()
	m.Streams[0].Events = []EventClass{{Name: "e"}}
	var out bytes.Buffer
	w, err := NewEncoder(m).NewStream(&out, 0, StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []uint64{9, 8, 10, 10, 3} {
		if err := w.Write(0, c, nil, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range babeltrace(t, save(t, m, out.Bytes()), "--no-delta", "--clock-cycles") {
		got = append(got, strings.TrimLeft(strings.Fields(l)[0], "[0"))
	}
	if sameLines(t, got, []string{"9]", "9]", "10]", "10]", "10]"}); w.Raised != 2 {
		t.Errorf("%d raised", w.Raised)
	}
}

func TestWritingAnEventAllocatesNothing(t *testing.T) {
	m := lttngMetadata()
	w, err := NewEncoder(m).NewStream(io.Discard, 0, StreamOptions{PacketSize: 1 << 14})
	if err != nil {
		t.Fatal(err)
	}
	now, values := uint64(0), []trace.Value{trace.OfUint(1)}
	event := func() {
		now += 1 << 20
		if err := w.Write(int(now>>20)%40, now, nil, nil, values); err != nil {
			t.Fatal(err)
		}
	}
	for range 5000 {
		event()
	}
	if n := testing.AllocsPerRun(5000, event); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTypesThatCannotBeWrittenAreNamed(t *testing.T) {
	for want, payload := range map[string]*Type{
		"fields.x: cannot write types of kind 1": structType(Field{"x", kindType(VarInt)}),
		"fields.x: invalid integer size 65":      structType(Field{"x", integerType(65)}),
		"fields.x: missing field type":           structType(Field{"x", nil}),
		"fields.x[].y: cannot write strings": structType(Field{"x", with(kindType(FixedArray), func(t *Type) {
			t.Elem = structType(Field{"y", with(kindType(CString), func(t *Type) { t.Encoding = UTF16LE })})
		})}),
		"fields.x: cannot write floating-point numbers of 80 bits": structType(Field{"x", floatType(80)}),
		"fields.x: cannot write reversed":                          structType(Field{"x", with(integerType(8), func(t *Type) { t.Reversed = true })}),
		"fields: not a structure":                                  integerType(8),
		"fields.x: invalid alignment of 24":                        structType(Field{"x", with(integerType(8), func(t *Type) { t.Align = 24 })}),
		"fields.x: array length 9999999999":                        structType(Field{"x", with(kindType(FixedArray), func(t *Type) { t.Length, t.Elem = 9999999999, integerType(8) })}),
	} {
		m := usualMetadata()
		m.Streams[0].Events = []EventClass{{Name: "e", Payload: payload}}
		w, err := NewEncoder(m).NewStream(io.Discard, 0, StreamOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(0, 1, nil, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
}
