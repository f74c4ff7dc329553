package pcap

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/format/internal/stream/streamtest"
	"meridian/trace"
)

func someRecords() []record {
	var rs []record
	for i := range 5 {
		rs = append(rs, record{clock.HostTime(1_700_000_000_000_001_000 + int64(i)*1000), bytes.Repeat([]byte{byte(i + 1)}, 3*i+1), 100})
	}
	return rs
}

// A cut file gives all its whole packets, whatever is cut, and says where.
func TestAPcapCutAnywhereGivesItsWholePackets(t *testing.T) {
	for _, magic := range []uint32{0xa1b2c3d4, 0xa1b23c4d, 0xa1b2cd34} {
		var file []byte
		var ends []int
		for n := range 6 {
			file = classic(binary.BigEndian, magic, 65535, 1, someRecords()[:n]...)
			ends = append(ends, len(file))
		}
		for n := 4; n <= len(file); n++ {
			whole, clean := 0, false
			for i, e := range ends {
				if n >= e {
					whole = i
				}
				clean = clean || n == e
			}
			var w trace.Warnings
			r, err := NewReader(trickle{bytes.NewReader(file[:n])}, "x.pcap", &w)
			if err != nil {
				t.Fatalf("cut at %d: %v", n, err)
			}
			frames := framesOf(t, r)
			if len(frames) != whole || (len(w.Lines()) == 0) != clean {
				t.Fatalf("cut at %d: %d packets, want %d; %v", n, len(frames), whole, w.Lines())
			}
			if r.Next(new(trace.Frame)) != io.EOF {
				t.Fatalf("cut at %d: goes on after its end", n)
			}
			for i, f := range frames {
				if !bytes.Equal(f.Data, someRecords()[i].data) || f.Time != someRecords()[i].time || f.Wire != 100 || f.Number != i {
					t.Fatalf("cut at %d: packet %d is %+v", n, i, f)
				}
			}
			r.Close()
		}
	}
}

func blocksOf(order binary.AppendByteOrder, packets int) ([]byte, []int) {
	b := blockFile{order: order}
	b.section()
	b.iface(1, 0, b.option(2, []byte("eth0")), b.option(9, []byte{9}))
	ends := []int{len(b.bytes)}
	for i, r := range someRecords()[:packets] {
		b.block(5, b.words(0, 0, 0)) // statistics, in between
		b.enhanced(0, uint64(r.time), r.data, r.wire, b.option(1, []byte("comment")), b.option(2, b.words(uint32(1+i%2))), b.halves(0, 0))
		ends = append(ends, len(b.bytes))
	}
	return b.bytes, ends
}

func TestAPcapngCutAnywhereGivesItsWholePackets(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		file, ends := blocksOf(order, 5)
		for n := 4; n <= len(file); n++ {
			whole := 0
			for i, e := range ends {
				if n >= e {
					whole = i
				}
			}
			var w trace.Warnings
			r, err := NewReader(trickle{bytes.NewReader(file[:n])}, "x.pcapng", &w)
			if err != nil {
				t.Fatalf("cut at %d: %v", n, err)
			}
			frames := framesOf(t, r)
			if len(frames) != whole {
				t.Fatalf("cut at %d: %d packets, want %d; %v", n, len(frames), whole, w.Lines())
			}
			if n == len(file) && len(w.Lines()) > 0 || n == len(file)-1 && len(w.Lines()) != 1 {
				t.Fatalf("cut at %d: %v", n, w.Lines())
			}
			for i, f := range frames {
				if !bytes.Equal(f.Data, someRecords()[i].data) || f.Time != someRecords()[i].time || f.Wire != 100 ||
					string(f.Options) != "\x01\x00\x07\x00comment\x00\x02\x00\x04\x00"+string(rune(1+i%2))+"\x00\x00\x00" {
					t.Fatalf("cut at %d: packet %d is %+v", n, i, f)
				}
			}
			r.Close()
		}
	}
}

func TestAWarningNamesThePlaceOfTheCut(t *testing.T) {
	file := classic(binary.LittleEndian, 0xa1b2c3d4, 65535, 1, someRecords()...)
	_, _, w := readAll(t, file[:len(file)-1])
	want := "x.pcap: cut in the middle of a packet; what is whole is used (packet 5 at offset 110)"
	if l := w.Lines(); len(l) != 1 || l[0] != want {
		t.Errorf("%q, want %q", l, want)
	}
}

