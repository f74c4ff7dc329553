package ctf

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"meridian/trace"
)

// smallTSDL describes a trace as LTTng's kernel tracer makes them.
const smallTSDL = `/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
trace {
	major = 1; minor = 8;
	uuid = "6a0e1a8e-1d5c-4b7f-9a53-3f1d6f0a9b11";
	byte_order = le;
	packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id; };
};
env { hostname = "small"; };
clock { name = "monotonic"; freq = 1000000000; offset = 1700000000000000000; };
typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; } := uint27_clock_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := uint64_clock_t;
stream {
	id = 0;
	packet.context := struct {
		uint64_clock_t timestamp_begin; uint64_clock_t timestamp_end; uint64_t content_size; uint64_t packet_size;
		uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id;
	};
	event.header := struct {
		enum : integer { size = 5; align = 1; signed = false; } { compact = 0 ... 30, extended = 31 } id;
		variant <id> {
			struct { uint27_clock_t timestamp; } compact;
			struct { uint32_t id; uint64_clock_t timestamp; } extended;
		} v;
	} align(8);
};
event { name = "plain"; id = 0; stream_id = 0; fields := struct { uint32_t _number; uint64_t _more; }; };
event { name = "text"; id = 1; stream_id = 0; fields := struct { uint32_t _number; string _what; uint8_t _n; uint32_t _list[_n]; }; };
event { name = "late"; id = 40; stream_id = 0; fields := struct { uint32_t _number; }; };
`

// metadataOf returns metadata from its text.
func metadataOf(t testing.TB, text string) *Metadata {
	t.Helper()
	var w trace.Warnings
	m, err := ParseMetadata([]byte(text), "metadata", &w)
	if err != nil || len(w.Lines()) > 0 {
		t.Fatal(err, w.Lines())
	}
	return m
}

// smallStream returns a stream of n events whose first field numbers them, in packets of size bytes.
func smallStream(t testing.TB, m *Metadata, n, size int, fixed bool, cpu uint64) []byte {
	t.Helper()
	var out bytes.Buffer
	s, err := NewEncoder(m).NewStream(&out, 0, StreamOptions{PacketSize: size, Fixed: fixed, Instance: cpu,
		Context: []trace.Value{trace.OfUint(cpu)}})
	if err != nil {
		t.Fatal(err)
	}
	now := 5_000_000_000 + cpu
	for i := range n {
		now += 1000
		number := trace.OfUint(uint64(i))
		switch i % 5 {
		case 1, 2:
			list := trace.Value{Kind: trace.Array}
			for k := range i % 4 {
				list.Items = append(list.Items, trace.OfUint(uint64(k)))
			}
			err = s.Write(1, now, nil, nil, []trace.Value{number, trace.OfText(fmt.Sprint("event ", i)), list})
		case 3:
			now += 200_000_000 // more than 27 bits can say
			err = s.Write(2, now, nil, nil, []trace.Value{number})
		default:
			err = s.Write(0, now, nil, nil, []trace.Value{number, trace.OfUint(1 << 40)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// writeTrace writes a trace's files and returns its directory.
func writeTrace(t testing.TB, metadata string, streams ...[]byte) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("metadata", []byte(metadata))
	for i, s := range streams {
		put(fmt.Sprintf("channel0_%d", i), s)
	}
	return dir
}

// openTrace opens a trace of the metadata and streams, and closes it at the end of the test.
func openTrace(t testing.TB, w *trace.Warnings, metadata string, streams ...[]byte) *Trace {
	t.Helper()
	tr, err := Open(writeTrace(t, metadata, streams...), w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

// numbers reads a trace to its end and returns the first field of each event.
func numbers(t testing.TB, dir string, w *trace.Warnings) []uint64 {
	t.Helper()
	tr, err := Open(dir, w)
	if err != nil {
		t.Fatal(err)
	}
	return numbersOf(tr)
}

func numbersOf(tr *Trace) []uint64 {
	s := tr.Events()
	defer s.Close()
	var all []uint64
	var e trace.Event
	for s.Next(&e) == nil {
		all = append(all, s.Values()[0].Uint())
	}
	return all
}
