package ctf

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"meridian/trace"
)

// span is a packet of a stream in a test: where it stands and the events in it.
type span struct {
	from, to int
	events   []uint64
}

// spansOf reads a sound stream.
func spansOf(t *testing.T, dir string) []span {
	t.Helper()
	var w trace.Warnings
	tr, err := Open(dir, &w)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	r := tr.Streams[0].Reader()
	var spans []span
	for r.Next() == nil {
		p := r.Packet()
		if n := len(spans); n == 0 || spans[n-1].from != int(p.Offset) {
			spans = append(spans, span{from: int(p.Offset), to: int(p.Offset) + int(p.Size/8)})
		}
		s := &spans[len(spans)-1]
		s.events = append(s.events, r.Values()[0].Uint())
	}
	if len(w.Lines()) > 0 {
		t.Fatal(w.Lines())
	}
	return spans
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

const smallEvents = 50

// damagedStreams calls check for a stream of packets of one size, read at once, and for one whose packets are as
// long as their events, read in pieces.
func damagedStreams(t *testing.T, check func(t *testing.T, sound []byte, spans []span, dir string)) {
	m := metadataOf(t, smallTSDL)
	for _, way := range []struct {
		fixed bool
		ahead int64
	}{{true, readAhead}, {false, 40}} {
		t.Run(fmt.Sprintf("fixed %v read ahead %d", way.fixed, way.ahead), func(t *testing.T) {
			defer func(n int64) { readAhead = n }(readAhead)
			readAhead = way.ahead
			sound := smallStream(t, m, smallEvents, 320, way.fixed, 0)
			dir := writeTrace(t, smallTSDL, sound)
			spans := spansOf(t, dir)
			if len(spans) < 4 {
				t.Fatalf("only %d packets", len(spans))
			}
			check(t, sound, spans, dir)
		})
	}
}

func TestAFlippedByteCostsNoPacketButItsOwn(t *testing.T) {
	damagedStreams(t, func(t *testing.T, sound []byte, spans []span, dir string) {
		name := filepath.Join(dir, "channel0_0")
		m := metadataOf(t, smallTSDL)
		silent := 0
		for at := range sound {
			if testing.Short() && at%5 != 0 {
				continue
			}
			for _, flip := range []byte{0xff, []byte{0x01, 0x10, 0x80}[at%3]} {
				data := bytes.Clone(sound)
				data[at] ^= flip
				if err := os.WriteFile(name, data, 0o644); err != nil {
					t.Fatal(err)
				}
				var w trace.Warnings
				tr, err := open(dir, m, "metadata", nil, &w)
				if err != nil {
					t.Fatal(err)
				}
				got := numbersOf(tr)
				told := strings.Join(w.Lines(), "\n")
				for _, s := range spans {
					for _, n := range s.events {
						if slices.Contains(got, n) {
							continue
						}
						if at < s.from || at >= s.to {
							t.Fatalf("byte %d flipped by %#x: event %d of the sound packet at %d is missing\n%s", at, flip, n, s.from, told)
						}
						if !strings.Contains(told, name) || !strings.Contains(told, "offset") {
							silent++
						}
						break
					}
				}
			}
		}
		// A number that is another number cannot be told from what was meant: four bytes of each event, flipped
		// twice. Nor, now and then, can a content that ends early.
		if silent > smallEvents*8+8 {
			t.Errorf("%d damages cost events without a word", silent)
		}
		if n := allocated(func() { numbers(t, dir, nil) }); n > 4<<20 {
			t.Errorf("%d bytes allocated", n)
		}
	})
}

func TestATruncatedStreamKeepsItsWholePackets(t *testing.T) {
	damagedStreams(t, func(t *testing.T, sound []byte, spans []span, dir string) {
		name := filepath.Join(dir, "channel0_0")
		for size := range sound {
			if testing.Short() && size%5 != 0 {
				continue
			}
			if err := os.WriteFile(name, sound[:size], 0o644); err != nil {
				t.Fatal(err)
			}
			var w trace.Warnings
			var got []uint64
			if n := allocated(func() { got = numbers(t, dir, &w) }); n > 4<<20 {
				t.Fatalf("%d bytes allocated for %d", n, size)
			}
			whole := true
			var want []uint64
			for _, s := range spans {
				if s.to <= size {
					want = append(want, s.events...)
				}
				whole = whole && (size <= s.from || size >= s.to)
			}
			if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
				t.Fatalf("%d bytes: events %v, want %v", size, got, want)
			}
			if told := strings.Join(w.Lines(), "\n"); whole == strings.Contains(told, "offset") || !whole && !strings.Contains(told, name) {
				t.Fatalf("%d bytes: %q", size, told)
			}
		}
	})
}

