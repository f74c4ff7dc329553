package kernel

import (
	"encoding/binary"

	"meridian/trace"
)

// slot is a header field that matching needs, whatever it is called and however deep it lies.
type slot uint8

const (
	noSlot slot = iota
	inner       // a structure or a variant whose parts are looked at

	bufferSlot // address of the packet's buffer in the kernel
	socketSlot // address of its socket
	deviceSlot // name of the network interface
	wholeSlot  // length of the buffer

	networkSlot // EtherType
	versionSlot
	sourceSlot
	targetSlot
	totalSlot   // length of the packet with its IP header
	payloadSlot // length behind the IP header (IPv6)
	ihlSlot
	idSlot
	partSlot // fragment flags and offset
	hopsSlot
	protocolSlot

	sourcePortSlot
	targetPortSlot
	seqSlot
	ackSlot
	offsetSlot
	flagsSlot
	windowSlot
	checkSlot
	finFlag
	synFlag
	rstFlag
	pshFlag
	ackFlag
	urgFlag

	udpLengthSlot
	slots // how many there are; they fit the bits of header.seen
)

// The names of fields, by the part of the packet in which they stand. A flat event has them all in one, but for those
// that would mean something else there.
var (
	eventNames = map[string]slot{
		"skbaddr": bufferSlot, "skb": bufferSlot, "sk": socketSlot, "skaddr": socketSlot,
		"name": deviceSlot, "dev": deviceSlot, "len": wholeSlot, "network_protocol": networkSlot,
	}
	internetNames = map[string]slot{
		"version": versionSlot, "saddr": sourceSlot, "daddr": targetSlot, "tot_len": totalSlot, "payload_len": payloadSlot,
		"ihl": ihlSlot, "id": idSlot, "frag_off": partSlot, "ttl": hopsSlot, "hop_limit": hopsSlot,
		"protocol": protocolSlot, "transport_protocol": protocolSlot, "nexthdr": protocolSlot,
	}
	tcpNames = map[string]slot{
		"source": sourcePortSlot, "source_port": sourcePortSlot, "sport": sourcePortSlot,
		"dest": targetPortSlot, "dest_port": targetPortSlot, "dport": targetPortSlot,
		"seq": seqSlot, "ack_seq": ackSlot, "doff": offsetSlot, "data_offset": offsetSlot, "flags": flagsSlot,
		"window": windowSlot, "window_size": windowSlot, "check": checkSlot, "checksum": checkSlot,
		"fin": finFlag, "syn": synFlag, "rst": rstFlag, "psh": pshFlag, "ack": ackFlag, "urg": urgFlag,
	}
	udpNames = map[string]slot{
		"source": sourcePortSlot, "source_port": sourcePortSlot, "sport": sourcePortSlot,
		"dest": targetPortSlot, "dest_port": targetPortSlot, "dport": targetPortSlot,
		"len": udpLengthSlot, "ulen": udpLengthSlot,
	}
	icmpNames = map[string]slot{}

	flatNames = merged(tcpNames, internetNames, eventNames)
)

func merged(maps ...map[string]slot) map[string]slot {
	all := make(map[string]slot)
	for _, m := range maps {
		for name, s := range m {
			all[name] = s
		}
	}
	return all
}

// node is a field of a class, resolved: which slot it fills, or what its parts fill.
type node struct {
	slot  slot
	parts []node // of a structure: its members; of a variant: its alternatives
}

// resolve finds the slots of a class. Context fields are the tracer's own and not of the packet.
func resolve(c *trace.Class) []node {
	own := len(c.Fields) - min(max(c.Context, 0), len(c.Fields))
	return resolveFields(c.Fields[:own], flatNames, 0)
}

// deepest is how many structures within structures are looked into.
const deepest = 8

func resolveFields(fields []trace.Field, names map[string]slot, depth int) []node {
	nodes := make([]node, len(fields))
	for i := range fields {
		nodes[i] = resolveField(&fields[i], names, depth)
	}
	return nodes
}

func resolveField(f *trace.Field, names map[string]slot, depth int) node {
	name := plain(f.Name)
	if s, ok := names[name]; ok && f.Type.Kind != trace.Struct && f.Type.Kind != trace.Variant {
		return node{slot: s}
	}
	if f.Type.Kind != trace.Struct && f.Type.Kind != trace.Variant || depth == deepest {
		return node{}
	}
	switch name {
	case "ipv4", "ipv6":
		names = internetNames
	case "tcp":
		names = tcpNames
	case "udp":
		names = udpNames
	case "icmp", "none", "unknown":
		names = icmpNames
	}
	return node{slot: inner, parts: resolveFields(f.Type.Fields, names, depth+1)}
}

