package packet

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"meridian/internal/testseed"
)

// datagram is a packet from its network header on, and what the kernel says of it.
type datagram struct {
	bytes    []byte
	protocol uint16
	outgoing bool
}

// accepts runs a program of classic BPF as the kernel does (kernel/bpf/core.c), over a link without a header: a load beyond the packet
// rejects it.
func (d *datagram) accepts(t *testing.T, code []instruction) bool {
	var a, x uint32
	var m [16]uint32
	load := func(at, n uint32) bool {
		if uint64(at)+uint64(n) > uint64(len(d.bytes)) {
			return false
		}
		a = 0
		for _, b := range d.bytes[at : at+n] {
			a = a<<8 | uint32(b)
		}
		return true
	}
	for pc := 0; ; pc++ {
		c, inside, holds := code[pc], true, false
		switch c.code {
		case loadWord:
			switch c.k {
			case aboutProtocol:
				a = uint32(d.protocol)
			case aboutDirection:
				if a = 0; d.outgoing {
					a = outgoing
				}
			case aboutHardware:
				a = uint32(rawHardware[0])
			default:
				t.Fatalf("a load at %#x", c.k)
			}
		case loadWordX:
			inside = load(x+c.k, 4)
		case loadHalfX:
			inside = load(x+c.k, 2)
		case loadByteX:
			inside = load(x+c.k, 1)
		case loadImmX:
			x = c.k
		case loadMemX:
			x = m[c.k]
		case storeX:
			m[c.k] = x
		case loadMem:
			a = m[c.k]
		case addX:
			a += x
		case addK:
			a += c.k
		case andK:
			a &= c.k
		case shiftLeft:
			a <<= c.k
		case moveAtoX:
			x = a
		case jump:
			pc += int(c.k)
		case ret:
			return c.k != 0
		case jumpEqual:
			holds = a == c.k
		case jumpAbove:
			holds = a > c.k
		case jumpFrom:
			holds = a >= c.k
		case jumpSet:
			holds = a&c.k != 0
		default:
			t.Fatalf("code %#x", c.code)
		}
		switch {
		case !inside:
			return false
		case c.code&7 == 5 && c.code != jump && holds:
			pc += int(c.jt)
		case c.code&7 == 5 && c.code != jump:
			pc += int(c.jf)
		}
	}
}

// someDatagram returns one of few addresses, ports and protocols, so that tests hold now and then, and its headers as the kernel's
// events have them.
func someDatagram(r *rand.Rand) (*datagram, *Headers) {
	protocol := []byte{protoTCP, protoUDP, protoSCTP, protoICMP, protoICMP6, protoIGMP, protoFragment}[r.IntN(7)]
	d := &datagram{outgoing: r.IntN(2) == 0}
	transport := make([]byte, 24)
	binary.BigEndian.PutUint16(transport, uint16(79+r.IntN(3)))
	binary.BigEndian.PutUint16(transport[2:], uint16(79+r.IntN(3)))
	if protocol == protoFragment {
		transport[0] = protoUDP
	}
	known := protocol == protoTCP || protocol == protoUDP || protocol == protoICMP || protocol == protoICMP6
	switch r.IntN(5) {
	case 0:
		d.protocol, d.bytes = typeARP, make([]byte, 28)
		copy(d.bytes[14:], []byte{10, 0, 0, byte(r.IntN(3))})
		copy(d.bytes[24:], []byte{10, 0, 0, byte(r.IntN(3))})
		return d, &Headers{Outgoing: d.outgoing}
	case 1, 2:
		d.protocol = typeIPv6
		network := make([]byte, 40)
		network[0], network[6], network[8], network[24] = 0x60, protocol, 0xfd, 0xfd
		network[23], network[39] = byte(r.IntN(3)), byte(r.IntN(3))
		d.bytes = append(network, transport...)
	default:
		d.protocol = typeIPv4
		options := 4 * r.IntN(3)
		network := make([]byte, 20+options)
		network[0], network[9] = 0x45+byte(options/4), protocol
		copy(network[12:], []byte{10, 0, 0, byte(r.IntN(3))})
		copy(network[16:], []byte{10, 0, 0, byte(r.IntN(3))})
		if r.IntN(4) == 0 {
			network[7] = 1 // a later fragment
			known = false
		}
		d.bytes = append(network, transport...)
	}
	h := &Headers{Network: d.bytes[:20], Outgoing: d.outgoing}
	if d.protocol == typeIPv6 {
		h.Network = d.bytes[:40]
	}
	if known {
		h.Transport = transport
	}
	return d, h
}

// someExpression is one about the same addresses, ports and protocols.
func someExpression(r *rand.Rand, depth int) string {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	if depth > 0 {
		switch r.IntN(4) {
		case 0:
			return "not (" + someExpression(r, depth-1) + ")"
		case 1, 2:
			return "(" + someExpression(r, depth-1) + one(" and ", " or ") + someExpression(r, depth-1) + ")"
		}
	}
	direction := one("", "src ", "dst ", "src and dst ", "src or dst ")
	return one(one(protocolNames...), one("inbound", "outbound"), one("proto 6", "ip proto 17", "ip6 proto 17"),
		direction+"host "+one("10.0.0.0", "10.0.0.1", "fd00::1"), direction+"net "+one("10.0.0.0/31", "fd00::/127", "10.0.0.0/8", "0.0.0.0/0"),
		one("", "tcp ", "udp ", "sctp ")+direction+one("port 80", "portrange 79-80"))
}

// TestHeadersDecideAsThePacketDoes for the program that a capture's filter is: what the headers reject it rejects, what they
// accept it accepts. They leave open only what they do not show: ARP, fragments of IPv6 and SCTP's ports.
func TestHeadersDecideAsThePacketDoes(t *testing.T) {
	r := testseed.New(t)
	var verdicts [3]int
	for range 20_000 {
		expression := someExpression(r, 3)
		f, err := NewHeaderFilter(expression)
		if err != nil {
			t.Fatal(err)
		}
		code, err := compileFilter(f.of, nil, 100)
		if err != nil {
			t.Fatal(err)
		}
		d, h := someDatagram(r)
		want, got := d.accepts(t, code), f.of.decide(h)
		shown := d.protocol != typeARP && (h.Transport != nil || !strings.Contains(expression, "port")) && h.Network[6] != protoFragment
		if got == undecided && shown || got == accepted && !want || got == rejected && want || f.Excludes(h) != (got == rejected) {
			t.Fatalf("%q of %x (protocol %#x, outgoing %t), headers %+v: %d, and the program says %t", expression, d.bytes, d.protocol, d.outgoing, h, got, want)
		}
		verdicts[got+1]++
	}
	for i, n := range verdicts {
		if n < 200 {
			t.Errorf("verdict %d only %d times", i-1, n)
		}
	}
}

func TestHeadersHaveNoLength(t *testing.T) {
	for _, expression := range []string{"less 100", "tcp and not (udp or greater 5)"} {
		if _, err := NewHeaderFilter(expression); err == nil || !strings.Contains(err.Error(), "kernel events do not have") {
			t.Errorf("%s: %v", expression, err)
		}
	}
}
