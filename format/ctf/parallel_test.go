package ctf

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"meridian/internal/testseed"
	"meridian/trace"
)

// readStream returns what a reader says of each event of its stream.
func readStream(r *Reader) []string {
	var all []string
	for r.Next() == nil {
		all = append(all, fmt.Sprint(r.Time(), r.Offset(), r.Packet().Sequence, r.Values()))
	}
	return all
}

func TestReadersSideBySideFindWhatReadersInTurnFind(t *testing.T) {
	m := metadataOf(t, smallTSDL)
	random := testseed.New(t)
	for round := range 20 {
		var streams [][]byte
		for cpu := range 4 {
			s := smallStream(t, m, 300, 320, round%2 == 0, uint64(cpu))
			// The first packet stays sound: Open asks it which trace the stream is of.
			for range random.IntN(8) {
				s[320+random.IntN(len(s)-320)] ^= 1 << random.IntN(8)
			}
			if random.IntN(3) == 0 {
				s = s[:320+random.IntN(len(s)-320)]
			}
			streams = append(streams, s)
		}
		dir := writeTrace(t, smallTSDL, streams...)
		read := func(beside bool) (events [][]string, tally Tally, warnings []string) {
			var w trace.Warnings
			tr, err := Open(dir, &w)
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			events = make([][]string, len(tr.Streams))
			var running sync.WaitGroup
			for i, s := range tr.Streams {
				r := s.Reader()
				if beside {
					running.Go(func() { events[i] = readStream(r) })
				} else {
					events[i] = readStream(r)
				}
			}
			running.Wait()
			warnings = w.Lines()
			slices.Sort(warnings) // streams tell in any order
			return events, tr.Tally(), warnings
		}
		want, wantTally, wantWarnings := read(false)
		got, tally, warnings := read(true)
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Fatalf("round %d, stream %d: other events side by side", round, i)
			}
		}
		if tally != wantTally || !slices.Equal(warnings, wantWarnings) {
			t.Fatalf("round %d: %+v %q, in turn %+v %q", round, tally, warnings, wantTally, wantWarnings)
		}
	}
}
