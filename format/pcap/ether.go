package pcap

import (
	"encoding/binary"

	"meridian/trace"
)

// EtherTypes (IANA, IEEE 802 Numbers), and beside them numbers below all of them for what has none.
const (
	typeIPv4          = 0x0800
	typeIPv6          = 0x86dd
	typeVLAN          = 0x8100
	typeService       = 0x88a8 // 802.1ad
	typeDouble        = 0x9100 // what was used before 802.1ad
	typeMPLS          = 0x8847
	typeMPLSMulticast = 0x8848
	typePPPoE         = 0x8864
	typePPP           = 0x880b
	typeBridged       = 0x6558 // Ethernet within something else
	typeMACsec        = 0x88e5
	typeBackbone      = 0x88e7 // 802.1ah
	typeRedundant     = 0x892f // HSR
	typeRTag          = 0xf1c1 // 802.1CB
	typeCiscoTag      = 0x8909

	typeInternet = 1 // IP of either version
)

// network goes on at what an EtherType says, or a length of 802.3, through the tags that may stand before an IP header.
func (d *Decoder) network(p *trace.Packet, kind uint16, b []byte, wire uint32) {
	for {
		header := 0 // of the tag and the EtherType behind it
		switch kind {
		case typeIPv4:
			d.ipv4(p, b, wire)
			return
		case typeIPv6:
			d.ipv6(p, b, wire)
			return
		case typeVLAN, typeService, typeDouble:
			header = 4
		case typeRedundant, typeRTag: // path and size, or reserved, and a sequence number (2 each)
			header = 6
		case typeCiscoTag: // version, length (1 each), an option and its value (2 each)
			header = 8
		case typeMACsec: // control, length (1 each), packet number (4), channel (8) if the control says so
			header = 8
			if len(b) > 0 && b[0]&0x20 != 0 {
				header = 16
			}
			if len(b) > 0 && b[0]&0x0c != 0 {
				d.drop(encryptedMACsec)
				return
			}
		default:
			d.carried(p, kind, b, wire)
			return
		}
		rest, restWire, ok := d.behind(header, b, wire)
		if !ok {
			return
		}
		kind, b, wire = binary.BigEndian.Uint16(b[header-2:]), rest, restWire
	}
}

// carried goes on at an EtherType that leads to another link or to none.
func (d *Decoder) carried(p *trace.Packet, kind uint16, b []byte, wire uint32) {
	if d.depth++; d.depth > maxDepth {
		d.drop(tooDeep)
		return
	}
	switch kind {
	case typeInternet:
		d.internet(p, b, wire)
	case typeBridged:
		d.ethernet(p, b, wire)
	case typeMPLS, typeMPLSMulticast:
		d.labels(p, b, wire)
	case typePPPoE: // version and type, code (1 each), session, length (2 each)
		if rest, wire, ok := d.behind(6, b, wire); ok && b[1] == 0 {
			d.ppp(p, rest, wire)
		}
	case typePPP:
		d.ppp(p, b, wire)
	case typeBackbone: // a tag (4), the customer's frame
		if rest, wire, ok := d.behind(4, b, wire); ok {
			d.ethernet(p, rest, wire)
		}
	default:
		switch {
		case kind >= 0x600:
			d.unknownType(kind)
		case kind > 0:
			d.logical(p, b, wire)
		}
	}
}

// logical takes the header of IEEE 802.2: two service access points, control, and where they say so the organisation (3)
// and what is an EtherType if that is nobody's (RFC 1042). Frames without it, or of protocols of links alone, are passed over.
func (d *Decoder) logical(p *trace.Packet, b []byte, wire uint32) {
	switch {
	case len(b) < 3:
	case b[0] == 0xaa && b[1] == 0xaa && b[2] == 3:
		rest, wire, ok := d.behind(8, b, wire)
		if !ok {
			return
		}
		organisation, kind := uint32(b[3])<<16|uint32(b[4])<<8|uint32(b[5]), binary.BigEndian.Uint16(b[6:])
		switch {
		case organisation == 0 || organisation == 0xf8: // RFC 1042, and 802.1H
			if kind >= 0x600 {
				d.network(p, kind, rest, wire)
			}
		case organisation == 0x80c2 && (kind == 1 || kind == 7): // bridged Ethernet (RFC 2684)
			if d.depth++; d.depth <= maxDepth && len(rest) > 2 {
				d.ethernet(p, rest[2:], wire-2)
			}
		}
	case b[0] == 0x06 && b[1] == 0x06 && b[2] == 3:
		d.ipv4(p, b[3:], wire-3)
	case b[0] == 0xfe && b[1] == 0xfe && b[2] == 3: // routed, by the network layer's own identifier (RFC 2684)
		d.identified(p, b[3:], wire-3)
	}
}

