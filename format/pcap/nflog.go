package pcap

import (
	"encoding/binary"

	"meridian/trace"
)

// Attributes of what Linux's packet filter logs (linux/netfilter/nfnetlink_log.h).
const (
	nflogHeader  = 1 // EtherType (2), hook (1)
	nflogIn      = 4 // numbers of interfaces (4): where the packet came in,
	nflogOut     = 5 // and where it goes out
	nflogAddress = 8 // length (2), padding (2), link-layer address of the sender
	nflogPayload = 9
)

// nflog takes what tcpdump -i nflog captures: address family, version (1 each), group (2), and attributes, each of length
// and type (2 each, in the byte order of the host) and a value, padded to a multiple of 4.
func (d *Decoder) nflog(p *trace.Packet, b []byte, wire uint32) {
	if len(b) < 8 {
		d.drop(cutLink)
		return
	}
	kind := uint16(typeInternet)
	d.passes(b[2:4])
	var order binary.ByteOrder = binary.LittleEndian
	if b[6] == 0 { // the first type, none of which is 0 or above 255
		order = binary.BigEndian
	}
	for b, wire = b[4:], wire-4; len(b) >= 4; {
		n := int(order.Uint16(b))
		switch {
		case n < 4:
			d.drop(badLink)
			return
		case order.Uint16(b[2:])&0x7fff == nflogPayload:
			d.network(p, kind, b[4:], wire-4)
			return
		case n > len(b):
			d.drop(cutLink)
			return
		}
		switch value := b[4:n]; order.Uint16(b[2:]) & 0x7fff {
		case nflogHeader:
			if len(value) >= 3 {
				if t := binary.BigEndian.Uint16(value); t >= 0x600 {
					kind = t
				}
				p.From = hookDirection(value[2])
				d.passes(value[2:3])
			}
		case nflogIn, nflogOut:
			d.passes(b[:n])
		case nflogAddress:
			if len(value) >= 10 && binary.BigEndian.Uint16(value) == 6 {
				d.source = len(d.frame) - len(b) + 8
			}
		}
		n = min((n+3)&^3, len(b))
		b, wire = b[n:], wire-uint32(n)
	}
	d.drop(cutLink)
}

// hookDirection is what the place where a packet was logged tells: before routing and on input it came, on output and after
// routing it goes.
func hookDirection(hook byte) trace.Direction {
	switch hook {
	case 0, 1:
		return trace.Received
	case 3, 4:
		return trace.Sent
	}
	return trace.Unknown
}
