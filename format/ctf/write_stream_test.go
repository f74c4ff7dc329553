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

// sameLines reports the first lines that differ.
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
