// Package wire is what agents and servers say to each other over NATS: the subjects, chunks of files as they are published, and the answers
// as JSON. It keeps no connections and knows nothing of directories.
//
// A chunk is a range of one file of a host's trace, little endian:
//
//	 0  magic     "MRC1"
//	 4  kind      1 data, 2 document, 3 cut, 4 part of a document
//	 5  flags     bit 0: the bytes are compressed by zstd
//	 6  session   bytes of its name, uint16
//	 8  file      bytes of its name, uint16
//	10  0         uint16
//	12  size      bytes of the range before compression, uint32
//	16  offset    uint64: of the range in the file; of a document 0; of a cut the size that is left
//	24  checksum  CRC-32C of bytes 0 to 23, the names and the range before compression
//	28  names of session and file, then the range
//
// The range of a part begins with 8 bytes of its own: the CRC-32C of all of the document, and its size, uint32.
//
// The checksum is the agent's word: it covers the way from the agent's memory to the server's.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// Kind says what a chunk does to its file.
type Kind uint8

const (
	Data     Kind = 1 // bytes at an offset
	Document Kind = 2 // the whole of a file that is replaced as a whole
	Cut      Kind = 3 // the file has fewer bytes than the server
	Part     Kind = 4 // a range of a document that no message has room for; the last one replaces the file
)

// Limits of a chunk, bytes.
const (
	MaxRange = 8 << 20 // of a file, in one chunk
	headSize = 28
	// MaxOverhead is what a chunk has besides its range.
	MaxOverhead = headSize + maxSession + len(Folder) + 1 + maxElement
)

const (
	magic      = "MRC1"
	compressed = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Chunk is a range of a file.
type Chunk struct {
	Kind          Kind
	Session, File string
	Offset        int64
	Data          []byte // before compression
}

// Compressor makes bytes smaller; it appends to dst.
type Compressor interface {
	EncodeAll(src, dst []byte) []byte
}

// Decompressor is its reverse. It must refuse to produce more than max bytes.
type Decompressor interface {
	DecodeAll(src, dst []byte) ([]byte, error)
}

// Overhead is how many bytes a chunk has before its range.
func (c *Chunk) Overhead() int { return headSize + len(c.Session) + len(c.File) }

// Append appends a chunk as it is published. With a compressor the range is compressed if that makes it smaller.
func (c *Chunk) Append(dst []byte, z Compressor) []byte {
	at, start := len(dst), len(dst)+c.Overhead()
	dst = slices.Grow(dst, c.Overhead()+len(c.Data))[:start]
	flags := byte(0)
	if z != nil && len(c.Data) > 0 {
		if dst = z.EncodeAll(c.Data, dst); len(dst)-start < len(c.Data) {
			flags = compressed
		}
	}
	if flags == 0 {
		dst = append(dst[:start], c.Data...)
	}
	c.seal(dst[at:], flags)
	return dst
}

// Seal makes a chunk of b, as it is published. c.Data is the end of b, behind [Chunk.Overhead] bytes.
func (c *Chunk) Seal(b []byte) { c.seal(b, 0) }

// seal writes what is before the range.
func (c *Chunk) seal(b []byte, flags byte) {
	le := binary.LittleEndian
	copy(b, magic)
	b[4], b[5] = byte(c.Kind), flags
	le.PutUint16(b[6:], uint16(len(c.Session)))
	le.PutUint16(b[8:], uint16(len(c.File)))
	le.PutUint16(b[10:], 0)
	le.PutUint32(b[12:], uint32(len(c.Data)))
	le.PutUint64(b[16:], uint64(c.Offset))
	copy(b[headSize:], c.Session)
	copy(b[headSize+len(c.Session):], c.File)
	le.PutUint32(b[24:], checksum(b[:24], b[headSize:c.Overhead()], c.Data))
}

func checksum(head, names, data []byte) uint32 {
	return crc32.Update(crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, names), castagnoli, data)
}

// Parse reads a chunk. The range is within b, or else within scratch, into which compressed bytes are written; scratch may be nil.
func Parse(b []byte, z Decompressor, scratch []byte) (c Chunk, rest []byte, err error) {
	le := binary.LittleEndian
	if len(b) < headSize || string(b[:4]) != magic {
		return c, scratch, errors.New("no chunk: it does not begin with " + magic)
	}
	flags, session, file := b[5], int(le.Uint16(b[6:])), int(le.Uint16(b[8:]))
	size, offset := le.Uint32(b[12:]), le.Uint64(b[16:])
	body := b[headSize:]
	switch {
	case flags&^compressed != 0 || le.Uint16(b[10:]) != 0:
		return c, scratch, errors.New("a chunk with flags that are not known: its sender is newer")
	case size > MaxRange:
		return c, scratch, fmt.Errorf("a chunk of %d bytes, of which %d are permitted", size, MaxRange)
	case session+file > len(body):
		return c, scratch, errors.New("a chunk that ends within its names")
	case offset > 1<<62:
		return c, scratch, fmt.Errorf("a chunk at offset %d", offset)
	}
	c = Chunk{Kind: Kind(b[4]), Session: string(body[:session]), File: string(body[session : session+file]), Offset: int64(offset), Data: body[session+file:]}
	if err := c.check(); err != nil {
		return c, scratch, err
	}
	if flags&compressed != 0 {
		if scratch, err = z.DecodeAll(c.Data, scratch[:0]); err != nil {
			return c, scratch, fmt.Errorf("a chunk of %s: %w", c.File, err)
		}
		c.Data = scratch
	}
	if len(c.Data) != int(size) {
		return c, scratch, fmt.Errorf("a chunk of %s has %d bytes and says %d", c.File, len(c.Data), size)
	}
	if sum := checksum(b[:24], body[:session+file], c.Data); sum != le.Uint32(b[24:]) {
		return c, scratch, fmt.Errorf("a chunk of %s has checksum %08x and says %08x", c.File, sum, le.Uint32(b[24:]))
	}
	return c, scratch, nil
}

// check refuses what no agent sends.
func (c *Chunk) check() error {
	if err := CheckSession(c.Session); err != nil {
		return err
	}
	if err := CheckFile(c.File); err != nil {
		return err
	}
	document := c.File == Metadata
	switch {
	case c.Kind != Data && c.Kind != Document && c.Kind != Cut && c.Kind != Part:
		return fmt.Errorf("a chunk of kind %d, which is not known", c.Kind)
	case document != (c.Kind == Document || c.Kind == Part):
		return fmt.Errorf("a chunk of kind %d for %s", c.Kind, c.File)
	case c.Kind == Document && c.Offset != 0:
		return fmt.Errorf("a document at offset %d", c.Offset)
	}
	return nil
}
