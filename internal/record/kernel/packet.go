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
	fourSize   = packetSize + 20 + 20
	sixSize    = packetSize + 40 + 20
)

const (
	protocolICMP  = 1
	protocolTCP   = 6
	protocolUDP   = 17
	protocolICMP6 = 58
)

// The alternatives of transport_header and of network_header.
const (
	asUnknown = iota
	asTCP
	asUDP
	asICMP

	asFour = 1
	asSix  = 2
)

var transportField = choice("transport_header",
	structure("unknown"),
	structure("tcp", number("source_port", 16), number("dest_port", 16), number("seq", 32), number("ack_seq", 32), number("data_offset", 8),
		number("reserved", 8), hex("flags", 16), number("window_size", 16), hex("checksum", 16), number("urg_ptr", 16)),
	structure("udp", number("source_port", 16), number("dest_port", 16), number("len", 16), hex("check", 16)),
	structure("icmp", number("type", 8), number("code", 8), hex("checksum", 16), number("gateway", 32)))

// Bit fields of LTTng's are bytes here, which are written sooner and read the same.
var packetFields = []trace.Field{hex("skbaddr", 64), number("len", 32), text("name"), number("netns", 32), choice("network_header",
	structure("unknown"),
	structure("ipv4", number("version", 8), number("ihl", 8), number("tos", 8), number("tot_len", 16), number("id", 16), number("frag_off", 16),
		number("ttl", 8), number("protocol", 8), hex("checksum", 16), array("saddr", 4, 8), array("daddr", 4, 8), transportField),
	structure("ipv6", number("version", 8), number("prio", 8), array("flow_lbl", 3, 8), number("payload_len", 16), number("nexthdr", 8),
		number("hop_limit", 8), array("saddr", 8, 16), array("daddr", 8, 16), transportField))}

// packets makes the values of a packet's record. They are made once, with all alternatives, and filled in again and again.
type packets struct {
	values    []trace.Value
	network   [3]trace.Value // what network_header can be
	transport [4]trace.Value
}

func newPackets() *packets {
	p := &packets{values: blank(packetFields)}
	header := packetFields[len(packetFields)-1].Type.Fields
	for i := range p.network {
		p.network[i] = blankOf(&header[i].Type)
	}
	for i := range p.transport {
		p.transport[i] = blankOf(&transportField.Type.Fields[i].Type)
	}
	return p
}

// blank returns a value for each field, of its kind.
func blank(fields []trace.Field) []trace.Value {
	values := make([]trace.Value, len(fields))
	for i := range fields {
		values[i] = blankOf(&fields[i].Type)
	}
	return values
}

func blankOf(t *trace.Type) trace.Value {
	v := trace.Value{Kind: t.Kind}
	switch t.Kind {
	case trace.Struct:
		v.Items = blank(t.Fields)
	case trace.Variant:
		v.Items = make([]trace.Value, 1)
	case trace.Array:
		v.Items = make([]trace.Value, t.Length)
		for i := range v.Items {
			v.Items[i] = blankOf(t.Elem)
		}
	}
	return v
}

// read fills in a record of packetSize bytes at least. What it does not hold is unknown.
func (p *packets) read(r []byte) []trace.Value {
	p.values[0].Bits = binary.LittleEndian.Uint64(r[16:])
	p.values[1].Bits = uint64(binary.LittleEndian.Uint32(r[12:]))
	p.values[2].Data = untilNUL(r[32:48])
	p.values[3].Bits = uint64(binary.LittleEndian.Uint32(r[24:]))
	version, protocol := r[28], r[29]
	as := asUnknown
	switch {
	case version == 4 && len(r) >= fourSize:
		as = asFour
		p.four(r[packetSize:fourSize], protocol)
	case version == 6 && len(r) >= sixSize:
		as = asSix
		p.six(r[packetSize:sixSize], protocol)
	}
	header := &p.values[4]
	header.Bits, header.Items[0] = uint64(as), p.network[as]
	return p.values
}

// Numbers of headers have the most significant byte first.
func be16(b []byte) uint64 { return uint64(binary.BigEndian.Uint16(b)) }
func be32(b []byte) uint64 { return uint64(binary.BigEndian.Uint32(b)) }

func (p *packets) four(h []byte, protocol uint8) {
	v := p.network[asFour].Items
	v[0].Bits, v[1].Bits, v[2].Bits = uint64(h[0]>>4), uint64(h[0]&15), uint64(h[1])
	v[3].Bits, v[4].Bits, v[5].Bits = be16(h[2:]), be16(h[4:]), be16(h[6:])
	v[6].Bits, v[7].Bits, v[8].Bits = uint64(h[8]), uint64(h[9]), be16(h[10:])
	for i := range 4 {
		v[9].Items[i].Bits, v[10].Items[i].Bits = uint64(h[12+i]), uint64(h[16+i])
	}
	p.behind(&v[11], h[20:], protocol)
}

func (p *packets) six(h []byte, protocol uint8) {
	v := p.network[asSix].Items
	v[0].Bits, v[1].Bits = uint64(h[0]>>4), uint64(h[0]&15) // prio: the upper half of the traffic class, as the kernel's struct
	v[2].Items[0].Bits, v[2].Items[1].Bits, v[2].Items[2].Bits = uint64(h[1]), uint64(h[2]), uint64(h[3])
	v[3].Bits, v[4].Bits, v[5].Bits = be16(h[4:]), uint64(h[6]), uint64(h[7])
	for i := range 8 {
		v[6].Items[i].Bits, v[7].Items[i].Bits = be16(h[8+2*i:]), be16(h[24+2*i:])
	}
	p.behind(&v[8], h[40:], protocol)
}

// behind fills in the transport header.
func (p *packets) behind(to *trace.Value, h []byte, protocol uint8) {
	as := asUnknown
	switch protocol {
	case protocolTCP:
		as = asTCP
		v := p.transport[asTCP].Items
		v[0].Bits, v[1].Bits, v[2].Bits, v[3].Bits = be16(h), be16(h[2:]), be32(h[4:]), be32(h[8:])
		word := be16(h[12:])
		v[4].Bits, v[5].Bits, v[6].Bits = word>>12, word>>9&7, word&0x1ff
		v[7].Bits, v[8].Bits, v[9].Bits = be16(h[14:]), be16(h[16:]), be16(h[18:])
	case protocolUDP:
		as = asUDP
		v := p.transport[asUDP].Items
		v[0].Bits, v[1].Bits, v[2].Bits, v[3].Bits = be16(h), be16(h[2:]), be16(h[4:]), be16(h[6:])
	case protocolICMP, protocolICMP6:
		as = asICMP
		v := p.transport[asICMP].Items
		v[0].Bits, v[1].Bits, v[2].Bits, v[3].Bits = uint64(h[0]), uint64(h[1]), be16(h[2:]), be32(h[4:])
	}
	to.Bits, to.Items[0] = uint64(as), p.transport[as]
}
