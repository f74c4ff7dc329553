package pcap

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meridian/trace"
)

// fractions returns a pcap file of UDP packets, a second apart, with these fractions of a second.
func fractions(magic uint32, of ...uint32) []byte {
	file := classic(binary.LittleEndian, magic, 65535, 1)
	for i, fraction := range of {
		r := record{0, ether(typeIPv4, ip4(udp, nil, udpDatagram(fmt.Sprint(i), 0), 0, 1, 0)), 0}
		one := classic(binary.LittleEndian, magic, 65535, 1, r)[headerLength:]
		binary.LittleEndian.PutUint32(one, uint32(1_700_000_001+i))
		binary.LittleEndian.PutUint32(one[4:], fraction)
		file = append(file, one...)
	}
	return file
}

func capture(t *testing.T, file []byte) (*trace.Capture, []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.pcap")
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	var w trace.Warnings
	c, err := Read(context.Background(), path, "h", &w, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, w.Lines()
}

func TestAnImpossibleFractionIsNoStamp(t *testing.T) {
	const at = 1_700_000_000_000_000_000
	for _, c := range []struct {
		magic uint32
		of    []uint32
		times []int64 // negative: not to be matched
		first string
	}{
		{0xa1b2c3d4, []uint32{7, 999_999, 1_000_000, 5}, []int64{at + 1e9 + 7e3, at + 2e9 + 999_999e3, -(at + 2e9 + 999_999e3), at + 4e9 + 5e3}, "packet 3 at offset"},
		{0xa1b23c4d, []uint32{1 << 31, 3, 999_999_999, 1_000_000_000, 4}, []int64{-(at + 2e9 + 3), at + 2e9 + 3, at + 3e9 + 999_999_999, -(at + 3e9 + 999_999_999), at + 5e9 + 4}, "packet 1 at offset"},
		{0xa1b2c3d4, []uint32{7, 0}, []int64{at + 1e9 + 7e3, at + 2e9}, ""},
	} {
		got, lines := capture(t, fractions(c.magic, c.of...))
		for i, want := range c.times {
			p := got.Packets.At(i)
			if bad := want < 0; int64(p.Time) != max(want, -want) || (p.Kind == trace.Untimed) != bad {
				t.Errorf("%x: packet %d at %d, kind %v; want %d", c.magic, i, p.Time, p.Kind, want)
			}
		}
		switch text := strings.Join(lines, "\n"); {
		case c.first == "" && text != "":
			t.Errorf("%q", text)
		case c.first != "" && (!strings.Contains(text, "impossible fraction") || !strings.Contains(text, c.first) || len(lines) != 1):
			t.Errorf("%q", text)
		}
	}
}

// A file of nanoseconds under the magic number of microseconds has sound fractions by chance: they are wrong by up to a second.
func TestNoPacketIsMatchedWhereMostFractionsAreImpossible(t *testing.T) {
	c, lines := capture(t, fractions(0xa1b2c3d4, 123_456_789, 5, 999_999_999))
	for i := range 3 {
		if c.Packets.At(i).Kind != trace.Untimed {
			t.Errorf("packet %d is matched", i)
		}
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "none is matched; the file may count nanoseconds") || !strings.Contains(text, "(2 of 3)") {
		t.Errorf("%q", text)
	}
}

func TestAnotherVersionOfPcapIsReadWithAWarning(t *testing.T) {
	for _, c := range []struct {
		major, minor uint16
		warning      string
	}{
		{2, 4, ""}, {2, 3, "version 2.3 of pcap"}, {3, 0, "version 3.0 of pcap"}, {543, 0, "version 543.0 of pcap"}, {0, 0, "version 0.0 of pcap"},
	} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			file := classic(order, 0xa1b2c3d4, 65535, 1, someRecords()...)
			copy(file[4:], order.AppendUint16(order.AppendUint16(nil, c.major), c.minor))
			frames, _, w := readAll(t, file)
			lines := w.Lines()
			if len(frames) != 5 || (len(lines) == 0) != (c.warning == "") || c.warning != "" && (len(lines) != 1 || !strings.Contains(lines[0], c.warning)) {
				t.Errorf("%+v: %d packets, %q", c, len(frames), lines)
			}
		}
	}
}

// libpcap: files before 2.4 may have the length on the wire before the captured one.
func TestLengthsOfOldVersionsMayStandTheOtherWayRound(t *testing.T) {
	file := classic(binary.LittleEndian, 0xa1b2c3d4, 65535, 1, someRecords()...)
	file[6] = 2
	at := headerLength
	for _, r := range someRecords() {
		binary.LittleEndian.PutUint32(file[at+8:], 100)
		binary.LittleEndian.PutUint32(file[at+12:], uint32(len(r.data)))
		at += 16 + len(r.data)
	}
	frames, _, w := readAll(t, file)
	if len(frames) != 5 || len(w.Lines()) != 1 {
		t.Fatalf("%d packets, %q", len(frames), w.Lines())
	}
	for i, f := range frames {
		if f.Wire != 100 || len(f.Data) != len(someRecords()[i].data) {
			t.Errorf("packet %d: %d of %d bytes", i, len(f.Data), f.Wire)
		}
	}
}

func TestLessLengthOnTheWireThanWasCapturedIsWarnedOf(t *testing.T) {
	records := classic(binary.LittleEndian, 0xa1b2c3d4, 65535, 1, record{1e9, []byte("abc"), 0}, record{2e9, []byte("defg"), 0}, record{3e9, []byte("hi"), 0})
	binary.LittleEndian.PutUint32(records[headerLength+19+12:], 3)
	binary.LittleEndian.PutUint32(records[headerLength+19+20+12:], 0)
	b := blockFile{order: binary.BigEndian}
	b.section()
	b.iface(1, 0)
	b.enhanced(0, 1e6, []byte("abc"), 0)
	for _, wire := range []uint32{3, 0} {
		b.block(enhancedBlock, b.words(0, 0, 2e6, 4, wire), []byte("defg"))
	}
	for name, file := range map[string][]byte{"pcap": records, "pcapng": b.bytes} {
		frames, _, w := readAll(t, file)
		lines := w.Lines()
		if len(frames) != 3 || frames[1].Wire != 4 || len(lines) != 1 || !strings.Contains(lines[0], "less length on the wire") ||
			!strings.Contains(lines[0], "2 times") || !strings.Contains(lines[0], "packet 2 at offset") {
			t.Errorf("%s: %+v, %q", name, frames, lines)
		}
	}
}

func TestAnotherMinorVersionOfPcapngIsReadWithAWarning(t *testing.T) {
	for minor, warned := range map[uint16]bool{0: false, 2: false, 1: true, 9: true} {
		b := blockFile{order: binary.LittleEndian}
		b.block(sectionBlock, b.words(byteOrderMagic), b.halves(1, minor), b.words(0xffffffff, 0xffffffff))
		b.iface(1, 0)
		b.enhanced(0, 1e6, []byte("abc"), 0)
		frames, _, w := readAll(t, b.bytes)
		if lines := w.Lines(); len(frames) != 1 || (len(lines) == 1) != warned || warned && !strings.Contains(lines[0], fmt.Sprintf("version 1.%d of pcapng", minor)) {
			t.Errorf("1.%d: %d frames, %q", minor, len(frames), lines)
		}
	}
}