func TestCorruptLengthsEndTheReadingWithAWarning(t *testing.T) {
	good := classic(binary.LittleEndian, 0xa1b2c3d4, 65535, 1, someRecords()...)
	file, ends := blocksOf(binary.LittleEndian, 5)
	put := func(b []byte, at int, v uint32) []byte {
		b = bytes.Clone(b)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	third := ends[2] + 24 // behind the statistics that come before the third packet
	for _, c := range []struct {
		name    string
		file    []byte
		packets int
		warning string
	}{
		{"giant record", put(good, 24+8, 0x7fffffff), 0, "packet's length is corrupt"},
		{"giant second record", put(good, 24+17+8, 0xffffffff), 1, "packet's length is corrupt"},
		{"beyond the snap length", put(good, 24+17+8, 300000), 1, "packet's length is corrupt"},
		{"zeros", append(bytes.Clone(good), make([]byte, 4096)...), 5, "zeros instead of packets"},
		{"zeros before other packets", slices.Concat(good, make([]byte, 4096), good[24:]), 5, "zeros instead of packets in the middle"},
		{"block of length 4", put(file, third+4, 4), 2, "block's length is corrupt"},
		{"block of odd length", put(file, third+4, 61), 2, "block's length is corrupt"},
		{"lengths that disagree", put(file, third+4, 24), 2, "block's length is corrupt"},
		{"giant block", put(file, third+4, 0x10000000), 2, "cut in the middle of a block"},
		{"zeros in pcapng", append(bytes.Clone(file), make([]byte, 4096)...), 5, "zeros instead of packets"},
		{"zeros before other blocks", slices.Concat(file, make([]byte, 1<<20), file), 5, "zeros instead of packets in the middle"},
		{"kept more than the block holds", put(file, third+20, 500), 4, "contradict their block"},
		{"interface that is not described", put(file, third+8, 7), 4, "contradict their block"},
		{"stamp of the year 2400", put(file, third+12, 0xf0000000), 4, "outside of the years"},
	} {
		frames, _, w := readAll(t, c.file)
		if len(frames) != c.packets || len(w.Lines()) != 1 || !strings.Contains(w.Lines()[0], c.warning) {
			t.Errorf("%s: %d packets, %q", c.name, len(frames), w.Lines())
		}
		for i, f := range frames {
			if f.Number != i {
				t.Errorf("%s: packet %d has number %d", c.name, i, f.Number)
			}
		}
	}
}

func TestACompressedCaptureCutAnywhereGivesWholePacketsOnly(t *testing.T) {
	plain := classic(binary.LittleEndian, 0xa1b2c3d4, 65535, 1, someRecords()...)
	for _, kind := range []string{"gzip", "zstd"} {
		file := streamtest.Compress(t, kind, plain)
		for n := 4; n <= len(file); n++ {
			var w trace.Warnings
			r, err := NewReader(bytes.NewReader(file[:n]), "x.pcap", &w)
			if err != nil {
				if !strings.Contains(err.Error(), "x.pcap: "+kind) || n == len(file) {
					t.Fatalf("%s cut at %d: %v", kind, n, err)
				}
				continue
			}
			frames := framesOf(t, r)
			r.Close()
			for i, f := range frames {
				if !bytes.Equal(f.Data, someRecords()[i].data) {
					t.Fatalf("%s cut at %d: packet %d is %+v", kind, n, i, f)
				}
			}
			if (len(w.Lines()) == 0) != (n == len(file)) || n == len(file) && len(frames) != 5 {
				t.Fatalf("%s cut at %d of %d: %d packets, %v", kind, n, len(file), len(frames), w.Lines())
			}
		}
	}
}

func TestCorruptAndCutCompressedDataAreGaps(t *testing.T) {
	plain := classic(binary.LittleEndian, 0xa1b2c3d4, 65535, 1, slices.Repeat(someRecords(), 2000)...) // several blocks
	for _, kind := range []string{"gzip", "zstd"} {
		file := streamtest.Compress(t, kind, plain)
		corrupt := bytes.Clone(file)
		corrupt[len(corrupt)-2] ^= 0xff // of the checksum
		for _, c := range []struct {
			file   []byte
			damage bool
		}{{file, false}, {file[:len(file)-1], true}, {corrupt, true}} {
			_, _, w := readAll(t, c.file)
			if (w.Gaps() != "") != c.damage {
				t.Errorf("%s: damage %q, want some: %v; %q", kind, w.Gaps(), c.damage, w.Lines())
			}
		}
	}
}

func TestFilesThatAreNoCaptureSayWhatTheyAre(t *testing.T) {
	dir := t.TempDir()
	for content, want := range map[string]string{
		"":                                  "empty file",
		"hello, world":                      "neither pcap nor pcapng (begins with 68 65 6c 6c 6f 2c 20 77)",
		"\n\r\r\nthis is no section header": "neither pcap nor pcapng",
		"\xd4\xc3":                          "neither pcap nor pcapng",
	} {
		path := filepath.Join(dir, "x.pcap")
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, nil); err == nil || !strings.HasPrefix(err.Error(), path+": "+want) {
			t.Errorf("%q: %v", content, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "missing"), nil); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
	if _, err := Open(dir, nil); err == nil {
		t.Error("a directory was opened")
	}
}

func TestACaptureWithoutPacketsIsNoError(t *testing.T) {
	frames, r, w := readAll(t, classic(binary.LittleEndian, 0xa1b23c4d, 65535, 113))
	if len(frames) > 0 || len(w.Lines()) > 0 || len(r.Interfaces()) != 1 || r.Interfaces()[0].LinkType != 113 || r.Resolution() != 1 {
		t.Errorf("%v %v %v", frames, w.Lines(), r.Interfaces())
	}
}

// Both passes must number the frames alike, damage or not.
func TestPacketsOfTheFirstPassAreFramesOfTheSecond(t *testing.T) {
	b := blockFile{order: binary.LittleEndian}
	b.section()
	b.iface(1, 0, b.option(9, []byte{9}))
	data := ether(typeIPv4, ip4(udp, nil, udpDatagram("x", 0), 0, 1, 0))
	for i := range 50 {
		stamp := uint64(i)
		if i%7 == 3 {
			stamp = 1 << 63
		}
		b.enhanced(uint32(i/40), stamp, data, 0) // the last ones of an unknown interface
	}
	path := filepath.Join(t.TempDir(), "x.pcapng")
	if err := os.WriteFile(path, b.bytes, 0o666); err != nil {
		t.Fatal(err)
	}
	var w trace.Warnings
	c, err := Read(context.Background(), path, "h", &w, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	frames := framesOf(t, r)
	if len(frames) != 34 || c.Packets.Len() != 34 || len(w.Lines()) != 2 {
		t.Fatalf("%d frames, %d packets, %v", len(frames), c.Packets.Len(), w.Lines())
	}
	for i, f := range frames {
		if f.Number != i || c.Packets.At(i).Time != f.Time {
			t.Errorf("frame %d: %+v", i, f)
		}
	}
}

func TestALengthCostsNoMemoryBeforeItsBytesCame(t *testing.T) {
	file := classic(binary.LittleEndian, 0xa1b2c3d4, 0, 1)
	file = append(file, make([]byte, 16)...)
	binary.LittleEndian.PutUint32(file[32:], maxFrame)
	binary.LittleEndian.PutUint32(file[36:], maxFrame)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	frames, _, w := readAll(t, file)
	runtime.ReadMemStats(&after)
	if len(frames) > 0 || len(w.Lines()) != 1 {
		t.Errorf("%d frames, %v", len(frames), w.Lines())
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 4*windowSize {
		t.Errorf("%d bytes allocated for a file of %d", n, len(file))
	}
}

func TestDescriptionsOfInterfacesTakeBoundedMemory(t *testing.T) {
	for _, c := range []struct{ name, most int }{{0, 1 << 20}, {100, maxDescribed / 100}} {
		one := binary.LittleEndian.AppendUint32(nil, interfaceBlock)
		one = binary.LittleEndian.AppendUint32(one, uint32(24+c.name))
		one = append(one, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, byte(c.name), byte(c.name>>8))
		one = append(one, bytes.Repeat([]byte("x"), c.name)...)
		one = binary.LittleEndian.AppendUint32(one, uint32(24+c.name))
		head := []byte("\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x4d\x3c\x2b\x1a\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x1c\x00\x00\x00")
		var w trace.Warnings
		r, err := NewReader(io.MultiReader(bytes.NewReader(head), &endless{one, one}), "x", &w)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Next(new(trace.Frame)); err != io.EOF {
			t.Error(err)
		}
		if n := len(r.Interfaces()); n < 1000 || n > c.most {
			t.Errorf("%d interfaces with names of %d bytes", n, c.name)
		}
		r.Close()
		if lines := w.Lines(); len(lines) != 1 || !strings.Contains(lines[0], tooMany) {
			t.Error(lines)
		}
	}
}

// endless is a text again and again.
type endless struct{ text, rest []byte }

func (e *endless) Read(b []byte) (int, error) {
	if len(e.rest) == 0 {
		e.rest = e.text
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func TestSuperSegmentsOfAnyLengthAreRead(t *testing.T) {
	big := bytes.Repeat([]byte("segment "), 512<<10/8+1000)
	for _, snap := range []uint32{0, 1 << 20} {
		file := classic(binary.LittleEndian, 0xa1b2c3d4, snap, 1, record{1e9, big, 0}, record{2e9, []byte("small"), 0})
		frames, _, w := readAll(t, file)
		if len(frames) != 2 || !bytes.Equal(frames[0].Data, big) || string(frames[1].Data) != "small" || len(w.Lines()) > 0 {
			t.Errorf("snap length %d: %d frames, %v", snap, len(frames), w.Lines())
		}
	}
}
