package redact

import (
	"encoding/binary"
	"net/netip"
)

// Link types (LINKTYPE_ numbers of pcapng) of which the header is known. Of others nothing is left.
const (
	linkNull     = 0
	linkEthernet = 1
	linkRaw      = 101
	linkRawBSD   = 12
	linkLoop     = 108
	linkCooked   = 113
	linkIPv4     = 228
	linkIPv6     = 229
	linkCooked2  = 276
)

// EtherTypes.
const (
	etherIPv4 = 0x0800
	etherARP  = 0x0806
	etherIPv6 = 0x86dd
	etherVLAN = 0x8100
	etherQinQ = 0x88a8
)

// Packet returns what may be shared of a packet: its headers with other addresses, without what is behind them. The result is shorter
// than data or as long, and new.
func (r *Redactor) Packet(link uint16, data []byte) []byte {
	b := append([]byte(nil), data...)
	switch link {
	case linkEthernet:
		return b[:r.ethernet(b)]
	case linkRaw, linkRawBSD, linkIPv4, linkIPv6:
		return b[:r.network(b, version(b))]
	case linkNull, linkLoop:
		if len(b) < 4 {
			return nil
		}
		return b[:4+r.network(b[4:], version(b[4:]))]
	case linkCooked: // type, ARPHRD, length of the address, address, protocol
		if len(b) < 16 {
			return nil
		}
		r.cooked(b[6:14], binary.BigEndian.Uint16(b[4:]))
		return b[:16+r.network(b[16:], binary.BigEndian.Uint16(b[14:]))]
	case linkCooked2: // protocol, reserved, interface, ARPHRD, type, length of the address, address
		if len(b) < 20 {
			return nil
		}
		r.cooked(b[12:20], uint16(b[11]))
		return b[:20+r.network(b[20:], binary.BigEndian.Uint16(b))]
	}
	return nil
}

// cooked replaces the address of a cooked header: a MAC address, or nothing that is known.
func (r *Redactor) cooked(b []byte, length uint16) {
	if length == 6 {
		r.hardware(b[:6])
		clear(b[6:])
		return
	}
	clear(b)
}

// version returns the EtherType of a packet that begins with the header of IP, 0 of any other.
func version(b []byte) uint16 {
	switch {
	case len(b) > 0 && b[0]>>4 == 4:
		return etherIPv4
	case len(b) > 0 && b[0]>>4 == 6:
		return etherIPv6
	}
	return 0
}

// Each of the functions below changes a header and all that is known behind it in its place, and returns how many bytes may stay.

func (r *Redactor) ethernet(b []byte) int {
	const addresses = 12
	if len(b) < addresses+2 {
		return 0
	}
	r.hardware(b)
	r.hardware(b[6:])
	at := addresses
	for {
		kind := binary.BigEndian.Uint16(b[at:])
		at += 2
		if kind != etherVLAN && kind != etherQinQ {
			return at + r.network(b[at:], kind)
		}
		if len(b) < at+4 {
			return at
		}
		at += 2 // priority and number of the VLAN
	}
}

func (r *Redactor) network(b []byte, kind uint16) int {
	switch kind {
	case etherIPv4:
		return r.ipv4(b)
	case etherIPv6:
		return r.ipv6(b)
	case etherARP:
		return r.arp(b)
	}
	return 0
}

func (r *Redactor) arp(b []byte) int {
	const size = 28
	if len(b) < size || b[4] != 6 || b[5] != 4 { // of other addresses than MAC and IPv4
		return 0
	}
	for _, at := range []int{8, 18} {
		r.hardware(b[at : at+6])
		r.put4(b[at+6:])
	}
	return size
}

func (r *Redactor) put4(b []byte) {
	a := r.Addr(netip.AddrFrom4([4]byte(b))).As4()
	copy(b, a[:])
}

func (r *Redactor) put16(b []byte) {
	a := r.Addr(netip.AddrFrom16([16]byte(b))).As16()
	copy(b, a[:])
}

