package ring

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unsafe"
)

// layout says how many of everything a file holds and where it lies.
type layout struct {
	size                                    uint64
	shardCount, bufferCount, bufferSize     int
	classCapacity, metadataSize             int
	overwrite                               bool
	classesAt, metadataAt, shardsAt, dataAt uint64
}

// shardSize returns the bytes of all sub-buffers of a shard, a power of two.
func (s *layout) shardSize() uint64 { return uint64(s.bufferCount) * uint64(s.bufferSize) }

func (s *layout) class(i int) uint64   { return s.classesAt + uint64(i)*classSize }
func (s *layout) control(i int) uint64 { return s.shardsAt + uint64(i)*controlSize }
func (s *layout) data(i int) uint64    { return s.dataAt + uint64(i)*s.shardSize() }

func pages(n uint64) uint64 { return (n + pageSize - 1) &^ (pageSize - 1) }

// place lays the parts one behind another.
func (s *layout) layOut() error {
	if err := s.check(); err != nil {
		return err
	}
	s.classesAt = headerSize
	s.metadataAt = pages(s.class(s.classCapacity))
	s.shardsAt = pages(s.metadataAt + uint64(s.metadataSize))
	s.dataAt = pages(s.control(s.shardCount))
	s.size = s.data(s.shardCount)
	if s.size > math.MaxInt {
		return fmt.Errorf("%d shards of %d sub-buffers of %d bytes are more than this machine can address", s.shardCount, s.bufferCount, s.bufferSize)
	}
	return nil
}

// check tells numbers that version 1 does not allow.
func (s *layout) check() error {
	power := func(n int) bool { return n > 0 && bits.OnesCount(uint(n)) == 1 }
	switch {
	case s.shardCount < 1 || s.shardCount > maxShards:
		return fmt.Errorf("%d shards; 1 to %d are possible", s.shardCount, maxShards)
	case s.bufferCount < minBuffers || s.bufferCount > maxBuffers || !power(s.bufferCount):
		return fmt.Errorf("%d sub-buffers a shard; %d to %d are possible, a power of two", s.bufferCount, minBuffers, maxBuffers)
	case s.bufferSize < minBuffer || s.bufferSize > maxBuffer || !power(s.bufferSize):
		return fmt.Errorf("sub-buffers of %d bytes; %d to %d are possible, a power of two", s.bufferSize, minBuffer, maxBuffer)
	case s.classCapacity < 1 || s.classCapacity > maxClasses:
		return fmt.Errorf("room for %d classes; 1 to %d are possible", s.classCapacity, maxClasses)
	case s.metadataSize < 1 || s.metadataSize > maxMetadata:
		return fmt.Errorf("room for %d bytes of metadata; 1 to %d are possible", s.metadataSize, maxMetadata)
	}
	return nil
}

func (s *layout) write(head []byte) {
	le := binary.LittleEndian
	copy(head, magic)
	le.PutUint32(head[atVersion:], version)
	le.PutUint32(head[atHeaderSize:], headerSize)
	le.PutUint64(head[atSize:], s.size)
	le.PutUint32(head[atShardCount:], uint32(s.shardCount))
	le.PutUint32(head[atBufferCount:], uint32(s.bufferCount))
	le.PutUint32(head[atBufferSize:], uint32(s.bufferSize))
	if s.overwrite {
		le.PutUint32(head[atMode:], 1)
	}
	le.PutUint32(head[atClassCapacity:], uint32(s.classCapacity))
	le.PutUint64(head[atMetadataSize:], uint64(s.metadataSize))
	le.PutUint64(head[atClasses:], s.classesAt)
	le.PutUint64(head[atMetadata:], s.metadataAt)
	le.PutUint64(head[atShards:], s.shardsAt)
	le.PutUint64(head[atData:], s.dataAt)
}

// readLayout reads the copy of a header that anybody may have written and believes what fits into a file of that size.
func readLayout(head []byte, fileSize int64) (layout, error) {
	le := binary.LittleEndian
	var s layout
	switch {
	case string(head[:len(magic)]) != magic:
		return s, fmt.Errorf("offset 0: not a ring of Meridian: the file begins with %q", head[:len(magic)])
	case le.Uint32(head[atVersion:]) != version:
		return s, fmt.Errorf("offset %d: version %d of the ring; this program reads version %d", atVersion, le.Uint32(head[atVersion:]), version)
	case le.Uint32(head[atHeaderSize:]) != headerSize:
		return s, fmt.Errorf("offset %d: header of %d bytes instead of %d", atHeaderSize, le.Uint32(head[atHeaderSize:]), headerSize)
	}
	limited := func(at int) int { return int(min(le.Uint32(head[at:]), math.MaxInt32)) }
	s.shardCount, s.bufferCount, s.bufferSize = limited(atShardCount), limited(atBufferCount), limited(atBufferSize)
	s.classCapacity = limited(atClassCapacity)
	s.metadataSize = int(min(le.Uint64(head[atMetadataSize:]), math.MaxInt32))
	if err := s.check(); err != nil {
		return s, fmt.Errorf("header: %w", err)
	}
	switch mode := le.Uint32(head[atMode:]); mode {
	case 0, 1:
		s.overwrite = mode == 1
	default:
		return s, fmt.Errorf("offset %d: unknown mode %d (version %d has 0 and 1)", atMode, mode, version)
	}
	s.size = le.Uint64(head[atSize:])
	if fileSize < headerSize || s.size != uint64(fileSize) || s.size > math.MaxInt {
		return s, fmt.Errorf("offset %d: the header says %d bytes, the file has %d", atSize, s.size, fileSize)
	}
	s.classesAt, s.metadataAt = le.Uint64(head[atClasses:]), le.Uint64(head[atMetadata:])
	s.shardsAt, s.dataAt = le.Uint64(head[atShards:]), le.Uint64(head[atData:])
	end := uint64(headerSize)
	for _, part := range []struct {
		name     string
		at, size uint64
	}{
		{"classes", s.classesAt, uint64(s.classCapacity) * classSize},
		{"metadata", s.metadataAt, uint64(s.metadataSize)},
		{"shards", s.shardsAt, uint64(s.shardCount) * controlSize},
		{"data", s.dataAt, uint64(s.shardCount) * s.shardSize()},
	} {
		if part.at < end || part.at%pageSize != 0 || part.at > s.size || part.size > s.size-part.at {
			return s, fmt.Errorf("header: %s at offset %d, %d bytes, do not lie within the file behind offset %d at a multiple of %d",
				part.name, part.at, part.size, end, pageSize)
		}
		end = part.at + part.size
	}
	return s, nil
}

// word32 and word64 are the numbers at an offset that writer and reader share.
func word32(mem []byte, at uint64) *uint32 { return (*uint32)(unsafe.Pointer(&mem[at : at+4][0])) }
func word64(mem []byte, at uint64) *uint64 { return (*uint64)(unsafe.Pointer(&mem[at : at+8][0])) }

// swapped tells a machine whose numbers are not little-endian.
func swapped() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) != 1 }
