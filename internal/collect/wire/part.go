package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// PartHead is how many bytes of a [Part] are not of the document.
const PartHead = 8

// DocumentPart is the content of a chunk of kind [Part].
type DocumentPart struct {
	Sum  uint32 // CRC-32C of all of the document
	Size int64  // of all of it
	Data []byte // from the chunk's offset on
}

// Append appends the data of the chunk.
func (p *DocumentPart) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.Sum)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(p.Size))
	return append(dst, p.Data...)
}

// ParsePart reads it. Data is within that of the chunk.
func ParsePart(c *Chunk) (p DocumentPart, err error) {
	if len(c.Data) <= PartHead {
		return p, errors.New("a part of a document without content")
	}
	p = DocumentPart{Sum: binary.LittleEndian.Uint32(c.Data), Size: int64(binary.LittleEndian.Uint32(c.Data[4:])), Data: c.Data[PartHead:]}
	if p.Size > MaxRange || c.Offset < 0 || c.Offset > p.Size-int64(len(p.Data)) {
		return p, fmt.Errorf("%d bytes at %d of a document of %d bytes, of which %d are permitted", len(p.Data), c.Offset, p.Size, MaxRange)
	}
	return p, nil
}
