package pcap

import (
	"encoding/binary"

	"meridian/trace"
)

// wirelessLink takes what receivers put before frames of IEEE 802.11: nothing, or how they received them.
//
//	radiotap   version (1), padding (1), length (2), presence (4, and 4 more while its highest bit is set), fields
//	AVS        version (4), length (4), ...
//	Prism      144 bytes, in which an AVS header may stand instead
func (d *Decoder) wirelessLink(link uint16, p *trace.Packet, b []byte, wire uint32) {
	header, padded := 0, false
	switch {
	case link == linkRadiotap:
		if len(b) < 8 {
			d.drop(cutLink)
			return
		}
		header = int(binary.LittleEndian.Uint16(b[2:]))
		if b[0] != 0 || header < 8 {
			d.drop(badLink)
			return
		}
		padded = radiotapFlags(b[:min(header, len(b))])&0x20 != 0
	case link != linkWireless:
		if len(b) < 8 {
			d.drop(cutLink)
			return
		}
		header = 144
		if link == linkAVS || binary.BigEndian.Uint32(b)&^0xf == 0x80211000 {
			header = int(min(binary.BigEndian.Uint32(b[4:]), maxFrame))
		}
		if header < 8 {
			d.drop(badLink)
			return
		}
	}
	if rest, wire, ok := d.behind(header, b, wire); ok {
		d.wireless(p, rest, wire, padded)
	}
}

// radiotapFlags returns the field of flags, which only the stamp of 8 bytes may precede (radiotap.org), 0 without one.
func radiotapFlags(b []byte) byte {
	at := 4
	present := binary.LittleEndian.Uint32(b[at:])
	for more := present; more&(1<<31) != 0; {
		if at += 4; len(b) < at+4 {
			return 0
		}
		more = binary.LittleEndian.Uint32(b[at:])
	}
	at += 4
	if present&1 != 0 {
		at = (at+7)&^7 + 8
	}
	if present&2 == 0 || len(b) <= at {
		return 0
	}
	return b[at]
}

// Bits of an 802.11 frame's control field: the first byte's kinds, and the second's flags.
const (
	wirelessQoS       = 0x80
	wirelessNoData    = 0x40
	wirelessToAP      = 0x01
	wirelessFromAP    = 0x02
	wirelessMore      = 0x04
	wirelessProtected = 0x40
	wirelessOrdered   = 0x80
)

// wireless takes a frame of IEEE 802.11: control, duration (2 each), three addresses (6 each), sequence (2), a fourth address
// between access points, and where the control says so QoS (2) and HT control (4). What is no data is passed over.
func (d *Decoder) wireless(p *trace.Packet, b []byte, wire uint32, padded bool) {
	if len(b) < 2 {
		d.drop(cutLink)
		return
	}
	kind, flags := b[0], b[1]
	if kind&0x0f != 0x08 || kind&wirelessNoData != 0 { // version 0 and type data
		return
	}
	header, source, target := 24, 10, 4
	if flags&wirelessToAP != 0 {
		target = 16
	}
	switch flags & (wirelessToAP | wirelessFromAP) {
	case wirelessFromAP:
		source = 16
	case wirelessToAP | wirelessFromAP:
		header, source = 30, 24
	}
	aggregate := header
	if kind&wirelessQoS != 0 {
		header += 2
		if flags&wirelessOrdered != 0 {
			header += 4
		}
	}
	if padded {
		header = (header + 3) &^ 3
	}
	body, wire, ok := d.behind(header, b, wire)
	switch {
	case !ok:
	case flags&wirelessProtected != 0:
		d.drop(encryptedWireless)
	case flags&wirelessMore != 0 || b[22]&15 != 0:
		d.drop(partsOfWireless)
	case kind&wirelessQoS != 0 && b[aggregate]&0x80 != 0:
		// Several packets, each behind its addresses (6 each) and length (2). The first stands for the frame.
		d.drop(aggregates)
		if rest, wire, ok := d.behind(14, body, wire); ok {
			d.logical(p, rest, wire)
		}
	default:
		if d.depth == 0 {
			start := len(d.frame) - len(b)
			d.source, d.target = start+source, start+target
		}
		d.passes([]byte{flags & (wirelessToAP | wirelessFromAP)})
		d.passes(b[4:22])
		d.logical(p, body, wire)
	}
}
