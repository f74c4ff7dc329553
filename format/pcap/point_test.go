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
	if got := point(linkRaw, 0, one); got != 0 {
		t.Errorf("a link without header has the point %d", got)
	}
}
