package excerpt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/format/ctf"
	"meridian/internal/retention"
	"meridian/internal/testneed"
	"meridian/internal/testseed"
	"meridian/trace"
)

// clockOffset is that of the traces of these tests, ns since 1970.
const clockOffset = 1_700_000_000_000_000_123

// made is a trace as recorders lay it out, in chunks.
type made struct {
	t       rapid.TB
	dir     string
	encoder *ctf.Encoder
	meta    *ctf.Metadata
	packets []madePacket
	dropped []retention.Dropped
}

// madePacket is one that was written: its events are n to n+1.
type madePacket struct {
	stream     int
	begin, end int64 // cycles
	n          int64
}

const (
	tickStream = iota
	droppedStream
	probeStream
)

func newMade(t rapid.TB, dir string) *made {
	context := `packet.context := struct { u64m timestamp_begin; u64m timestamp_end; u64 content_size; u64 packet_size; u64 packet_seq_num; u64 events_discarded; string _row; string _row_kind; i64 _row_id; };
	event.header := struct { u64m timestamp; u32 id; };`
	dropped := ""
	for _, f := range retention.Class().Fields {
		kind := "u64"
		if f.Type.Kind == trace.Text {
			kind = "string"
		}
		dropped += fmt.Sprintf("%s _%s; ", kind, f.Name)
	}
	text := fmt.Sprintf(`/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 64; align = 8; signed = true; } := i64;
trace { major = 1; minor = 8; uuid = "06434ed9-4c1d-4bf1-aebd-a67cc9560c3a"; byte_order = le;
	packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; u64 stream_instance_id; };
};
env { tracer_name = "meridian"; domain = "host"; hostname = "web"; };
clock { name = monotonic; freq = 1000000000; offset_s = %d; offset = %d; absolute = true; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := u64m;
stream { id = 1; %[3]s };
event { name = "tick"; id = 0; stream_id = 1; fields := struct { i64 _n; }; };
stream { id = 2; %[3]s };
event { name = "meridian:dropped"; id = 0; stream_id = 2; model.emf.uri = "meridian:category:meridian"; fields := struct { %[4]s}; };
stream { id = 3; %[3]s };
event { name = "probe"; id = 0; stream_id = 3; fields := struct { i64 _n; }; };
`, clockOffset/1_000_000_000, clockOffset%1_000_000_000, context, dropped)
	m := &made{t: t, dir: dir}
	err := os.MkdirAll(filepath.Join(dir, "packets"), 0o777)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "metadata"), []byte(text), 0o666)
	}
	if err == nil {
		m.meta, err = ctf.ParseMetadata([]byte(text), "metadata", new(trace.Warnings))
	}
	if err != nil {
		t.Fatal(err)
	}
	m.encoder = ctf.NewEncoder(m.meta)
	return m
}

// stream writes a stream of packets, two events each, into chunks of some packets. Those before keep are dropped and told.
func (m *made) stream(class, instance int, name string, times []int64, chunk, keep int) {
	m.t.Helper()
	var out bytes.Buffer
	s, err := m.encoder.NewStream(&out, class, ctf.StreamOptions{Instance: uint64(instance), Context: []trace.Value{trace.OfText(name), trace.OfText("other"), trace.OfInt(0)}})
	if err != nil {
		m.t.Fatal(err)
	}
	file, first := 0, 0
	flush := func(end int) {
		name := fmt.Sprintf("%s_%d_%d", name, instance, file)
		if end <= keep {
			m.dropped = append(m.dropped, retention.Dropped{File: name, Row: name, Span: retention.Span{Packets: uint64(end - first), Events: uint64(2 * (end - first)),
				Bytes: uint64(out.Len()), Begin: uint64(times[2*first]), End: uint64(times[2*end-1])}})
		} else if err := os.WriteFile(filepath.Join(m.dir, name), out.Bytes(), 0o666); err != nil {
			m.t.Fatal(err)
		} else {
			for i := first; i < end; i++ {
				m.packets = append(m.packets, madePacket{class, times[2*i], times[2*i+1], int64(instance*1000 + i)})
			}
		}
		out.Reset()
		file, first = file+1, end
	}
	for i := range len(times) / 2 {
		for _, at := range times[2*i : 2*i+2] {
			if err := s.Write(0, uint64(at), nil, nil, []trace.Value{trace.OfInt(int64(instance*1000 + i))}); err != nil {
				m.t.Fatal(err)
			}
		}
		if err := s.Flush(); err != nil {
			m.t.Fatal(err)
		}
		if (i+1)%chunk == 0 {
			flush(i + 1)
		}
	}
	if len(times)/2 > first {
		flush(len(times) / 2)
	}
}

