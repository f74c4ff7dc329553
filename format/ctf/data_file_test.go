package ctf

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/trace"
)

// readNumbers returns the first field of up to limit events, which numbers them.
func readNumbers(t *testing.T, s *Source, limit int) (numbers []uint64) {
	t.Helper()
	var e trace.Event
	for len(numbers) < limit {
		if err := s.Next(&e); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, s.Values()[0].Bits)
	}
	return numbers
}

// A file that is cut while it is read ends there: the process goes on, all events before the cut are read, and a warning names the file
// and the place. Every length is tried, at every packet boundary, within packets that are read at once and in pieces.
func TestAFileCutWhileItIsReadEndsThereWithAWarning(t *testing.T) {
	defer func(n int64) { readAhead = n }(readAhead)
	m := metadataOf(t, smallTSDL)
	const events, packet = 400, 1024
	sound := smallStream(t, m, events, packet, true, 0)
	for _, readAhead = range []int64{8, 100, 1500, 64 << 10} {
		for cut := 0; cut < len(sound); cut += 173 {
			dir := writeTrace(t, smallTSDL, sound)
			name := filepath.Join(dir, "channel0_0")
			var w trace.Warnings
			tr, err := Open(dir, &w)
			if err != nil {
				t.Fatal(err)
			}
			s := tr.Events()
			first := readNumbers(t, s, 7)
			if err := os.Truncate(name, int64(cut)); err != nil {
				t.Fatal(err)
			}
			all := append(first, readNumbers(t, s, events)...)
			s.Close()
			for i, n := range all {
				if n != uint64(i) {
					t.Fatalf("cut to %d: event %d has number %d", cut, i, n)
				}
			}
			// What was in the buffer when the file was cut is used as well.
			if len(all) < 7 || len(all) < events*(cut/packet*packet)/len(sound)-1 {
				t.Errorf("cut to %d: %d events", cut, len(all))
			}
			lines := strings.Join(w.Lines(), "\n")
			if len(all) < events && !strings.Contains(lines, name+": file was truncated while it was read") {
				t.Errorf("cut to %d, read ahead %d: %d events, warnings %q", cut, readAhead, len(all), lines)
			}
		}
	}
}

func TestWhatIsAppendedAfterOpeningIsNotRead(t *testing.T) {
	m := metadataOf(t, smallTSDL)
	sound := smallStream(t, m, 40, 320, true, 0)
	dir := writeTrace(t, smallTSDL, sound)
	var w trace.Warnings
	tr, err := Open(dir, &w)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "channel0_0"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(sound); err != nil {
		t.Fatal(err)
	}
	f.Close()
	s := tr.Events()
	defer s.Close()
	if n := len(readNumbers(t, s, 100)); n != 40 || len(w.Lines()) > 0 {
		t.Errorf("%d events, %q", n, w.Lines())
	}
}

// Bytes that change after they were read are no matter; bytes that change before make damage, not a crash and not events without end.
func TestReadingAFileThatIsOverwrittenEnds(t *testing.T) {
	defer func(n int64) { readAhead = n }(readAhead)
	m := metadataOf(t, smallTSDL)
	const events = 200
	sound := smallStream(t, m, events, 320, false, 0)
	for _, readAhead = range []int64{8, 64 << 10} {
		for _, filler := range []byte{0, 1, 0x80, 0xff} {
			dir := writeTrace(t, smallTSDL, sound)
			f, err := os.OpenFile(filepath.Join(dir, "channel0_0"), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			tr, err := Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := tr.Events()
			readNumbers(t, s, 7)
			if _, err := f.WriteAt(bytes.Repeat([]byte{filler}, len(sound)-400), 200); err != nil {
				t.Fatal(err)
			}
			f.Close()
			most := 8 * len(sound) // an event has at least a bit
			if n := len(readNumbers(t, s, most+1)); n > most {
				t.Errorf("read ahead %d, overwritten by %#x: %d events or more of %d bytes", readAhead, filler, n, len(sound))
			}
			s.Close()
		}
	}
}

// A packet that is longer than the buffer has the same events as one that is not, with their headers, contexts and offsets.
func TestLongPacketsAreReadInPieces(t *testing.T) {
	defer func(n int64) { readAhead = n }(readAhead)
	m := metadataOf(t, smallTSDL)
	dir := writeTrace(t, smallTSDL, smallStream(t, m, 3000, 1<<16, true, 0), smallStream(t, m, 3000, 1<<15, false, 1))
	read := func() string {
		tr, err := Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := tr.Events()
		defer s.Close()
		var b bytes.Buffer
		text := NewTextWriter(&b, s, time.UTC)
		var e trace.Event
		for s.Next(&e) == nil {
			if err := text.Event(); err != nil {
				t.Fatal(err)
			}
			_, header := s.Reader().Fields(PacketHeaderScope)
			_, context := s.Reader().Fields(PacketContextScope)
			if err := text.Flush(); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&b, s.Reader().Offset(), header, context)
		}
		return b.String()
	}
	whole := read()
	if n := strings.Count(whole, "\n"); n != 12000 {
		t.Fatalf("%d lines", n)
	}
	for _, readAhead = range []int64{1, 100, 4096} {
		if got := read(); got != whole {
			t.Errorf("read ahead %d: %d lines that differ", readAhead, strings.Count(got, "\n"))
		}
	}
}
