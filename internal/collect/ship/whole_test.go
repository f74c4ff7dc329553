package ship

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

func TestOnlyWholePacketsAreFoundHoweverAFileGrows(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		capture := rapid.Bool().Draw(t, "capture")
		name := "kernel_1_0"
		if capture {
			name = "packets/web.pcapng"
		}
		var file []byte
		ends := []int64{0}
		for range rapid.IntRange(1, 8).Draw(t, "packets") {
			var b []byte
			if capture {
				b = make([]byte, 4*rapid.IntRange(3, 50).Draw(t, "words"))
				binary.LittleEndian.PutUint32(b, 6)
				if len(file) == 0 {
					binary.LittleEndian.PutUint32(b, sectionType)
					binary.LittleEndian.PutUint32(b[8:], byteOrder)
				}
				binary.LittleEndian.PutUint32(b[4:], uint32(len(b)))
			} else {
				b = make([]byte, rapid.SampledFrom([]int{64, 200, 4096, walkBuffer - 10, walkBuffer, 3 * walkBuffer}).Draw(t, "bytes"))
				binary.LittleEndian.PutUint32(b, packetMagic)
				binary.LittleEndian.PutUint64(b[packetSize:], uint64(len(b))*8)
			}
			file = append(file, b...)
			ends = append(ends, int64(len(file)))
		}
		w := newWalker(name)
		for size := int64(0); ; {
			want := int64(0)
			for _, end := range ends {
				if end <= size {
					want = end
				}
			}
			got, err := w.walk(bytes.NewReader(file[:size]), size)
			if err != nil || got != want || w.foreign {
				t.Fatalf("%d, %v of %d bytes; whole are %d (foreign %v)", got, err, size, want, w.foreign)
			}
			if size == int64(len(file)) {
				return
			}
			size = min(size+rapid.Int64Range(1, int64(len(file))).Draw(t, "grows"), int64(len(file)))
		}
	})
}

func TestAllOfAFileThatNoRecorderWroteIsSent(t *testing.T) {
	for _, name := range []string{"kernel_1_0", "packets/web.pcapng"} {
		text := bytes.Repeat([]byte("no packets\n"), 20)
		if got, err := newWalker(name).walk(bytes.NewReader(text), int64(len(text))); err != nil || got != int64(len(text)) {
			t.Errorf("%s: %d of %d bytes, %v", name, got, len(text), err)
		}
	}
}
