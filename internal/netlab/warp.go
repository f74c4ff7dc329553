//go:build unix

package netlab

import (
	"encoding/binary"
	"fmt"
	"os"

	"meridian/clock"
	"meridian/internal/sim"
)

// Warp copies a classic capture file and gives each packet the stamp that the clock shows at its instant. The stamps
// of the source are the truth. The copy has nanoseconds, whatever the source has; all else is equal, byte by byte. It
// shares no code with the reader under test.
func Warp(source, target string, c sim.Clock) error {
	if err := c.Check(); err != nil {
		return err
	}
	b, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if err := restamp(b, c.At); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	return os.WriteFile(target, b, 0o644)
}

// Layout of a capture file (draft-ietf-opsawg-pcap): a header of 24 bytes that begins with the magic number, then for
// each packet seconds, fraction, captured length and length on the wire, of 32 bits each, and the captured bytes.
const (
	fileHeader   = 24
	packetHeader = 16
	magicMicros  = 0xa1b2c3d4
	magicNanos   = 0xa1b23c4d
)

// restamp applies a function to all stamps of a capture file and makes it one of nanoseconds, in place.
func restamp(b []byte, shown func(clock.TimelineTime) clock.HostTime) error {
	if len(b) < fileHeader {
		return fmt.Errorf("not a capture file: %d bytes", len(b))
	}
	var order binary.ByteOrder = binary.LittleEndian
	if first := order.Uint32(b); first != magicMicros && first != magicNanos {
		order = binary.BigEndian
	}
	unit := int64(1)
	switch order.Uint32(b) {
	case magicMicros:
		unit = 1000
		order.PutUint32(b, magicNanos)
	case magicNanos:
	default:
		return fmt.Errorf("not a classic pcap file: begins with %x", b[:4])
	}
	for at := fileHeader; at < len(b); {
		if len(b)-at < packetHeader {
			return fmt.Errorf("cut short at offset %d", at)
		}
		header := b[at : at+packetHeader]
		instant := clock.TimelineTime(int64(order.Uint32(header))*1e9 + int64(order.Uint32(header[4:]))*unit)
		stamp := shown(instant)
		if stamp < 0 || stamp>>32 >= 1e9 {
			return fmt.Errorf("packet at offset %d: stamp %d out of range", at, stamp)
		}
		order.PutUint32(header, uint32(int64(stamp)/1e9))
		order.PutUint32(header[4:], uint32(int64(stamp)%1e9))
		length := int(order.Uint32(header[8:]))
		if len(b)-at-packetHeader < length {
			return fmt.Errorf("packet at offset %d: cut short", at)
		}
		at += packetHeader + length
	}
	return nil
}