// identified goes on at an identifier of a network layer (NLPID, ISO/IEC TR 9577).
func (d *Decoder) identified(p *trace.Packet, b []byte, wire uint32) {
	switch {
	case len(b) == 0:
		d.drop(cutLink)
	case b[0] == 0xcc || b[0] == 0x8e:
		d.internet(p, b[1:], wire-1)
	case b[0] == 0x80 && len(b) > 5: // SNAP without the access points
		if b[1]|b[2]|b[3] == 0 {
			d.network(p, binary.BigEndian.Uint16(b[4:]), b[6:], wire-6)
		}
	}
}

// labels passes over a stack of MPLS labels. Nothing says what is below it but the circuit: IP, or Ethernet, mostly behind a
// control word, whose first four bits are 0 (RFC 4385).
func (d *Decoder) labels(p *trace.Packet, b []byte, wire uint32) {
	for bottom := false; !bottom; {
		rest, restWire, ok := d.behind(4, b, wire)
		if !ok {
			return
		}
		bottom = b[2]&1 != 0
		b, wire = rest, restWire
	}
	switch {
	case len(b) == 0:
		d.drop(cutLink)
	case looksLikeIP(b, wire):
		d.internet(p, b, wire)
	case b[0]>>4 == 0 && len(b) >= 4:
		d.ethernet(p, b[4:], wire-4)
	default:
		d.ethernet(p, b, wire)
	}
}

// looksLikeIP tells an IP header from an Ethernet address that begins with the same four bits.
func looksLikeIP(b []byte, wire uint32) bool {
	switch {
	case b[0]>>4 == 4 && len(b) >= 20:
		total := uint32(binary.BigEndian.Uint16(b[2:]))
		return b[0]&15 >= 5 && (total == 0 || total >= 20 && total <= wire)
	case b[0]>>4 == 6 && len(b) >= headerOfIPv6:
		return uint32(binary.BigEndian.Uint16(b[4:]))+headerOfIPv6 <= wire
	}
	return b[0]>>4 == 4 || b[0]>>4 == 6 // cut: the IP header's own warning is the right one
}

// unknownType warns of an EtherType whose frames may be what hosts send each other. Those of the link's own protocols are
// passed over.
func (d *Decoder) unknownType(kind uint16) {
	name := ""
	switch kind {
	case 0x0806, 0x8035, 0x0842, 0x6001, 0x6002, 0x8808, 0x8809, 0x8863, 0x888e, 0x88c7, 0x88cc, 0x88e3, 0x88f5, 0x88f6, 0x8902, 0x9000:
		// ARP, RARP, wake on LAN, DEC's maintenance, pause, slow protocols, discovery of PPPoE, 802.1X and its older number,
		// LLDP, MRP of rings, MVRP, MMRP, CFM, loopback
		return
	case 0x88f7: // nothing in it is matched, which is said only where nothing else was
		d.ptp++
		return
	case 0x22f3:
		name = " (TRILL)"
	case 0x4305:
		name = " (batman-adv)"
	case 0x8137:
		name = " (IPX)"
	case 0x8892:
		name = " (PROFINET)"
	case 0x88a4:
		name = " (EtherCAT)"
	case 0x88b8:
		name = " (GOOSE)"
	case 0x88ba:
		name = " (sampled values)"
	case 0x8906:
		name = " (FCoE)"
	case 0x8915:
		name = " (RoCE)"
	case 0x894f:
		name = " (NSH)"
	}
	d.dropNamed(1<<16|uint32(kind), "packets of EtherType %#04x%s, which is not known here, are left out of matching", name)
}
