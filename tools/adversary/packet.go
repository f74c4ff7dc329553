package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// address is the IP address of a host.
func address(host int) string { return fmt.Sprintf("10.%d.0.%d", host/200, host%200+1) }

func addressBytes(host int) []byte {
	if host < 0 {
		return []byte{192, 0, 2, 1}
	}
	return []byte{10, byte(host / 200), 0, byte(host%200 + 1)}
}

// packet is an event's packet as its host saw it: Ethernet, IPv4, UDP or TCP. Both ends of a message have the same bytes but for the
// TTL and the Ethernet addresses, which a router between them changes.
func (w *World) packet(e *Event) []byte {
	from, to, size, tcp := e.Host, -1, 64, false
	received := false
	if m := e.Message; m != nil {
		from, to, size, tcp = m.From, m.To, m.Size, m.TCP
		received = e.Host == to
	}
	hops := 0
	if to >= 0 {
		hops = (from + to) % 3
	}
	var payload []byte
	r := rand.New(rand.NewPCG(w.Seed, uint64(e.ID)))
	for len(payload) < max(size, 16) {
		payload = binary.BigEndian.AppendUint64(payload, r.Uint64())
	}
	payload = payload[:max(size, 16)]
	binary.BigEndian.PutUint32(payload[4:], uint32(e.ID)) // unique, whatever the random bytes are

	header, protocol := w.transport(e, from, to, payload, tcp)
	ip := []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0}
	binary.BigEndian.PutUint16(ip[2:], uint16(20+len(header)+len(payload)))
	binary.BigEndian.PutUint16(ip[4:], uint16(e.ID))
	if received {
		ip[8] -= byte(hops)
	}
	ip = append(append(ip, addressBytes(from)...), addressBytes(to)...)
	binary.BigEndian.PutUint16(ip[10:], ^sum(0, ip))
	data := mac(from, to, hops, received)
	data = append(data, ip...)
	data = append(data, header...)
	return append(data, payload...)
}

// mac is the Ethernet header.
func mac(from, to, hops int, received bool) []byte {
	address := func(host int) []byte { return []byte{2, 0, 0, 0, byte(host >> 8), byte(host)} }
	source, target := address(from), address(to)
	if router := address(0x7f00); hops > 0 {
		if received {
			source = router
		} else {
			target = router
		}
	}
	return append(append(target, source...), 8, 0)
}

// transport is the header of UDP or TCP and its protocol number.
func (w *World) transport(e *Event, from, to int, payload []byte, tcp bool) ([]byte, byte) {
	port := func(host int) uint16 { return uint16(20000 + host + 1) }
	h := binary.BigEndian.AppendUint16(nil, port(from))
	h = binary.BigEndian.AppendUint16(h, port(to))
	protocol, at := byte(17), 6
	if tcp {
		protocol, at = 6, 16
		// The sequence numbers of a direction follow from the messages' numbers, which grow with the instant of sending; an
		// acknowledgement says nothing new.
		h = binary.BigEndian.AppendUint32(h, w.sequence(e.Message))
		h = binary.BigEndian.AppendUint32(h, 1)
		h = append(h, 5<<4, 0x18, 0x80, 0, 0, 0, 0, 0)
	} else {
		h = binary.BigEndian.AppendUint16(h, uint16(8+len(payload)))
		h = append(h, 0, 0)
	}
	pseudo := append(append([]byte{}, addressBytes(from)...), addressBytes(to)...)
	pseudo = append(pseudo, 0, protocol)
	pseudo = binary.BigEndian.AppendUint16(pseudo, uint16(len(h)+len(payload)))
	check := ^sum(uint32(sum(uint32(sum(0, pseudo)), h)), payload)
	if check == 0 {
		check = 0xffff
	}
	binary.BigEndian.PutUint16(h[at:], check)
	return h, protocol
}

// sequence is a segment's sequence number: every direction has a stream of its own, in which message ID stands at ID times the
// size, so that a message left out of a world leaves the others as they were.
func (w *World) sequence(m *Message) uint32 { return 1 + uint32(m.ID)*uint32(max(m.Size, 16)) }

// sum is the Internet checksum of b, begun with s, not inverted.
func sum(s uint32, b []byte) uint16 {
	for ; len(b) >= 2; b = b[2:] {
		s += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}
