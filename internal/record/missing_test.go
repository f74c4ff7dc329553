package record

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"meridian/clock"
	"meridian/internal/retention"
	"meridian/internal/testseed"
	"meridian/trace"
)

// TestACopyKnowsWhatItLacksOfWhatWasDropped copies files while their chunks come and go, some of them not or in part, as an agent does whose
// servers are away. What a reader of the copy finds and what the copy lacks is all there was.
func TestACopyKnowsWhatItLacksOfWhatWasDropped(t *testing.T) {
	random := testseed.New(t)
	for _, c := range []struct {
		events int
		known  bool // each chunk that was dropped is named by an event that is left
	}{{20000, true}, {150000, false}} {
		t.Run(fmt.Sprint(c.events, " events"), func(t *testing.T) {
			dir, copied := filepath.Join(t.TempDir(), "trace"), filepath.Join(t.TempDir(), "copy")
			if err := os.Mkdir(copied, 0o777); err != nil {
				t.Fatal(err)
			}
			total := recordAndCopy(t, random, dir, copied, c.events)
			for _, of := range []string{dir, copied} {
				found := 0
				scan(t, of, func(*trace.Event, trace.Source) { found++ })
				d, some, err := retention.Missing(of)
				if err != nil || !some || d.All.Packets == 0 {
					t.Fatalf("%s: %+v, %v, %v", of, d, some, err)
				}
				retained := 0
				if err := retention.Each(of, func(*retention.Dropped) error { retained++; return nil }); err != nil {
					t.Fatal(err)
				}
				missing := total - (found - retained)
				if exact := c.known || of == dir; exact && int(d.All.Events) != missing || int(d.All.Events) < missing {
					t.Errorf("%s: %d events are missing of %d, and %d are said to be", of, missing, total, d.All.Events)
				}
			}
		})
	}
}

// recordAndCopy records events with few of them kept, and returns how many. Chunks come to the copy whole, in part or not at all.
func recordAndCopy(t *testing.T, random *rand.Rand, dir, copied string, events int) int {
	t.Helper()
	tr, err := openTrace(&Options{Dir: dir, Warnings: new(trace.Warnings)}, clock.Take(clock.Monotonic))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	if tr.keeper, err = newKeeper(tr, &Options{Keep: Keep{Bytes: MinKeepBytes}}); err != nil {
		t.Fatal(err)
	}
	tr.keeper.bytes, tr.keeper.keep.Bytes = 8<<10, 64<<10
	w, err := newSourceWriter(tr, &lossySource{}, time.Millisecond)
	if err == nil {
		err = tr.writeMetadata()
	}
	if err != nil {
		t.Fatal(err)
	}
	share, whole := map[string]float64{}, false // of a file that comes to the copy
	update := func() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name()[0] == '.' {
				continue
			}
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if _, known := share[e.Name()]; !known && !whole && e.Name()[0] == 'k' {
				share[e.Name()] = []float64{0, 1, 1, random.Float64()}[random.IntN(4)]
			} else if !known {
				share[e.Name()] = 1
			}
			if s := share[e.Name()]; s > 0 {
				err = os.WriteFile(filepath.Join(copied, e.Name()), b[:int(s*float64(len(b)))], 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range events {
		if err := w.take(&Event{Stamp: uint64(clock.Monotonic.Now()), Values: []trace.Value{trace.OfText("of some length"), trace.OfInt(int64(i))}}); err != nil {
			t.Fatal(err)
		}
		if i%200 == 0 {
			if err := w.flush(false); err != nil {
				t.Fatal(err)
			}
			if events < 100000 || random.IntN(300) == 0 { // else the agent is away for most of the time
				update()
			}
		}
	}
	if err := errors.Join(w.rows.flush(), w.finish(), tr.keeper.close()); err != nil {
		t.Fatal(err)
	}
	clear(share) // what is left comes whole
	whole = true
	update()
	return events
}
