package pcap

import (
	"fmt"
	"strings"
	"testing"

	"meridian/trace"
)

const timestamps = "\x01\x01\x08\x0a\x00\x00\x03\xe9\x00\x00\x07\xd2" // TSval 1001, TSecr 2002

func TestEveryLinkTypeLeadsToTheSamePacket(t *testing.T) {
	four, six := ip4(udp, nil, udpDatagram("payload of a datagram", 0), 0, 7, 0), ip6(udp, udpDatagram("payload of a datagram", 0), 0)
	sll := func(kind int, body []byte) []byte {
		return join(be16(0), be16(1), be16(6), "\x02\x00\x00\x00\x00\x0a\x00\x00", be16(kind), body)
	}
	sll2 := func(kind int, body []byte) []byte {
		return join(be16(kind), be16(0), be32(3), be16(1), 4, 6, "\x02\x00\x00\x00\x00\x0a\x00\x00", body)
	}
	var digest uint32
	for _, c := range []struct {
		name string
		link uint16
		data []byte
		from trace.Direction
		mac  bool
	}{
		{"Ethernet", linkEthernet, ether(typeIPv4, four), 0, true},
		{"Ethernet, IPv6", linkEthernet, ether(typeIPv6, six), 0, true},
		{"VLAN", linkEthernet, ether(0x8100, join(be16(7), be16(typeIPv4), four)), 0, true},
		{"VLAN in VLAN", linkEthernet, ether(0x88a8, join(be16(5), be16(0x8100), be16(7), be16(typeIPv6), six)), 0, true},
		{"three VLANs", linkEthernet, ether(0x9100, join(be16(5), be16(0x9100), be16(5), be16(0x8100), be16(7), be16(typeIPv4), four)), 0, true},
		{"SLL", linkCooked, sll(typeIPv4, four), trace.Received, true},
		{"SLL, VLAN", linkCooked, sll(0x8100, join(be16(7), be16(typeIPv4), four)), trace.Received, true},
		{"SLL2", linkCooked2, sll2(typeIPv6, six), trace.Sent, true},
		{"SLL2, IPv4", linkCooked2, sll2(typeIPv4, four), trace.Sent, true},
		{"SLL2, VLAN", linkCooked2, sll2(0x8100, join(be16(7), be16(typeIPv4), four)), trace.Sent, true},
		{"raw", linkRaw, four, 0, false},
		{"raw of BSD", linkRawBSD, four, 0, false},
		{"raw of OpenBSD", linkRawOpen, six, 0, false},
		{"IPv4", linkIPv4, four, 0, false},
		{"IPv6", linkIPv6, six, 0, false},
		{"null, little-endian", linkNull, join(2, 0, 0, 0, four), 0, false},
		{"null, big-endian", linkNull, join(0, 0, 0, 2, four), 0, false},
		{"null, IPv6 of Linux", linkNull, join(10, 0, 0, 0, six), 0, false},
		{"null, IPv6 of Windows", linkNull, join(23, 0, 0, 0, six), 0, false},
		{"null, IPv6 of NetBSD", linkNull, join(24, 0, 0, 0, six), 0, false},
		{"null, IPv6 of FreeBSD", linkNull, join(28, 0, 0, 0, six), 0, false},
		{"null, IPv6 of macOS", linkNull, join(0, 0, 0, 30, six), 0, false},
		{"loop", linkLoop, join(0, 0, 0, 2, four), 0, false},
	} {
		p, d, w := decode(c.link, c.data, 0)
		if p.Kind != trace.Datagram || p.Length != 21 || p.Flow == trace.NoFlow || len(w.Lines()) > 0 || p.From != c.from {
			t.Errorf("%s: %+v %v", c.name, p, w.Lines())
			continue
		}
		if digest == 0 {
			digest = p.Digest
		}
		f := d.Flows()[0]
		from, to := f.Ends(int(p.Flow & 1))
		if p.Digest != digest || from.Port != 1000 || to.Port != 2000 || f.Protocol != udp {
			t.Errorf("%s: digest %x, want %x; %v", c.name, p.Digest, digest, f)
		}
		if got := f.Source[p.Flow&1] == (trace.MAC{2, 0, 0, 0, 0, 10}); got != c.mac {
			t.Errorf("%s: source %v", c.name, f.Source)
		}
	}
}

