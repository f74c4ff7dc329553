package ctf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"meridian/internal/corpus"
	"meridian/internal/testseed"
	"meridian/trace"
)

func TestOthersMetadataIsReadWithoutWarnings(t *testing.T) {
	for _, f := range corpus.Files(t, "*/*metadata") {
		t.Run(filepath.Base(filepath.Dir(f))+"/"+filepath.Base(f), func(t *testing.T) {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var w trace.Warnings
			m, err := ParseMetadata(data, f, &w)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range w.Lines() {
				t.Error(line)
			}
			n := 0
			for i := range m.Streams {
				n += len(m.Streams[i].Events)
			}
			t.Logf("%d streams, %d events, %d slots", len(m.Streams), n, m.Slots)
			if n == 0 {
				t.Error("no events")
			}
		})
	}
}

// packets cuts text into packets of metadata.
func packets(text string, order binary.ByteOrder, each int) []byte {
	var out []byte
	for at := 0; at < len(text); at += each {
		part := text[at:min(at+each, len(text))]
		h := make([]byte, metadataHeaderSize)
		order.PutUint32(h, metadataMagic)
		order.PutUint32(h[24:], uint32(len(h)+len(part))*8)
		order.PutUint32(h[28:], uint32(len(h)+each+3)*8)
		h[35], h[36] = 1, 8
		out = append(append(append(out, h...), part...), make([]byte, each+3-len(part))...)
	}
	return out
}

func TestPacketsOfMetadataHoldTheSameText(t *testing.T) {
	for _, text := range []string{lttngLike, fragmentsWhole} {
		want := dumpAll(parseWhole(t, text))
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			for _, each := range []int{1, 100, 4059, 1 << 20} {
				if got := dumpAll(parseWhole(t, string(packets(text, order, each)))); got != want {
					t.Errorf("%v, %d bytes each: got\n%s\nwant\n%s", order, each, got, want)
				}
			}
		}
	}
}

// manyEvents returns metadata of n events.
func manyEvents(n int) string {
	var b strings.Builder
	b.WriteString(tsdlTypes + tsdlTrace + "stream { id = 0; event.header := struct { uint8_t id; }; };\n")
	for i := range n {
		fmt.Fprintf(&b, "event {\n\tname = \"event %d\";\n\tid = %d;\n\tfields := struct {\n\t\tuint8_t _n;\n\t\tint _a[ _n ];\n\t};\n};\n\n", i, i)
	}
	return b.String()
}

func TestALostPacketOfMetadataCostsTheEventsInIt(t *testing.T) {
	data := packets(manyEvents(100), binary.LittleEndian, 400)
	const size = metadataHeaderSize + 403
	for _, c := range []struct {
		name   string
		damage func(d []byte) []byte
	}{
		{"magic", func(d []byte) []byte { d[5*size] ^= 1; return d }},
		{"content size", func(d []byte) []byte { d[5*size+27] = 0x80; return d }},
		{"packet size", func(d []byte) []byte { d[5*size+28] ^= 1; return d }},
		{"compressed", func(d []byte) []byte { d[5*size+32] = 1; return d }},
		{"version", func(d []byte) []byte { d[5*size+35] = 9; return d }},
		{"bytes lost", func(d []byte) []byte { return append(d[:5*size+20], d[5*size+43:]...) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w trace.Warnings
			m, err := ParseMetadata(c.damage(bytes.Clone(data)), "metadata", &w)
			if err != nil {
				t.Fatal(err)
			}
			n := len(m.Streams[0].Events)
			if n < 90 || n == 100 || len(w.Lines()) == 0 {
				t.Errorf("%d events of 100, warnings %q", n, w.Lines())
			}
			for _, e := range m.Streams[0].Events {
				if e.Name != fmt.Sprintf("event %d", e.ID) || dumpType(e.Payload) == "" || len(e.Payload.Fields) != 2 {
					t.Errorf("event %d is %q %s: of two halves", e.ID, e.Name, dumpType(e.Payload))
				}
			}
		})
	}
}

