package ctf

import (
	"encoding/binary"
	"path/filepath"
	"slices"

	"meridian/format/internal/files"
)

// indexEntry is where a packet stands, as LTTng's index of the file says.
type indexEntry struct {
	offset, size int64 // bytes
}

// LTTng writes beside each stream file F a file index/F.idx, all of it big-endian:
//
//	u32 magic | u32 major | u32 minor | u32 length of an entry
//	entries: u64 offset in bytes | u64 packet size in bits | u64 content size in bits | u64 begin | u64 end |
//	         u64 events discarded | u64 stream class | from 1.1 on: u64 stream | u64 sequence number
const (
	indexMagic  = 0xC1F1DCC1
	indexHeader = 16
	indexFields = 56
)

// readIndex reads the index of the stream file at path. It is nil without a valid one: packets are then found
// by their headers, which say the same.
func readIndex(path string, fileSize int64) []indexEntry {
	name := filepath.Join(filepath.Dir(path), "index", filepath.Base(path)+".idx")
	info, err := files.Stat(name)
	// A packet has at least a byte, an entry at least 56.
	if err != nil || !info.Mode().IsRegular() || info.Size() < indexHeader || info.Size()/indexFields > fileSize+1 {
		return nil
	}
	data, err := files.ReadFile(name)
	if err != nil {
		return nil
	}
	return parseIndex(data, fileSize)
}

func parseIndex(data []byte, fileSize int64) []indexEntry {
	if len(data) < indexHeader || binary.BigEndian.Uint32(data) != indexMagic || binary.BigEndian.Uint32(data[4:]) != 1 {
		return nil
	}
	length := int64(binary.BigEndian.Uint32(data[12:]))
	if length < indexFields {
		return nil
	}
	var entries []indexEntry
	end := uint64(0)
	for data = data[indexHeader:]; int64(len(data)) >= length; data = data[length:] {
		offset, size := binary.BigEndian.Uint64(data), binary.BigEndian.Uint64(data[8:])
		if size == 0 || size%8 != 0 || offset < end || offset >= uint64(fileSize) || size/8 > uint64(fileSize)-offset {
			return nil
		}
		end = offset + size/8
		entries = append(entries, indexEntry{int64(offset), int64(size / 8)})
	}
	return entries
}

// nextPacketInIndex returns the offset of the first packet after offset, or -1.
func nextPacketInIndex(entries []indexEntry, offset int64) int64 {
	i, _ := slices.BinarySearchFunc(entries, offset+1, func(e indexEntry, at int64) int {
		switch {
		case e.offset < at:
			return -1
		case e.offset > at:
			return 1
		}
		return 0
	})
	if i < len(entries) {
		return entries[i].offset
	}
	return -1
}
