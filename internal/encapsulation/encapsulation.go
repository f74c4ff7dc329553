// Package encapsulation puts IP packets into the frames of links and tunnels, for tests: what a reader of captures takes off
// again. The headers are written from the standards; TestTsharkFindsThePacketInside (format/pcap) has tshark confirm them.
//
//	IP packet --> All()[i].Frame --> frame of link type All()[i].Link
package encapsulation

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Packet is an IP packet to be put into a frame.
type Packet struct {
	IP     []byte
	Way    int // 0 from host a to host b, 1 back
	Number int // counts the packets of its way, from 0
	At     int // the host that captures it, for links whose captures say which way packets went
}

// sent is 1 if the host that captures the packet sent it.
func (p Packet) sent() int {
	if p.Way == p.At {
		return 1
	}
	return 0
}

// Encapsulation is one way to carry IP packets.
type Encapsulation struct {
	Name   string
	Link   uint16 // LINKTYPE_ number
	Tunnel bool   // an IP header is in front of the packet's own
	Mirror bool   // all packets go from a to b: copies for an analyser
	Frame  func(Packet) []byte
}

// All returns every encapsulation.
func All() []Encapsulation { return slices.Concat(links(), ppps(), wireless(), tunnels()) }

// join concatenates numbers of one byte, strings and byte slices.
func join(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch v := p.(type) {
		case int:
			b = append(b, byte(v))
		case string:
			b = append(b, v...)
		case []byte:
			b = append(b, v...)
		default:
			panic(fmt.Sprintf("encapsulation: %T", p))
		}
	}
	return b
}

func be16(v int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(v)) }
func be32(v int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }
func le16(v int) []byte { return binary.LittleEndian.AppendUint16(nil, uint16(v)) }
func le32(v int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }

// The link-layer addresses of hosts a and b.
var stations = [2]string{"\x02\x00\x00\x00\x00\x0a", "\x02\x00\x00\x00\x00\x0b"}

const accessPoint = "\x02\x00\x00\x00\x00\xff"

// etherType is that of an IP packet.
func etherType(ip []byte) int {
	if ip[0]>>4 == 6 {
		return 0x86dd
	}
	return 0x0800
}

// ether puts a body behind an Ethernet header.
func ether(way, kind int, body []byte) []byte {
	return join(stations[1-way], stations[way], be16(kind), body)
}

// snap is the header of RFC 1042.
func snap(kind int) []byte { return join(0xaa, 0xaa, 3, 0, 0, 0, be16(kind)) }

func links() []Encapsulation {
	return []Encapsulation{
		{Name: "ethernet", Link: 1, Frame: func(p Packet) []byte { return ether(p.Way, etherType(p.IP), p.IP) }},
		{Name: "vlan", Link: 1, Frame: func(p Packet) []byte {
			return ether(p.Way, 0x88a8, join(be16(5), be16(0x8100), be16(7), be16(etherType(p.IP)), p.IP))
		}},
		{Name: "llc-snap", Link: 1, Frame: func(p Packet) []byte {
			body := join(snap(etherType(p.IP)), p.IP)
			return ether(p.Way, len(body), body)
		}},
		{Name: "mpls", Link: 1, Frame: func(p Packet) []byte {
			return ether(p.Way, 0x8847, join(be32(16<<12|64), be32(17<<12|1<<8|64), p.IP))
		}},
		{Name: "mpls-pseudowire", Link: 1, Frame: func(p Packet) []byte { // with a control word
			return ether(p.Way, 0x8847, join(be32(18<<12|1<<8|64), be32(p.Number&0xffff), ether(p.Way, etherType(p.IP), p.IP)))
		}},
		{Name: "mpls-link", Link: 219, Frame: func(p Packet) []byte { return join(be32(17<<12|1<<8|64), p.IP) }},
		{Name: "backbone", Link: 1, Frame: func(p Packet) []byte { // 802.1ah
			return ether(p.Way, 0x88e7, join(be32(1000), ether(p.Way, etherType(p.IP), p.IP)))
		}},
		{Name: "macsec-in-clear", Link: 1, Frame: func(p Packet) []byte { // integrity alone
			return ether(p.Way, 0x88e5, join(0x20, 0, be32(p.Number+1), stations[p.Way], be16(1), be16(etherType(p.IP)), p.IP, make([]byte, 16)))
		}},
		{Name: "redundancy", Link: 1, Frame: func(p Packet) []byte { // HSR
			return ether(p.Way, 0x892f, join(be16(1<<12|len(p.IP)+6), be16(p.Number), be16(etherType(p.IP)), p.IP))
		}},
		{Name: "nflog", Link: 239, Frame: func(p Packet) []byte {
			family, hook := 2, 1+2*p.sent() // on input, and on output
			if etherType(p.IP) == 0x86dd {
				family = 10
			}
			return join(family, 0, be16(5), le16(8), le16(1), be16(etherType(p.IP)), hook, 0, le16(5), le16(10), 0, 0, 0, 0,
				le16(4+len(p.IP)), le16(9), p.IP)
		}},
		{Name: "infiniband", Link: 242, Frame: func(p Packet) []byte { return join(make([]byte, 40), be16(etherType(p.IP)), 0, 0, p.IP) }},
		{Name: "atm", Link: 100, Frame: func(p Packet) []byte { return join(snap(etherType(p.IP)), p.IP) }},
		{Name: "packet-tap", Link: 258, Frame: func(p Packet) []byte { // Apple's PKTAP
			return join(le32(108), le32(1), le32(1), "en0", make([]byte, 21), le32(1+p.sent()), le32(2), le32(14), make([]byte, 60),
				ether(p.Way, etherType(p.IP), p.IP))
		}},
	}
}