func TestATruncatedPacketGivesTheEventsItStillHas(t *testing.T) {
	m := metadataOf(t, smallTSDL)
	data := smallStream(t, m, 40, 1<<20, false, 0)
	for _, cut := range []int{1, 100, 300} {
		var w trace.Warnings
		if got := numbers(t, writeTrace(t, smallTSDL, data[:len(data)-cut]), &w); len(got) < 39-cut/8 || len(got) > 39 {
			t.Errorf("%d bytes cut off: %d events", cut, len(got))
		}
	}
}

func TestDamagedMetadataNeverBreaksTheReader(t *testing.T) {
	m := metadataOf(t, smallTSDL)
	data := smallStream(t, m, 10, 4096, false, 0)
	dir := writeTrace(t, smallTSDL, data)
	name := filepath.Join(dir, "metadata")
	for at := 0; at < len(smallTSDL); at += 3 {
		text := []byte(smallTSDL)
		text[at] ^= 0x15
		if at%2 == 0 {
			text = text[:at]
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
		var w trace.Warnings
		n := allocated(func() {
			tr, err := Open(dir, &w)
			if err != nil {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("byte %d: %v", at, err)
				}
				return
			}
			s := tr.Events()
			defer s.Close()
			var e trace.Event
			for events := 0; s.Next(&e) == nil; events++ {
				s.Values()
				if events > 8*len(data) {
					t.Fatalf("byte %d: no end", at)
				}
			}
		})
		if n > 64<<20 {
			t.Errorf("byte %d: %d bytes allocated", at, n)
		}
	}
}

// otherTSDL describes a trace that is laid out as the small one but has another UUID.
var otherTSDL = strings.Replace(smallTSDL, "6a0e1a8e-1d5c-4b7f", "6a0e1a8e-1d5c-4b80", 1)

func TestAStreamOfAnotherTraceIsRefused(t *testing.T) {
	other := smallStream(t, metadataOf(t, strings.Replace(otherTSDL, "6a0e", "7b1f", 1)), 20, 320, true, 0)
	own := smallStream(t, metadataOf(t, smallTSDL), 20, 320, true, 1)
	dir := writeTrace(t, smallTSDL, own, other)
	_, err := Open(dir, nil)
	if err == nil {
		t.Fatal("opened")
	}
	for _, part := range []string{filepath.Join(dir, "channel0_1"), "7b1f1a8e-1d5c-4b80-9a53-3f1d6f0a9b11", "6a0e1a8e-1d5c-4b7f-9a53-3f1d6f0a9b11"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: no %s", err, part)
		}
	}
}

// A byte of the only packet's UUID may be damage; the rest of the trace is read.
func TestADamagedUUIDIsNotAnotherTraces(t *testing.T) {
	own := smallStream(t, metadataOf(t, smallTSDL), 20, 320, true, 0)
	one := smallStream(t, metadataOf(t, smallTSDL), 3, 320, true, 1)
	one[4] ^= 0xff
	var w trace.Warnings
	tr := openTrace(t, &w, smallTSDL, own, one)
	s := tr.Events()
	if n := len(readNumbers(t, s, 100)); n != 20 || tr.Tally().Damaged != 1 {
		t.Errorf("%d events, %+v", n, tr.Tally())
	}
}

// Packets of another trace among those of this one are skipped, each is counted, and all others are read.
func TestPacketsOfAnotherTraceAreSkippedAndCounted(t *testing.T) {
	own := smallStream(t, metadataOf(t, smallTSDL), 20, 320, true, 0)
	other := smallStream(t, metadataOf(t, otherTSDL), 25, 320, true, 0)
	packets := int64(len(other) / 320)
	if packets < 3 || len(other)%320 != 0 {
		t.Fatal(len(other))
	}
	for _, stream := range [][]byte{slices.Concat(own, other), slices.Concat(other, own), slices.Concat(own[:320], other, own[320:])} {
		var w trace.Warnings
		tr := openTrace(t, &w, smallTSDL, stream)
		s := tr.Events()
		got := readNumbers(t, s, 100)
		if len(got) != 20 || tr.Tally().Damaged != packets {
			t.Errorf("%d events, %+v", len(got), tr.Tally())
		}
		for i, n := range got {
			if n != uint64(i) {
				t.Errorf("event %d has number %d", i, n)
			}
		}
		lines := strings.Join(w.Lines(), "\n")
		if !strings.Contains(lines, "channel0_0: invalid packet skipped: UUID of another trace (") || !strings.Contains(lines, fmt.Sprintf("(%d times", packets)) {
			t.Errorf("%q", lines)
		}
	}
}
