package demo

import (
	"bufio"
	"bytes"
	"testing"

	"meridian/internal/testseed"
)

// FuzzReadFrame reads what another process of the demo sends. Each frame takes the bytes that its length says, which follow one another.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{0, 3, 1, 'a', 'b', 0, 1, 2})
	f.Add([]byte{0, 0})
	f.Add([]byte{0xff, 0xff, 1})
	f.Add([]byte{0, 9, 1})
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		in := bufio.NewReaderSize(bytes.NewReader(data), 2+demoMaxFrame)
		for rest := data; ; {
			k, body, err := readFrame(in)
			if err != nil {
				return
			}
			n := 3 + len(body)
			if n > len(rest) || len(body)+1 > demoMaxFrame || rest[2] != byte(k) || !bytes.Equal(rest[3:n], body) {
				t.Fatalf("%d bytes of %d: kind %d, %q", n, len(rest), k, body)
			}
			rest = rest[n:]
		}
	})
}
