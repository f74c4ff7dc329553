package shm

import (
	"testing"

	"meridian/internal/testseed"
)

// FuzzDecode decodes events as any program of the user may have written them into a ring: at least as long as a head, as Next demands.
func FuzzDecode(f *testing.F) {
	f.Add(make([]byte, atTexts))
	f.Add(append(make([]byte, atTexts), "web\x00row\x00cat\x00name\x00{}\x00"...))
	f.Add(append(make([]byte, atTexts), "no end"...))
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		if len(data) < atTexts {
			return
		}
		var e Event
		e.decode(data)
		n := 0
		for _, text := range [][]byte{e.Host, e.Row, e.Category, e.Name, e.Fields} {
			for _, b := range text {
				if b == 0 {
					t.Errorf("a zero within %q", text)
				}
			}
			n += len(text)
		}
		if n > len(data)-atTexts {
			t.Errorf("texts of %d bytes in an event of %d", n, len(data))
		}
	})
}
