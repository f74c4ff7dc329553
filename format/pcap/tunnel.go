package pcap

import (
	"encoding/binary"

	"meridian/trace"
)

// A packet inside a tunnel is matched by the innermost packet: its numbers tell it from all others, where those of the tunnel are
// often the same for all that it carries. Which way it went the outermost IP header says, which may be another way than the
// innermost one's: a mirror sends copies of both directions to one analyser.
//
// Where what is inside is no IP packet, was cut, or contradicts itself, the tunnel's own packet is matched by content.

// outer is what the packet being decoded is inside of.
type outer struct {
	tunnels  int           // how many
	from, to trace.FlowEnd // of the outermost IP header
	six      bool
	ttl      uint8
	id       uint32
	mirror   bool
	reason   string // why the packet inside could not be read
}

// layer is what a tunnel's header leads to.
type layer struct {
	kind   uint16 // EtherType
	header int    // bytes of the tunnel's header, from the beginning of the IP packet's content
	id     uint32
	mirror bool
	counts bool // its header counts packets
}

// maxLeft is how many bytes tell a packet from others whose headers inside a tunnel were cut.
const maxLeft = 128

// inside decodes the packet inside a tunnel, and reports whether it could be read. If not, and if s is a tunnel, left is what tells
// the packet: all that was kept from the tunnel's header on, where sequence numbers may be, if the capture cut the headers inside;
// else the network header inside, whatever the tunnel's own header has.
func (d *Decoder) inside(p *trace.Packet, s *segment) (read bool, left content) {
	l, ok := tunnelled(s)
	if !ok || d.depth >= maxDepth {
		return false, content{}
	}
	begins := min(headerWithPorts(s.protocol), len(s.body))
	if len(s.body) < l.header {
		if uint32(l.header) > s.length {
			return false, content{} // it contradicts itself
		}
		d.tally.add(cutInside, d.number, -1)
		return false, cutTunnel(s.body[begins:], l.counts || p.ID != 0)
	}
	before, depth, o := *p, d.depth, d.outer
	if o.tunnels == 0 {
		d.outer = outer{from: s.from, to: s.to, six: s.six, ttl: p.TTL}
	}
	d.outer.tunnels++
	d.outer.id = d.outer.id*0x9e3779b1 + l.id
	d.outer.mirror = d.outer.mirror || l.mirror
	d.outer.reason = ""
	p.ID = 0
	d.depth++
	body, length := s.body[l.header:], s.length-uint32(l.header)
	d.network(p, l.kind, body, length)
	if p.Flow != trace.NoFlow {
		if p.Kind == trace.Datagram && p.ID == 0 && (p.Flags != 0 || p.Digest == 0) {
			p.ID = before.ID // which the tunnel's other end sees too
		}
		return true, content{}
	}
	reason, told := d.outer.reason, l.counts || before.ID != 0 || p.ID != 0
	*p, d.depth, d.outer = before, depth, o
	switch reason {
	case cutLink, cutIP, cutPorts, cutTCP:
		d.tally.add(cutInside, d.number, -1)
		return false, cutTunnel(s.body[begins:], told)
	}
	if l.kind == typeBridged && len(body) > 14 {
		body, length = body[14:], length-14
	}
	return false, contentOf(1<<41, body, length)
}

// cutTunnel hashes what was kept of a tunnel's packet. Without a number that tells packets apart, of the tunnel or of the packet inside,
// it is lost: many packets have the same headers.
func cutTunnel(kept []byte, told bool) content {
	kept = kept[:min(maxLeft, len(kept))]
	if len(kept) == 0 || !told {
		return content{lost: true}
	}
	return content{digest: digest(1<<41^cutContent, kept), cut: uint8(len(kept))}
}

// isTunnel reports whether packets of a protocol may have others inside.
func isTunnel(protocol uint8) bool {
	switch protocol {
	case udp, ipTunnel, ip6Tunnel, greTunnel, etherTunnel, mplsTunnel:
		return true
	}
	return false
}