func TestFramesThatAreNoIPAreOtherWithoutWarning(t *testing.T) {
	for _, data := range [][]byte{ether(0x0806, make([]byte, 28)), ether(0x0026, make([]byte, 38)), ether(0x88cc, nil)} {
		if p, _, w := decode(linkEthernet, data, 0); p.Kind != trace.Other || p.Flow != trace.NoFlow || len(w.Lines()) > 0 {
			t.Errorf("%+v %v", p, w.Lines())
		}
	}
	if p, _, w := decode(linkNull, join(7, 0, 0, 0, "appletalk"), 0); p.Kind != trace.Other || len(w.Lines()) > 0 {
		t.Errorf("%+v %v", p, w.Lines())
	}
}

func TestAnUnknownLinkTypeIsNamedOnce(t *testing.T) {
	var w trace.Warnings
	d := NewDecoder("x.pcap", &w)
	var p trace.Packet
	for i := range 1000 {
		d.Decode(149, &trace.Frame{Number: i}, &p)
	}
	d.Flush()
	want := "x.pcap: packets of link type 149 (USER2), which is not known here, are left out of matching (1000 times, first packet 1)"
	if l := w.Lines(); len(l) != 1 || l[0] != want {
		t.Errorf("%q", l)
	}
}

func TestLengthIsThePayloadOnTheWire(t *testing.T) {
	long := strings.Repeat("x", 100)
	padding := make([]byte, 10)
	fragmentHeader := func(next, place int) []byte { return join(next, 0, be16(place), be32(0x12345678)) }
	hop := func(next int) []byte { return join(next, 0, 1, 4, 0, 0, 0, 0) }
	for _, c := range []struct {
		name string
		data []byte
		wire int // of the IP packet, beyond what data has
		kind trace.Kind
		want uint32
	}{
		{"padding of Ethernet", join(ip4(udp, nil, udpDatagram("abc", 0), 0, 1, 0), padding), 0, trace.Datagram, 3},
		{"padding of Ethernet, TCP", join(ip4(tcp, nil, tcpSegment(16, "", ""), 0, 1, 0), padding), 0, trace.TCP, 0},
		{"IPv4 options", ip4(udp, []byte("\x94\x04\x00\x00"), udpDatagram("abc", 0), 0, 1, 0), 0, trace.Datagram, 3},
		{"TCP options", ip4(tcp, nil, tcpSegment(16, timestamps, "abcd"), 0, 1, 0), 0, trace.TCP, 4},
		{"cut by the snap length", ip4(tcp, nil, tcpSegment(16, timestamps, ""), 1500, 1, 0), 1500, trace.TCP, 1448},
		{"TSO: IPv4 total length 0", ip4(tcp, nil, tcpSegment(16, timestamps, long), -1, 1, 0), 65000, trace.TCP, 65000 - 52},
		{"BIG TCP over IPv4", ip4(tcp, nil, tcpSegment(16, timestamps, long), -1, 1, 0), 180000, trace.TCP, 180000 - 52},
		{"BIG TCP over IPv6", ip6(hopByHop, join(tcp, 0, 0xc2, 4, be32(180000), tcpSegment(16, timestamps, long)), -1), 180048, trace.TCP, 180048 - 40 - 8 - 32},
		{"UDP longer than its field", ip4(udp, nil, udpDatagram(long, -1), -1, 1, 0), 70000, trace.Datagram, 70000 - 28},
		{"UDP shorter than its packet", ip4(udp, nil, join(udpDatagram("abc", 0), "trailer"), 0, 1, 0), 0, trace.Datagram, 3},
		{"empty UDP", ip4(udp, nil, udpDatagram("", 0), 0, 1, 0), 0, trace.Datagram, 0},
		{"extension headers", ip6(hopByHop, join(hop(routing), hop(destination), hop(mobility), hop(udp), udpDatagram("abc", 0)), 0), 0, trace.Datagram, 3},
		{"authentication header", ip6(authHeader, join(udp, 4, make([]byte, 22), udpDatagram("abc", 0)), 0), 0, trace.Datagram, 3},
		{"authentication header, IPv4", ip4(authHeader, nil, join(udp, 4, make([]byte, 22), udpDatagram("abc", 0)), 0, 1, 0), 0, trace.Datagram, 3},
		{"fragment that is whole", ip6(fragment, join(fragmentHeader(udp, 0), udpDatagram("abc", 0)), 0), 0, trace.Datagram, 3},
		{"first fragment", ip6(fragment, join(fragmentHeader(udp, 1), udpDatagram("abc", 3000)), 0), 0, trace.Datagram, 11},
		{"later fragment", ip6(fragment, join(fragmentHeader(udp, 1480), long), 0), 0, trace.Datagram, 100},
		{"first fragment, IPv4", ip4(udp, nil, udpDatagram("abc", 3000), 0, 1, 0x2000), 0, trace.Datagram, 11},
		{"later fragment, IPv4", ip4(udp, nil, []byte(long), 0, 1, 185), 0, trace.Datagram, 100},
		{"ICMP", ip4(icmp4, nil, join(8, 0, be16(1), be16(2), be16(3), "abc"), 0, 1, 0), 0, trace.Datagram, 3},
		{"ICMPv6", ip6(icmp6, join(128, 0, be16(1), be16(2), be16(3), "abc"), 0), 0, trace.Datagram, 3},
		{"SCTP", ip4(sctp, nil, join(be16(1), be16(2), make([]byte, 8), "chunk"), 0, 1, 0), 0, trace.Datagram, 5},
		{"GRE", ip4(47, nil, []byte("generic"), 0, 1, 0), 0, trace.Datagram, 7},
		{"no next header", ip6(noNext, nil, -1), 6, trace.Datagram, 0},
	} {
		data := ether(typeIPv4, c.data)
		if c.data[0]>>4 == 6 {
			data = ether(typeIPv6, c.data)
		}
		p, _, w := decode(linkEthernet, data, 14+c.wire)
		if p.Kind != c.kind || p.Length != c.want || len(w.Lines()) > 0 {
			t.Errorf("%s: length %d, want %d: %+v %v", c.name, p.Length, c.want, p, w.Lines())
		}
		if p.TTL != 61 && p.TTL != 62 {
			t.Errorf("%s: time to live %d", c.name, p.TTL)
		}
	}
}

