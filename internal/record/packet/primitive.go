package packet

import (
	"encoding/binary"
	"net/netip"
)

// Numbers of protocols: over Ethernet, and over IP.
const (
	typeIPv4 = 0x0800
	typeARP  = 0x0806
	typeRARP = 0x8035
	typeIPv6 = 0x86dd

	protoICMP     = 1
	protoIGMP     = 2
	protoTCP      = 6
	protoUDP      = 17
	protoFragment = 44
	protoICMP6    = 58
	protoSCTP     = 132
)

var protocolNames = []string{"ip", "ip6", "arp", "rarp", "tcp", "udp", "sctp", "icmp", "icmp6", "igmp"}

var protocols = map[string]filter{
	"ip": network(typeIPv4), "ip6": network(typeIPv6), "arp": network(typeARP), "rarp": network(typeRARP),
	"tcp": carries{protoTCP, true, true}, "udp": carries{protoUDP, true, true}, "sctp": carries{protoSCTP, true, true},
	"icmp": carries{protoICMP, true, false}, "icmp6": carries{protoICMP6, false, true}, "igmp": carries{protoIGMP, true, false},
}

// network holds for packets of a network protocol. The kernel says which it is, below a VLAN's tag where there is one.
type network uint16

func (f network) compile(p *program, yes, no label) label {
	return p.branchAfterLoad(aboutProtocol, uint32(f), yes, no)
}

// field loads from the network header; it is of two or three instructions.
func field(load uint16, at uint32) []instruction {
	return []instruction{{code: loadMemX, k: headerOfIP}, {code: load, k: at}}
}

// equals tests a field of the network header.
func (p *program) equals(load uint16, at, k uint32, yes, no label) label {
	p.branch(jumpEqual, k, yes, no)
	return p.put(field(load, at)...)
}

// carries holds for packets of a protocol over IP: over version 4 also in later fragments, over version 6 behind the base
// header or a fragment header right behind it, as tcpdump looks.
type carries struct {
	protocol byte
	v4, v6   bool
}

func (f carries) compile(p *program, yes, no label) label {
	at := no
	if f.v6 {
		inner := p.equals(loadByteX, 40, uint32(f.protocol), yes, no)
		inner = p.branch(jumpEqual, protoFragment, inner, no)
		p.branch(jumpEqual, uint32(f.protocol), yes, inner)
		inner = p.put(field(loadByteX, 6)...)
		at = network(typeIPv6).compile(p, inner, no)
	}
	if f.v4 {
		inner := p.equals(loadByteX, 9, uint32(f.protocol), yes, no)
		at = network(typeIPv4).compile(p, inner, at)
	}
	return at
}

// way joins the tests of source and destination as a direction asks.
func way(direction string, source, destination filter) filter {
	switch direction {
	case "src":
		return source
	case "dst":
		return destination
	case "and":
		return both{source, destination}
	}
	return either{source, destination}
}

// addresses holds for packets from or to a network: IP, and for version 4 also ARP and RARP, which carry such addresses.
type addresses struct {
	prefix    netip.Prefix
	direction string
}

func (f addresses) compile(p *program, yes, no label) label {
	at := func(source, destination uint32) filter {
		return way(f.direction, masked{f.prefix, source}, masked{f.prefix, destination})
	}
	if f.prefix.Addr().Is6() {
		return both{network(typeIPv6), at(8, 24)}.compile(p, yes, no)
	}
	inARP := both{either{network(typeARP), network(typeRARP)}, at(14, 24)}
	return either{both{network(typeIPv4), at(12, 16)}, inARP}.compile(p, yes, no)
}

// masked holds if the address at a place of the network header is in a network.
type masked struct {
	prefix netip.Prefix
	at     uint32
}

func (f masked) compile(p *program, yes, no label) label {
	address := f.prefix.Addr().AsSlice()
	words := (f.prefix.Bits() + 31) / 32
	at := yes
	for w := words - 1; w >= 0; w-- {
		k := binary.BigEndian.Uint32(address[4*w:])
		p.branch(jumpEqual, k, at, no)
		if bits := f.prefix.Bits() - 32*w; bits < 32 {
			p.put(instruction{code: andK, k: ^uint32(0) << (32 - bits)})
		}
		at = p.put(field(loadWordX, f.at+uint32(4*w))...)
	}
	return at
}

// ports holds for packets from or to ports of TCP, UDP or SCTP. Later fragments of IPv4 have none; over IPv6 the header
// must stand right behind the base header, as tcpdump looks.
type ports struct {
	protocols []byte
	low, high uint16
	direction string
}

func (f ports) compile(p *program, yes, no label) label {
	// X becomes the place of the transport header, so that both versions have one test.
	way(f.direction, port{f.low, f.high, 0}, port{f.low, f.high, 2}).compile(p, yes, no)
	test := p.put(instruction{code: moveAtoX})
	among := func(load uint16, at uint32, then label) label {
		next := no
		for i := len(f.protocols) - 1; i >= 0; i-- {
			next = p.branch(jumpEqual, uint32(f.protocols[i]), then, next)
		}
		return p.put(field(load, at)...)
	}
	v6 := p.put(instruction{code: loadMem, k: headerOfIP}, instruction{code: addK, k: 40}, instruction{code: jump, k: uint32(p.far(test))})
	v6 = among(loadByteX, 6, v6)
	v6 = network(typeIPv6).compile(p, v6, no)

	v4 := p.put(instruction{code: loadMemX, k: headerOfIP}, instruction{code: loadByteX, k: 0},
		instruction{code: andK, k: 15}, instruction{code: shiftLeft, k: 2}, instruction{code: addX},
		instruction{code: jump, k: uint32(p.far(test))})
	p.branch(jumpSet, 0x1fff, no, v4)
	v4 = p.put(field(loadHalfX, 6)...)
	v4 = among(loadByteX, 9, v4)
	return network(typeIPv4).compile(p, v4, v6)
}

// port tests 16 bits at X + at, X being set by ports.
type port struct {
	low, high uint16
	at        uint32
}

func (f port) compile(p *program, yes, no label) label {
	if f.low == f.high {
		p.branch(jumpEqual, uint32(f.low), yes, no)
	} else {
		below := p.branch(jumpAbove, uint32(f.high), no, yes)
		p.branch(jumpFrom, uint32(f.low), below, no)
	}
	return p.put(instruction{code: loadHalfX, k: f.at})
}

// length holds for packets not longer, or not shorter, on the wire.
type length struct {
	bytes   uint32
	greater bool
}

func (f length) compile(p *program, yes, no label) label {
	if f.greater {
		p.branch(jumpFrom, f.bytes, yes, no)
	} else {
		p.branch(jumpAbove, f.bytes, no, yes)
	}
	return p.put(instruction{code: loadLength})
}

// outbound holds for packets that this host sends; inbound, if it is false, for all others.
type outbound bool

func (f outbound) compile(p *program, yes, no label) label {
	if !f {
		yes, no = no, yes
	}
	return p.branchAfterLoad(aboutDirection, outgoing, yes, no)
}
