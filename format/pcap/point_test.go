package pcap

import (
	"testing"

	"meridian/trace"
)

// Frames of one packet at two observation points differ in their points, and frames of one flow at one point do not.
func TestFramesOfOneObservationPointShareIt(t *testing.T) {
	point := func(link uint16, iface int, frame string) uint16 {
		var p trace.Packet
		NewDecoder("x.pcap", nil).Decode(link, &trace.Frame{Data: []byte(frame), Wire: uint32(len(frame)), Interface: iface}, &p)
		return p.Point
	}
	const (
		macs   = "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02"
		cooked = "\x00\x04\x00\x01\x00\x06\x02\x00\x00\x00\x00\x01\x00\x00\x08\x00"
		one    = "\x45\x00\x00\x14\x00\x01\x00\x00\x40\x11\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02"
		other  = "\x45\x00\x00\x14\x00\x02\x00\x00\x40\x11\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02"
	)
	base := point(linkEthernet, 0, macs+"\x08\x00"+one)
	if base == 0 || point(linkEthernet, 0, macs+"\x08\x00"+other) != base {
		t.Error("two packets of one point have two")
	}
	for name, got := range map[string]uint16{
		"another interface": point(linkEthernet, 1, macs+"\x08\x00"+one),
		"other addresses":   point(linkEthernet, 0, macs[6:]+macs[:6]+"\x08\x00"+one),
		"a VLAN tag":        point(linkEthernet, 0, macs+"\x81\x00\x00\x05\x08\x00"+one),
		"two VLAN tags":     point(linkEthernet, 0, macs+"\x88\xa8\x00\x05\x81\x00\x00\x05\x08\x00"+one),
	} {
		if got == base {
			t.Errorf("%s is no other point", name)
		}
	}
	if a, b := point(linkCooked, 0, cooked+one), point(linkCooked, 0, "\x00\x00"+cooked[2:]+one); a == b {
		t.Error("out and in of a cooked capture are one point")
	}
	const station, base2 = "\x02\x00\x00\x00\x00\x0a", "\x02\x00\x00\x00\x00\xff"
	snap := "\xaa\xaa\x03\x00\x00\x00\x08\x00"
	wireless := func(flags, sequence int, receiver, sender, packet string) string {
		return string(join(0x08, flags, be16(0), receiver, sender, station, sequence<<4, 0, snap, packet))
	}
	nflog := func(hook, in int, packet string) string {
		return string(join(2, 0, be16(5), 8, 0, nflogHeader, 0, be16(typeIPv4), hook, 0, 8, 0, nflogIn, 0, be32(in), 4+len(packet), 0, nflogPayload, 0, packet))
	}
	tap := func(name string, way int, packet string) string {
		return string(join(108, 0, 0, 0, 1, 0, 0, 0, linkRaw, 0, 0, 0, name, make([]byte, 24-len(name)), way, 0, 0, 0, make([]byte, 108-40), packet))
	}
	for name, c := range map[string]struct {
		link       uint16
		same, also string
		others     []string
	}{
		"802.11": {linkWireless, wireless(1, 1, base2, station, one), wireless(1, 2, base2, station, other),
			[]string{wireless(2, 1, station, base2, one), wireless(1, 1, station, base2, one)}},
		"NFLOG": {linkNFLOG, nflog(0, 1, one), nflog(0, 1, other), []string{nflog(4, 1, one), nflog(0, 2, one)}},
		"PKTAP": {linkPacketTap, tap("en0", 1, one), tap("en0", 1, other), []string{tap("utun0", 1, one), tap("en0", 2, one)}},
		"PPP with a direction": {linkPPPWay, "\x00\xff\x03\x00\x21" + one, "\x00\xff\x03\x00\x21" + other,
			[]string{"\x01\xff\x03\x00\x21" + one}},
	} {
		base := point(c.link, 0, c.same)
		if base == 0 || point(c.link, 0, c.also) != base {
			t.Errorf("%s: two packets of one point have two", name)
		}
		for i, o := range c.others {
			if point(c.link, 0, o) == base {
				t.Errorf("%s: other point %d is the same", name, i)
			}
		}
	}
	if got := point(linkRaw, 0, one); got != 0 {
		t.Errorf("a link without header has the point %d", got)
	}
}
