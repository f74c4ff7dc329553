package pcap

import (
	"encoding/binary"
	"fmt"

	"meridian/trace"
)

// Link types whose packets can be matched, by their number in capture files (tcpdump.org/linktypes.html).
const (
	linkNull     = 0
	linkEthernet = 1
	linkRaw      = 101
	linkRawBSD   = 12 // what some systems write for linkRaw
	linkRawOpen  = 14
	linkLoop     = 108
	linkCooked   = 113
	linkIPv4     = 228
	linkIPv6     = 229
	linkCooked2  = 276
)

const (
	typeIPv4 = 0x0800
	typeIPv6 = 0x86dd
)

// What can be wrong with a packet, as it reads after the file's name.
const (
	cutLink      = "packets cut before the end of their link header are left out of matching"
	cutIP        = "packets cut before the end of their IP header are left out of matching"
	cutPorts     = "packets cut before the end of their port numbers are left out of matching"
	cutTCP       = "packets cut before the end of their TCP flags and window are left out of matching"
	badIP        = "packets with an IP header that contradicts itself are left out of matching"
	badTCP       = "packets with a TCP header that contradicts itself are left out of matching"
	unknownLink  = "packets of link type %d%s, which is not known here, are left out of matching"
	noMAC        = -1
	shortestTCP  = 20
	headerOfIPv6 = 40
)

// Decoder reduces frames to packets and gathers their flows.
type Decoder struct {
	flows trace.FlowTable
	tally tally
	links map[uint16]string // the warning about each unknown link type met

	// Of the frame being decoded
	number         int
	frame          []byte
	source, target int // where the link-layer addresses stand in frame, or noMAC
}

// NewDecoder returns a decoder without flows. File is the subject of its warnings; w may be nil.
func NewDecoder(file string, w *trace.Warnings) *Decoder {
	return &Decoder{flows: trace.NewFlowTable(), tally: tally{file: file, w: w}}
}

// Flows returns the flows met so far, in the order of their first packets.
func (d *Decoder) Flows() []trace.Flow { return d.flows.Flows() }

// Flush reports what was wrong with packets since the last call.
func (d *Decoder) Flush() { d.tally.flush() }

// Decode reduces a frame of the given link type to p, all of which it sets. A frame that cannot be matched becomes
// a packet of Kind Other.
func (d *Decoder) Decode(link uint16, f *trace.Frame, p *trace.Packet) {
	*p = trace.Packet{Time: f.Time, Flow: trace.NoFlow}
	d.number, d.frame = f.Number, f.Data
	d.source, d.target = noMAC, noMAC
	if link == linkEthernet {
		d.ethernet(p, f.Wire)
	} else {
		d.other(link, p, f.Wire)
	}
	if f.Options != nil {
		switch packetFlags(f.Options) & 3 {
		case 1:
			p.From = trace.Received
		case 2:
			p.From = trace.Sent
		}
	}
}

// drop says why a packet is left out of matching.
func (d *Decoder) drop(kind string) { d.tally.add(kind, d.number, -1) }

func (d *Decoder) ethernet(p *trace.Packet, wire uint32) {
	if len(d.frame) < 14 {
		d.drop(cutLink)
		return
	}
	d.target, d.source = 0, 6
	d.network(p, 12, wire)
}

// network goes on at an EtherType, through the VLAN tags that may follow it.
func (d *Decoder) network(p *trace.Packet, at int, wire uint32) {
	b := d.frame
	kind := binary.BigEndian.Uint16(b[at:])
	at += 2
	for kind == 0x8100 || kind == 0x88a8 || kind == 0x9100 {
		if len(b) < at+4 {
			d.drop(cutLink)
			return
		}
		kind = binary.BigEndian.Uint16(b[at+2:])
		at += 4
	}
	switch kind {
	case typeIPv4:
		d.ipv4(p, b[at:], wire-uint32(at))
	case typeIPv6:
		d.ipv6(p, b[at:], wire-uint32(at))
	}
}

func (d *Decoder) other(link uint16, p *trace.Packet, wire uint32) {
	b := d.frame
	switch link {
	case linkCooked: // packet type, hardware type, address length (2 each), address (8), EtherType
		if len(b) < 16 {
			d.drop(cutLink)
			return
		}
		p.From = cookedDirection(binary.BigEndian.Uint16(b))
		if binary.BigEndian.Uint16(b[4:]) == 6 {
			d.source = 6
		}
		d.network(p, 14, wire)
	case linkCooked2: // EtherType, reserved (2 each), interface (4), hardware type (2), packet type, address length, address (8)
		if len(b) < 20 {
			d.drop(cutLink)
			return
		}
		p.From = cookedDirection(uint16(b[10]))
		if b[11] == 6 {
			d.source = 12
		}
		d.cooked2(p, wire)
	case linkNull, linkLoop: // the protocol family, in the byte order of the host that captured, which the version tells
		if len(b) < 4 {
			d.drop(cutLink)
			return
		}
		if isInternet(binary.LittleEndian.Uint32(b)) || isInternet(binary.BigEndian.Uint32(b)) {
			d.internet(p, b[4:], wire-4)
		}
	case linkRaw, linkRawBSD, linkRawOpen, linkIPv4, linkIPv6:
		d.internet(p, b, wire)
	default:
		d.unknown(link)
	}
}

// cooked2 goes on behind a cooked header of version 2, whose EtherType stands first.
func (d *Decoder) cooked2(p *trace.Packet, wire uint32) {
	b := d.frame
	kind, at := binary.BigEndian.Uint16(b), 20
	switch kind {
	case typeIPv4:
		d.ipv4(p, b[at:], wire-uint32(at))
	case typeIPv6:
		d.ipv6(p, b[at:], wire-uint32(at))
	case 0x8100, 0x88a8, 0x9100:
		if len(b) < at+4 {
			d.drop(cutLink)
			return
		}
		d.network(p, at+2, wire)
	}
}

// internet goes on at an IP header whose version nothing but itself tells.
func (d *Decoder) internet(p *trace.Packet, b []byte, wire uint32) {
	switch {
	case len(b) == 0:
		d.drop(cutIP)
	case b[0]>>4 == 4:
		d.ipv4(p, b, wire)
	case b[0]>>4 == 6:
		d.ipv6(p, b, wire)
	default:
		d.drop(badIP)
	}
}

// isInternet knows AF_INET and what AF_INET6 is on the systems that write captures of the loopback interface.
func isInternet(family uint32) bool {
	switch family {
	case 2, 10, 23, 24, 28, 30:
		return true
	}
	return false
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

func (d *Decoder) unknown(link uint16) {
	kind, ok := d.links[link]
	if !ok {
		if d.links == nil {
			d.links = make(map[uint16]string)
		}
		kind = fmt.Sprintf(unknownLink, link, linkName(link))
		d.links[link] = kind
	}
	d.drop(kind)
}

// linkName names the link types that people are likely to capture on and that nothing here can match.
func linkName(link uint16) string {
	switch {
	case link == 105:
		return " (IEEE802_11)"
	case link == 127:
		return " (IEEE802_11_RADIOTAP)"
	case link == 9:
		return " (PPP)"
	case link == 189 || link == 220:
		return " (USB)"
	case link == 187 || link == 201:
		return " (Bluetooth)"
	case link == 227:
		return " (SocketCAN)"
	case link == 239:
		return " (NFLOG)"
	case link >= 147 && link <= 162:
		return fmt.Sprintf(" (USER%d)", link-147)
	}
	return ""
}