func (r *Redactor) ipv4(b []byte) int {
	const least = 20
	if len(b) < least || b[0]>>4 != 4 {
		return 0
	}
	size := int(b[0]&15) * 4
	if size < least || size > len(b) {
		return 0
	}
	r.put4(b[12:])
	r.put4(b[16:])
	for i := least; i < size; i++ {
		b[i] = 1 // no operation: routes that were recorded are addresses
	}
	binary.BigEndian.PutUint16(b[10:], 0)
	binary.BigEndian.PutUint16(b[10:], checksum(b[:size]))
	if binary.BigEndian.Uint16(b[6:])&0x1fff != 0 { // a later fragment
		return size
	}
	return size + transport(b[size:], b[9])
}

// checksum is that of RFC 1071.
func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// Extension headers of IPv6.
const (
	hopByHop    = 0
	fragment    = 44
	destination = 60
)

func (r *Redactor) ipv6(b []byte) int {
	const header = 40
	if len(b) < header || b[0]>>4 != 6 {
		return 0
	}
	b[1] &= 0xf0 // the flow label is a hash of addresses for some
	b[2], b[3] = 0, 0
	r.put16(b[8:])
	r.put16(b[24:])
	next, at := b[6], header
	for {
		switch next {
		case hopByHop, destination:
			if len(b) < at+8 || len(b) < at+8+int(b[at+1])*8 {
				return at
			}
			size := 8 + int(b[at+1])*8
			next = b[at]
			pad(b[at+2 : at+size])
			at += size
		case fragment:
			if len(b) < at+8 {
				return at
			}
			next = b[at]
			later := binary.BigEndian.Uint16(b[at+2:])&^7 != 0
			if at += 8; later {
				return at
			}
		default: // a routing header has addresses, and what is behind others is encrypted
			return at + transport(b[at:], next)
		}
	}
}

// pad fills options of IPv6 with padding (PadN, RFC 8200).
func pad(b []byte) {
	clear(b)
	for len(b) > 0 {
		n := min(len(b), 256)
		if n == 1 {
			return // Pad1 is a zero
		}
		b[0], b[1] = 1, byte(n-2)
		b = b[n:]
	}
}

// Protocols above IP.
const (
	icmp   = 1
	tcp    = 6
	udp    = 17
	icmpv6 = 58
	sctp   = 132
)

func transport(b []byte, protocol byte) int {
	switch protocol {
	case tcp:
		return tcpHeader(b)
	case udp:
		if len(b) < 8 {
			return 0
		}
		b[6], b[7] = 0, 0 // the checksum covers addresses and payload
		return 8
	case sctp:
		if len(b) < 12 {
			return 0
		}
		clear(b[8:12])
		return 12
	case icmp, icmpv6:
		return icmpHeader(b, protocol)
	}
	return 0
}

// icmpHeader leaves the type and code, of an echo its number too. Others have addresses and packets behind them.
func icmpHeader(b []byte, protocol byte) int {
	if len(b) < 4 {
		return 0
	}
	b[2], b[3] = 0, 0
	echo := protocol == icmp && (b[0] == 0 || b[0] == 8) || protocol == icmpv6 && (b[0] == 128 || b[0] == 129)
	if !echo || len(b) < 8 {
		return 4
	}
	return 8
}

// tcpHeader leaves the header, and of its options those that are numbers of the connection.
func tcpHeader(b []byte) int {
	const least = 20
	if len(b) < least {
		return 0
	}
	size := int(b[12]>>4) * 4
	b[16], b[17] = 0, 0 // the checksum covers addresses and payload
	if size < least {
		return least
	}
	if size > len(b) {
		clear(b[least:])
		return least
	}
	const end, none = 0, 1
	for at := least; at < size; {
		kind := b[at]
		if kind == none {
			at++
			continue
		}
		if kind == end || at+1 >= size || b[at+1] < 2 || at+int(b[at+1]) > size {
			clear(b[at:size])
			break
		}
		length := int(b[at+1])
		switch kind {
		case 2, 3, 4, 5, 8: // segment size, window, selective acknowledgements, timestamps
		default: // such as addresses of multipath TCP, cookies
			for i := range b[at : at+length] {
				b[at+i] = none
			}
		}
		at += length
	}
	return size
}
