//go:build unix

package main

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"meridian/sensor/ring"
)

// Events of shard s are numbered from 1. The number is the stamp, and says how long the event is and what its bytes are, so
// that a torn event is seen whatever was torn.

const shards = 2

func eventSize(shard int, number uint64) int {
	return ring.HeadSize + int(scattered(shard, number)>>56)
}

// scattered makes a number of which all bits depend on all of the event's (the finaliser of MurmurHash3).
func scattered(shard int, number uint64) uint64 {
	x := number*shards + uint64(shard)
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// emit says whether there was room.
func emit(s *ring.Shard, id uint16, shard int, number uint64) bool {
	size := eventSize(shard, number)
	p := s.Reserve(size)
	if p == nil {
		return false
	}
	ring.PutHead(p, id, size, number)
	fill(unsafe.Slice((*byte)(unsafe.Add(p, ring.HeadSize)), size-ring.HeadSize), scattered(shard, number))
	s.Commit(size, number)
	return true
}

func fill(b []byte, x uint64) {
	for i := range b {
		b[i] = byte(x >> (i % 7 * 8))
		x += 0x9e3779b97f4a7c15
	}
}

// checked holds the events of a packet against what follows the given number, and returns the last one's. With 0 for
// the number before, a packet may begin anywhere.
func checked(shard int, events []byte, before uint64) (uint64, error) {
	var want [256]byte
	for b := events; len(b) > 0; {
		number, size := binary.LittleEndian.Uint64(b), int(binary.LittleEndian.Uint16(b[10:]))
		switch {
		case number != before+1 && (before != 0 || number == 0):
			return before, fmt.Errorf("shard %d: event %d behind event %d", shard, number, before)
		case size != eventSize(shard, number) || size > len(b):
			return before, fmt.Errorf("shard %d: event %d has %d bytes instead of %d", shard, number, size, eventSize(shard, number))
		}
		fields := want[:size-ring.HeadSize]
		fill(fields, scattered(shard, number))
		if string(fields) != string(b[ring.HeadSize:size]) {
			return before, fmt.Errorf("shard %d: event %d is torn: % x", shard, number, b[:size])
		}
		before, b = number, b[size:]
	}
	return before, nil
}
