package pcap

import (
	"encoding/binary"
	"fmt"

	"meridian/trace"
)

// Link types whose packets can be matched, by their number in capture files (tcpdump.org/linktypes.html).
const (
	linkNull          = 0
	linkEthernet      = 1
	linkPPP           = 9
	linkRawBSD        = 12 // what some systems write for linkRaw
	linkRawOpen       = 14
	linkPPPHDLC       = 50
	linkPPPoE         = 51
	linkRFC1483       = 100
	linkRaw           = 101
	linkCiscoHDLC     = 104
	linkWireless      = 105
	linkFrameRelay    = 107
	linkLoop          = 108
	linkCooked        = 113
	linkPrism         = 119
	linkRadiotap      = 127
	linkAVS           = 163
	linkPPPDaemon     = 166
	linkPPI           = 192
	linkPPPWay        = 204 // with a direction before it, as are the next two
	linkCiscoHDLCWay  = 205
	linkFrameRelayWay = 206
	linkMPLS          = 219
	linkIPv4          = 228
	linkIPv6          = 229
	linkNFLOG         = 239
	linkInfiniband    = 242
	linkPacketTap     = 258
	linkCooked2       = 276
)

// link goes on at the header of a link type.
func (d *Decoder) link(link uint16, p *trace.Packet, b []byte, wire uint32) {
	switch link {
	case linkCooked:
		d.cooked(p, b, wire)
	case linkCooked2:
		d.cooked2(p, b, wire)
	case linkRaw, linkRawBSD, linkRawOpen, linkIPv4, linkIPv6:
		d.internet(p, b, wire)
	case linkNull, linkLoop: // the protocol family, in the byte order of the host that captured, which the version tells
		if rest, wire, ok := d.behind(4, b, wire); ok && isInternet(b) {
			d.internet(p, rest, wire)
		}
	case linkEthernet:
		d.ethernet(p, b, wire)
	case linkMPLS:
		d.network(p, typeMPLS, b, wire)
	case linkInfiniband: // the route or the addresses (40), EtherType, reserved (2 each)
		if rest, wire, ok := d.behind(44, b, wire); ok {
			d.network(p, binary.BigEndian.Uint16(b[40:]), rest, wire)
		}
	case linkRFC1483:
		d.logical(p, b, wire)
	case linkNFLOG:
		d.nflog(p, b, wire)
	case linkWireless, linkRadiotap, linkPrism, linkAVS:
		d.wirelessLink(link, p, b, wire)
	case linkPPP, linkPPPHDLC, linkPPPoE, linkPPPDaemon, linkPPPWay, linkCiscoHDLC, linkCiscoHDLCWay, linkFrameRelay, linkFrameRelayWay:
		d.serial(link, p, b, wire)
	case linkPPI, linkPacketTap:
		d.wrapped(link, p, b, wire)
	default:
		d.dropNamed(uint32(link), "packets of link type %d%s, which is not known here, are left out of matching", linkName(link))
	}
}

// behind returns what is behind a header of n bytes, or false with a warning if not all of the header was kept.
func (d *Decoder) behind(n int, b []byte, wire uint32) (rest []byte, restWire uint32, ok bool) {
	if len(b) < n {
		d.drop(cutLink)
		return nil, 0, false
	}
	return b[n:], wire - uint32(n), true
}

// cooked takes the header of tcpdump -i any: packet type, hardware type, address length (2 each), address (8), EtherType.
func (d *Decoder) cooked(p *trace.Packet, b []byte, wire uint32) {
	rest, wire, ok := d.behind(16, b, wire)
	if !ok {
		return
	}
	p.From = cookedDirection(binary.BigEndian.Uint16(b))
	if binary.BigEndian.Uint16(b[4:]) == 6 {
		d.source = len(d.frame) - len(b) + 6
	}
	d.network(p, binary.BigEndian.Uint16(b[14:]), rest, wire)
}

// cooked2 takes its second version: EtherType, reserved (2 each), interface (4), hardware type (2), packet type, address
// length, address (8).
func (d *Decoder) cooked2(p *trace.Packet, b []byte, wire uint32) {
	rest, wire, ok := d.behind(20, b, wire)
	if !ok {
		return
	}
	p.From = cookedDirection(uint16(b[10]))
	if b[11] == 6 {
		d.source = len(d.frame) - len(b) + 12
	}
	d.network(p, binary.BigEndian.Uint16(b), rest, wire)
}

func cookedDirection(kind uint16) trace.Direction {
	switch kind {
	case 0, 1, 2:
		return trace.Received
	case 3:
		return trace.Foreign
	case 4:
		return trace.Sent
	}
	return trace.Unknown
}

// isInternet knows AF_INET and what AF_INET6 is on the systems that write captures of the loopback interface.
func isInternet(family []byte) bool {
	known := func(f uint32) bool { return f == 2 || f == 10 || f == 23 || f == 24 || f == 28 || f == 30 }
	return known(binary.LittleEndian.Uint32(family)) || known(binary.BigEndian.Uint32(family))
}

// wrapped takes a header that names the link type of what follows it: that of PPI (version, flags, length (2), link type
// (4), little-endian) or that of Apple's PKTAP (length, kind of record, link type (4 each), name of the interface (24),
// flags (4), ...).
func (d *Decoder) wrapped(link uint16, p *trace.Packet, b []byte, wire uint32) {
	header, least := 0, 8
	if link == linkPacketTap {
		least = 40
	}
	if len(b) < least {
		d.drop(cutLink)
		return
	}
	inner := binary.LittleEndian.Uint32(b[4:])
	if link == linkPacketTap {
		header, inner = int(min(binary.LittleEndian.Uint32(b), maxFrame)), binary.LittleEndian.Uint32(b[8:])
		d.passes(b[12:37]) // the interface's name, and the direction
		switch binary.LittleEndian.Uint32(b[36:]) & 3 {
		case 1:
			p.From = trace.Received
		case 2:
			p.From = trace.Sent
		}
	} else {
		header = int(binary.LittleEndian.Uint16(b[2:]))
	}
	if header < least || inner == linkPPI || inner == linkPacketTap || inner > 1<<16-1 {
		d.drop(badLink)
		return
	}
	if rest, wire, ok := d.behind(header, b, wire); ok {
		d.link(uint16(inner), p, rest, wire)
	}
}

// maxNamed limits how many protocols warnings name; a hostile file could have thousands.
const maxNamed = 64

// dropNamed is drop for a protocol by its number and its name, which warning takes. The lower 16 bits are the number, those above
// tell link types, EtherTypes and protocols of PPP apart.
func (d *Decoder) dropNamed(number uint32, warning, name string) {
	kind, ok := d.named[number]
	if !ok {
		if d.named == nil {
			d.named = make(map[uint32]string)
		}
		if len(d.named) >= maxNamed {
			d.drop("packets of still other links and protocols are left out of matching")
			return
		}
		kind = fmt.Sprintf(warning, uint16(number), name)
		d.named[number] = kind
	}
	d.drop(kind)
}

// linkName names the link types that people are likely to capture on and that nothing here can match.
func linkName(link uint16) string {
	switch {
	case link == 189 || link == 220:
		return " (USB)"
	case link == 187 || link == 201:
		return " (Bluetooth)"
	case link == 227:
		return " (SocketCAN)"
	case link == 247:
		return " (InfiniBand)"
	case link == 253:
		return " (netlink)"
	case link >= 147 && link <= 162:
		return fmt.Sprintf(" (USER%d)", link-147)
	}
	return ""
}