func TestFragmentsHaveNoPortsAndCarryTheirIdentification(t *testing.T) {
	six := ip6(fragment, join(udp, 0, be16(8), be32(0x12345678), "behind the first"), 0)
	p, d, _ := decode(linkRaw, six, 0)
	if f := d.Flows()[0]; f.Low.Port != 0 || f.High.Port != 0 || f.Protocol != udp || p.ID != 0x5678 || p.Digest == 0 {
		t.Errorf("%v %+v", f, p)
	}
	// Two fragments of the same bytes at different places are different.
	q, _, _ := decode(linkRaw, ip6(fragment, join(udp, 0, be16(16), be32(0x12345678), "behind the first"), 0), 0)
	if p.Digest == q.Digest {
		t.Error("the digest does not cover the place of a fragment")
	}
}

func TestASegmentCutAnywhereKeepsWhatItHas(t *testing.T) {
	sack := "\x01\x01\x05\x0a\x00\x00\x00\x01\x00\x00\x00\x09"
	whole := ether(typeIPv4, ip4(tcp, nil, tcpSegment(0x10, timestamps+sack, ""), 0, 1, 0))
	for n := range len(whole) + 1 {
		p, _, w := decode(linkEthernet, whole[:n], len(whole))
		ip, header, stamp, blocks := 14, 14+20, 14+20+20+12, 14+20+20+12+4
		switch {
		case n >= header+4 && n < header+16: // by what is left of both numbers, and by its length
			kept, cut := min(n-header-4, 8), 0
			if kept < 8 {
				cut = kept
			}
			if p.Kind != trace.Datagram || p.Length != uint32(len(whole)-header) || int(p.Flags) != cut || (p.Digest != 0) != (kept > 0) || len(w.Lines()) != 1 {
				t.Errorf("%d bytes: %+v %v", n, p, w.Lines())
			}
			continue
		case n >= header && n < header+4:
			if p.Kind != trace.Datagram || p.ID != 1 || p.Digest != 0 || p.Length != uint32(len(whole)-header) || len(w.Lines()) != 1 {
				t.Errorf("%d bytes: %+v %v", n, p, w.Lines())
			}
			continue
		case n < header+16:
			if p.Kind != trace.Other || p.Flow != trace.NoFlow || len(w.Lines()) != 1 {
				t.Errorf("%d bytes: %+v %v", n, p, w.Lines())
			}
			if n < ip && !strings.Contains(w.Lines()[0], "link header") {
				t.Errorf("%d bytes: %v", n, w.Lines())
			}
			continue
		case p.Kind != trace.TCP || p.Seq != 0x11223344 || p.Ack != 0x55667788 || p.Length != 0:
			t.Errorf("%d bytes: %+v", n, p)
		}
		if want := uint32(1001); (p.TSVal == want) != (n >= stamp) {
			t.Errorf("%d bytes: timestamp %d", n, p.TSVal)
		}
		if n < blocks+4 { // not even the left edge of a block
			if p.Digest != 0 {
				t.Errorf("%d bytes: digest %x", n, p.Digest)
			}
			continue
		}
		all, _, _ := decode(linkEthernet, whole, len(whole))
		if p.Digest>>16 != all.Digest>>16 || p.Digest>>16 == 0 || (p.Digest&0xffff != 0) != (n == len(whole)) || all.Digest&0xffff == 0 {
			t.Errorf("%d bytes: digest %x, of all %x", n, p.Digest, all.Digest)
		}
	}
}

