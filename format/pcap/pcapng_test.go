package pcap

import (
	"context"
	"encoding/binary"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

func TestSectionsHaveTheirOwnByteOrderAndInterfaces(t *testing.T) {
	first, second := blockFile{order: binary.LittleEndian}, blockFile{order: binary.BigEndian}
	first.section()
	first.iface(1, 96, first.option(2, []byte("eth0")))
	first.iface(113, 0, first.option(3, []byte("any, described")), first.option(9, []byte{3}))
	first.enhanced(1, 5000, []byte("one"), 0)
	second.section()
	second.iface(101, 0, second.option(9, []byte{9}), second.option(2, []byte("tun0\x00\x00")), second.halves(0, 0), []byte("what follows the end"))
	second.enhanced(0, 7, []byte("two"), 0)
	second.enhanced(1, 7, []byte("of the first section's second interface"), 0)
	frames, r, w := readAll(t, append(first.bytes, second.bytes...))
	if len(frames) != 2 || len(w.Lines()) != 1 {
		t.Fatalf("%+v %v", frames, w.Lines())
	}
	if f := frames[0]; f.Interface != 1 || f.Time != 5e9 || string(f.Data) != "one" {
		t.Errorf("%+v", f)
	}
	if f := frames[1]; f.Interface != 2 || f.Time != 7 || string(f.Data) != "two" {
		t.Errorf("%+v", f)
	}
	want := []trace.Interface{{Name: "eth0", LinkType: 1, SnapLength: 96}, {Name: "any, described", LinkType: 113}, {Name: "tun0", LinkType: 101}}
	for i, x := range r.Interfaces() {
		if x != want[i] {
			t.Errorf("interface %d: %+v", i, x)
		}
	}
	if r.Resolution() != 1_000_000 {
		t.Errorf("resolution %d", r.Resolution())
	}
}

func TestOptionsOfBigEndianPacketsAreTurnedRound(t *testing.T) {
	b := blockFile{order: binary.BigEndian}
	b.section()
	b.iface(1, 0)
	b.enhanced(0, 1, []byte("abc"), 0,
		b.option(2, b.words(0x00000102)), b.option(4, b.words(0, 9)), b.option(6, b.words(3)), b.option(1, []byte("text")),
		b.option(2989, append(b.words(32473), 1, 2, 3)), b.option(3, []byte{1, 2, 3, 4, 5}), b.halves(0, 0), []byte("junk"))
	frames, _, w := readAll(t, b.bytes)
	l := blockFile{order: binary.LittleEndian}
	want := join(l.option(2, l.words(0x00000102)), l.option(4, l.words(9, 0)), l.option(6, l.words(3)), l.option(1, []byte("text")),
		l.option(2989, append(l.words(32473), 1, 2, 3)), l.option(3, []byte{1, 2, 3, 4, 5}))
	if len(frames) != 1 || string(frames[0].Options) != string(want) || len(w.Lines()) > 0 {
		t.Errorf("%x\n%x %v", frames[0].Options, want, w.Lines())
	}
}

func TestSimpleAndObsoletePacketBlocksAreRead(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := blockFile{order: order}
		b.section()
		b.iface(101, 8)
		b.block(packetBlock, b.halves(0, 42), b.words(0, 77, 5, 60), []byte("fives\x00\x00\x00"), b.option(2, b.words(1)))
		b.block(simpleBlock, b.words(5), []byte("short"))
		b.block(simpleBlock, b.words(100), []byte("cut to 8"))
		b.block(simpleBlock, b.words(100), []byte("less"))
		b.block(0xbad, b.words(32473, 1, 2))
		frames, _, w := readAll(t, b.bytes)
		if len(frames) != 3 || len(w.Lines()) != 2 {
			t.Fatalf("%+v %v", frames, w.Lines())
		}
		if f := frames[0]; f.Time != 77000 || f.Wire != 60 || string(f.Data) != "fives" || packetFlags(f.Options) != 1 {
			t.Errorf("%+v", f)
		}
		if f := frames[1]; f.Time != 77000 || f.Wire != 5 || string(f.Data) != "short" {
			t.Errorf("%+v", f)
		}
		if f := frames[2]; f.Time != 77000 || f.Wire != 100 || string(f.Data) != "cut to 8" {
			t.Errorf("%+v", f)
		}
	}
}

func TestPacketsWithoutAStampAreNotMatched(t *testing.T) {
	b := blockFile{order: binary.LittleEndian}
	b.section()
	b.iface(101, 0)
	data := ip4(udp, nil, udpDatagram("x", 0), 0, 1, 0)
	b.enhanced(0, 9, data, 0)
	b.block(simpleBlock, b.words(uint32(len(data))), data)
	path := filepath.Join(t.TempDir(), "x.pcapng")
	if err := os.WriteFile(path, b.bytes, 0o666); err != nil {
		t.Fatal(err)
	}
	c, err := Read(context.Background(), path, "h", nil, nil)
	if err != nil || c.Packets.Len() != 2 || c.Packets.At(0).Kind != trace.Datagram || c.Packets.At(1).Kind != trace.Untimed {
		t.Errorf("%v %+v", err, c)
	}
}

// exactTime is the instant of a stamp by exact rationals: floor(count * unit in ns) + offset.
func exactTime(count uint64, resolution byte, offset int64) (clock.HostTime, bool) {
	base := int64(10)
	if resolution&0x80 != 0 {
		base = 2
	}
	divisor := new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(resolution&0x7f)), nil)
	t := new(big.Int).Mul(new(big.Int).SetUint64(count), big.NewInt(1e9))
	t.Div(t, divisor)
	t.Add(t, new(big.Int).Mul(big.NewInt(offset), big.NewInt(1e9)))
	if t.CmpAbs(big.NewInt(clock.Limit)) >= 0 {
		return 0, false
	}
	return clock.HostTime(t.Int64()), true
}

