package ctf

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/trace"
)

// field places of smallTSDL's packets, in bytes
const (
	atContent   = 48
	atSize      = 56
	atSequence  = 64
	atDiscarded = 72
)

// packetsOf returns the bytes of each packet of a stream whose packets have size bytes.
func packetsOf(stream []byte, size int) [][]byte {
	var all [][]byte
	for len(stream) > 0 {
		all = append(all, stream[:size:size])
		stream = stream[size:]
	}
	return all
}

func TestDiscardedEventsAndLostPacketsAreCounted(t *testing.T) {
	stream := smallStream(t, metadataOf(t, smallTSDL), 60, 320, true, 0)
	packets := packetsOf(stream, 320)
	for i, p := range packets {
		binary.LittleEndian.PutUint64(p[atDiscarded:], uint64(i/2*7)) // 0 0 7 7 14 14 ...
	}
	n := len(packets)
	kept := slices.Concat(packets[0], packets[1], packets[4], packets[n-1])
	var w trace.Warnings
	tr := openTrace(t, &w, smallTSDL, kept)
	s := tr.Events()
	var e trace.Event
	for s.Next(&e) == nil {
	}
	got := tr.Tally()
	if got.Packets != 4 || got.Lost != int64(n-4) || got.Discarded != int64((n-1)/2*7) {
		t.Errorf("%+v of %d packets", got, n)
	}
	s.Close()
	told := strings.Join(w.Lines(), "\n")
	for _, want := range []string{"channel0_0: event discarded by the tracer (", "channel0_0: packet lost by the tracer ("} {
		if !strings.Contains(told, want) {
			t.Errorf("%q does not say %q", told, want)
		}
	}
}

func TestAStepBackIsToldOnceAndTheEventStaysAsItIs(t *testing.T) {
	const text = `/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000000; };
stream { event.header := struct { integer { size = 64; align = 8; map = clock.c.value; } timestamp; }; };
event { name = "e"; fields := struct { integer { size = 8; align = 8; } n; }; };`
	var data []byte
	stamps := []uint64{1000, 2000, 1500, 2500, 1800, 3000}
	for i, at := range stamps {
		data = append(binary.LittleEndian.AppendUint64(data, at), byte(i))
	}
	var w trace.Warnings
	tr := openTrace(t, &w, text, data)
	s := tr.Events()
	var e trace.Event
	var got []uint64
	for s.Next(&e) == nil {
		got = append(got, uint64(e.Time))
	}
	s.Close()
	if !slices.Equal(got, stamps) {
		t.Errorf("times %v", got)
	}
	if l := w.Lines(); len(l) != 1 || !strings.Contains(l[0], "(2 times") || !strings.Contains(l[0], "700 ns") || !strings.Contains(l[0], "offset 18") {
		t.Errorf("%q", l)
	}
}

func TestReadingAllocatesNothingPerEvent(t *testing.T) {
	m := metadataOf(t, smallTSDL)
	defer func(n int64) { readAhead = n }(readAhead)
	for _, readAhead = range []int64{readAhead, 500} {
		dir := writeTrace(t, smallTSDL, smallStream(t, m, 20000, 4096, false, 0), smallStream(t, m, 20000, 4096, false, 1))
		tr, err := Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := tr.Events()
		var e trace.Event
		for range 2000 { // until all memory is there that is used again
			if s.Next(&e) != nil {
				t.Fatal("too short")
			}
			s.Values()
		}
		n := 0
		before := tr.Tally().Packets
		allocs := testing.AllocsPerRun(1, func() {
			for range 15000 {
				if s.Next(&e) != nil {
					t.Fatal("too short")
				}
				s.Values()
				n++
			}
		})
		packets := float64(tr.Tally().Packets-before) / 2
		s.Close()
		if allocs > 2*packets {
			t.Errorf("read ahead %d: %g allocations for %g packets", readAhead, allocs, packets)
		}
	}
}

// indexOf returns LTTng's index of a stream whose packets have size bytes.
func indexOf(stream []byte, size int) []byte {
	var b []byte
	for _, v := range []uint32{indexMagic, 1, 1, indexFields + 16} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	for at := 0; at < len(stream); at += size {
		p := stream[at:]
		for _, v := range []uint64{uint64(at), uint64(size) * 8, binary.LittleEndian.Uint64(p[atContent:]), 0, 0, 0, 0, 0, uint64(at / size)} {
			b = binary.BigEndian.AppendUint64(b, v)
		}
	}
	return b
}

