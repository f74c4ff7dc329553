package ctf

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/trace"
)

// babeltrace returns what babeltrace2 prints of a trace, line by line, and fails at any warning of its own. Without
// babeltrace2 the test is skipped, but where the tests guard a release, its absence is a failure.
func babeltrace(t testing.TB, dir string, flags ...string) []string {
	t.Helper()
	path, err := exec.LookPath("babeltrace2")
	if err != nil {
		if os.Getenv("MERIDIAN_CI") == "1" {
			t.Fatal("babeltrace2 is not installed")
		}
		t.Skip("babeltrace2 is not installed")
	}
	cmd := exec.Command(path, append(flags, dir)...)
	cmd.Env = append(os.Environ(), "TZ=UTC", "BABELTRACE_TERM_COLOR=never", "LC_ALL=C.UTF-8")
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err = cmd.Run()
	if err != nil || problems.Len() > 0 {
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
		Clocks: []Clock{{Name: "monotonic", UUID: "01020304-0506-0708-090a-0b0c0d0e0f10", Frequency: 1e9, OffsetSeconds: 1_000_000_000, Absolute: true}},
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
	return trace.Value{Kind: trace.Choice, Bits: uint64(i), Items: []trace.Value{v}}
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
	dir := save(t, m, out.Bytes())
	if testing.Verbose() {
		text, _ := os.ReadFile(filepath.Join(dir, "metadata"))
		t.Logf("%s", text)
	}
	for _, l := range babeltrace(t, dir) {
		t.Log(l)
	}
}
