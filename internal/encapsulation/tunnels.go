package encapsulation

import "encoding/binary"

// IP protocol numbers of tunnels.
const (
	inIPv4 = 4
	inIPv6 = 41
	inUDP  = 17
	inGRE  = 47
	inMPLS = 137
	inEth  = 97
)

// The outer addresses of hosts a and b.
var outer4 = [2]string{"\xc0\x00\x02\x01", "\xc0\x00\x02\x02"}

// outer puts a body behind an outer IPv4 header and an Ethernet header, without an identification.
func outer(way, protocol int, body []byte) []byte { return numbered(way, 0, protocol, body) }

// linux is outer with an identification, which Linux sets whatever the tunnel (iptunnel_xmit, net/ipv4/ip_tunnel_core.c).
func linux(p Packet, protocol int, body []byte) []byte {
	return numbered(p.Way, 1+p.Number%0xffff, protocol, body)
}

func numbered(way, id, protocol int, body []byte) []byte {
	ip := join(0x45, 0, be16(20+len(body)), be16(id), be16(0x4000), 64, protocol, be16(0), outer4[way], outer4[1-way])
	sum := 0
	for i := 0; i < 20; i += 2 {
		sum += int(binary.BigEndian.Uint16(ip[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum))
	return ether(way, 0x0800, join(ip, body))
}

// outer6 is outer over IPv6.
func outer6(way, protocol int, body []byte) []byte {
	address := func(host int) []byte { return join("\x20\x01\x0d\xb8", make([]byte, 11), host+1) }
	return ether(way, 0x86dd, join(0x60, 0, 0, 0, be16(len(body)), protocol, 64, address(way), address(1-way), body))
}

func udp(from, to int, body []byte) []byte {
	return join(be16(from), be16(to), be16(8+len(body)), be16(0), body)
}

// entropy is a source port that depends on the flow inside, as RFC 7348 wants it.
func entropy(ip []byte) int {
	h := uint32(2166136261)
	start, n := 12, 12
	if etherType(ip) == 0x86dd {
		start, n = 8, 36
	}
	for _, c := range ip[start : start+n] {
		h = (h ^ uint32(c)) * 16777619
	}
	return 49152 + int(h>>18)
}

func inner(p Packet) []byte { return ether(p.Way, etherType(p.IP), p.IP) }

func versionIn(ip []byte) int {
	if etherType(ip) == 0x86dd {
		return inIPv6
	}
	return inIPv4
}

func tunnels() []Encapsulation {
	vxlan := func(p Packet) []byte { return udp(entropy(p.IP), 4789, join(8, 0, 0, 0, 0, 0, 42, 0, inner(p))) }
	gre := func(kind int, body []byte) []byte { return join(be16(0), be16(kind), body) }
	gtp := func(p Packet) []byte { // each way has its own tunnel
		return udp(2152, 2152, join(0x30, 255, be16(len(p.IP)), be32(0x100+p.Way), p.IP))
	}
	return []Encapsulation{
		{Name: "vxlan", Link: 1, Tunnel: true, Frame: func(p Packet) []byte { return linux(p, inUDP, vxlan(p)) }},
		{Name: "vxlan-unnumbered", Link: 1, Tunnel: true, Frame: func(p Packet) []byte { return outer(p.Way, inUDP, vxlan(p)) }},
		{Name: "vxlan-ipv6", Link: 1, Tunnel: true, Frame: func(p Packet) []byte { return outer6(p.Way, inUDP, vxlan(p)) }},
		{Name: "vxlan-gpe", Link: 1, Tunnel: true, Frame: func(p Packet) []byte {
			next := 1
			if etherType(p.IP) == 0x86dd {
				next = 2
			}
			return linux(p, inUDP, udp(entropy(p.IP), 4790, join(0x0c, 0, 0, next, 0, 0, 42, 0, p.IP)))
		}},
		{Name: "geneve", Link: 1, Tunnel: true, Frame: func(p Packet) []byte { // with an option of 8 bytes
			return linux(p, inUDP, udp(entropy(p.IP), 6081, join(2, 0, be16(0x6558), 0, 0, 42, 0, be16(0x0102), 3, 1, be32(p.Number), inner(p))))
		}},
		{Name: "gre", Link: 1, Tunnel: true, Frame: func(p Packet) []byte { return linux(p, inGRE, gre(etherType(p.IP), p.IP)) }},
		{Name: "gre-keyed", Link: 1, Tunnel: true, Frame: func(p Packet) []byte { // checksum, key and sequence, each way with its own key
			return outer(p.Way, inGRE, join(be16(0xb000), be16(etherType(p.IP)), be32(0), be32(7+p.Way), be32(p.Number), p.IP))
		}},
		{Name: "gre-ethernet", Link: 1, Tunnel: true, Frame: func(p Packet) []byte { return linux(p, inGRE, gre(0x6558, inner(p))) }},
		{Name: "gre-mpls", Link: 1, Tunnel: true, Frame: func(p Packet) []byte {
			return linux(p, inGRE, gre(0x8847, join(be32(17<<12|1<<8|64), p.IP)))
		}},
		{Name: "pptp", Link: 1, Tunnel: true, Frame: func(p Packet) []byte {
			protocol := 0x21
			if etherType(p.IP) == 0x86dd {
				protocol = 0x57
			}
			return outer(p.Way, inGRE, join(be16(0x3001), be16(0x880b), be16(len(p.IP)+4), be16(9), be32(p.Number), 0xff, 3, be16(protocol), p.IP))
		}},
		{Name: "erspan-1", Link: 1, Tunnel: true, Mirror: true, Frame: func(p Packet) []byte { return outer(0, inGRE, gre(0x88be, inner(p))) }},
		{Name: "erspan-2", Link: 1, Tunnel: true, Mirror: true, Frame: func(p Packet) []byte {
			return outer(0, inGRE, join(be16(0x1000), be16(0x88be), be32(p.Number), be16(0x1000), be16(100), be32(1), inner(p)))
		}},
		{Name: "erspan-3", Link: 1, Tunnel: true, Mirror: true, Frame: func(p Packet) []byte { // with its platform's own 8 bytes
			return outer(0, inGRE, join(be16(0x1000), be16(0x22eb), be32(p.Number), be16(0x2000), be16(100), be32(p.Number), be16(0), be16(1),
				make([]byte, 8), inner(p)))
		}},
		{Name: "vxlan-mirror", Link: 1, Tunnel: true, Mirror: true, Frame: func(p Packet) []byte { return outer(0, inUDP, vxlan(p)) }},
		{Name: "ipip", Link: 1, Tunnel: true, Frame: func(p Packet) []byte { return linux(p, versionIn(p.IP), p.IP) }},
		{Name: "ipip-ipv6", Link: 1, Tunnel: true, Frame: func(p Packet) []byte { return outer6(p.Way, versionIn(p.IP), p.IP) }},
		{Name: "etherip", Link: 1, Tunnel: true, Frame: func(p Packet) []byte { return linux(p, inEth, join(be16(0x3000), inner(p))) }},
		{Name: "mpls-ip", Link: 1, Tunnel: true, Frame: func(p Packet) []byte { return linux(p, inMPLS, join(be32(17<<12|1<<8|64), p.IP)) }},
		{Name: "mpls-udp", Link: 1, Tunnel: true, Frame: func(p Packet) []byte {
			return linux(p, inUDP, udp(entropy(p.IP), 6635, join(be32(17<<12|1<<8|64), p.IP)))
		}},
		{Name: "gtp-u", Link: 1, Tunnel: true, Frame: func(p Packet) []byte { return linux(p, inUDP, gtp(p)) }},
		{Name: "gtp-u-unnumbered", Link: 1, Tunnel: true, Frame: func(p Packet) []byte { return outer(p.Way, inUDP, gtp(p)) }},
		{Name: "gtp-u-5g", Link: 1, Tunnel: true, Frame: func(p Packet) []byte { // with an extension header: PDU session container
			return outer(p.Way, inUDP, udp(2152, 2152, join(0x34, 255, be16(len(p.IP)+8), be32(0x100+p.Way), be16(0), 0, 0x85, 1, 16*p.Way, 9, 0, p.IP)))
		}},
		{Name: "l2tp", Link: 1, Tunnel: true, Frame: func(p Packet) []byte {
			protocol := 0x21
			if etherType(p.IP) == 0x86dd {
				protocol = 0x57
			}
			return linux(p, inUDP, udp(1701, 1701, join(be16(0x4002), be16(len(p.IP)+12), be16(5+p.Way), be16(6+p.Way), 0xff, 3, be16(protocol), p.IP)))
		}},
		{Name: "gre-in-vxlan", Link: 1, Tunnel: true, Frame: func(p Packet) []byte { // the packet is the third IP header's
			return linux(p, inUDP, udp(50000, 4789, join(8, 0, 0, 0, 0, 0, 42, 0, outer(p.Way, inGRE, gre(etherType(p.IP), p.IP)))))
		}},
	}
}