func ppps() []Encapsulation {
	protocol := func(ip []byte) int {
		if etherType(ip) == 0x86dd {
			return 0x57
		}
		return 0x21
	}
	identifier := func(ip []byte) int {
		if etherType(ip) == 0x86dd {
			return 0x8e
		}
		return 0xcc
	}
	return []Encapsulation{
		{Name: "pppoe", Link: 1, Frame: func(p Packet) []byte {
			return ether(p.Way, 0x8864, join(0x11, 0, be16(1), be16(len(p.IP)+2), be16(protocol(p.IP)), p.IP))
		}},
		{Name: "pppoe-link", Link: 51, Frame: func(p Packet) []byte {
			return join(0x11, 0, be16(1), be16(len(p.IP)+2), be16(protocol(p.IP)), p.IP)
		}},
		{Name: "ppp", Link: 9, Frame: func(p Packet) []byte { return join(be16(protocol(p.IP)), p.IP) }},
		{Name: "ppp-hdlc", Link: 50, Frame: func(p Packet) []byte { return join(0xff, 3, be16(protocol(p.IP)), p.IP) }},
		{Name: "ppp-short", Link: 9, Frame: func(p Packet) []byte { return join(protocol(p.IP), p.IP) }}, // compressed protocol field
		{Name: "pppd", Link: 166, Frame: func(p Packet) []byte { return join(p.sent(), 3, be16(protocol(p.IP)), p.IP) }},
		{Name: "ppp-direction", Link: 204, Frame: func(p Packet) []byte { return join(p.sent(), 0xff, 3, be16(protocol(p.IP)), p.IP) }},
		{Name: "cisco-hdlc", Link: 104, Frame: func(p Packet) []byte { return join(0x0f, 0, be16(etherType(p.IP)), p.IP) }},
		{Name: "frame-relay", Link: 107, Frame: func(p Packet) []byte { return join(0x18, 0x41, 3, identifier(p.IP), p.IP) }},
	}
}

func wireless() []Encapsulation {
	// plain is a frame to the access point; quality one from it, with QoS.
	plain := func(p Packet) []byte {
		return join(0x08, 0x01, be16(0), accessPoint, stations[p.Way], stations[1-p.Way], le16(p.Number<<4), snap(etherType(p.IP)), p.IP)
	}
	quality := func(p Packet, pad int) []byte {
		return join(0x88, 0x02, be16(0), stations[1-p.Way], accessPoint, stations[p.Way], le16(p.Number<<4), be16(0), make([]byte, pad),
			snap(etherType(p.IP)), p.IP)
	}
	bridged := func(p Packet) []byte { // between access points: four addresses
		return join(0x08, 0x03, be16(0), accessPoint, accessPoint, stations[1-p.Way], le16(p.Number<<4), stations[p.Way], snap(etherType(p.IP)), p.IP)
	}
	return []Encapsulation{
		{Name: "wireless", Link: 105, Frame: plain},
		{Name: "wireless-quality", Link: 105, Frame: func(p Packet) []byte { return quality(p, 0) }},
		{Name: "wireless-bridge", Link: 105, Frame: bridged},
		{Name: "radiotap", Link: 127, Frame: func(p Packet) []byte { return join(0, 0, le16(8), le32(0), quality(p, 0)) }},
		{Name: "radiotap-padded", Link: 127, Frame: func(p Packet) []byte { // a stamp, flags (padding after the header), two presence words
			return join(0, 0, le16(26), le32(1<<31|1|2), le32(0), 0, 0, 0, 0, make([]byte, 8), 0x20, 0, quality(p, 2))
		}},
		{Name: "prism", Link: 119, Frame: func(p Packet) []byte {
			return join(le32(0x44), le32(144), "wlan0", make([]byte, 11), make([]byte, 120), plain(p))
		}},
		{Name: "avs", Link: 163, Frame: func(p Packet) []byte { return join(be32(0x80211001), be32(64), make([]byte, 56), plain(p)) }},
		{Name: "ppi", Link: 192, Frame: func(p Packet) []byte { return join(0, 0, le16(8), le32(105), plain(p)) }},
	}
}
