package collect

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/zstd"

	"meridian/internal/collect/wire"
	"meridian/internal/testseed"
)

// FuzzChunkReader reads chunks one after the other with what earlier ones left in memory. Each is as a new reader has it, and none takes
// more than a range.
func FuzzChunkReader(f *testing.F) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	small := (&wire.Chunk{Kind: wire.Data, Session: "s", File: "k", Data: []byte("abc")}).Append(nil, nil)
	packed := (&wire.Chunk{Kind: wire.Data, Session: "s", File: "k", Offset: 3, Data: bytes.Repeat([]byte("abc"), 5000)}).Append(nil, z)
	f.Add(small, packed)
	f.Add(packed, small)
	f.Add(packed, packed[:len(packed)-3])
	used := new(chunkReader)
	testseed.Fuzz(f, func(t *testing.T, first, second []byte) {
		_, _ = used.parse(first)
		c, err := used.parse(second)
		other, otherErr := new(chunkReader).parse(second)
		if (err == nil) != (otherErr == nil) || err == nil && (c.File != other.File || c.Offset != other.Offset || !bytes.Equal(c.Data, other.Data)) {
			t.Errorf("%+v, %v; a new reader has %+v, %v", c, err, other, otherErr)
		}
		if len(c.Data) > wire.MaxRange || cap(used.scratch) > 2*wire.MaxRange {
			t.Errorf("%d bytes, %d in memory", len(c.Data), cap(used.scratch))
		}
	})
}
