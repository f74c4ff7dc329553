package kernel

import (
	"encoding/binary"

	"meridian/trace"
)

// A packet's record:
//
//	 0 stamp 8, kind 2, flags 2, length of the buffer 4
//	16 address of the buffer 8, network namespace 4, version of IP 1, protocol of the transport header 1, 2 unused
//	32 device 16
//	48 IP header: 20 or 40 as the version says, then 20 of the transport header
const (
	packetSize = 48
	ipv4Size   = packetSize + 20 + 20
	ipv6Size   = packetSize + 40 + 20
)

const (
	protocolICMP  = 1
	protocolTCP   = 6
	protocolUDP   = 17
	protocolICMP6 = 58
)

// The alternatives of transport_header and of network_header.
const (
	unknownHeader = iota
	tcpHeader
	udpHeader
	icmpHeader

	ipv4Header = 1
	ipv6Header = 2
)

var transportField = variant("transport_header",
	structure("unknown"),
	structure("tcp", number("source_port", 16), number("dest_port", 16), number("seq", 32), number("ack_seq", 32), number("data_offset", 8),
		number("reserved", 8), hex("flags", 16), number("window_size", 16), hex("checksum", 16), number("urg_ptr", 16)),
	structure("udp", number("source_port", 16), number("dest_port", 16), number("len", 16), hex("check", 16)),
	structure("icmp", number("type", 8), number("code", 8), hex("checksum", 16), number("gateway", 32)))

// LTTng's bit fields are bytes here: they are written faster and read the same.
var packetFields = []trace.Field{hex("skbaddr", 64), number("len", 32), text("name"), number("netns", 32), variant("network_header",
	structure("unknown"),
	structure("ipv4", number("version", 8), number("ihl", 8), number("tos", 8), number("tot_len", 16), number("id", 16), number("frag_off", 16),
		number("ttl", 8), number("protocol", 8), hex("checksum", 16), array("saddr", 4, 8), array("daddr", 4, 8), transportField),
	structure("ipv6", number("version", 8), number("prio", 8), array("flow_lbl", 3, 8), number("payload_len", 16), number("nexthdr", 8),
		number("hop_limit", 8), array("saddr", 8, 16), array("daddr", 8, 16), transportField))}

// packets decodes packets' records. The values are allocated once, with all alternatives, and overwritten by each record.
type packets struct {
	values    []trace.Value
	network   [3]trace.Value // what network_header can be
	transport [4]trace.Value
}

func newPackets() *packets {
	p := &packets{values: BlankValues(packetFields)}
	header := packetFields[len(packetFields)-1].Type.Fields
	for i := range p.network {
		p.network[i] = blankValue(&header[i].Type)
	}
	for i := range p.transport {
		p.transport[i] = blankValue(&transportField.Type.Fields[i].Type)
	}
	return p
}

// read decodes a record of at least packetSize bytes. Headers that it does not hold become the unknown alternative.
func (p *packets) read(r []byte) []trace.Value {
	p.values[0].Bits = binary.LittleEndian.Uint64(r[16:])
	p.values[1].Bits = uint64(binary.LittleEndian.Uint32(r[12:]))
	p.values[2].Data = UntilNUL(r[32:48])
	p.values[3].Bits = uint64(binary.LittleEndian.Uint32(r[24:]))
	version, protocol := r[28], r[29]
	chosen := unknownHeader
	switch {
	case version == 4 && len(r) >= ipv4Size:
		chosen = ipv4Header
		p.ipv4(r[packetSize:ipv4Size], protocol)
	case version == 6 && len(r) >= ipv6Size:
		chosen = ipv6Header
		p.ipv6(r[packetSize:ipv6Size], protocol)
	}
	header := &p.values[4]
	header.Bits, header.Items[0] = uint64(chosen), p.network[chosen]
	return p.values
}