func TestSequenceNumberIsThatOfTheFirstByte(t *testing.T) {
	for _, c := range []struct {
		flags   int
		payload string
		want    uint32
	}{{trace.SYN, "", 0x11223344}, {trace.SYN, "fast open", 0x11223345}, {trace.FIN | trace.ACK, "", 0x11223344}, {trace.ACK, "x", 0x11223344}} {
		if p, _, _ := decode(linkRaw, ip4(tcp, nil, tcpSegment(c.flags, "", c.payload), 0, 1, 0), 0); p.Seq != c.want {
			t.Errorf("flags %x, payload %q: %x", c.flags, c.payload, p.Seq)
		}
	}
}

func TestHeadersThatContradictThemselvesAreLeftOut(t *testing.T) {
	short := ip4(tcp, nil, tcpSegment(16, "", ""), 0, 1, 0)
	short[20+12] = 0x40
	long := ip4(tcp, nil, tcpSegment(16, "", ""), 0, 1, 0)
	long[20+12] = 0xf0
	ihl := ip4(udp, nil, udpDatagram("", 0), 0, 1, 0)
	ihl[0] = 0x44
	for name, data := range map[string][]byte{
		"data offset 4": short, "data offset beyond the end": long, "header length 4": ihl,
		"total below header": ip4(udp, nil, udpDatagram("", 0), 19, 1, 0),
		"version 5":          {0x50, 0, 0, 0},
	} {
		p, _, w := decode(linkRaw, data, 0)
		if p.Kind != trace.Other || len(w.Lines()) != 1 || !strings.Contains(w.Lines()[0], "contradicts itself") {
			t.Errorf("%s: %+v %v", name, p, w.Lines())
		}
	}
}

func TestDirectionComesFromTheFlagsOrTheCookedHeader(t *testing.T) {
	four := ip4(udp, nil, udpDatagram("x", 0), 0, 7, 0)
	for kind, want := range []trace.Direction{trace.Received, trace.Received, trace.Received, trace.Foreign, trace.Sent, trace.Unknown} {
		p, _, _ := decode(linkCooked, join(be16(kind), be16(1), be16(6), make([]byte, 8), be16(typeIPv4), four), 0)
		if p.From != want {
			t.Errorf("cooked packet type %d: %d", kind, p.From)
		}
	}
	for flags, want := range []trace.Direction{trace.Unknown, trace.Received, trace.Sent, trace.Unknown} {
		d := NewDecoder("x", nil)
		var p trace.Packet
		options := join("\x01\x00\x02\x00hi\x00\x00", "\x02\x00\x04\x00", flags, 0, 0, 0)
		d.Decode(linkRaw, &trace.Frame{Data: four, Wire: uint32(len(four)), Options: options}, &p)
		if p.From != want {
			t.Errorf("flags %d: %d", flags, p.From)
		}
	}
}

func TestFlowsAreNumberedByFirstPacketAndCanonical(t *testing.T) {
	d := NewDecoder("x", nil)
	var p trace.Packet
	type key struct{ from, to uint16 }
	seen := make(map[key]uint32)
	for i := range 20000 {
		a, b := i*7919%3001, i*104729%3001
		data := ip4(udp, nil, join(be16(a), be16(b), be16(8), be16(0)), 0, 1, 0)
		if i%2 == 1 {
			copy(data[12:], "\xc0\xa8\x00\x02\x0a\x00\x00\x01")
			data[20], data[21], data[22], data[23] = data[22], data[23], data[20], data[21]
		}
		d.Decode(linkRaw, &trace.Frame{Data: data, Wire: uint32(len(data))}, &p)
		k := key{uint16(a), uint16(b)}
		if n, ok := seen[k]; ok && n != p.Flow>>1 || !ok && int(p.Flow>>1) != len(seen) {
			t.Fatalf("packet %d: flow %d", i, p.Flow)
		}
		seen[k] = p.Flow >> 1
		f := d.Flows()[p.Flow>>1]
		if f.Low.Compare(f.High) > 0 || p.Flow&1 != uint32(i%2) {
			t.Fatalf("packet %d: flow %v direction %d", i, f, p.Flow&1)
		}
		want := fmt.Sprintf("10.0.0.1:%d", a)
		if a == 0 {
			want = "10.0.0.1"
		}
		if f.Low.String() != want {
			t.Fatalf("packet %d: %v, want %s", i, f, want)
		}
	}
}
