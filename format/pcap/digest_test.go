package pcap

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
	"meridian/trace"
)

// What NAT and checksum offload change must not change a digest; what tells packets apart must.
func TestDigestSurvivesTranslationAndTellsContentApart(t *testing.T) {
	digestOf := func(data []byte) uint32 {
		p, _, _ := decode(linkRaw, data, 0)
		return p.Digest
	}
	long := strings.Repeat("0123456789", 10)
	echo := func(id, seq int, payload string) []byte {
		return join(8, 0, be16(id*3), be16(id), be16(seq), payload)
	}
	for _, c := range []struct {
		name        string
		one, other  []byte
		wantTheSame bool
	}{
		{"TCP ports and checksum", ip4(tcp, nil, tcpSegment(16, timestamps, ""), 0, 1, 0), func() []byte {
			b := ip4(tcp, nil, tcpSegment(16, timestamps, ""), 0, 1, 0)
			copy(b[12:], "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x09") // addresses and a port
			b[20+16] ^= 0xff
			return b
		}(), true},
		{"TCP over IPv6", ip4(tcp, nil, tcpSegment(16, timestamps, ""), 0, 1, 0), ip6(tcp, tcpSegment(16, timestamps, ""), 0), true},
		{"segment size, which routers clamp", ip4(tcp, nil, tcpSegment(2, "\x02\x04\x05\xb4", ""), 0, 1, 0), ip4(tcp, nil, tcpSegment(2, "\x02\x04\x05\x00", ""), 0, 1, 0), true},
		{"congestion flags", ip4(tcp, nil, tcpSegment(0x10, "", ""), 0, 1, 0), ip4(tcp, nil, tcpSegment(0xd0, "", ""), 0, 1, 0), true},
		{"TCP flags", ip4(tcp, nil, tcpSegment(0x10, "", ""), 0, 1, 0), ip4(tcp, nil, tcpSegment(0x11, "", ""), 0, 1, 0), false},
		{"echoed timestamp", ip4(tcp, nil, tcpSegment(16, timestamps, ""), 0, 1, 0), ip4(tcp, nil, tcpSegment(16, timestamps[:11]+"\x00", ""), 0, 1, 0), false},
		{"SACK", ip4(tcp, nil, tcpSegment(16, "\x01\x01\x05\x0a\x00\x00\x00\x01\x00\x00\x00\x09", ""), 0, 1, 0),
			ip4(tcp, nil, tcpSegment(16, "\x01\x01\x05\x0a\x00\x00\x00\x01\x00\x00\x00\x0a", ""), 0, 1, 0), false},
		{"UDP beyond 32 bytes", ip4(udp, nil, udpDatagram(long, 0), 0, 1, 0), ip4(udp, nil, udpDatagram(long[:99]+"x", 0), 0, 1, 0), true},
		{"UDP within 32 bytes", ip4(udp, nil, udpDatagram(long, 0), 0, 1, 0), ip4(udp, nil, udpDatagram("x"+long[1:], 0), 0, 1, 0), false},
		{"UDP over IPv6", ip4(udp, nil, udpDatagram(long, 0), 0, 1, 0), ip6(udp, udpDatagram(long, 0), 0), true},
		{"padding after UDP", ip4(udp, nil, udpDatagram("abc", 0), 0, 1, 0), join(ip4(udp, nil, udpDatagram("abc", 0), 0, 1, 0), "padding"), true},
		{"cut by a snap length of 32 bytes", ip4(udp, nil, udpDatagram(long, 0), 0, 1, 0), ip4(udp, nil, udpDatagram(long, 0), 0, 1, 0)[:20+8+32], true},
		{"echo identifier and checksum", ip4(icmp4, nil, echo(1, 5, long), 0, 1, 0), ip4(icmp4, nil, echo(2, 5, long), 0, 1, 0), true},
		{"echo sequence", ip4(icmp4, nil, echo(1, 5, long), 0, 1, 0), ip4(icmp4, nil, echo(1, 6, long), 0, 1, 0), false},
		{"what an ICMP error quotes", ip4(icmp4, nil, join(3, 1, make([]byte, 6), long), 0, 1, 0), ip4(icmp4, nil, join(3, 1, make([]byte, 6), "z", long[1:]), 0, 1, 0), true},
		{"ports in a first fragment", ip4(udp, nil, udpDatagram(long, 0), 0, 1, 0x2000), ip4(udp, nil, join(be16(9), be16(8), be16(108), be16(7), long), 0, 1, 0x2000), true},
		{"ports of SCTP", ip4(sctp, nil, join(make([]byte, 12), long), 0, 1, 0), ip4(sctp, nil, join("abcdefghijkl", long), 0, 1, 0), true},
	} {
		one, other := digestOf(c.one), digestOf(c.other)
		if one == 0 || other == 0 || (one == other) != c.wantTheSame {
			t.Errorf("%s: %08x and %08x", c.name, one, other)
		}
	}
	if d := digestOf(ip4(tcp, nil, tcpSegment(16, timestamps, "x"), 0, 1, 0)); d != 0 {
		t.Errorf("TCP with payload has digest %x", d)
	}
}

// What a capture cut is told by what it kept, and never taken for another length's.
func TestCutContentIsDigestedAsFarAsItWasKept(t *testing.T) {
	whole := ip4(udp, nil, udpDatagram(strings.Repeat("0123456789", 10), 0), 0, 1, 0)
	other := slices.Clone(whole)
	other[20+8+30] ^= 1
	seen := make(map[uint32]int)
	for kept := range 34 {
		p, _, _ := decode(linkRaw, whole[:20+8+kept], len(whole))
		q, _, _ := decode(linkRaw, other[:20+8+kept], len(whole))
		cut := kept
		if kept >= digested {
			cut = 0
		}
		if int(p.Flags) != cut || p.Length != 100 || (p.Digest != 0) != (kept > 0) || (p.Digest != q.Digest) != (kept > 30) {
			t.Errorf("%d bytes: %+v %+v", kept, p, q)
		}
		if was, known := seen[p.Digest]; known && (was < digested || kept < digested) {
			t.Errorf("%d bytes have the digest of %d", kept, was)
		}
		seen[p.Digest] = kept
	}
}

// The hash is part of the format: captures reduced by different versions must match.
func TestDigestIsFixed(t *testing.T) {
	if got := digest(42, []byte("0123456789abcdef!")); got != 0x3036819b {
		t.Errorf("%#x", got)
	}
}

func TestDigestIsNeverZeroAndSpreads(t *testing.T) {
	seen := make(map[uint32]string)
	testseed.Check(t, func(t *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, "content")
		d := digest(0, content)
		if d == 0 {
			t.Fatal("zero")
		}
		if other, ok := seen[d]; ok && other != string(content) {
			t.Fatalf("%x and %x collide among few", content, other)
		}
		seen[d] = string(content)
	})
}

// What keeps a link going is repeated byte for byte: its content tells nothing apart.
func TestNeighbourDiscoveryHasNoContent(t *testing.T) {
	for kind := range 256 {
		p, _, _ := decode(linkRaw, ip6(icmp6, join(kind, 0, be16(1), be32(0), "neighbour and options"), 0), 0)
		repeated := kind >= 130 && kind <= 137 || kind == 143 || kind >= 151 && kind <= 153
		if p.Kind != trace.Datagram || (p.Digest == 0) != repeated {
			t.Errorf("type %d: %+v", kind, p)
		}
	}
}
