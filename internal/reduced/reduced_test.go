package reduced

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// written returns a capture as bytes.
func written(t interface{ Fatal(...any) }, c *trace.Capture, warnings []trace.Warning) []byte {
	var b bytes.Buffer
	if err := Write(context.Background(), &b, c, warnings); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// anyCapture draws a capture with fields of all values, most of them near those before.
func anyCapture(t *rapid.T) *trace.Capture {
	c := &trace.Capture{Host: "web", File: rapid.String().Draw(t, "file"), Whole: rapid.Bool().Draw(t, "whole"), Granularity: rapid.Int64Range(0, clock.Limit).Draw(t, "granularity")}
	address := rapid.Custom(func(t *rapid.T) netip.Addr {
		raw := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "address")
		switch rapid.IntRange(0, 2).Draw(t, "family") {
		case 0:
			return netip.Addr{}
		case 1:
			raw = raw[:4]
		}
		a, _ := netip.AddrFromSlice(raw)
		return a
	})
	for range rapid.IntRange(0, 5).Draw(t, "flows") {
		f := trace.Flow{Protocol: rapid.Byte().Draw(t, "protocol")}
		f.Low = trace.Endpoint{Addr: address.Draw(t, "low"), Port: rapid.Uint16().Draw(t, "port")}
		f.High = trace.Endpoint{Addr: address.Draw(t, "high"), Port: rapid.Uint16().Draw(t, "port")}
		f.Source[0][5], f.Target[1][0] = rapid.Byte().Draw(t, "mac"), rapid.Byte().Draw(t, "mac")
		if from := address.Draw(t, "tunnel"); from.IsValid() {
			f.Tunnel = trace.Tunnel{From: from, To: address.Draw(t, "tunnel"), ID: rapid.Uint32().Draw(t, "id")}
		}
		f.Tunnel.Mirror = rapid.Bool().Draw(t, "mirror")
		c.Flows = append(c.Flows, f)
	}
	for range rapid.IntRange(0, 2).Draw(t, "interfaces") {
		c.Interfaces = append(c.Interfaces, trace.Interface{Name: rapid.String().Draw(t, "name"), LinkType: rapid.Uint16().Draw(t, "link"), SnapLength: rapid.Uint32().Draw(t, "snap")})
	}
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	far := rapid.Uint32().Draw(t, "far")
	near := func() uint32 { // mostly small, sometimes anything
		if random.IntN(4) == 0 {
			return random.Uint32()
		}
		return random.Uint32() & far & 0xff
	}
	for range rapid.IntRange(0, 300).Draw(t, "packets") {
		flow := trace.NoFlow
		if n := 2 * len(c.Flows); n > 0 && random.IntN(4) > 0 {
			flow = uint32(random.IntN(n))
		}
		at := clock.HostTime(int64(near()))
		if random.IntN(8) == 0 {
			at = clock.HostTime(random.Int64N(2*clock.Limit-1) - clock.Limit + 1)
		}
		*c.Packets.Append() = trace.Packet{
			Time: at, Flow: flow, Seq: near(), Ack: near(), TSVal: near(), Length: near(), Digest: near(), ID: uint16(near()), Flags: uint8(near()),
			Kind: trace.Kind(random.IntN(int(trace.Unaddressed) + 1)), From: trace.Direction(random.IntN(int(trace.Foreign) + 1)), TTL: uint8(near()), Point: uint16(near()),
		}
	}
	return c
}

// same compares captures packet by packet: their logs may be divided otherwise.
func same(a, b *trace.Capture) bool {
	x, y := *a, *b
	x.Packets, y.Packets = trace.Log{}, trace.Log{}
	return reflect.DeepEqual(x, y) && slices.Equal(slices.Concat(slices.Collect(a.Packets.Chunks())...), slices.Concat(slices.Collect(b.Packets.Chunks())...))
}

