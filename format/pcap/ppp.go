package pcap

import (
	"encoding/binary"

	"meridian/trace"
)

// serial takes what stands before packets on point-to-point links, by link type: a direction where the type has one, then
// the framing.
func (d *Decoder) serial(link uint16, p *trace.Packet, b []byte, wire uint32) {
	switch link {
	case linkPPPDaemon, linkPPPWay, linkCiscoHDLCWay, linkFrameRelayWay: // 0 received, else sent
		if len(b) == 0 {
			d.drop(cutLink)
			return
		}
		d.passes(b[:1])
		if p.From = trace.Received; b[0] != 0 {
			p.From = trace.Sent
		}
		b, wire = b[1:], wire-1
	}
	switch link {
	case linkPPPoE:
		d.network(p, typePPPoE, b, wire)
	case linkPPPDaemon: // the direction took the place of the address
		if len(b) > 0 && b[0] == 3 {
			b, wire = b[1:], wire-1
		}
		d.ppp(p, b, wire)
	case linkPPP, linkPPPWay:
		d.ppp(p, b, wire)
	case linkPPPHDLC:
		if len(b) > 0 && (b[0] == 0x0f || b[0] == 0x8f) {
			d.hdlc(p, b, wire)
		} else {
			d.ppp(p, b, wire)
		}
	case linkCiscoHDLC, linkCiscoHDLCWay:
		d.hdlc(p, b, wire)
	default:
		d.frameRelay(p, b, wire)
	}
}

// hdlc takes Cisco's framing: address, control (1 each), EtherType.
func (d *Decoder) hdlc(p *trace.Packet, b []byte, wire uint32) {
	const keepalive = 0x8035 // the EtherType of RARP
	rest, wire, ok := d.behind(4, b, wire)
	if !ok {
		return
	}
	if kind := binary.BigEndian.Uint16(b[2:]); kind != keepalive {
		d.network(p, kind, rest, wire)
	}
}

// frameRelay takes the header of Q.922 and RFC 2427: an address of 2 to 4 bytes whose last is odd, control, padding, and the
// identifier of the network layer.
func (d *Decoder) frameRelay(p *trace.Packet, b []byte, wire uint32) {
	for i := 1; i < min(4, len(b)); i++ {
		if b[i]&1 == 0 {
			continue
		}
		rest, wire := b[i+1:], wire-uint32(i+1)
		switch {
		case len(rest) > 1 && rest[0] == 3 && rest[1] == 0:
			d.identified(p, rest[2:], wire-2)
		case len(rest) > 0 && rest[0] == 3:
			d.identified(p, rest[1:], wire-1)
		case len(rest) > 1: // Cisco's: an EtherType
			d.network(p, binary.BigEndian.Uint16(rest), rest[2:], wire-2)
		}
		return
	}
	d.drop(cutLink)
}

// Protocols of PPP (IANA). Those from 0x8000 on are the link's own.
const (
	pppIPv4          = 0x0021
	pppIPv6          = 0x0057
	pppBridged       = 0x0031
	pppMPLS          = 0x0281
	pppMPLSMulticast = 0x0283
)

// ppp goes on at PPP: address and control, which may be left out, and the protocol in two bytes, or in one if that is odd.
func (d *Decoder) ppp(p *trace.Packet, b []byte, wire uint32) {
	if len(b) >= 2 && b[0] == 0xff && b[1] == 3 {
		b, wire = b[2:], wire-2
	}
	if len(b) == 0 || b[0]&1 == 0 && len(b) < 2 {
		d.drop(cutLink)
		return
	}
	protocol, n := uint16(b[0]), 1
	if b[0]&1 == 0 {
		protocol, n = binary.BigEndian.Uint16(b), 2
	}
	b, wire = b[n:], wire-uint32(n)
	name := ""
	switch protocol {
	case pppIPv4, pppIPv6:
		d.internet(p, b, wire)
		return
	case pppMPLS, pppMPLSMulticast:
		d.network(p, typeMPLS, b, wire)
		return
	case pppBridged: // flags, kind of link, of which 1 is Ethernet (RFC 3518)
		if len(b) >= 2 && b[1] == 1 {
			d.network(p, typeBridged, b[2:], wire-2)
		}
		return
	case 0x002d, 0x002f, 0x0061, 0x0063, 0x0065, 0x0067, 0x0069, 0x2063, 0x2065, 0x2067, 0x2069:
		name = " (compressed headers)"
	case 0x003d:
		name = " (multilink)"
	case 0x0053, 0x0055:
		name = " (encrypted)"
	case 0x00fb, 0x00fd:
		name = " (compressed or encrypted)"
	}
	if protocol < 0x8000 {
		d.dropNamed(1<<17|uint32(protocol), "packets of PPP protocol %#04x%s, which cannot be read, are left out of matching", name)
	}
}
