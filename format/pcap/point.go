package pcap

import "encoding/binary"

// point digests the observation point of the frame: its interface, the depth of what it carries, and of link types whose header is
// the same for all packets of a flow the addresses, VLAN tags and direction. It is 0 where none of these is known.
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
	if header == 0 && iface == 0 && d.depth == 0 {
		return 0
	}
	sum := digest(uint64(d.depth)<<32|uint64(uint32(iface)), d.frame[:min(header, len(d.frame))])
	return uint16(sum>>16) ^ uint16(sum)
}

func isVLAN(kind uint16) bool { return kind == typeVLAN || kind == typeService || kind == typeDouble }
