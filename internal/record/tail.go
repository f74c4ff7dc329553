package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// sensorFiles is the prefix of the names of files with packets of rings.
const sensorFiles = "sensor_"

// Offsets in a packet of a ring, of the fields before the first string.
const (
	packetMagic  = 0xc1fc1fc1
	atTrace      = 4
	atStream     = 20
	atShard      = 24
	atBegin      = 32
	atEnd        = 40
	atContent    = 48
	atSize       = 56
	atSequence   = 64
	atDiscarded  = 72
	atChecksum   = 80
	atRing       = 84
	atPosition   = 100
	packetFields = 108 // then row, row_kind, row_id and the events
)

// tailKey is a shard of a ring.
type tailKey struct {
	ring  [16]byte
	shard uint64
}

// tail is the end of the whole packets of a file.
type tail struct {
	path                string // "" if the file is not continued
	size                int64  // of the whole packets
	packets             int
	ring                [16]byte
	shard               uint64
	stream              uint32
	position            uint64 // in the shard, after the last event
	last                uint64 // stamp
	sequence, discarded uint64
}

// readTail returns the tail of a file and the size of what follows it. With repair it cuts that off.
func readTail(path string, uuid [16]byte, repair bool) (at tail, cut int64, err error) {
	mode := os.O_RDONLY
	if repair {
		mode = os.O_RDWR
	}
	f, err := os.OpenFile(path, mode, 0)
	if err != nil {
		return at, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return at, 0, err
	}
	var before tail
	for head := make([]byte, packetFields); ; {
		next, err := at.next(f, head, info.Size(), uuid)
		if err != nil {
			return at, 0, fmt.Errorf("%s: offset %d: %w", path, at.size, err)
		}
		if next.size == at.size {
			break
		}
		before, at = at, next
	}
	if at.packets > 0 {
		if ok, err := whole(f, before.size, at.size); err != nil {
			return at, 0, fmt.Errorf("%s: offset %d: %w", path, before.size, err)
		} else if !ok {
			at = before
		}
	}
	cut = info.Size() - at.size
	if cut > 0 && repair {
		if err := f.Truncate(at.size); err != nil {
			return at, 0, err
		}
	}
	return at, cut, nil
}

// next returns the tail with one more packet, or the same if the next packet is not whole.
func (at tail) next(f io.ReaderAt, head []byte, size int64, uuid [16]byte) (tail, error) {
	if size-at.size < packetFields {
		return at, nil
	}
	if _, err := f.ReadAt(head, at.size); err != nil {
		return at, err
	}
	le := binary.LittleEndian
	length := le.Uint64(head[atSize:])
	if le.Uint32(head) != packetMagic || length%8 != 0 || length/8 < packetFields || length/8 > uint64(size-at.size) {
		return at, nil
	}
	if [16]byte(head[atTrace:]) != uuid {
		return at, errors.New("a packet of another trace")
	}
	high, low := le.Uint64(head[atRing:]), le.Uint64(head[atRing+8:])
	ring := [16]byte(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, high), low))
	stream, shard := le.Uint32(head[atStream:]), le.Uint64(head[atShard:])
	if at.packets > 0 && (ring != at.ring || stream != at.stream || shard != at.shard) {
		return at, errors.New("a packet of another ring or shard than the one before")
	}
	return tail{
		size: at.size + int64(length/8), packets: at.packets + 1, ring: ring, shard: shard, stream: stream,
		position: le.Uint64(head[atPosition:]), last: le.Uint64(head[atEnd:]),
		sequence: le.Uint64(head[atSequence:]) + 1, discarded: le.Uint64(head[atDiscarded:]),
	}, nil
}

// maxPacket bounds what is read at once: a sub-buffer of 16 MiB and the fields before its events.
const maxPacket = 1<<24 + 1<<12

// whole reports whether the checksum of the packet between two offsets is right.
func whole(f io.ReaderAt, from, to int64) (bool, error) {
	if to-from > maxPacket {
		return false, nil
	}
	b := make([]byte, to-from)
	if _, err := f.ReadAt(b, from); err != nil {
		return false, err
	}
	content := binary.LittleEndian.Uint64(b[atContent:]) / 8
	if content < packetFields || content > uint64(len(b)) {
		return false, nil
	}
	events := b[packetFields:content]
	for range 2 { // row, row_kind
		n := 0
		for n < len(events) && events[n] != 0 {
			n++
		}
		if n == len(events) {
			return false, nil
		}
		events = events[n+1:]
	}
	if len(events) < 8 {
		return false, nil
	}
	return crc32.Checksum(events[8:], castagnoli) == binary.LittleEndian.Uint32(b[atChecksum:]), nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
