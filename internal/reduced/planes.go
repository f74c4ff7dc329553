package reduced

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

var errEnded = errors.New("it ends before its packets")

// planeWriter takes the varints of a column of a block apart.
type planeWriter struct{ planes [maxVarint][]byte }

func (w *planeWriter) add(v uint64) {
	k := 0
	for v >= 0x80 {
		w.planes[k] = append(w.planes[k], byte(v)|0x80)
		v >>= 7
		k++
	}
	w.planes[k] = append(w.planes[k], byte(v))
}

// appendTo appends the planes, compressed, and empties them.
func (w *planeWriter) appendTo(b []byte, encoder *zstd.Encoder) []byte {
	n := 0
	for n < maxVarint && len(w.planes[n]) > 0 {
		n++
	}
	b = binary.AppendUvarint(b, uint64(n))
	for k := range n {
		packed := encoder.EncodeAll(w.planes[k], nil)
		b = append(binary.AppendUvarint(b, uint64(len(packed))), packed...)
		w.planes[k] = w.planes[k][:0]
	}
	return b
}

// planeReader puts the varints of a column together again.
type planeReader struct {
	planes [maxVarint][]byte
	at     [maxVarint]int
}

// read reads the planes of a block of so many packets.
func (r *planeReader) read(x *reader, size int) error {
	n, err := binary.ReadUvarint(x.in)
	if err != nil {
		return err
	}
	if n > maxVarint {
		return fmt.Errorf("%d planes, more than %d", n, maxVarint)
	}
	for k := range r.planes {
		r.planes[k], r.at[k] = r.planes[k][:0], 0
		if k >= int(n) {
			continue
		}
		length, err := binary.ReadUvarint(x.in)
		if err != nil {
			return err
		}
		if length > maxPlane {
			return fmt.Errorf("plane %d: %d bytes, more than %d", k, length, maxPlane)
		}
		x.packed.Reset()
		if _, err := io.CopyN(&x.packed, x.in, int64(length)); err != nil {
			return err
		}
		// A frame that would become larger than the plane is refused before it is decompressed.
		var header zstd.Header
		if err := header.Decode(x.packed.Bytes()); err != nil {
			return fmt.Errorf("plane %d: %w", k, err)
		}
		if !header.HasFCS || header.FrameContentSize > uint64(size) {
			return fmt.Errorf("plane %d: its length is not stated, or more than the %d of the packets", k, size)
		}
		if r.planes[k], err = x.decoder.DecodeAll(x.packed.Bytes(), r.planes[k]); err != nil {
			return fmt.Errorf("plane %d: %w", k, err)
		}
		if len(r.planes[k]) > size {
			return fmt.Errorf("plane %d: %d bytes for %d packets", k, len(r.planes[k]), size)
		}
	}
	return nil
}

// next returns the next varint of the column.
func (r *planeReader) next() (uint64, error) {
	var v uint64
	for k := range r.planes {
		if r.at[k] == len(r.planes[k]) {
			return 0, errEnded
		}
		b := r.planes[k][r.at[k]]
		r.at[k]++
		v |= uint64(b&0x7f) << (7 * k)
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, errors.New("a number of more than 64 bits")
}

// empty reports whether all was read.
func (r *planeReader) empty() bool {
	for k := range r.planes {
		if r.at[k] != len(r.planes[k]) {
			return false
		}
	}
	return true
}
