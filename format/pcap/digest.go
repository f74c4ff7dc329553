package pcap

import (
	"encoding/binary"
	"math/bits"

	"meridian/trace"
)

// digested is how many bytes of a datagram's content its digest covers: what a short snap length still keeps.
const digested = 32

// digest hashes what is known and some content to 32 bits that are never 0. The constants are part of the format: they are
// digits of pi, and must not change.
func digest(known uint64, content []byte) uint32 {
	// The length goes in before the first round: beside the content it would cancel against it (02, and 01 00).
	h := fold(known^0x243f6a8885a308d3, 0x13198a2e03707345^uint64(len(content))<<32)
	for len(content) >= 8 {
		h = fold(h^binary.LittleEndian.Uint64(content), 0xa4093822299f31d1)
		content = content[8:]
	}
	if len(content) > 0 {
		var last [8]byte
		copy(last[:], content)
		h = fold(h^binary.LittleEndian.Uint64(last[:]), 0x082efa98ec4e6c89)
	}
	if d := uint32(h>>32) ^ uint32(h); d != 0 {
		return d
	}
	return 1
}

// leftEdge is the length of the number with which a SACK block begins.
const leftEdge = 4

// acknowledgementDigest hashes a packet without payload in two halves, so that captures of different snap lengths agree on the upper
// one: it covers the left edge of the first SACK block, the lower one all blocks. The lower half is 0 where blocks were cut.
func acknowledgementDigest(known uint64, o *tcpOptions) uint32 {
	upper := max(1, digest(known, o.sack[:min(leftEdge, len(o.sack))])>>16) << 16
	if o.cut {
		return upper
	}
	return upper | max(1, digest(known, o.sack)&0xffff)
}

// content is what tells the content of a datagram from others'.
type content struct {
	digest uint32 // 0: nothing was kept
	cut    uint8  // how many bytes it covers where the capture kept fewer than it should cover
	lost   bool   // nothing tells the packet
}

// cutContent marks digests of content that the capture cut: those of captures cut elsewhere cannot be compared with them.
const cutContent = 1 << 42

// contentOf hashes the beginning of a payload of the given length on the wire, or what was kept of that.
func contentOf(known uint64, kept []byte, length uint32) content {
	n := int(min(digested, length))
	switch {
	case len(kept) >= n:
		return content{digest: digest(known, kept[:n])}
	case len(kept) == 0:
		return content{}
	}
	return content{digest: digest(known^cutContent, kept), cut: uint8(len(kept))}
}

// setContent sets what tells the content of p.
func setContent(p *trace.Packet, c content) { p.Digest, p.Flags = c.digest, c.cut }

// icmpContent hashes an ICMP or ICMPv6 message without what NAT rewrites in it.
func icmpContent(s *segment) content {
	b := s.body
	if len(b) < 2 {
		return content{}
	}
	kind, code := b[0], b[1]
	known := uint64(1)<<40 | uint64(kind)<<24 | uint64(code)<<16
	echo := kind == 8 || kind == 0
	failure := kind == 3 || kind == 4 || kind == 5 || kind == 11 || kind == 12
	if s.six {
		echo = kind == 128 || kind == 129
		failure = kind < 128
	}
	switch {
	case s.six && signals(kind):
		return content{}
	case failure:
		return content{digest: digest(known, nil)}
	case len(b) < 8:
		return content{}
	case echo:
		known |= uint64(binary.BigEndian.Uint16(b[6:]))
	}
	return contentOf(known, b[8:], above(s.length, 8))
}

// signals reports whether ICMPv6 messages of a type keep a link going: listeners (RFC 3810), neighbours and routers (RFC 4861), routers of multicast (RFC 4286). Hosts repeat
// these byte for byte some seconds later. Where a capture lacks one of two, because its recorder was killed meanwhile, the sending of the one would be taken for that of the other.
func signals(kind byte) bool {
	return kind >= 130 && kind <= 137 || kind == 143 || kind >= 151 && kind <= 153
}

// fold multiplies to 128 bits and folds the halves.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