// tunnelled tells what a tunnel leads to from its IP packet.
func tunnelled(s *segment) (layer, bool) {
	switch s.protocol {
	case udp:
		if len(s.body) < 16 {
			return layer{}, false
		}
		return udpLayer(binary.BigEndian.Uint16(s.body[2:]), s.body[8:])
	case ipTunnel:
		return layer{kind: typeIPv4}, true
	case ip6Tunnel:
		return layer{kind: typeIPv6}, true
	case mplsTunnel:
		return layer{kind: typeMPLS}, true
	case etherTunnel: // version 3 in four bits, reserved (RFC 3378)
		return layer{kind: typeBridged, header: 2}, len(s.body) >= 2 && s.body[0]>>4 == 3
	case greTunnel:
		return greLayer(s.body)
	}
	return layer{}, false
}

// Ports to which tunnels over UDP send.
const (
	portL2TP       = 1701
	portGTP        = 2152
	portVXLAN      = 4789
	portVXLANLinux = 8472 // of Linux, before 4789 was assigned
	portVXLANGPE   = 4790
	portGeneve     = 6081
	portMPLS       = 6635
)

const headerOfIPv4 = 20 // bytes, without options

// udpLayer tells what a tunnel over UDP leads to from the port and the first bytes, at least 8.
func udpLayer(port uint16, b []byte) (layer, bool) {
	const udpHeader = 8
	number := binary.BigEndian.Uint32(b[4:]) >> 8
	switch port {
	case portVXLAN, portVXLANLinux: // flags (1), reserved or group policy (3), network (3), reserved (1) (RFC 7348)
		return layer{kind: typeBridged, header: udpHeader + 8, id: number}, b[0]&0x08 != 0 && b[7] == 0
	case portVXLANGPE: // the same, with the next protocol in the fourth byte
		next := [...]uint16{1: typeIPv4, 2: typeIPv6, 3: typeBridged, 4: 0, 5: typeMPLS}
		if int(b[3]) >= len(next) || next[b[3]] == 0 || b[0]&0x08 == 0 {
			return layer{}, false
		}
		return layer{kind: next[b[3]], header: udpHeader + 8, id: number}, true
	case portGeneve: // version (2 bits), length of options (6 bits), flags (1), EtherType (2), network (3), reserved (1) (RFC 8926)
		return layer{kind: binary.BigEndian.Uint16(b[2:]), header: udpHeader + 8 + int(b[0]&0x3f)*4, id: number}, b[0]>>6 == 0
	case portMPLS:
		return layer{kind: typeMPLS, header: udpHeader}, true
	case portGTP:
		return gtpLayer(b)
	case portL2TP:
		return l2tpLayer(b)
	}
	return layer{kind: typeBridged, header: udpHeader + 8, id: number}, isVXLAN(b)
}

// isVXLAN reports whether the payload of a datagram to any port is VXLAN all the same, as some networks send it: all
// reserved bits of its header are zero, and it leads to Ethernet with an IP header that is consistent. An IPv4 header
// has a checksum; of an IPv6 header the length must be that of the datagram, so it is not looked for in what the
// capture cut.
func isVXLAN(b []byte) bool {
	const header, ethernet = 8, 14
	if len(b) < header+ethernet+headerOfIPv4 || binary.BigEndian.Uint32(b) != 0x08000000 || b[7] != 0 {
		return false
	}
	ip := b[header+ethernet:]
	switch binary.BigEndian.Uint16(b[header+12:]) {
	case typeIPv4:
		n := int(ip[0]&15) * 4
		if ip[0]>>4 != 4 || n < headerOfIPv4 || len(ip) < n {
			return false
		}
		sum := uint32(0)
		for i := 0; i < n; i += 2 {
			sum += uint32(binary.BigEndian.Uint16(ip[i:]))
		}
		return sum>>16+sum&0xffff == 0xffff
	case typeIPv6:
		return ip[0]>>4 == 6 && len(ip) == headerOfIPv6+int(binary.BigEndian.Uint16(ip[4:]))
	}
	return false
}

