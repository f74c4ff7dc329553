package record

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/sensor/ring"
	"meridian/trace"
)

// TestAProgramThatRecordsItselfIsNamed: this process writes a ring and reads it too, as with sensor.Record.
func TestAProgramThatRecordsItselfIsNamed(t *testing.T) {
	rings := t.TempDir()
	w, err := ring.Create(ring.Options{Dir: rings, Program: "app", Shards: 1, Clock: ring.Clock{Kind: uint32(clock.Monotonic), Frequency: 1e9}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Remove()
	reader, err := ring.Open(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var warnings trace.Warnings
	r, err := New(Options{Dir: filepath.Join(t.TempDir(), "trace"), Rings: []string{rings}, Warnings: &warnings})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // said once
		if _, err := r.open(w.Path()); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{fmt.Sprintf("app (process %d): records itself (sensor.Record): its events are in the trace that it writes; with sensor.Start they would be here", os.Getpid())}
	if got := warnings.Lines(); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestTheHolderOfALockIsTheProcessThatHasThatOfTheFile(t *testing.T) {
	const locks = `1: FLOCK  ADVISORY  WRITE 17126 00:1a:4711 0 EOF
1: -> FLOCK  ADVISORY  WRITE 17127 00:1a:4711 0 EOF
2: POSIX  ADVISORY  WRITE 17128 00:1a:4711 0 EOF
3: FLOCK  ADVISORY  WRITE 17129 00:1a:94711 0 EOF
`
	for pid, want := range map[int]bool{17126: true, 17127: false, 17128: false, 17129: false, 7126: false} {
		if got := holdsLock([]byte(locks), pid, 4711); got != want {
			t.Errorf("process %d: %v", pid, got)
		}
	}
}