func TestMetadataThatIsAllCompressedIsRefused(t *testing.T) {
	data := packets(lttngLike, binary.LittleEndian, 1<<20)
	data[32] = 2
	var w trace.Warnings
	if _, err := ParseMetadata(data, "metadata", &w); err == nil || !strings.Contains(err.Error(), "unsupported compression scheme 2") {
		t.Errorf("got %v", err)
	}
}

// TestAnyTruncationKeepsWhatIsWhole: an event is there exactly if all of it is.
func TestAnyTruncationKeepsWhatIsWhole(t *testing.T) {
	text := manyEvents(5)
	start := strings.Index(text, "event {")
	for n := start; n <= len(text); n++ {
		var w trace.Warnings
		m, err := ParseMetadata([]byte(text[:n]), "metadata", &w)
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		whole := strings.Count(text[:n], "\n};\n")
		if strings.HasSuffix(text[:n], "\n}") || strings.HasSuffix(text[:n], "\n};") {
			whole++
		}
		if got := len(m.Streams[0].Events); got != whole {
			t.Errorf("cut at %d: %d events, want %d: %q", n, got, whole, w.Lines())
		}
	}
	for n := range text[:start] { // anything but a panic
		_, _ = ParseMetadata([]byte(text[:n]), "metadata", new(trace.Warnings))
	}
}

// TestAnyFlippedByteIsSurvived tries every byte with a few other values.
func TestAnyFlippedByteIsSurvived(t *testing.T) {
	for _, text := range []string{lttngLike, fragmentsWhole, string(packets(lttngLike[:2000], binary.BigEndian, 500))} {
		data := []byte(text)
		for i := range data {
			if testing.Short() && i%5 != 0 {
				continue
			}
			for _, x := range []byte{1, 0x20, 0xff} {
				data[i] ^= x
				m, err := ParseMetadata(data, "metadata", new(trace.Warnings))
				if (m == nil) == (err == nil) {
					t.Fatalf("byte %d xor %#x: neither metadata nor an error", i, x)
				}
				data[i] ^= x
			}
		}
	}
}