// header is what an event says of a packet.
type header struct {
	seen           uint64 // which slots were filled, a bit each
	from, to       trace.FlowEnd
	six            bool
	buffer, socket uint64
	device         []byte
	whole, total   uint32
	payload        uint32
	seq, ack       uint32
	id, part       uint16
	network        uint16
	flags, window  uint16
	check          uint16
	version, ihl   uint8
	hops, protocol uint8
	offset, raised uint8 // raised: flags that stand in fields of their own
	udpLength      uint32
}

func (h *header) has(s slot) bool { return h.seen&(1<<s) != 0 }

// hasAll reports whether all the slots were filled.
func (h *header) hasAll(slots ...slot) bool {
	for _, s := range slots {
		if !h.has(s) {
			return false
		}
	}
	return true
}

// read fills the header from an event's values.
func (h *header) read(nodes []node, values []trace.Value) {
	for i := range nodes[:min(len(nodes), len(values))] {
		if nodes[i].slot != noSlot {
			h.readField(&nodes[i], &values[i])
		}
	}
}

func (h *header) readField(n *node, v *trace.Value) {
	switch n.slot {
	case inner:
		switch v.Kind {
		case trace.Struct:
			h.read(n.parts, v.Items)
		case trace.Variant:
			if v.Bits < uint64(len(n.parts)) && len(v.Items) == 1 {
				h.readField(&n.parts[v.Bits], &v.Items[0])
			}
		}
		return
	case sourceSlot, targetSlot:
		e := &h.from
		if n.slot == targetSlot {
			e = &h.to
		}
		if !address(e, v, &h.six) {
			return
		}
	case deviceSlot:
		if v.Kind != trace.Text {
			return
		}
		h.device = v.Data
	default:
		if v.Kind != trace.Int && v.Kind != trace.Uint && v.Kind != trace.Bool {
			return
		}
		h.set(n.slot, v.Uint())
	}
	h.seen |= 1 << n.slot
}

func (h *header) set(s slot, v uint64) {
	switch s {
	case bufferSlot:
		h.buffer = v
	case socketSlot:
		h.socket = v
	case wholeSlot:
		h.whole = uint32(v)
	case networkSlot:
		h.network = uint16(v)
	case versionSlot:
		h.version = uint8(v)
	case totalSlot:
		h.total = uint32(v)
	case payloadSlot:
		h.payload = uint32(v)
	case ihlSlot:
		h.ihl = uint8(v)
	case idSlot:
		h.id = uint16(v)
	case partSlot:
		h.part = uint16(v)
	case hopsSlot:
		h.hops = uint8(v)
	case protocolSlot:
		h.protocol = uint8(v)
	case sourcePortSlot:
		h.from.Port = uint16(v)
	case targetPortSlot:
		h.to.Port = uint16(v)
	case seqSlot:
		h.seq = uint32(v)
	case ackSlot:
		h.ack = uint32(v)
	case offsetSlot:
		h.offset = uint8(v)
	case flagsSlot:
		h.flags = uint16(v)
	case windowSlot:
		h.window = uint16(v)
	case checkSlot:
		h.check = uint16(v)
	case finFlag, synFlag, rstFlag, pshFlag, ackFlag, urgFlag:
		if v != 0 {
			h.raised |= 1 << (s - finFlag) // in the order of the header's bits
		}
	case udpLengthSlot:
		h.udpLength = uint32(v)
	}
}

// address takes an address as a number, as bytes, or as an array of 4 or 16 bytes or of 8 words.
func address(e *trace.FlowEnd, v *trace.Value, six *bool) bool {
	var b [16]byte
	n := 0
	switch v.Kind {
	case trace.Int, trace.Uint:
		e.Hi, e.Lo = 0, uint64(uint32(v.Uint()))
		return true
	case trace.Bytes, trace.Text:
		n = copy(b[:], v.Data)
		if n != len(v.Data) {
			return false
		}
	case trace.Array:
		switch len(v.Items) {
		case 4, 16:
			for i := range v.Items {
				b[i] = byte(v.Items[i].Uint())
			}
			n = len(v.Items)
		case 8:
			for i := range v.Items {
				binary.BigEndian.PutUint16(b[2*i:], uint16(v.Items[i].Uint()))
			}
			n = 16
		}
	}
	switch n {
	case 4:
		e.Hi, e.Lo = 0, uint64(binary.BigEndian.Uint32(b[:]))
	case 16:
		e.Hi, e.Lo, *six = binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]), true
	default:
		return false
	}
	return true
}