func TestStampsOfEveryUnitAreExact(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		resolution := rapid.Byte().Draw(t, "resolution")
		count := rapid.Uint64().Draw(t, "count") >> rapid.IntRange(0, 63).Draw(t, "shift")
		offset := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(-5e9, 5e9), rapid.Int64()).Draw(t, "offset")
		u := newUnit(resolution)
		u.offset = offset
		got, ok := u.time(count)
		want, wantOK := exactTime(count, resolution, offset)
		if ok != wantOK && (ok || withinReach(count, resolution, offset)) || ok && got != want {
			t.Fatalf("%d of unit %#x and %d s: %d %v, want %d %v", count, resolution, offset, got, ok, want, wantOK)
		}
		if u.step() < 1 {
			t.Fatalf("step %d", u.step())
		}
	})
}

// withinReach tells stamps that are time in every respect from those that only an absurd offset would bring back.
func withinReach(count uint64, resolution byte, offset int64) bool {
	raw, ok := exactTime(count, resolution, 0)
	return ok && raw >= 0 && offset > -(1<<34) && offset < 1<<34
}

// A count stands for all instants until the next one. In whole ns, all of them are within the step of its stamp.
func TestEveryInstantOfACountIsWithinTheResolution(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		shift := rapid.IntRange(0, 39).Draw(t, "shift")
		u := newUnit(0x80 | byte(shift))
		count := rapid.Uint64Range(0, 1<<(shift+20)).Draw(t, "count")
		stamp, ok := u.time(count)
		if !ok {
			t.Fatalf("count %d of 2^-%d s is refused", count, shift)
		}
		end := new(big.Int).Mul(new(big.Int).SetUint64(count+1), big.NewInt(1_000_000_000)) // in 2^-shift ns
		end.Sub(end, big.NewInt(1)).Rsh(end, uint(shift))                                   // the last ns begun before the next count
		if last := end.Int64(); last >= int64(stamp)+u.step() || last < int64(stamp)+u.step()-2 {
			t.Fatalf("count %d of 2^-%d s: stamp %d of step %d, and its last ns is %d", count, shift, stamp, u.step(), last)
		}
	})
}

func TestResolutionIsTheCoarsestUnit(t *testing.T) {
	for resolution, want := range map[byte]int64{0: 1e9, 3: 1e6, 6: 1000, 8: 10, 9: 1, 12: 1, 127: 1, 0x80: 1e9, 0x8a: 976563, 0x94: 955, 0x9e: 2, 0xff: 1} {
		u := newUnit(resolution)
		if got := u.step(); got != want {
			t.Errorf("%#x: %d, want %d", resolution, got, want)
		}
	}
}

func TestAStampOffsetMovesStamps(t *testing.T) {
	b := blockFile{order: binary.LittleEndian}
	b.section()
	offset := b.order.AppendUint64(nil, 1<<64-5)
	b.iface(1, 0, b.option(14, offset), b.option(9, []byte{9}))
	b.enhanced(0, 5_000_000_001, nil, 60)
	b.enhanced(0, 3, nil, 60)
	frames, _, w := readAll(t, b.bytes)
	if len(frames) != 2 || frames[0].Time != 1 || frames[1].Time != 3-5e9 || len(w.Lines()) > 0 {
		t.Errorf("%+v %v", frames, w.Lines())
	}
}

func TestGranularityIsFoundFromTheStamps(t *testing.T) {
	for _, c := range []struct {
		packets int
		step    int64
		magic   uint32
		want    int64
	}{
		{200, 1000, 0xa1b23c4d, 1000}, {200, 10_000, 0xa1b2c3d4, 10_000}, {200, 1_000_000, 0xa1b23c4d, 1_000_000},
		{3, 1000, 0xa1b23c4d, 1000}, {200, 7, 0xa1b23c4d, 8}, {200, 4_000_000, 0xa1b2c3d4, 4_001_000}, {3, 1_000_000, 0xa1b2c3d4, 1_000_000},
	} {
		var rs []record
		for i := range c.packets {
			rs = append(rs, record{clock.HostTime(1_700_000_000_000_000_000 + int64(i)*c.step), []byte("x"), 0})
		}
		path := filepath.Join(t.TempDir(), "x.pcap")
		if err := os.WriteFile(path, classic(binary.LittleEndian, c.magic, 0, 1, rs...), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := Read(context.Background(), path, "h", nil, nil)
		if err != nil || got.Granularity != c.want {
			t.Errorf("%d stamps of step %d: %d, want %d %v", c.packets, c.step, got.Granularity, c.want, err)
		}
	}
}

func TestReadingIsCancelledAndTellsItsProgress(t *testing.T) {
	path := filepath.Join("testdata", "gzip.pcap.gz")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, path, "h", nil, nil); err != context.Canceled {
		t.Errorf("%v", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	last := int64(-1)
	if _, err := Read(context.Background(), path, "h", nil, func(n int64) { last = n }); err != nil || last != info.Size() {
		t.Errorf("%v, %d of %d", err, last, info.Size())
	}
	if _, err := Read(context.Background(), filepath.Join("testdata", "README.md"), "h", nil, nil); err == nil || !strings.Contains(err.Error(), "neither") {
		t.Errorf("%v", err)
	}
}