func TestWhatIsReadEqualsWhatWasWrittenInEveryField(t *testing.T) {
	t.Parallel()
	testseed.Check(t, func(t *rapid.T) {
		c := anyCapture(t)
		c.File = strings.ToValidUTF8(c.File, "?")
		for i := range c.Interfaces {
			c.Interfaces[i].Name = strings.ToValidUTF8(c.Interfaces[i].Name, "?")
		}
		warnings := []trace.Warning{{Subject: "a.pcap", Kind: "cut short", Count: 3, Gap: true}}
		in := bufio.NewReader(bytes.NewReader(append(written(t, c, warnings), "behind"...)))
		got, said, err := Read(context.Background(), in, "web", nil)
		if err != nil || !same(got, c) || !slices.Equal(said, warnings) {
			t.Fatalf("%v\ngot  %+v\nwant %+v", err, got, c)
		}
		if rest, _ := io.ReadAll(in); string(rest) != "behind" {
			t.Fatalf("%q is left", rest)
		}
	})
}

// conversation returns a bulk transfer of so many segments of 1,448 bytes, with an acknowledgement for every two.
func conversation(segments int) *trace.Capture {
	c := &trace.Capture{Host: "web", File: "web.pcap", Granularity: 1}
	c.Flows = []trace.Flow{{Low: trace.Endpoint{Addr: netip.MustParseAddr("10.0.0.1"), Port: 80}, High: trace.Endpoint{Addr: netip.MustParseAddr("10.0.0.2"), Port: 5000}, Protocol: 6}}
	at, random := clock.HostTime(1_790_000_000_000_000_000), uint32(1)
	for i := range segments {
		random = random*1664525 + 1013904223
		at += clock.HostTime(8000 + random>>22)
		*c.Packets.Append() = trace.Packet{Time: at, Seq: uint32(i * 1448), Ack: 77, TSVal: uint32(at / 1e6), Length: 1448, ID: uint16(i), Flags: trace.ACK, Kind: trace.TCP, TTL: 64}
		if i&1 == 1 {
			at += clock.HostTime(900 + random>>24)
			*c.Packets.Append() = trace.Packet{Time: at, Flow: 1, Seq: 77, Ack: uint32((i + 1) * 1448), TSVal: uint32(at / 1e6), Digest: random, ID: uint16(i), Flags: trace.ACK, Kind: trace.TCP, TTL: 63}
		}
	}
	return c
}

func TestABulkTransferTakesAFewBytesAPacket(t *testing.T) {
	t.Parallel()
	c := conversation(2 * blockPackets) // several blocks
	b := written(t, c, nil)
	got, _, err := Read(context.Background(), bytes.NewReader(b), "web", nil)
	if err != nil || !same(got, c) {
		t.Fatalf("%v: other packets", err)
	}
	if each := float64(len(b)) / float64(c.Packets.Len()); each > 4.5 {
		t.Errorf("%.1f bytes a packet", each)
	}
}

func TestWhatIsCutOrChangedIsAnErrorOrACaptureThatPasses(t *testing.T) {
	t.Parallel()
	b := written(t, conversation(300), nil)
	for n := range b {
		if _, _, err := Read(context.Background(), bytes.NewReader(b[:n]), "web", nil); err == nil {
			t.Fatalf("%d of %d bytes are a capture", n, len(b))
		}
	}
	for n := range b {
		changed := bytes.Clone(b)
		changed[n] ^= 1 << (n & 7)
		checkRead(t, changed)
	}
}

func checkRead(t *testing.T, b []byte) {
	c, _, err := Read(context.Background(), bytes.NewReader(b), "web", nil)
	if err != nil {
		return
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if again, _, err := Read(context.Background(), bytes.NewReader(written(t, c, nil)), "web", nil); err != nil || !same(again, c) {
		t.Fatalf("%v: written again it is another", err)
	}
}

func TestLengthsThatDoNotComeAreErrors(t *testing.T) {
	t.Parallel()
	for _, b := range [][]byte{
		binary.AppendUvarint([]byte(magic), maxHead), binary.AppendUvarint([]byte(magic), 1<<63),
		[]byte(magic), {}, []byte("MRC2"),
	} {
		if _, _, err := Read(context.Background(), bytes.NewReader(b), "web", nil); err == nil {
			t.Errorf("%q was taken", b)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(written(f, conversation(5), []trace.Warning{{Subject: "x", Count: 1}}))
	f.Add(written(f, &trace.Capture{}, nil))
	testseed.Fuzz(f, checkRead)
}