// TestHostileMetadataIsBounded: what is short to write and huge when built ends soon and takes little.
func TestHostileMetadataIsBounded(t *testing.T) {
	head := tsdlTypes + tsdlTrace + "stream { };\n"
	doubling := func(n int, form string) string {
		s := "struct s0 { uint8_t a; };\n"
		for i := 1; i <= n; i++ {
			s += fmt.Sprintf(form, i, i-1, i-1)
		}
		return s
	}
	aliases := jsonBegin + "\x1e{\"type\":\"data-stream-class\"}\x1e" + `{"type":"field-class-alias","name":"a0","field-class":` + u8Class("") + "}"
	for i := 1; i < 60; i++ {
		last := fmt.Sprintf("%q", fmt.Sprintf("a%d", i-1))
		aliases += fmt.Sprintf("\x1e{\"type\":\"field-class-alias\",\"name\":\"a%d\",\"field-class\":{\"type\":\"structure\",\"member-classes\":%s}}", i,
			members(member("x", last), member("y", last)))
	}
	labels := ""
	for i := range 20000 {
		labels += fmt.Sprintf("l%d,", i)
	}
	for name, text := range map[string]string{
		"doubling":          head + doubling(40, "struct s%d { struct s%d a; struct s%d b; };\n") + "event { name = e; fields := struct s40; };",
		"wide use":          head + doubling(16, "struct s%d { struct s%d a; struct s%d b; };\n") + strings.Repeat("event { name = e; id = 1; fields := struct s16; };\n", 1000),
		"aliases":           aliases + "\x1e{\"type\":\"event-record-class\",\"payload-field-class\":\"a59\"}",
		"deep structures":   head + "event { name = e; fields := " + strings.Repeat("struct { ", 100000),
		"deep arrays":       head + "event { name = e; fields := struct { uint8_t a" + strings.Repeat("[2]", 100000) + "; }; };",
		"deep JSON":         jsonBegin + strings.Repeat("[", 1000000),
		"comments":          head + strings.Repeat("/*\n", 300000),
		"quotes":            head + strings.Repeat("\"\n", 300000),
		"braces":            head + strings.Repeat("{", 1000000),
		"errors":            head + strings.Repeat("event { x }\n", 100000),
		"long path":         head + "event { name = e; fields := struct { uint8_t a[" + strings.Repeat("a.", 500000) + "a]; }; };",
		"long type":         head + "event { name = e; fields := struct { " + strings.Repeat("unsigned ", 300000) + "a; }; };",
		"many types":        head + "event { name = e; fields := struct {" + strings.Repeat("struct{uint8_t a;}b;", 200000) + "}; };",
		"many references":   head + "event { name = e; fields := struct {" + strings.Repeat("int x;", 30000) + strings.Repeat("int y[x];", 30000) + "}; };",
		"many labels":       head + "event { name = e; fields := struct { enum : int {" + labels + "} t;" + strings.Repeat("variant <t> { int l1; } v;", 30000) + "}; };",
		"long labels":       head + "event { name = e; fields := struct { enum : int {" + strings.Repeat("a,", 1000000) + "} t; }; };",
		"many environments": head + "env {" + strings.Repeat("a=1;", 1000000) + "};",
		"many JSON values":  jsonBegin + "\x1e[" + strings.Repeat("0,", 2000000) + "0]",
		"many fragments":    jsonBegin + strings.Repeat("\x1e{", 1000000),
		"magic numbers":     strings.Repeat("\x57\x1d\xd1\x75", 500000),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := ParseMetadata([]byte(text), "metadata", new(trace.Warnings))
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			all := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%d kB: %v, %d MiB in all, %v", len(text)>>10, took.Round(time.Millisecond), all, err)
			if all > 160 { // allocated over the time, of which what lives at once is a part
				t.Errorf("%d MiB allocated", all)
			}
		})
	}
}

func FuzzMetadata(f *testing.F) {
	for _, x := range realTraces(f) {
		f.Add(x[0])
	}
	f.Add([]byte(lttngLike))
	f.Add([]byte(fragmentsWhole))
	f.Add(packets(lttngLike, binary.LittleEndian, 1000))
	f.Add([]byte(tsdlTypes + tsdlTrace + "stream { }; event { name = e; fields := struct { enum : int { a } t; variant <t> { int a; } v[3]; }; };"))
	f.Add([]byte(manyEvents(2)))
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		m, err := ParseMetadata(data, "metadata", new(trace.Warnings))
		if err != nil {
			return
		}
		// Every slot that is read is also stored, and a reader can walk every type.
		stored := make([]bool, m.Slots)
		walkMetadata(m, func(t *Type) {
			if t.Slot >= 0 {
				stored[t.Slot] = true
			}
		})
		walkMetadata(m, func(x *Type) {
			for _, s := range []int{x.LengthSlot, x.TagSlot} {
				if s >= 0 && !stored[s] {
					t.Errorf("slot %d is read and never stored", s)
				}
			}
			if x.Align < 1 || x.Align&(x.Align-1) != 0 || x.Kind == Variant && len(x.Select) != len(x.Fields) || x.Clock >= len(m.Clocks) {
				t.Errorf("%s is no type", dumpType(x))
			}
		})
	})
}

// walkMetadata visits every type of a trace.
func walkMetadata(m *Metadata, visit func(*Type)) {
	var walk func(t *Type)
	walk = func(t *Type) {
		if t == nil {
			return
		}
		visit(t)
		for i := range t.Fields {
			walk(t.Fields[i].Type)
		}
		walk(t.Elem)
	}
	m.eachScope(walk)
}

func BenchmarkMetadataOfAKernel(b *testing.B) {
	data, err := os.ReadFile(corpus.Trace(b, "bug446190/metadata"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseMetadata(data, "metadata", new(trace.Warnings)); err != nil {
			b.Fatal(err)
		}
	}
}
