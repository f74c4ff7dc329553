package main

import (
	"encoding/binary"
	"math/bits"
)

// packet is what a frame is built from.
type packet struct {
	from             int
	sourcePort, port uint16
	udp              bool
	id               uint16
	flags            uint8
	window           uint16
	seq, ack         uint32
	tsVal, tsEcho    uint32
	sack             [4]uint32
	blocks           int // of sack
	length           int // of payload
	content          uint64
}

const (
	fin = 1
	syn = 2
	psh = 8
	ack = 16
)

const link = 14

// options returns the length of TCP's options.
func (p *packet) options() int {
	switch {
	case p.udp:
		return 0
	case p.flags&syn != 0:
		return 20 // segment size, selective acknowledgement, timestamp, window scale
	case p.blocks > 0:
		return 12 + 4 + 8*p.blocks
	}
	return 12
}

func (p *packet) header() int {
	if p.udp {
		return 8
	}
	return 20 + p.options()
}

// wire returns the length of the frame, padded as Ethernet wants it.
func (p *packet) wire() int { return max(60, link+20+p.header()+p.length) }

// build writes as much of the frame as fits and returns its length.
func (p *packet) build(out []byte) int {
	var room [link + 20 + 60]byte
	b := room[:]
	// Addresses of both layers end in the host's number.
	copy(b, "\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x08\x00")
	b[5], b[11] = byte(2-p.from), byte(1+p.from)
	ip := b[link:]
	total := 20 + p.header() + p.length
	ip[0] = 0x45
	binary.BigEndian.PutUint16(ip[2:], uint16(total))
	binary.BigEndian.PutUint16(ip[4:], p.id)
	ip[6] = 0x40
	ip[8], ip[9] = 64, 6
	if p.udp {
		ip[9] = 17
	}
	copy(ip[12:], "\x0a\x00\x00\x01\x0a\x00\x00\x02")
	ip[15], ip[19] = byte(1+p.from), byte(2-p.from)
	binary.BigEndian.PutUint16(ip[10:], ^sum(ip[:20], 0))

	t := ip[20:]
	binary.BigEndian.PutUint16(t, p.sourcePort)
	binary.BigEndian.PutUint16(t[2:], p.port)
	header := p.header()
	pseudo := uint32(sum(ip[12:20], uint32(ip[9])+uint32(header+p.length)))
	if p.udp {
		binary.BigEndian.PutUint16(t[4:], uint16(8+p.length))
		check := ^sum(t[:8], pseudo+p.payloadSum())
		if check == 0 {
			check = 0xffff
		}
		binary.BigEndian.PutUint16(t[6:], check)
	} else {
		p.tcp(t)
		binary.BigEndian.PutUint16(t[16:], ^sum(t[:header], pseudo+p.payloadSum()))
	}
	n := copy(out, b[:link+20+header])
	end := min(len(out), link+20+header+p.length)
	for ; n+8 <= end; n += 8 {
		binary.BigEndian.PutUint64(out[n:], p.content)
	}
	for i := 0; n < end; n, i = n+1, i+1 {
		out[n] = byte(p.content >> (56 - 8*(i&7)))
	}
	for ; n < min(len(out), p.wire()); n++ {
		out[n] = 0
	}
	return n
}

func (p *packet) tcp(t []byte) {
	binary.BigEndian.PutUint32(t[4:], p.seq)
	binary.BigEndian.PutUint32(t[8:], p.ack)
	t[12] = byte(p.header()/4) << 4
	t[13] = p.flags
	binary.BigEndian.PutUint16(t[14:], p.window)
	o := t[20:]
	if p.flags&syn != 0 {
		copy(o, "\x02\x04\x05\xb4\x04\x02\x08\x0a--------\x01\x03\x03\x07")
		o = o[8:]
	} else {
		copy(o, "\x01\x01\x08\x0a")
		o = o[4:]
	}
	binary.BigEndian.PutUint32(o, p.tsVal)
	binary.BigEndian.PutUint32(o[4:], p.tsEcho)
	if p.blocks > 0 {
		o = o[8:]
		copy(o, "\x01\x01\x05")
		o[3] = byte(2 + 8*p.blocks)
		for i, edge := range p.sack[:2*p.blocks] {
			binary.BigEndian.PutUint32(o[4+4*i:], edge)
		}
	}
}

// payloadSum is the checksum of the payload, which is content over and over.
func (p *packet) payloadSum() uint32 {
	var word [8]byte
	binary.BigEndian.PutUint64(word[:], p.content)
	whole := uint32(sum(word[:], 0)) * uint32(p.length/8)
	return whole + uint32(sum(word[:p.length%8], 0))
}

// sum is the ones' complement sum of RFC 1071.
func sum(b []byte, s uint32) uint16 {
	for ; len(b) >= 2; b = b[2:] {
		s += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) > 0 {
		s += uint32(b[0]) << 8
	}
	for s>>16 != 0 {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}

// scramble makes what looks random of two numbers.
func scramble(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd1b54a32d192ed03)
	return hi ^ lo
}
