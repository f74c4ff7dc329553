package pcap

import (
	"encoding/binary"

	"meridian/trace"
)

// transport goes on at what an IP packet carries.
func (d *Decoder) transport(p *trace.Packet, s *segment) {
	switch {
	case s.fragment:
		d.fragment(p, s)
	case s.protocol == tcp:
		if !d.tcp(p, s) {
			return
		}
	case isTunnel(s.protocol):
		read, left := d.inside(p, s)
		if left.lost && d.outer.tunnels > 0 {
			d.outer.reason = cutPorts // the tunnel around this one may tell it
		}
		if read || left.lost || !d.other(p, s) {
			return
		}
		if left.digest != 0 {
			setContent(p, left)
		}
	case !d.other(p, s):
		return
	}
	d.toFlow(p, s)
}

// other takes what is no TCP: by content.
func (d *Decoder) other(p *trace.Packet, s *segment) bool {
	switch {
	case headerWithPorts(s.protocol) > 0:
		return d.withPorts(p, s)
	case s.protocol == icmp4 && !s.six, s.protocol == icmp6 && s.six:
		p.Kind = trace.Datagram
		p.Length = above(s.length, 8)
		setContent(p, icmpContent(s))
	default:
		p.Kind = trace.Datagram
		p.Length = s.length
		setContent(p, contentOf(0, s.body, s.length))
	}
	return true
}

// toFlow finds the packet's flow.
func (d *Decoder) toFlow(p *trace.Packet, s *segment) {
	tunnel := uint32(0)
	if o := &d.outer; o.tunnels > 0 {
		tunnel = d.flows.Tunnel(o.from, o.to, o.six, o.id, o.mirror)
		p.TTL = o.ttl
	}
	flow, first := d.flows.FindInside(tunnel, s.from, s.to, s.protocol, s.six)
	p.Flow = flow
	if first && d.source != noMAC {
		f := &d.flows.Flows()[flow>>1]
		copy(f.Source[flow&1][:], d.frame[d.source:])
		if d.target != noMAC {
			copy(f.Target[flow&1][:], d.frame[d.target:])
		}
	}
}

// headerWithPorts returns, for the protocols that begin with two ports and are matched by content, the length of the
// header that is no content; 0 for all others.
func headerWithPorts(protocol uint8) int {
	switch protocol {
	case udp, udpLite, dccp:
		return 8
	case sctp:
		return 12
	}
	return 0
}

func (d *Decoder) withPorts(p *trace.Packet, s *segment) bool {
	b := s.body
	if len(b) < lengthOfPorts {
		return d.withoutPorts(p, s)
	}
	header := headerWithPorts(s.protocol)
	s.from.Port, s.to.Port = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	p.Kind = trace.Datagram
	p.Length = above(s.length, header)
	if s.protocol == udp && len(b) >= 6 {
		// The datagram may be shorter than what carries it; 0 says that it is longer than the field can.
		if n := uint32(binary.BigEndian.Uint16(b[4:])); n >= 8 {
			p.Length = min(p.Length, n-8)
		}
	}
	setContent(p, contentOf(0, b[min(header, len(b)):], p.Length))
	return d.tells(p)
}

// fragment takes a part of a datagram: ports stand in the first only, so that none are told apart by them.
func (d *Decoder) fragment(p *trace.Packet, s *segment) {
	p.Kind = trace.Datagram
	p.Length = s.length
	content, length := s.body, s.length
	if s.part == 0 {
		header := headerWithPorts(s.protocol)
		switch s.protocol {
		case tcp:
			header = shortestTCP
		case icmp4, icmp6:
			header = 8
		}
		content, length = content[min(header, len(content)):], above(length, header)
	}
	setContent(p, contentOf(1+uint64(s.part), content, length))
}

