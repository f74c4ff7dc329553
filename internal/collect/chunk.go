package collect

import (
	"github.com/klauspost/compress/zstd"

	"meridian/internal/collect/wire"
)

// chunkReader reads chunks one after the other. A chunk is valid until the next is read. What it keeps is taken from a pool: hosts are many, those
// of which a chunk is being read are few.
type chunkReader struct {
	z       *zstd.Decoder
	scratch []byte
}

func (r *chunkReader) parse(b []byte) (c wire.Chunk, err error) {
	c, r.scratch, err = wire.Parse(b, r, r.scratch)
	return c, err
}

// DecodeAll has a decoder of its own from the first compressed chunk on.
func (r *chunkReader) DecodeAll(src, dst []byte) ([]byte, error) {
	if r.z == nil {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(wire.MaxRange))
		if err != nil {
			return nil, err
		}
		r.z = z
	}
	return r.z.DecodeAll(src, dst)
}
