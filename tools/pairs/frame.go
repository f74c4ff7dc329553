package main

import "encoding/binary"

const (
	protocolICMP = 1
	protocolTCP  = 6
	protocolUDP  = 17
)

const (
	syn = 2
	psh = 8
	ack = 16
)

// packet is what a frame is built from.
type packet struct {
	from             int
	six              bool
	protocol         uint8
	sourcePort, port uint16
	id               uint16
	seq, ack         uint32
	flags            uint8
	window           uint16
	stamps           bool
	tsVal, tsEcho    uint32
	sack             uint32 // the first byte of a block of one segment; 0 for none
	length           int
	content          uint64
	echo             uint16 // number of an echo request
	reply            bool
}

// frame returns the frame as a place of a capture shows it, and its length on the wire.
func (p *packet) frame(place, doubled, snap int, hops uint8) (data []byte, wire uint32) {
	b := p.link(nil, place, doubled)
	ip := len(b)
	if doubled == routed && place == 1 {
		hops--
	}
	transport := p.transport()
	total := len(transport) + p.length
	if p.six {
		b = append(b, 0x60, 0, 0, 0, byte(total>>8), byte(total), p.protocol, hops)
		if p.protocol == protocolICMP {
			b[ip+6] = 58
		}
		for _, host := range []int{p.from, 1 - p.from} {
			b = append(b, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, byte(1+host))
		}
	} else {
		b = append(b, 0x45, 0, byte((total+20)>>8), byte(total+20), byte(p.id>>8), byte(p.id), 0x40, 0, hops, p.protocol, 0, 0)
		b = append(b, 10, 0, 0, byte(1+p.from), 10, 0, 0, byte(2-p.from))
	}
	b = append(b, transport...)
	wire = uint32(len(b) + p.length)
	var content [8]byte
	binary.BigEndian.PutUint64(content[:], p.content)
	for n := 0; n < p.length && len(b) < snap; n++ {
		b = append(b, content[n&7])
	}
	return b[:min(len(b), snap)], wire
}

// link is the header of the link at one of the places where a capture sees the packet.
func (p *packet) link(b []byte, place, doubled int) []byte {
	kind := []byte{8, 0}
	if p.six {
		kind = []byte{0x86, 0xdd}
	}
	if doubled == cooked {
		way := byte(0)
		if place == 1 {
			way = 4
		}
		return append(append(b, 0, way, 0, 1, 0, 6, 2, 0, 0, 0, byte(place), 1, 0, 0), kind...)
	}
	router := byte(0)
	if doubled == routed {
		router = byte(16 * (1 + place))
	}
	b = append(b, 2, 0, 0, 0, router, byte(2-p.from), 2, 0, 0, 0, router, byte(1+p.from))
	if doubled == tagged && place == 1 {
		b = append(b, 0x81, 0, 0, 42)
	}
	return append(b, kind...)
}

func (p *packet) transport() []byte {
	switch p.protocol {
	case protocolTCP:
		return p.tcp()
	case protocolICMP:
		kind := byte(8)
		switch {
		case p.six && p.reply:
			kind = 129
		case p.six:
			kind = 128
		case p.reply:
			kind = 0
		}
		return []byte{kind, 0, 0, 0, 0, 7, byte(p.echo >> 8), byte(p.echo)}
	}
	b := make([]byte, 8)
	binary.BigEndian.PutUint16(b, p.sourcePort)
	binary.BigEndian.PutUint16(b[2:], p.port)
	binary.BigEndian.PutUint16(b[4:], uint16(8+p.length))
	return b
}

func (p *packet) tcp() []byte {
	b := make([]byte, 20, 32)
	binary.BigEndian.PutUint16(b, p.sourcePort)
	binary.BigEndian.PutUint16(b[2:], p.port)
	binary.BigEndian.PutUint32(b[4:], p.seq)
	binary.BigEndian.PutUint32(b[8:], p.ack)
	b[12], b[13] = 0x50, p.flags
	binary.BigEndian.PutUint16(b[14:], p.window)
	if p.stamps {
		b[12] = 0x80
		b = append(b, 1, 1, 8, 10)
		b = binary.BigEndian.AppendUint32(b, p.tsVal)
		b = binary.BigEndian.AppendUint32(b, p.tsEcho)
		if p.sack != 0 {
			b[12] = 0xb0
			b = append(b, 1, 1, 5, 10)
			b = binary.BigEndian.AppendUint32(b, p.sack)
			b = binary.BigEndian.AppendUint32(b, p.sack+1448)
		}
	}
	return b
}
