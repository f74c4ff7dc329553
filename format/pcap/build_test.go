package pcap

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"go.uber.org/goleak"

	"meridian/clock"
	"meridian/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// record is a packet of a file that a test builds.
type record struct {
	time clock.HostTime // ns
	data []byte
	wire int // 0: as long as data
}

// classic builds a pcap file.
func classic(order binary.AppendByteOrder, magic uint32, snap, link uint32, records ...record) []byte {
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	b = order.AppendUint32(b, snap)
	b = order.AppendUint32(b, link)
	for _, r := range records {
		scale := int64(1000)
		if magic == 0xa1b23c4d {
			scale = 1
		}
		b = order.AppendUint32(b, uint32(int64(r.time)/1e9))
		b = order.AppendUint32(b, uint32(int64(r.time)%1e9/scale))
		b = order.AppendUint32(b, uint32(len(r.data)))
		b = order.AppendUint32(b, uint32(max(r.wire, len(r.data))))
		if magic == 0xa1b2cd34 {
			b = append(b, make([]byte, 8)...)
		}
		b = append(b, r.data...)
	}
	return b
}

// blockFile builds a pcapng file in one byte order.
type blockFile struct {
	order binary.AppendByteOrder
	bytes []byte
}

func (b *blockFile) block(kind uint32, body ...[]byte) {
	joined := bytes.Join(body, nil)
	for len(joined)%4 != 0 {
		joined = append(joined, 0)
	}
	length := uint32(len(joined) + 12)
	b.bytes = b.order.AppendUint32(b.bytes, kind)
	b.bytes = b.order.AppendUint32(b.bytes, length)
	b.bytes = append(b.bytes, joined...)
	b.bytes = b.order.AppendUint32(b.bytes, length)
}

func (b *blockFile) words(v ...uint32) []byte {
	var out []byte
	for _, w := range v {
		out = b.order.AppendUint32(out, w)
	}
	return out
}

func (b *blockFile) halves(v ...uint16) []byte {
	var out []byte
	for _, w := range v {
		out = b.order.AppendUint16(out, w)
	}
	return out
}

func (b *blockFile) option(code uint16, value []byte) []byte {
	out := append(b.halves(code, uint16(len(value))), value...)
	for len(out)%4 != 0 {
		out = append(out, 0)
	}
	return out
}

func (b *blockFile) section() {
	b.block(sectionBlock, b.words(byteOrderMagic), b.halves(1, 0), b.words(0xffffffff, 0xffffffff))
}

func (b *blockFile) iface(link uint16, snap uint32, options ...[]byte) {
	b.block(interfaceBlock, b.halves(link, 0), b.words(snap), bytes.Join(options, nil))
}

func (b *blockFile) enhanced(iface uint32, stamp uint64, data []byte, wire int, options ...[]byte) {
	padded := append([]byte{}, data...)
	for len(padded)%4 != 0 {
		padded = append(padded, 0)
	}
	b.block(enhancedBlock, b.words(iface, uint32(stamp>>32), uint32(stamp), uint32(len(data)), uint32(max(wire, len(data)))),
		padded, bytes.Join(options, nil))
}

// readAll reads a file from memory to its end.
func readAll(t testing.TB, file []byte) ([]trace.Frame, *Reader, *trace.Warnings) {
	t.Helper()
	var w trace.Warnings
	r, err := NewReader(bytes.NewReader(file), "x.pcap", &w)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return framesOf(t, r), r, &w
}

// trickle delivers a byte at a time, so that every length is met at the edge of what has arrived.
type trickle struct{ r io.Reader }

func (s trickle) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return s.r.Read(p[:1])
}

func be16(v int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(v)) }
func be32(v int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }

func join(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case []byte:
			b = append(b, p...)
		case string:
			b = append(b, p...)
		case int:
			b = append(b, byte(p))
		}
	}
	return b
}

// ip4 builds an IPv4 packet; a negative total stands for a field of 0.
func ip4(protocol int, options []byte, body []byte, total, id, part int) []byte {
	if total == 0 {
		total = 20 + len(options) + len(body)
	}
	return join(0x40|(5+len(options)/4), 0, be16(max(total, 0)), be16(id), be16(part), 61, protocol, be16(0xdead),
		"\x0a\x00\x00\x01", "\xc0\xa8\x00\x02", options, body)
}

// ip6 builds an IPv6 packet around a chain that begins with the given header.
func ip6(next int, chain []byte, length int) []byte {
	if length == 0 {
		length = len(chain)
	}
	return join(0x60, 0, 0, 0, be16(max(length, 0)), next, 62, "\xfd\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01",
		"\xfd\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02", chain)
}

func tcpSegment(flags int, options string, payload string) []byte {
	return join(be16(1000), be16(2000), be32(0x11223344), be32(0x55667788), (5+len(options)/4)<<4, flags, be16(501), be16(0xbeef), be16(0),
		options, payload)
}

func udpDatagram(payload string, length int) []byte {
	if length == 0 {
		length = 8 + len(payload)
	}
	return join(be16(1000), be16(2000), be16(max(length, 0)), be16(0xbeef), payload)
}

func ether(kind int, body []byte) []byte {
	return join("\x02\x00\x00\x00\x00\x0b\x02\x00\x00\x00\x00\x0a", be16(kind), body)
}

// decode reduces one frame.
func decode(link uint16, data []byte, wire int) (trace.Packet, *Decoder, *trace.Warnings) {
	var w trace.Warnings
	d := NewDecoder("x.pcap", &w)
	f := trace.Frame{Time: 1, Data: data, Wire: uint32(max(wire, len(data)))}
	var p trace.Packet
	d.Decode(link, &f, &p)
	d.Flush()
	return p, d, &w
}