func (d *Decoder) tcp(p *trace.Packet, s *segment) bool {
	b := s.body
	if len(b) < 16 {
		return d.cutTCP(p, s)
	}
	header := int(b[12]>>4) * 4
	if header < shortestTCP || s.length < uint32(header) {
		d.drop(badTCP)
		return false
	}
	s.from.Port, s.to.Port = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	p.Kind = trace.TCP
	p.Seq = binary.BigEndian.Uint32(b[4:])
	p.Ack = binary.BigEndian.Uint32(b[8:])
	p.Flags = b[13]
	p.Length = s.length - uint32(header)
	var o tcpOptions
	if header > shortestTCP && len(b) > shortestTCP {
		o.parse(b[shortestTCP:min(header, len(b))])
	}
	p.TSVal = o.tsVal
	switch {
	case p.Length > 0:
		content := b[min(header, len(b)):]
		d.payload = content[:min(len(content), int(p.Length))]
		if p.Flags&trace.SYN != 0 {
			p.Seq++ // fast open: the SYN comes before its first byte
		}
	case len(b) >= header || len(o.sack) >= leftEdge:
		known := uint64(p.Flags&(trace.URG<<1-1))<<48 | uint64(binary.BigEndian.Uint16(b[14:]))<<32 | uint64(o.tsEcho)
		p.Digest = acknowledgementDigest(known, &o)
	}
	return true
}

// cutTCP takes a TCP segment that was cut before its flags, without which its payload's length is not known: as a datagram whose
// content is the sequence and the acknowledgement number.
func (d *Decoder) cutTCP(p *trace.Packet, s *segment) bool {
	const numbers, longestTCP = 8, 60
	b := s.body
	switch {
	case len(b) < lengthOfPorts:
		return d.withoutPorts(p, s)
	case p.ID == 0 && s.length <= longestTCP: // an acknowledgement may have the numbers of a FIN or of another one
		d.drop(cutTCP)
		return false
	}
	s.from.Port, s.to.Port = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	p.Kind, p.Length = trace.Datagram, s.length
	setContent(p, contentOf(1<<43, b[lengthOfPorts:min(len(b), lengthOfPorts+numbers)], numbers))
	if d.outer.tunnels > 0 {
		d.drop(cutTCP)
		return false
	}
	d.tally.add(cutTCP, d.number, -1)
	return true
}

const lengthOfPorts = 4

// withoutPorts takes a packet that was cut before its ports: by its identification, if it has one.
func (d *Decoder) withoutPorts(p *trace.Packet, s *segment) bool {
	if p.ID == 0 || d.outer.tunnels > 0 {
		d.drop(cutPorts)
		return false
	}
	p.Kind, p.Length = trace.Datagram, s.length
	d.tally.add(cutPorts, d.number, -1)
	return true
}

// leastContent is how many bytes of a datagram's content inside a tunnel must be left: of less, what is left of the tunnel's own
// packet tells more.
const leastContent = 8

// tells reports whether enough was kept of a datagram that is inside a tunnel.
func (d *Decoder) tells(p *trace.Packet) bool {
	if d.outer.tunnels == 0 || p.Digest != 0 && (p.Flags == 0 || p.Flags >= leastContent) {
		return true
	}
	d.drop(cutPorts)
	return false
}

// tcpOptions is what matching needs of TCP's options.
type tcpOptions struct {
	tsVal, tsEcho uint32
	sack          []byte
	cut           bool // the capture kept a part of the blocks
}

func (o *tcpOptions) parse(b []byte) {
	// Nearly all segments with options hold nothing but the timestamp, padded in front.
	if len(b) == 12 && binary.BigEndian.Uint32(b) == 0x0101080a {
		o.tsVal, o.tsEcho = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
		return
	}
	for len(b) > 0 {
		if b[0] == 1 {
			b = b[1:]
			continue
		}
		if b[0] == 0 || len(b) < 2 || b[1] < 2 {
			return
		}
		if len(b) < int(b[1]) {
			if b[0] == 5 {
				o.sack, o.cut = b[2:], true
			}
			return
		}
		switch value := b[2:b[1]]; {
		case b[0] == 8 && len(value) == 8:
			o.tsVal, o.tsEcho = binary.BigEndian.Uint32(value), binary.BigEndian.Uint32(value[4:])
		case b[0] == 5:
			o.sack = value
		}
		b = b[b[1]:]
	}
}

// above returns how much of n bytes is left above a header.
func above(n uint32, header int) uint32 {
	if n < uint32(header) {
		return 0
	}
	return n - uint32(header)
}
