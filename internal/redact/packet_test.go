package redact

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"meridian/internal/testseed"
)

// Addresses whose bytes are found nowhere else in the packets below.
const (
	macA, macB = "0a1b2c3d4e5f", "1a6b7c8d9eaf"
	ipA, ipB   = "c0a8d7e9", "5db8d822"
	sixA, sixB = "20010db85a5b5c5d5e5f606162636465", "fe80000000000000181b2cfffe3d4e5f"
	payload    = "deadbeefcafef00d"
)

// packet makes a packet of hexadecimal digits; spaces are left out.
func packet(parts ...string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(strings.Join(parts, ""), " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// secrets are what must not be left.
var secrets = [][]byte{packet(macA), packet(macB), packet(ipA), packet(ipB), packet(sixA), packet(sixB[16:]), packet(payload)}

const (
	tcpPlain = "1f90 01bb 00000001 00000002 5018 ffff abcd 0000" + payload
	tcpMore  = "1f90 01bb 00000001 00000002 8018 ffff abcd 0000 0101 1e0a" + ipA + ipB + payload // an option with addresses
)

func ip4(protocol, rest string) string {
	return "4500 0064 1234 4000 40" + protocol + "beef" + ipA + ipB + rest
}
func ip6(next, rest string) string { return "6012 3456 0064" + next + "40" + sixA + sixB + rest }

var packets = []struct {
	name string
	link uint16
	data []byte
	left int // bytes
}{
	{"TCP", 1, packet(macB, macA, "0800", ip4("06", tcpPlain)), 14 + 20 + 20},
	{"TCP with an option of addresses", 1, packet(macB, macA, "0800", ip4("06", tcpMore)), 14 + 20 + 32},
	{"UDP in a VLAN", 1, packet(macB, macA, "8100 0005 0800", ip4("11", "0035 0035 0010 abcd"+payload)), 18 + 20 + 8},
	{"options of IPv4", 1, packet(macB, macA, "0800 4700 0064 1234 4000 4011 beef", ipA, ipB, "070704", ipA, "00", "0035 0035 0010 abcd", payload), 14 + 28 + 8},
	{"a later fragment", 1, packet(macB, macA, "0800 4500 0064 1234 0007 4011 beef", ipA, ipB, payload), 14 + 20},
	{"IP in IP", 101, packet(ip4("04", ip4("06", tcpPlain))), 20},
	{"ARP", 1, packet(macB, macA, "0806 0001 0800 06 04 0001", macA, ipA, macB, ipB, payload), 14 + 28},
	{"ICMP of an unreachable host", 101, packet(ip4("01", "0301 abcd 00000000"+ip4("06", tcpPlain))), 20 + 4},
	{"a redirect", 101, packet(ip4("01", "0501 abcd"+ipB+ip4("06", tcpPlain))), 20 + 4},
	{"an echo", 101, packet(ip4("01", "0800 abcd 0001 0002"+payload)), 20 + 8},
	{"TCP over IPv6", 101, packet(ip6("06", tcpPlain)), 40 + 20},
	{"options of IPv6", 101, packet(ip6("00", "06 01 c904"+ipA+"0000 0000 0000"+tcpPlain)), 40 + 16 + 20},
	{"a routing header", 101, packet(ip6("2b", "06 02 0001 00000000"+sixA+tcpPlain)), 40},
	{"a neighbour is asked for", 1, packet("3333ff3d4e5f", macA, "86dd 6000 0000 0020 3aff", sixB, "ff0200000000000000000001ff3d4e5f", "8700 abcd 00000000", sixB, "0101", macA), 14 + 40 + 4},
	{"a kind that is not known", 1, packet(macB, macA, "88cc 0207 04", macA, payload), 14},
	{"a length", 1, packet(macB, macA, "0020", payload), 14},
	{"cooked", 113, packet("0000 0001 0006", macA, "0000 0800", ip4("11", "0035 0035 0010 abcd"+payload)), 16 + 28},
	{"cooked, version 2", 276, packet("0800 0000 00000002 0001 00 06", macA, "0000", ip4("11", "0035 0035 0010 abcd"+payload)), 20 + 28},
	{"loopback of BSD", 0, packet("02000000", ip4("11", "0035 0035 0010 abcd"+payload)), 4 + 28},
	{"radio", 127, packet("00001900", macA, ipA, payload), 0},
}

func TestOfAPacketHeadersAreLeftWithoutItsAddressesAndPayload(t *testing.T) {
	for _, p := range packets {
		original := bytes.Clone(p.data)
		got := New().Packet(p.link, p.data)
		if len(got) != p.left {
			t.Errorf("%s: %d bytes are left, want %d: %x", p.name, len(got), p.left, got)
		}
		if !bytes.Equal(original, p.data) {
			t.Errorf("%s: the caller's bytes were changed", p.name)
		}
		for _, s := range secrets {
			if bytes.Contains(got, s) {
				t.Errorf("%s: %x is left in %x", p.name, s, got)
			}
		}
		for n := range p.data { // as captures cut them
			cut := New().Packet(p.link, p.data[:n])
			for _, s := range secrets {
				if bytes.Contains(cut, s) {
					t.Errorf("%s of %d bytes: %x is left in %x", p.name, n, s, cut)
				}
			}
		}
	}
}

func TestHeadersStayReadable(t *testing.T) {
	r := New()
	b := r.Packet(1, packets[0].data)
	ip := b[14:34]
	if checksum(ip) != 0 { // a sum over a header with its checksum
		t.Errorf("the checksum of %x is wrong", ip)
	}
	if binary.BigEndian.Uint16(b[34:]) != 0x1f90 || binary.BigEndian.Uint32(b[38:]) != 1 {
		t.Errorf("ports and numbers of %x", b[34:])
	}
	if a := r.Addr(netip.MustParseAddr("192.168.215.233")).As4(); !bytes.Equal(ip[12:16], a[:]) {
		t.Errorf("the packet has %x, and events have %x", ip[12:16], a)
	}
	if b := r.Packet(1, packets[1].data); !bytes.Equal(b[54:], bytes.Repeat([]byte{1}, 12)) {
		t.Errorf("options %x", b[54:])
	}
}

func TestAnAddressIsReplacedByTheSameOneWithinARunAndByAnotherInTheNext(t *testing.T) {
	r, other := New(), New()
	random := testseed.New(t)
	seen := make(map[netip.Addr]bool)
	for range 20_000 {
		a := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, random.Uint32())))
		x := r.Addr(a)
		if x != r.Addr(a) || !x.Is4() || names4(a) != names4(x) {
			t.Fatalf("%v becomes %v", a, x)
		}
		if !names4(a) && x != a {
			t.Errorf("%v, which names no host, becomes %v", a, x)
		}
		seen[x] = true
	}
	if len(seen) < 19_000 { // but for those that were drawn twice, which one in 2^17 is
		t.Errorf("%d addresses of 20000", len(seen))
	}
	for _, text := range []string{"10.0.0.1", "2001:db8::1", "fe80::1", "::ffff:10.0.0.1", "ff32:40:2001:db8::1"} {
		a := netip.MustParseAddr(text)
		if r.Addr(a) == a || r.Addr(a) == other.Addr(a) {
			t.Errorf("%v becomes %v, and in another run %v", a, r.Addr(a), other.Addr(a))
		}
		if a.Is6() != r.Addr(a).Is6() || a.IsLinkLocalUnicast() != r.Addr(a).IsLinkLocalUnicast() || a.IsMulticast() != r.Addr(a).IsMulticast() {
			t.Errorf("%v is of another kind: %v", a, r.Addr(a))
		}
	}
	for _, text := range []string{"127.0.0.1", "0.0.0.0", "255.255.255.255", "224.0.0.251", "::1", "::", "ff02::fb"} {
		if a := netip.MustParseAddr(text); r.Addr(a) != a {
			t.Errorf("%v becomes %v", a, r.Addr(a))
		}
	}
}

// FuzzPacket: any bytes of any link type are redacted, and nothing is left behind the cut that was not before.
func FuzzPacket(f *testing.F) {
	for _, p := range packets {
		f.Add(p.link, p.data)
	}
	testseed.Fuzz(f, func(t *testing.T, link uint16, data []byte) {
		original := bytes.Clone(data)
		got := New().Packet(link, data)
		if len(got) > len(data) || !bytes.Equal(original, data) {
			t.Errorf("%d bytes of %d", len(got), len(data))
		}
	})
}
