package pcap

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// blocksBeside is a file with every kind of block, in a byte order: an interface in microseconds, two packets.
func blocksBeside(order binary.AppendByteOrder) []byte {
	b := &blockFile{order: order}
	b.section()
	b.iface(1, 0, b.option(2, []byte("eth0")))
	b.block(secretsBlock, b.words(0x544c534b, 5), []byte("keys!\x00\x00\x00"), b.option(1, []byte("note")), b.words(0))
	b.block(namesBlock, b.halves(1, 8), []byte{10, 0, 0, 1}, []byte("a.x\x00"), b.words(0), b.option(2, []byte("dns")), b.words(0))
	b.enhanced(0, 1_700_000_000_000_001, []byte("one"), 0)
	b.block(customBlock, b.words(32473), []byte("theirs"))
	b.block(0x40000bad, b.words(32473), []byte("to stay"))
	b.block(9, []byte("__REALTIME_TIMESTAMP=1\n"))
	b.enhanced(0, 1_700_000_000_000_003, []byte("two"), 0)
	b.block(statisticsBlock, b.words(0, 1_700_000_000_000_005>>32, 1_700_000_000_000_005&0xffffffff),
		b.option(statisticsBegan, b.words(1_700_000_000_000_000>>32, 1_700_000_000_000_000&0xffffffff)),
		b.option(statisticsReceived, order.AppendUint64(nil, 7)), b.option(customText, append(b.words(9), "text"...)),
		b.option(customBytesStay, append(b.words(9), "secret"...)), b.words(0))
	b.block(statisticsBlock, b.words(5, 0, 0)) // of an interface that there is not
	b.block(secretsBlock, b.words(1, 400))     // longer than its block
	return b.bytes
}

func readFile(t *testing.T, file []byte) (*trace.Capture, *trace.Warnings) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.pcapng")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	var w trace.Warnings
	c, err := Read(context.Background(), path, "x", &w, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, &w
}

func TestBlocksBesidePacketsAreKeptInBothByteOrders(t *testing.T) {
	little, _ := readFile(t, blocksBeside(binary.LittleEndian))
	big, _ := readFile(t, blocksBeside(binary.BigEndian))
	if !reflect.DeepEqual(little.Blocks, big.Blocks) {
		t.Errorf("little-endian %+v, big-endian %+v", little.Blocks, big.Blocks)
	}
	b := &blockFile{order: binary.LittleEndian}
	want := []trace.FileBlock{
		{Kind: trace.SecretsBlock, Data: slices.Concat(b.words(0x544c534b, 5), []byte("keys!\x00\x00\x00"), b.option(1, []byte("note")), b.words(0))},
		{Kind: trace.NamesBlock, Data: slices.Concat(b.halves(1, 8), []byte{10, 0, 0, 1}, []byte("a.x\x00"), b.words(0), b.option(2, []byte("dns")), b.words(0))},
		{Kind: trace.CustomBlock, Packets: 1, Data: append(b.words(32473), "theirs\x00\x00"...)},
		{Kind: trace.StatisticsBlock, Packets: 2, Time: 1_700_000_000_000_005_000, Began: 1_700_000_000_000_000_000,
			Data: append(b.option(statisticsReceived, binary.LittleEndian.AppendUint64(nil, 7)), b.option(customText, append(b.words(9), "text"...))...)},
	}
	if !reflect.DeepEqual(little.Blocks, want) {
		t.Errorf("got %+v, want %+v", little.Blocks, want)
	}
	if little.BlocksLeft != 4 || big.BlocksLeft != 4 {
		t.Errorf("%d and %d left", little.BlocksLeft, big.BlocksLeft)
	}
	if got := Counts(want[3].Data); !bytes.Equal(got, b.option(statisticsReceived, binary.LittleEndian.AppendUint64(nil, 7))) {
		t.Errorf("counts %q", got)
	}
}

func TestBlocksAreReadAsTheyWereWritten(t *testing.T) {
	first, _ := readFile(t, blocksBeside(binary.BigEndian))
	var out bytes.Buffer
	x, err := NewWriter(&out, []WriterInterface{{Name: "eth0", LinkType: 1, Offset: -10}}, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range first.Blocks {
		b := first.Blocks[i]
		if b.Kind == trace.StatisticsBlock {
			err = x.CopyStatistics(0, &b)
		} else {
			err = x.Block(&b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if x.Block(&trace.FileBlock{Kind: trace.StatisticsBlock}) == nil || x.CopyStatistics(1, &trace.FileBlock{}) == nil ||
		x.CopyStatistics(0, &trace.FileBlock{Time: clock.HostTime(-11e9)}) == nil {
		t.Error("blocks that cannot be written are written")
	}
	if err := x.Flush(); err != nil {
		t.Fatal(err)
	}
	second, w := readFile(t, out.Bytes())
	for i := range first.Blocks {
		first.Blocks[i].Packets = 0
	}
	if !reflect.DeepEqual(second.Blocks, first.Blocks) || len(w.Lines()) > 0 {
		t.Errorf("%+v, want %+v; %q", second.Blocks, first.Blocks, w.Lines())
	}
}

// Every byte of every block is turned over, and the file cut anywhere: whatever is read has its packets in order.
func TestDamagedBlocksBesidePacketsAreSurvived(t *testing.T) {
	file := blocksBeside(binary.LittleEndian)
	path := filepath.Join(t.TempDir(), "x.pcapng")
	for i := range file {
		for _, damaged := range [][]byte{file[:i], flippedAt(file, i, 1), flippedAt(file, i, 0xff)} {
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := Read(context.Background(), path, "x", nil, nil)
			if err != nil {
				continue
			}
			for _, b := range c.Blocks {
				if b.Packets > c.Packets.Len() || b.Kind == trace.StatisticsBlock && b.Interface >= len(c.Interfaces) {
					t.Errorf("byte %d: %+v", i, b)
				}
			}
		}
	}
}

func flippedAt(b []byte, i int, by byte) []byte {
	b = bytes.Clone(b)
	b[i] ^= by
	return b
}

func TestBlocksTakeBoundedMemory(t *testing.T) {
	b := &blockFile{order: binary.LittleEndian}
	b.section()
	large := []byte(strings.Repeat("x", 1<<20))
	for range maxKeptBlocks>>20 + 3 {
		b.block(customBlock, b.words(1), large)
	}
	c, _ := readFile(t, b.bytes)
	if len(c.Blocks) != maxKeptBlocks>>20-1 || c.BlocksLeft != 4 {
		t.Errorf("%d kept, %d left", len(c.Blocks), c.BlocksLeft)
	}
}
