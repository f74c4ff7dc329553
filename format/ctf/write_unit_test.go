package ctf

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"meridian/internal/testseed"
	"meridian/trace"
)

// TestPacketsThatAreFlushedEarlyShareAPageAndCrossNone writes events of random sizes with random flushes between them.
func TestPacketsThatAreFlushedEarlyShareAPageAndCrossNone(t *testing.T) {
	random := testseed.New(t)
	const page, unit = 4096, 256
	m := usualMetadata()
	m.Streams[0].Events = []EventClass{{Name: "e", Payload: structType(Field{"s", kindType(CString)})}}
	var out bytes.Buffer
	sizes := &writes{to: &out}
	w, err := NewEncoder(m).NewStream(sizes, 0, StreamOptions{PacketSize: page, Fixed: true, Unit: unit})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 3000 {
		text := strings.Repeat("x", 1+random.IntN(100)) // of an empty string babeltrace2 2.0 shows the one before, now and then
		if random.IntN(50) == 0 {
			text = strings.Repeat("y", 1+random.IntN(3000))
		}
		if err := w.Write(0, uint64(i), nil, nil, []trace.Value{trace.OfText(text)}); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("{ s = %q }", text))
		if random.IntN(4) == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	at, shared := 0, 0
	for _, n := range sizes.sizes {
		if n%unit != 0 || at/page != (at+n-1)/page {
			t.Fatalf("a packet of %d bytes at offset %d", n, at)
		}
		if at%page != 0 {
			shared++
		}
		at += n
	}
	if shared < len(sizes.sizes)/2 {
		t.Errorf("only %d of %d packets share a page", shared, len(sizes.sizes))
	}
	var got []string
	for _, line := range babeltrace(t, save(t, m, out.Bytes()), "--no-delta") {
		if _, fields, ok := strings.Cut(line, "{ cpu_id = 0 }, "); ok {
			got = append(got, fields)
		}
	}
	sameLines(t, got, want)
	// An event larger than a page takes as many as it needs, and the next packet begins at a page.
	for _, text := range []string{strings.Repeat("z", 5000), "after"} {
		if err := w.Write(0, 1<<40, nil, nil, []trace.Value{trace.OfText(text)}); err != nil {
			t.Fatal(err)
		}
	}
	before := at
	for _, n := range sizes.sizes[len(sizes.sizes)-1:] {
		before += n
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := out.Len(); got%unit != 0 || got < before {
		t.Errorf("%d bytes", got)
	}
}
