package packet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// Types of the blocks of a File.
const (
	sectionBlock   = 0x0a0d0d0a
	interfaceBlock = 1
	countsBlock    = 5
	packetBlock    = 6

	byteOrder = 0x1a2b3c4d
	maxBlock  = 1 << 24 // far above those of a File
)

var le = binary.LittleEndian

// CutTorn cuts off the torn block that a killed writer of a File has left, and returns its size. Readers return the packets before
// it, but many report an error: tshark and capinfos then fail, which ends scripts. A file whose comment own does not accept
// is left as it is, and so is a file that is damaged in another way: it may not be of this program's writing. An empty file,
// whose writer was killed while creating it, is removed.
//
// If the last block is whole by its two lengths, as mostly, nothing else is read.
func CutTorn(path string, own func(comment string) bool) (cut int64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	if size == 0 {
		return 0, os.Remove(path)
	}
	if comment, ok := commentOf(f, size); !ok || !own(comment) || endsWhole(f, size) {
		return 0, nil
	}
	at, err := lastWhole(f, size)
	if err != nil || at == size {
		return 0, err
	}
	return size - at, f.Truncate(at)
}

// commentOf returns the comment of a file's section; ok is false for a section that Create does not write.
func commentOf(f io.ReaderAt, size int64) (string, bool) {
	var head [28]byte
	if _, err := f.ReadAt(head[:], 0); err != nil || le.Uint32(head[:]) != sectionBlock || le.Uint32(head[8:]) != byteOrder {
		return "", false
	}
	length, code, n := int64(le.Uint32(head[4:])), le.Uint16(head[24:]), int64(le.Uint16(head[26:]))
	if length > size || code != 1 || 28+n > length {
		return "", false
	}
	b := make([]byte, n)
	_, err := f.ReadAt(b, 28)
	return string(b), err == nil
}

// endsWhole reports whether the last block is whole by its two lengths.
func endsWhole(f io.ReaderAt, size int64) bool {
	var b [8]byte
	if _, err := f.ReadAt(b[:4], size-4); err != nil {
		return false
	}
	length := int64(le.Uint32(b[:]))
	if length < 12 || length > maxBlock || length > size {
		return false
	}
	_, err := f.ReadAt(b[:], size-length)
	return err == nil && written(le.Uint32(b[:])) && int64(le.Uint32(b[4:])) == length
}

func written(kind uint32) bool {
	return kind == sectionBlock || kind == interfaceBlock || kind == countsBlock || kind == packetBlock
}

// lastWhole returns the end of the last whole block if the beginning of another follows it, else the size.
func lastWhole(f io.ReaderAt, size int64) (int64, error) {
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, size), 1<<20)
	for at := int64(0); at < size; {
		head, err := r.Peek(8)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if len(head) >= 4 && !written(le.Uint32(head)) {
			return size, nil
		}
		if len(head) < 8 {
			return at, nil
		}
		length := int64(le.Uint32(head[4:]))
		switch {
		case length < 12 || length%4 != 0 || length > maxBlock:
			return size, nil
		case length > size-at:
			return at, nil
		}
		if _, err := r.Discard(int(length) - 4); err != nil {
			return 0, err
		}
		var trailer [4]byte
		if _, err := io.ReadFull(r, trailer[:]); err != nil {
			return 0, err
		}
		if int64(le.Uint32(trailer[:])) != length {
			return size, nil
		}
		at += length
	}
	return size, nil
}