// gtpLayer takes GTP-U (3GPP TS 29.281): flags, type (1 each), length (2), tunnel (4), and where a flag says so sequence (2),
// N-PDU number, type of the next extension (1 each), and extensions, each of its length in units of 4 bytes (1), content, and the
// type of the next (1).
func gtpLayer(b []byte) (layer, bool) {
	const udpHeader, packet = 8, 255
	if b[0]&0xf0 != 0x30 || b[1] != packet {
		return layer{}, false
	}
	n := 8
	if b[0]&7 != 0 {
		n = 12
		for b[0]&4 != 0 && len(b) > n && b[n-1] != 0 {
			if b[n] == 0 {
				return layer{}, false
			}
			n += int(b[n]) * 4
			if len(b) < n {
				return layer{}, false
			}
		}
	}
	return layer{kind: typeInternet, header: udpHeader + n}, true
}

// l2tpLayer takes a data message of L2TP version 2 (RFC 2661): flags and version (2), length (2) if a flag says so, tunnel,
// session (2 each), then sequence numbers (2 each) and padding by its length (2).
func l2tpLayer(b []byte) (layer, bool) {
	const udpHeader = 8
	flags := binary.BigEndian.Uint16(b)
	if flags&0x8000 != 0 || flags&15 != 2 {
		return layer{}, false
	}
	n := 6
	if flags&0x4000 != 0 {
		n += 2
	}
	if flags&0x0800 != 0 {
		n += 4
	}
	if flags&0x0200 != 0 {
		if len(b) < n+2 {
			return layer{}, false
		}
		n += 2 + int(binary.BigEndian.Uint16(b[n:]))
	}
	return layer{kind: typePPP, header: udpHeader + n}, true
}

// Bits of the first two bytes of GRE (RFC 2784, 2890; 2637 for version 1).
const (
	greChecksum        = 0x8000
	greRouting         = 0x4000
	greKey             = 0x2000
	greSequence        = 0x1000
	greAcknowledgement = 0x0080
	greVersion         = 0x0007
)

// What GRE carries beside EtherTypes: copies of frames.
const (
	typeERSPAN  = 0x88be // of types I, without a header of its own, and II
	typeERSPAN3 = 0x22eb
)

// greLayer takes GRE: flags, EtherType (2 each), then checksum, key, sequence and acknowledgement (4 each) as the flags say.
func greLayer(b []byte) (layer, bool) {
	if len(b) < 4 {
		return layer{}, false
	}
	flags, l := binary.BigEndian.Uint16(b), layer{kind: binary.BigEndian.Uint16(b[2:]), header: 4}
	switch flags & greVersion {
	case 0:
		if flags&greRouting != 0 {
			return layer{}, false
		}
	case 1: // PPTP: acknowledgements alone carry nothing
		if l.kind != typePPP || flags&greSequence == 0 {
			return layer{}, false
		}
		if flags&greAcknowledgement != 0 {
			l.header += 4
		}
	default:
		return layer{}, false
	}
	if flags&greChecksum != 0 {
		l.header += 4
	}
	if flags&greKey != 0 {
		if len(b) >= l.header+4 && l.kind == typeBridged {
			l.id = binary.BigEndian.Uint32(b[l.header:])
		}
		l.header += 4
	}
	if flags&greSequence != 0 {
		l.header += 4
		l.counts = true
	}
	switch l.kind {
	case typeERSPAN:
		if flags&greSequence != 0 {
			l.header += 8
		}
		l.kind, l.mirror = typeBridged, true
	case typeERSPAN3:
		if l.header += 12; len(b) >= l.header && b[l.header-1]&1 != 0 {
			l.header += 8 // the platform's own
		}
		l.kind, l.mirror = typeBridged, true
	}
	return l, true
}