// selects says whether a record is of another group, or is to become an event.
func (p Packets) selects(r []byte) bool {
	if p == nil || len(r) < packetSize {
		return true
	}
	kind := Kind(binary.LittleEndian.Uint16(r[8:]))
	if kind >= Kinds || records[kind].group != Net {
		return true
	}
	var network, transport []byte
	switch version := r[28]; {
	case version == 4 && len(r) >= ipv4Size:
		network, transport = r[packetSize:packetSize+20], r[packetSize+20:ipv4Size]
	case version == 6 && len(r) >= ipv6Size:
		network, transport = r[packetSize:packetSize+40], r[packetSize+40:ipv6Size]
	}
	if r[29] == 0 { // the protocol of the transport header
		transport = nil
	}
	return p(kind == NetDevQueue, network, transport)
}

// Headers are big-endian.
func be16(b []byte) uint64 { return uint64(binary.BigEndian.Uint16(b)) }
func be32(b []byte) uint64 { return uint64(binary.BigEndian.Uint32(b)) }

func (p *packets) ipv4(h []byte, protocol uint8) {
	v := p.network[ipv4Header].Items
	v[0].Bits, v[1].Bits, v[2].Bits = uint64(h[0]>>4), uint64(h[0]&15), uint64(h[1])
	v[3].Bits, v[4].Bits, v[5].Bits = be16(h[2:]), be16(h[4:]), be16(h[6:])
	v[6].Bits, v[7].Bits, v[8].Bits = uint64(h[8]), uint64(h[9]), be16(h[10:])
	for i := range 4 {
		v[9].Items[i].Bits, v[10].Items[i].Bits = uint64(h[12+i]), uint64(h[16+i])
	}
	p.transportHeader(&v[11], h[20:], protocol)
}

func (p *packets) ipv6(h []byte, protocol uint8) {
	v := p.network[ipv6Header].Items
	v[0].Bits, v[1].Bits = uint64(h[0]>>4), uint64(h[0]&15) // prio: the upper half of the traffic class, as the kernel's struct
	v[2].Items[0].Bits, v[2].Items[1].Bits, v[2].Items[2].Bits = uint64(h[1]), uint64(h[2]), uint64(h[3])
	v[3].Bits, v[4].Bits, v[5].Bits = be16(h[4:]), uint64(h[6]), uint64(h[7])
	for i := range 8 {
		v[6].Items[i].Bits, v[7].Items[i].Bits = be16(h[8+2*i:]), be16(h[24+2*i:])
	}
	p.transportHeader(&v[8], h[40:], protocol)
}

// transportHeader fills in the transport header.
func (p *packets) transportHeader(to *trace.Value, h []byte, protocol uint8) {
	chosen := unknownHeader
	switch protocol {
	case protocolTCP:
		chosen = tcpHeader
		v := p.transport[tcpHeader].Items
		v[0].Bits, v[1].Bits, v[2].Bits, v[3].Bits = be16(h), be16(h[2:]), be32(h[4:]), be32(h[8:])
		word := be16(h[12:])
		v[4].Bits, v[5].Bits, v[6].Bits = word>>12, word>>9&7, word&0x1ff
		v[7].Bits, v[8].Bits, v[9].Bits = be16(h[14:]), be16(h[16:]), be16(h[18:])
	case protocolUDP:
		chosen = udpHeader
		v := p.transport[udpHeader].Items
		v[0].Bits, v[1].Bits, v[2].Bits, v[3].Bits = be16(h), be16(h[2:]), be16(h[4:]), be16(h[6:])
	case protocolICMP, protocolICMP6:
		chosen = icmpHeader
		v := p.transport[icmpHeader].Items
		v[0].Bits, v[1].Bits, v[2].Bits, v[3].Bits = uint64(h[0]), uint64(h[1]), be16(h[2:]), be32(h[4:])
	}
	to.Bits, to.Items[0] = uint64(chosen), p.transport[chosen]
}
