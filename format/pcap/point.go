package pcap

import "encoding/binary"

// point digests the observation point of the frame: its interface, the depth of what it carries, and what its link tells: of
// Ethernet and cooked captures addresses, VLAN tags and direction, of others what they passed. It is 0 where none of these is
// known.
func (d *Decoder) point(link uint16, iface int) uint16 {
	header := 0
	switch link {
	case linkEthernet:
		header = 12
		for len(d.frame) >= header+4 && isVLAN(binary.BigEndian.Uint16(d.frame[header:])) {
			header += 4
		}
	case linkCooked:
		header = 14
	case linkCooked2:
		header = 20
	}
	if header == 0 && iface == 0 && d.depth == 0 && d.passed == 0 {
		return 0
	}
	sum := digest(uint64(d.depth)<<32|uint64(uint32(iface)), d.frame[:min(header, len(d.frame))]) ^ d.passed
	return uint16(sum>>16) ^ uint16(sum)
}

// passes adds what a link header tells of the observation point and has the same for all packets of a flow: interfaces, link-layer
// addresses, a direction. Headers inside of others are told apart by depth alone.
func (d *Decoder) passes(header []byte) {
	if d.depth == 0 {
		d.passed = digest(uint64(d.passed), header)
	}
}

func isVLAN(kind uint16) bool { return kind == typeVLAN || kind == typeService || kind == typeDouble }