func TestAnIndexFindsPacketsWhereNoMagicNumberDoes(t *testing.T) {
	text := strings.Replace(smallTSDL, "uint32_t magic; uint8_t uuid[16];", "uint32_t nothing; uint8_t none[16];", 1)
	text = strings.Replace(text, `	uuid = "6a0e1a8e-1d5c-4b7f-9a53-3f1d6f0a9b11";`+"\n", "", 1)
	stream := smallStream(t, metadataOf(t, smallTSDL), 50, 320, true, 0)
	all := numbers(t, writeTrace(t, text, stream), nil)
	if len(all) != 50 {
		t.Fatalf("%d events", len(all))
	}
	binary.LittleEndian.PutUint64(stream[320+atSize:], 3) // a packet size that cannot be
	damaged := bytes.Clone(stream)
	without := numbers(t, writeTrace(t, text, damaged), nil)
	dir := writeTrace(t, text, damaged)
	if err := os.Mkdir(filepath.Join(dir, "index"), 0o755); err != nil {
		t.Fatal(err)
	}
	index := indexOf(stream, 320)
	name := filepath.Join(dir, "index", "channel0_0.idx")
	if err := os.WriteFile(name, index, 0o644); err != nil {
		t.Fatal(err)
	}
	with := numbers(t, dir, nil)
	if len(without) >= len(with) || with[len(with)-1] != 49 {
		t.Errorf("%d events without an index, %d with one", len(without), len(with))
	}
	for at := range index { // whatever it says, sound packets are found
		bad := bytes.Clone(index)
		bad[at] ^= 0x21
		if err := os.WriteFile(name, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := numbers(t, dir, nil); len(got) < len(without) {
			t.Fatalf("byte %d of the index flipped: %d events", at, len(got))
		}
	}
}

func TestTracesAreFoundBelowADirectory(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"kernel/metadata":                       "\x57\x1d\xd1\x75....",
		"ust/uid/0/64-bit/metadata":             "\x75\xd1\x1d\x57....",
		"two/metadata":                          "\x1e{\n \"type\": \"preamble\", \"version\": 2}",
		"bare/metadata":                         "/* CTF 1.8 */\n",
		"plain/metadata":                        "trace {\n",
		"package/metadata":                      "Name: something\n",
		"empty/metadata":                        "",
		"ust/uid/0/64-bit/index/channel0_0.idx": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i], _ = filepath.Rel(dir, found[i])
	}
	if want := []string{"bare", "kernel", "plain", "two", "ust/uid/0/64-bit"}; !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
	if _, err := Find(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a directory that is not there has traces")
	}
	if _, err := Open(filepath.Join(dir, "empty"), nil); err == nil || !strings.Contains(err.Error(), "metadata") {
		t.Errorf("%v", err)
	}
}

func TestFilesThatAreNoStreamsAreLeftOut(t *testing.T) {
	dir := writeTrace(t, smallTSDL, smallStream(t, metadataOf(t, smallTSDL), 20, 4096, false, 0))
	for name, content := range map[string]string{"README": "nothing to decode here", ".hidden": "x", "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var w trace.Warnings
	if got := numbers(t, dir, &w); len(got) != 20 {
		t.Errorf("%d events", len(got))
	}
	if l := w.Lines(); len(l) == 0 || !strings.Contains(l[0], "README") || strings.Contains(strings.Join(l, ""), "empty") {
		t.Errorf("%q", l)
	}
}

// benchmarkTrace is as LTTng's kernel tracer would write it: compact headers, six integers an event.
func benchmarkTrace(b *testing.B, events int) string {
	text := strings.Replace(smallTSDL, "uint32_t _number; uint64_t _more;", "uint32_t _number; uint64_t _more; "+
		"uint32_t _a; uint32_t _b; uint64_t _c; uint8_t _d;", 1)
	var out bytes.Buffer
	s, err := NewEncoder(metadataOf(b, text)).NewStream(&out, 0, StreamOptions{Context: []trace.Value{trace.OfUint(0)}})
	if err != nil {
		b.Fatal(err)
	}
	fields := make([]trace.Value, 6)
	for i := range events {
		for k := range fields {
			fields[k] = trace.OfUint(uint64(i * k & 0xff))
		}
		if err := s.Write(0, uint64(i)*800, nil, nil, fields); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		b.Fatal(err)
	}
	return writeTrace(b, text, out.Bytes())
}

func BenchmarkRead(b *testing.B) {
	const events = 200_000
	dir := benchmarkTrace(b, events)
	for _, fields := range []bool{false, true} {
		name := "times"
		if fields {
			name = "fields"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tr, err := Open(dir, nil)
				if err != nil {
					b.Fatal(err)
				}
				s := tr.Events()
				var e trace.Event
				n := 0
				for ; s.Next(&e) != io.EOF; n++ {
					if fields {
						s.Values()
					}
				}
				if n != events {
					b.Fatal(n)
				}
				s.Close()
			}
			b.ReportMetric(events*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}
