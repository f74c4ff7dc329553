package ctf

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/corpus"
	"meridian/internal/testseed"
	"meridian/trace"
)

func printed(t testing.TB, m *Metadata) string {
	t.Helper()
	var b bytes.Buffer
	if err := m.WriteTSDL(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func parsed(t testing.TB, text string) *Metadata {
	t.Helper()
	var w trace.Warnings
	m, err := ParseMetadata([]byte(text), "metadata", &w)
	if err != nil || len(w.Lines()) > 0 {
		t.Fatalf("%v %q\n%s", err, w.Lines(), text)
	}
	return m
}

// TestMetadataOfOthersPrintedAnewMeansTheSame lets babeltrace2 read the traces of others by our text of their metadata.
func TestMetadataOfOthersPrintedAnewMeansTheSame(t *testing.T) {
	for _, name := range []string{"bug446190", "ctf-sequence-empty", "double_counters", "flipping-endianness", "kernel_vm"} {
		t.Run(name, func(t *testing.T) {
			dir := corpus.Trace(t, name)
			text, err := os.ReadFile(filepath.Join(dir, "metadata"))
			if err != nil {
				t.Fatal(err)
			}
			var w trace.Warnings
			m, err := ParseMetadata(text, "metadata", &w)
			if err != nil {
				t.Fatal(err)
			}
			ours := t.TempDir()
			again := printed(t, m)
			if twice := printed(t, parsed(t, again)); twice != again {
				t.Errorf("printed once more it is another text:\n%s", firstDifference(twice, again))
			}
			if err := os.WriteFile(filepath.Join(ours, "metadata"), []byte(again), 0o666); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.Type().IsRegular() && e.Name() != "metadata" {
					whole, err := filepath.Abs(filepath.Join(dir, e.Name()))
					if err != nil {
						t.Fatal(err)
					}
					if err := os.Symlink(whole, filepath.Join(ours, e.Name())); err != nil {
						t.Fatal(err)
					}
				}
			}
			want := babeltraceText(t, dir)
			if len(want) < 10 && name != "kernel_vm" { // which is kept without its streams
				t.Errorf("%d events", len(want))
			}
			sameLines(t, babeltraceText(t, ours), want)
		})
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range x {
		if i >= len(y) || x[i] != y[i] {
			return x[i] + "\n" + strings.Join(y[min(i, len(y)):min(i+1, len(y))], "")
		}
	}
	return "the end"
}

func TestPrintedMetadataIsReadBack(t *testing.T) {
	for _, m := range []*Metadata{usualMetadata(), lttngMetadata()} {
		text := printed(t, m)
		again := parsed(t, text)
		if twice := printed(t, again); twice != text {
			t.Errorf("it is another text:\n%s", firstDifference(twice, text))
		}
		if again.UUID != m.UUID || len(again.Env) != len(m.Env) || again.Env[2] != m.Env[2] || again.Clocks[0] != m.Clocks[0] {
			t.Errorf("%+v", again)
		}
		stamp := again.Streams[0].PacketContext.Fields[0]
		if stamp.Name != "timestamp_begin" || stamp.Type.Role != PacketBegin || stamp.Type.Clock != 0 || stamp.Type.Size != 64 {
			t.Errorf("%+v", stamp)
		}
	}
}

func TestNamesArePrintedSoThatNoneIsAKeywordOrTwice(t *testing.T) {
	octet := integerType(8)
	m := usualMetadata()
	m.Streams[0].Events = []EventClass{{Name: "e\x00\x01\"\\", Payload: structType(Field{"a.b", octet}, Field{"a-b", octet}, Field{"a_b_2", octet},
		Field{"", octet}, Field{"Bool", octet}, Field{"_Bool", octet}, Field{"1", octet}, Field{"struct", octet}, Field{"größe", octet}, Field{"\xff", octet})}}
	m.Streams[0].PacketContext.Fields = append(m.Streams[0].PacketContext.Fields, Field{"cpu_id", octet}, Field{"packet_size", octet})
	m.Clocks = append(m.Clocks, Clock{Name: "clock"}, Clock{Name: "a b"}, Clock{Name: "a?b"})
	text := printed(t, m)
	for _, want := range []string{"_a_b;", "_a_b_2;", "_a_b_2_2;", "_field;", "_Bool_;", "__Bool;", "_1;", "_struct;", "_gr__e;", "__;", " cpu_id;", "_cpu_id_2;", "_packet_size_2;",
		"name = clock_clock;", "name = a_b;", "name = a_b_2;", `name = "e␀\001\"\\";`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	parsed(t, text)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "metadata"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	babeltrace(t, dir)
}

func TestReferencesArePrintedSoThatReadersFindTheField(t *testing.T) {
	length := func(slot int) *Type { return with(integerType(8), func(t *Type) { t.Slot = slot }) }
	of := func(slot int) *Type {
		return with(kindType(Sequence), func(t *Type) { t.LengthSlot, t.Elem = slot, integerType(8) })
	}
	m := usualMetadata()
	s := &m.Streams[0]
	s.PacketContext.Fields = append(s.PacketContext.Fields, Field{"n", length(0)})
	s.EventContext = structType(Field{"n", length(1)}, Field{"deep", structType(Field{"n", length(2)})})
	s.Events = []EventClass{{Name: "e", Context: structType(Field{"n", length(3)}),
		Payload: structType(Field{"n", length(4)},
			Field{"in", structType(Field{"n", length(5)}, Field{"a", of(0)}, Field{"b", of(1)}, Field{"c", of(2)}, Field{"d", of(3)}, Field{"e", of(4)}, Field{"f", of(5)})},
			Field{"g", of(5)}, Field{"h", of(4)})}}
	text := printed(t, m)
	for _, want := range []string{"_a[stream.packet.context._n];", "_b[stream.event.context._n];", "_c[stream.event.context._deep._n];", "_d[event.context._n];",
		"_e[event.fields._n];", "_f[_n];", "_g[_in._n];", "_h[_n];"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if again := printed(t, parsed(t, text)); again != text {
		t.Errorf("it is another text:\n%s", firstDifference(again, text))
	}

	var out bytes.Buffer
	U := trace.OfUint
	w, err := NewEncoder(m).NewStream(&out, 0, StreamOptions{Context: []trace.Value{U(0), U(1)}})
	if err != nil {
		t.Fatal(err)
	}
	n := func(n int) trace.Value { return trace.OfBytes(bytes.Repeat([]byte{9}, n)) }
	err = w.Write(0, 1, []trace.Value{U(2), structOf(U(3))}, []trace.Value{U(4)}, []trace.Value{U(5), structOf(U(0), n(1), n(2), n(3), n(4), n(5), n(0)), n(0), n(5)})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil || w.Misfits > 0 {
		t.Fatal(err, w.Misfits)
	}
	got := strings.Join(babeltrace(t, save(t, m, out.Bytes())), "")
	const want = "{ n = 5, in = { n = 0, a = [ [0] = 9 ], b = [ [0] = 9, [1] = 9 ], c = [ [0] = 9, [1] = 9, [2] = 9 ], " +
		"d = [ [0] = 9, [1] = 9, [2] = 9, [3] = 9 ], e = [ [0] = 9, [1] = 9, [2] = 9, [3] = 9, [4] = 9 ], f = [ ] }, g = [ ], " +
		"h = [ [0] = 9, [1] = 9, [2] = 9, [3] = 9, [4] = 9 ] }"
	if !strings.HasSuffix(got, want) {
		t.Errorf("%s\nnot %s", got, want)
	}
}

func TestWhatCTF18CannotSayIsNamed(t *testing.T) {
	for want, x := range map[string]*Type{
		"event e.event.fields.x: variable-length integers need CTF 2":    kindType(VarInt),
		"event e.event.fields.x: reversed bit order needs CTF 2":         with(integerType(8), func(t *Type) { t.Reversed = true }),
		"event e.event.fields.x: UTF-16 and UTF-32 strings need":         with(kindType(CString), func(t *Type) { t.Encoding = UTF16BE }),
		"event e.event.fields.x: UTF-16 and UTF-32 strings need CTF 2":   with(kindType(TextArray), func(t *Type) { t.Encoding = UTF32BE }),
		"event e.event.fields.x: TSDL cannot refer to the length":        with(kindType(Sequence), func(t *Type) { t.LengthSlot, t.Elem = 99, integerType(8) }),
		"event e.event.fields.x: length or selector without a field":     with(kindType(Sequence), func(t *Type) { t.Elem = integerType(8) }),
		"event e.event.fields.x: invalid floating-point layout: 32 bits": with(floatType(32), func(t *Type) { t.Exponent, t.Mantissa = 5, 5 }),
		"event e.event.fields.x.y: invalid integer size 0":               structType(Field{"y", integerType(0)}),
		"event e.event.fields.x: invalid integer base 7":                 with(integerType(8), func(t *Type) { t.Base = 7 }),
		"event e.event.fields.x: missing field type":                     nil,
	} {
		m := usualMetadata()
		m.Streams[0].Events = []EventClass{{Name: "e", Payload: structType(Field{"x", x})}}
		if err := m.WriteTSDL(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
	m := usualMetadata()
	m.PacketHeader = integerType(8)
	if err := m.WriteTSDL(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "trace.packet.header: not a structure") {
		t.Error(err)
	}
	endless := structType()
	endless.Fields = []Field{{"x", endless}}
	m = usualMetadata()
	m.Streams[0].EventContext = endless
	if err := m.WriteTSDL(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "deeper") {
		t.Error(err)
	}
}

// TestWhatCTF18LaysOutAlikeIsPrintedSo: types of CTF 2 that have equals in CTF 1.8.
func TestWhatCTF18LaysOutAlikeIsPrintedSo(t *testing.T) {
	m := usualMetadata()
	length := func(slot int) *Type { return with(integerType(8), func(t *Type) { t.Slot = slot }) }
	m.Streams[0].Events = []EventClass{{Name: "e", Payload: structType(
		Field{"true", with(integerType(8), func(t *Type) { t.Kind = Boolean })}, Field{"bits", with(integerType(12), func(t *Type) { t.Kind = BitArray })},
		Field{"ta", with(kindType(TextArray), func(t *Type) { t.Length = 3 })}, Field{"ba", with(kindType(BlobArray), func(t *Type) { t.Length = 2 })},
		Field{"n", length(0)}, Field{"ts", with(kindType(TextSeq), func(t *Type) { t.LengthSlot = 0 })},
		Field{"o", length(1)}, Field{"bs", with(kindType(BlobSeq), func(t *Type) { t.LengthSlot = 1 })})}}
	var out bytes.Buffer
	w, err := NewEncoder(m).NewStream(&out, 0, StreamOptions{Context: []trace.Value{trace.OfUint(0)}})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Write(0, 1, nil, nil, []trace.Value{trace.OfBool(true), trace.OfUint(0xabc), trace.OfText("ab"), trace.OfBytes([]byte{1, 255}), trace.OfText("xyz"), trace.OfBytes([]byte{7})})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil || w.Misfits > 0 {
		t.Fatal(err, w.Misfits)
	}
	got := strings.Join(babeltrace(t, save(t, m, out.Bytes())), "")
	const want = `{ true = ( "true" : container = 1 ), bits = 0xABC, ta = "ab", ba = [ [0] = 0x1, [1] = 0xFF ], n = 3, ts = "xyz", o = 1, bs = [ [0] = 0x7 ] }`
	if !strings.HasSuffix(got, want) {
		t.Errorf("%s\nnot %s", got, want)
	}
}

// writtenByHand is metadata that no tracer writes.
var writtenByHand = []string{
	"/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = be; }; env { a = \"\\x41\\\\\"; }; " +
		"event { name = x; fields := struct { enum : integer { size = 3; } { a, b = 5 ... 6 } t; variant <t> { string a; integer { size = 7; signed = true; } b[2][3]; } v; } align(32); };",
	// No value selects an option.
	"trace{byte_order=be};event{fields:=struct{enum:integer{size=3}{}t;variant<t>{integer{size=7}b;}v;}}",
	// Two fields of one name, of which one can have its role.
	"trace{byte_order=le};clock{name=monotonic};stream{event.header:=struct{integer{size=6}id;integer{size=4;map=clock.monotonic.value}id;}}",
}

// FuzzPrint: whatever metadata is understood is printed so that it is understood again, as the same, or refused with an
// error.
func FuzzPrint(f *testing.F) {
	for _, m := range []*Metadata{usualMetadata(), lttngMetadata()} {
		var b bytes.Buffer
		if err := m.WriteTSDL(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	for _, text := range writtenByHand {
		f.Add([]byte(text))
	}
	testseed.Fuzz(f, func(t *testing.T, text []byte) {
		if err := reprinted(text); err != "" {
			t.Fatal(err)
		}
	})
}
