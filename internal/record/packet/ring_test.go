//go:build linux

package packet

import (
	"encoding/binary"
	"errors"
	"testing"

	"meridian/internal/testseed"
)

// block makes one of packets as the kernel lays them out.
func blockOf(packets int, status uint32, kept uint32) []byte {
	order := binary.NativeEndian
	b := make([]byte, 4096)
	order.PutUint32(b[blockPackets:], uint32(packets))
	order.PutUint32(b[blockFirst:], blockHeader)
	for i := range packets {
		p := b[blockHeader+i*256:]
		order.PutUint32(p[packetNext:], 256)
		order.PutUint32(p[packetSec:], 1)
		order.PutUint32(p[packetNsec:], uint32(i))
		order.PutUint32(p[packetKept:], kept)
		order.PutUint32(p[packetWire:], 1500)
		order.PutUint32(p[packetStatus:], status)
		order.PutUint16(p[packetMAC:], 96)
		order.PutUint32(p[linkIndex:], 7)
	}
	return b
}

func TestABlockThatContradictsItselfEndsTheCapture(t *testing.T) {
	order := binary.NativeEndian
	for what, damage := range map[string]func(b []byte){
		"more packets than fit":    func(b []byte) { order.PutUint32(b[blockPackets:], 1<<31) },
		"the first beyond the end": func(b []byte) { order.PutUint32(b[blockFirst:], 4096) },
		"the next within itself":   func(b []byte) { order.PutUint32(b[blockHeader+packetNext:], 0) },
		"the next beyond the end":  func(b []byte) { order.PutUint32(b[blockHeader+packetNext:], 0xfffffff8) },
		"more kept than there is":  func(b []byte) { order.PutUint32(b[blockHeader+packetKept:], 0xffffffff) },
		"data within the header":   func(b []byte) { order.PutUint16(b[blockHeader+packetMAC:], 50) },
	} {
		b := blockOf(3, 0, 100)
		n := 0
		if err := eachPacket(b, func(*raw) error { n++; return nil }); err != nil || n != 3 {
			t.Fatalf("a sound block: %d packets, %v", n, err)
		}
		damage(b)
		if err := eachPacket(b, func(*raw) error { return nil }); !errors.Is(err, errRing) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzBlock(f *testing.F) {
	f.Add(blockOf(3, 0, 100))
	f.Add(blockOf(3, 0x51, 13))
	f.Add(blockOf(1, 0x11, 0))
	testseed.Fuzz(f, func(t *testing.T, block []byte) {
		if len(block) < blockHeader {
			return
		}
		n := 0
		_ = eachPacket(block, func(p *raw) error {
			if n++; n > len(block)/8 || len(p.data) > len(block) {
				t.Fatalf("%d packets, the last of %d bytes, in a block of %d", n, len(p.data), len(block))
			}
			return nil
		})
	})
}