// tell writes what was dropped, as recorders do.
func (m *made) tell() {
	m.t.Helper()
	if len(m.dropped) == 0 {
		return
	}
	var all retention.Span
	var out bytes.Buffer
	s, err := m.encoder.NewStream(&out, droppedStream, ctf.StreamOptions{Context: []trace.Value{trace.OfText("retention"), trace.OfText("other"), trace.OfInt(0)}})
	for i := range m.dropped {
		d := &m.dropped[i]
		all.Add(d.Span)
		d.All, d.Until = all, all.End
		if err == nil {
			err = s.Write(0, 1<<40, nil, nil, d.Values(nil))
		}
	}
	if err == nil {
		err = s.Flush()
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(m.dir, "retention_0_0"), out.Bytes(), 0o666)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// read returns the numbers of the packets of an excerpt, and what it lacks by its own word.
func read(t rapid.TB, dir string) (numbers []int64, missing retention.Dropped) {
	t.Helper()
	tr, err := ctf.Open(dir, new(trace.Warnings))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for _, s := range tr.Streams {
		r := s.Reader()
		last := int64(-1)
		for r.Next() == nil {
			if c, _ := r.Class(); c.Name == retention.Class().Name {
				break
			}
			if n := r.Values()[0].Int(); n != last {
				numbers, last = append(numbers, n), n
			}
		}
		if r.Lost != 0 || r.Discarded != 0 {
			t.Errorf("%s: %d packets lost, %d events discarded", s.Path, r.Lost, r.Discarded)
		}
	}
	missing, _, err = retention.Missing(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(numbers)
	return numbers, missing
}

// expected is what an excerpt must have: by the definition, packet by packet.
func (m *made) expected(span Span) (numbers []int64) {
	before, after := map[[2]int64]madePacket{}, map[[2]int64]madePacket{}
	for _, p := range m.packets {
		s := span
		if p.stream == probeStream {
			s.From, s.To = s.From-probeMargin, s.To+probeMargin
		}
		k := [2]int64{int64(p.stream), p.n / 1000}
		if p.end >= s.From && p.begin <= s.To {
			numbers = append(numbers, p.n)
		}
		if b, is := before[k]; p.end < s.From && (!is || p.n > b.n) {
			before[k] = p
		}
		if a, is := after[k]; p.begin > s.To && (!is || p.n < a.n) {
			after[k] = p
		}
	}
	for _, side := range []map[[2]int64]madePacket{before, after} {
		for _, p := range side {
			numbers = append(numbers, p.n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

func TestAnExcerptHasThePacketsThatOverlapAndOneOnEitherSide(t *testing.T) {
	root, n := t.TempDir(), 0
	testseed.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		defer os.RemoveAll(dir)
		m := newMade(rt, filepath.Join(dir, "trace"))
		most := int64(0)
		for i := range rapid.IntRange(1, 3).Draw(rt, "streams") {
			var times []int64
			at := rapid.Int64Range(0, 1000).Draw(rt, "begin")
			for range 2 * rapid.IntRange(1, 12).Draw(rt, "packets") {
				at += rapid.Int64Range(1, 100).Draw(rt, "step")
				times = append(times, at)
			}
			most = max(most, at)
			m.stream(tickStream, i, "kernel_3", times, rapid.IntRange(1, 5).Draw(rt, "chunk"), rapid.IntRange(0, 6).Draw(rt, "keep"))
		}
		m.tell()
		from := rapid.Int64Range(-50, most+50).Draw(rt, "from")
		span := Span{from, from + rapid.Int64Range(0, 500).Draw(rt, "long")}
		out := filepath.Join(dir, "out")
		sum, err := Write(context.Background(), m.dir, out, Span{span.From + clockOffset, span.To + clockOffset})
		if err != nil {
			rt.Fatal(err)
		}
		got, missing := read(rt, out)
		if want := m.expected(span); !slices.Equal(got, want) {
			rt.Errorf("packets %d, want %d", got, want)
		}
		var lacks retention.Span
		for _, d := range m.dropped {
			if int64(d.End) >= span.From && int64(d.Begin) <= span.To {
				lacks.Add(d.Span)
			}
		}
		if lacks != missing.All || lacks.Bytes > 0 != sum.Any || lacks.Bytes != sum.Dropped.All.Bytes {
			rt.Errorf("says that it lacks %+v, and the summary %+v; want %+v", missing.All, sum, lacks)
		}
	})
}

// A recorder began when it recorded anything: a clock reading, or what it dropped since. That no event is left from before a span says nothing.
func TestARecorderBeganBeforeWhatIsLeftOfItsEvents(t *testing.T) {
	t.Parallel()
	ticks := []int64{100, 101, 500, 501} // two packets
	for _, c := range []struct {
		what string
		make func(*made)
		want int64
	}{
		{"events alone", func(m *made) { m.stream(tickStream, 0, "kernel_3", ticks, 1, 0) }, 100},
		{"the first dropped", func(m *made) { m.stream(tickStream, 0, "kernel_3", ticks, 1, 1) }, 100},
		{"clocks before", func(m *made) {
			m.stream(tickStream, 0, "kernel_3", ticks[2:], 1, 0)
			m.stream(probeStream, 1, "clocks_3", []int64{7, 8}, 1, 0)
		}, 7},
		{"clocks alone", func(m *made) { m.stream(probeStream, 1, "clocks_3", []int64{7, 8}, 1, 0) }, 7},
		{"nothing", func(*made) {}, -clockOffset},
	} {
		m := newMade(t, filepath.Join(t.TempDir(), "trace"))
		c.make(m)
		m.tell()
		sum, err := Write(t.Context(), m.dir, filepath.Join(t.TempDir(), "out"), Span{clockOffset + 300, clockOffset + 600})
		if err != nil || sum.Recorded != c.want+clockOffset {
			t.Errorf("%s: recorded from %d, %v; want %d", c.what, sum.Recorded-clockOffset, err, c.want)
		}
	}
}

func TestProbesReachBeyondTheSpanAndBabeltraceReadsIt(t *testing.T) {
	m := newMade(t, filepath.Join(t.TempDir(), "trace"))
	var ticks, probes []int64
	for i := range int64(200) {
		ticks = append(ticks, i*2e9, i*2e9+1)
		probes = append(probes, i*2e9+2, i*2e9+3)
	}
	m.stream(tickStream, 0, "kernel_3", ticks, 50, 0)
	m.stream(probeStream, 1, "probes_3", probes, 1000, 0)
	span := Span{190e9, 210e9}
	out := filepath.Join(t.TempDir(), "out")
	if _, err := Write(t.Context(), m.dir, out, Span{span.From + clockOffset, span.To + clockOffset}); err != nil {
		t.Fatal(err)
	}
	got, _ := read(t, out)
	if want := m.expected(span); !slices.Equal(got, want) {
		t.Errorf("packets %d, want %d", got, want)
	}
	var said bytes.Buffer
	cmd := exec.Command(testneed.Program(t, "babeltrace2"), out)
	cmd.Stderr = &said
	if b, err := cmd.Output(); err != nil || said.Len() > 0 || bytes.Count(b, []byte("\n")) != 2*len(got) {
		t.Errorf("babeltrace2: %v: %s%d lines of %d packets", err, said.String(), bytes.Count(b, []byte("\n")), len(got))
	}
}

func TestASpanThatEndsBeforeItBeginsOrATraceThatIsNoneLeavesNothing(t *testing.T) {
	m := newMade(t, filepath.Join(t.TempDir(), "trace"))
	out := filepath.Join(t.TempDir(), "out")
	if _, err := Write(t.Context(), m.dir, out, Span{2, 1}); err == nil {
		t.Error("a span that ends before it begins is taken")
	}
	if err := os.WriteFile(filepath.Join(m.dir, "metadata"), []byte("/* CTF 1.8 */ nonsense"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(t.Context(), m.dir, out, Span{1, 2}); err == nil {
		t.Error("a trace without a clock is taken")
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("something is left")
	}
}

// block is one of pcapng, of words and bytes.
func block(kind uint32, body ...any) []byte {
	var b bytes.Buffer
	for _, x := range body {
		_ = binary.Write(&b, binary.LittleEndian, x) // a buffer takes everything
	}
	for b.Len()%4 != 0 {
		b.WriteByte(0)
	}
	size := uint32(12 + b.Len())
	le := binary.LittleEndian
	return le.AppendUint32(append(le.AppendUint32(le.AppendUint32(nil, kind), size), b.Bytes()...), size)
}

// capture writes one with packets at some times.
func (m *made) capture(name string, resolution byte, times ...int64) {
	m.t.Helper()
	b := block(sectionBlock, uint32(byteOrder), uint16(1), uint16(0), int64(-1))
	b = append(b, block(interfaceBlock, uint16(1), uint16(0), uint32(0), uint16(9), uint16(1), []byte{resolution, 0, 0, 0}, uint32(0))...)
	for _, at := range times {
		b = append(b, block(enhancedBlock, uint32(0), uint32(at>>32), uint32(at), uint32(4), uint32(4), []byte("data"))...)
	}
	b = append(b, block(5, uint32(0), uint32(1), uint32(2))...)
	b = append(b, enhancedBlock, 0, 0, 0, 40) // half a block, which is being written
	if err := os.WriteFile(filepath.Join(m.dir, "packets", name), b, 0o666); err != nil {
		m.t.Fatal(err)
	}
}

func TestACaptureKeepsItsBlocksAndThePacketsOfTheSpan(t *testing.T) {
	m := newMade(t, filepath.Join(t.TempDir(), "trace"))
	m.capture("before.pcapng", 9, 10, 20)
	m.capture("within.pcapng", 9, 90, 100, 150, 200, 201)
	m.capture("around.pcapng", 9, 50, 300)
	m.capture("after.pcapng", 9, 201)
	m.capture("micro.pcapng", 6, 1)
	out := filepath.Join(t.TempDir(), "out")
	sum, err := Write(t.Context(), m.dir, out, Span{100, 200})
	if err != nil || sum.Frames != 3 {
		t.Fatalf("%+v, %v; want 3 frames", sum, err)
	}
	sizes := map[string]int64{}
	entries, err := os.ReadDir(filepath.Join(out, "packets"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		sizes[e.Name()] = info.Size()
	}
	whole, err := os.Stat(filepath.Join(m.dir, "packets", "micro.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	const fixed, packet = 28 + 32 + 24, 36
	want := map[string]int64{"within.pcapng": fixed + 3*packet, "around.pcapng": fixed, "micro.pcapng": whole.Size()} // of the last the times are not known
	if fmt.Sprint(sizes) != fmt.Sprint(want) {
		t.Errorf("files %v, want %v", sizes, want)
	}
}
