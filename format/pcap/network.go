package pcap

import (
	"encoding/binary"

	"meridian/trace"
)

// IP protocol numbers, IPv6 extension headers among them.
const (
	hopByHop    = 0
	icmp4       = 1
	ipTunnel    = 4
	tcp         = 6
	udp         = 17
	dccp        = 33
	ip6Tunnel   = 41
	routing     = 43
	fragment    = 44
	greTunnel   = 47
	authHeader  = 51
	icmp6       = 58
	noNext      = 59
	destination = 60
	etherTunnel = 97
	sctp        = 132
	mobility    = 135
	udpLite     = 136
	mplsTunnel  = 137
	hip         = 139
	shim6       = 140
)

// segment is what an IP packet carries.
type segment struct {
	from, to trace.FlowEnd
	protocol uint8
	six      bool
	body     []byte // what was kept of it, without the padding of the link
	length   uint32 // of it on the wire
	fragment bool   // it is a part of a larger one, the one at part bytes
	part     uint32
}

func (d *Decoder) ipv4(p *trace.Packet, b []byte, wire uint32) {
	if len(b) < 20 {
		d.drop(cutIP)
		return
	}
	header := int(b[0]&15) * 4
	total := uint32(binary.BigEndian.Uint16(b[2:]))
	if total == 0 {
		// Segmentation offload and BIG TCP: the packet is longer than the field can say.
		total = wire
	}
	if header < 20 || b[0]>>4 != 4 || total < uint32(header) || d.outer.tunnels > 0 && total > wire {
		d.drop(badIP)
		return
	}
	if len(b) < header {
		d.drop(cutIP)
		return
	}
	p.ID = binary.BigEndian.Uint16(b[4:])
	p.TTL = b[8]
	s := segment{
		from:     trace.FlowEnd{Lo: uint64(binary.BigEndian.Uint32(b[12:]))},
		to:       trace.FlowEnd{Lo: uint64(binary.BigEndian.Uint32(b[16:]))},
		protocol: b[9],
		body:     b[header:],
		length:   total - uint32(header),
	}
	if part := binary.BigEndian.Uint16(b[6:]) & 0x3fff; part != 0 {
		s.fragment, s.part = true, uint32(part&0x1fff)*8
	}
	s.trim()
	if s.protocol == authHeader && !s.fragment && !s.passHeader(authHeader) {
		d.drop(cutIP)
		return
	}
	d.transport(p, &s)
}

func (d *Decoder) ipv6(p *trace.Packet, b []byte, wire uint32) {
	if len(b) < headerOfIPv6 {
		d.drop(cutIP)
		return
	}
	s := segment{
		from:     trace.FlowEnd{Hi: binary.BigEndian.Uint64(b[8:]), Lo: binary.BigEndian.Uint64(b[16:])},
		to:       trace.FlowEnd{Hi: binary.BigEndian.Uint64(b[24:]), Lo: binary.BigEndian.Uint64(b[32:])},
		protocol: b[6],
		six:      true,
		body:     b[headerOfIPv6:],
		length:   uint32(binary.BigEndian.Uint16(b[4:])),
	}
	if b[0]>>4 != 6 || d.outer.tunnels > 0 && s.length > wire-headerOfIPv6 {
		d.drop(badIP)
		return
	}
	if s.length == 0 && s.protocol != noNext && wire > headerOfIPv6 {
		// A jumbogram, or segmentation offload.
		s.length = wire - headerOfIPv6
	}
	p.TTL = b[7]
	s.trim()
	for !s.fragment {
		switch s.protocol {
		case hopByHop, routing, destination, authHeader, mobility, hip, shim6:
			if !s.passHeader(s.protocol) {
				d.drop(cutIP)
				return
			}
			continue
		case fragment:
			if len(s.body) < 8 || s.length < 8 {
				d.drop(cutIP)
				return
			}
			// A header whose part is the whole (offset 0, no more) comes from translators, and means nothing.
			place := binary.BigEndian.Uint16(s.body[2:])
			s.fragment, s.part = place&^6 != 0, uint32(place&^7)
			p.ID = binary.BigEndian.Uint16(s.body[6:])
			s.protocol = s.body[0]
			s.body, s.length = s.body[8:], s.length-8
			continue
		}
		break
	}
	d.transport(p, &s)
}

// trim takes the padding of the link off.
func (s *segment) trim() {
	if uint64(len(s.body)) > uint64(s.length) {
		s.body = s.body[:s.length]
	}
}

// passHeader passes over an extension header and reports whether it was kept whole.
func (s *segment) passHeader(kind uint8) bool {
	if len(s.body) < 8 {
		return false
	}
	n := (int(s.body[1]) + 1) * 8
	if kind == authHeader {
		n = (int(s.body[1]) + 2) * 4
	}
	if len(s.body) < n {
		return false
	}
	s.protocol = s.body[0]
	s.body, s.length = s.body[n:], s.length-uint32(n)
	return true
}
