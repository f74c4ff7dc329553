package ctf

import (
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"time"

	"meridian/internal/fuzztest"
	"meridian/internal/testseed"
	"meridian/trace"
)

// Whatever the bytes, reading ends, within bounds of memory, and what is read twice is the same.
func FuzzReader(f *testing.F) {
	m := metadataOf(f, smallTSDL)
	f.Add([]byte(smallTSDL), smallStream(f, m, 12, 320, true, 0))
	f.Add([]byte(smallTSDL), smallStream(f, m, 12, 4096, false, 3))
	f.Add([]byte("/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = be; }; stream { };"+
		"event { fields := struct { integer { size = 3; align = 1; signed = true; } a; string s; struct { } e[5]; "+
		"floating_point { exp_dig = 8; mant_dig = 24; byte_order = le; align = 1; } f; }; };"), []byte("abcdefg\x00hijk\x00"))
	f.Add([]byte("\x1e{\"type\":\"preamble\",\"version\":2}\n\x1e{\"type\":\"trace-class\"}\n\x1e{\"type\":\"data-stream-class\"}\n"+
		"\x1e{\"type\":\"event-record-class\",\"payload-field-class\":{\"type\":\"structure\",\"member-classes\":[{\"name\":\"v\","+
		"\"field-class\":{\"type\":\"variable-length-signed-integer\"}}]}}\n"), []byte("\x80\x01\x7f\xff"))
	for _, x := range realTraces(f) {
		f.Add(x[0], x[1])
	}
	dir := f.TempDir()
	testseed.Fuzz(f, func(t *testing.T, metadata, stream []byte) {
		var w trace.Warnings
		m, err := ParseMetadata(metadata, "metadata", &w)
		if err != nil {
			return
		}
		if err := os.WriteFile(filepath.Join(dir, "stream"), stream, 0o644); err != nil {
			t.Fatal(err)
		}
		read := func() (n int, checksum uint32) { // of what is printed
			printed := crc32.NewIEEE()
			tr, err := open(dir, m, "metadata", nil, &w)
			if err != nil {
				return -1, 0
			}
			s := tr.Events()
			defer s.Close()
			text := NewTextWriter(printed, s, time.UTC)
			var e trace.Event
			for s.Next(&e) == nil {
				n++
				c := s.Classes()[e.Class]
				if v := s.Values(); len(v) != len(c.Fields) || e.Stream >= len(s.Streams()) {
					t.Fatalf("event %d of class %q: %d values of %d, row %d", n, c.Name, len(v), len(c.Fields), e.Stream)
				}
				if err := text.Event(); err != nil {
					t.Fatal(err)
				}
				if n > 8*len(stream) {
					t.Fatal("more events than bits")
				}
			}
			if err := text.Flush(); err != nil {
				t.Fatal(err)
			}
			return n, printed.Sum32()
		}
		whole, wholeText := read()
		defer func(n int64) { readAhead = n }(readAhead)
		readAhead = 8
		if n, text := read(); n != whole || text != wholeText {
			t.Fatalf("%d events %x of packets read at once, %d %x of packets read in pieces", whole, wholeText, n, text)
		}
	})
}

// realTraces returns metadata and a stream of traces that real tools wrote.
func realTraces(f *testing.F) (all [][2][]byte) {
	metadata, streams := fuzztest.Real(f, "*/metadata"), fuzztest.Real(f, "*/stream")
	for i := range metadata {
		all = append(all, [2][]byte{metadata[i], streams[i]})
	}
	return all
}
