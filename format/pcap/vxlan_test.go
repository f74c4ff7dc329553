package pcap

import (
	"encoding/binary"
	"slices"
	"testing"

	"meridian/internal/encapsulation"
	"meridian/trace"
)

func TestVXLANIsFoundOnAnyPort(t *testing.T) {
	vxlan := encapsulation.All()[slices.IndexFunc(encapsulation.All(), func(e encapsulation.Encapsulation) bool { return e.Name == "vxlan" })]
	const udpAt, innerAt = 14 + 20, 14 + 20 + 8 + 8 + 14
	for k, p := range insidePackets() {
		frame := slices.Clone(vxlan.Frame(p))
		binary.BigEndian.PutUint16(frame[udpAt+2:], 14789)
		inner := frame[innerAt:]
		if inner[0]>>4 == 4 {
			inner[10], inner[11] = 0, 0
			sum := uint32(0)
			for i := 0; i < 20; i += 2 {
				sum += uint32(binary.BigEndian.Uint16(inner[i:]))
			}
			binary.BigEndian.PutUint16(inner[10:], ^uint16(sum+sum>>16))
		}
		want, d, _ := decode(linkRaw, inner, 0)
		got, e, _ := decode(linkEthernet, frame, 0)
		if got.Flow == trace.NoFlow || e.Flows()[0].Low != d.Flows()[0].Low || e.Flows()[0].Tunnel.IsZero() || got.Seq != want.Seq || got.Digest != want.Digest {
			t.Errorf("packet %d: %+v in %+v, want %+v", k+1, got, e.Flows(), want)
		}
		// Data that only begins like it is no tunnel.
		for _, change := range []int{udpAt + 8, udpAt + 9, udpAt + 15, innerAt + 4} {
			other := slices.Clone(frame)
			other[change] ^= 0x10
			if _, e, _ := decode(linkEthernet, other, 0); len(e.Flows()) != 1 || !e.Flows()[0].Tunnel.IsZero() {
				t.Errorf("packet %d with byte %d changed: %+v", k+1, change, e.Flows())
			}
		}
	}
}
