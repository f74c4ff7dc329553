//go:build unix

package record

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"meridian/clock"
	"meridian/sensor/ring"
)

// TestAProgramIsWholeFromItsFirstEvent, however long the recorder gets no processor: here it gets none until the program has emitted
// eight times what its own shards hold.
func TestAProgramIsWholeFromItsFirstEvent(t *testing.T) {
	const goroutines, events = 2, 16_000 // of some 35 bytes, in sub-buffers of 4 KiB
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	r, err := New(Options{Dir: dir, Rings: []string{rings}})
	if err != nil {
		t.Fatal(err)
	}
	p := program(t, "fast", rings, "GOROUTINES=2", "EVENTS=16000", "BUFFERS=16", "BUFFER_SIZE=4096")
	for _, n := range p.emitted(t) {
		if n != events {
			t.Fatalf("a goroutine has emitted %d", n)
		}
	}
	p.end(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s, err := r.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if s.Total.Lost != 0 {
		t.Errorf("%d events were lost", s.Total.Lost)
	}
	got := map[[2]int]int{}
	numbers(read(t, dir), p.Process.Pid, got)
	for g := range goroutines {
		for n := range events {
			if got[[2]int{g, n}] != 1 {
				t.Fatalf("event %d of goroutine %d is there %d times", n, g, got[[2]int{g, n}])
			}
		}
	}
}

// TestAPauseEndsWhenARingIsMade: a program that begins while nothing else is recorded is read at once.
func TestAPauseEndsWhenARingIsMade(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells of new rings (inotify)")
	}
	rings := t.TempDir()
	l := ring.Listen(rings)
	defer l.Close()
	r := &Recorder{listener: l}
	for _, pause := range []time.Duration{time.Millisecond, time.Hour} {
		w, err := ring.Create(ring.Options{Dir: rings, Shards: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Unmap()
		for !r.pause(t.Context(), pause) { // a short pause may end before the message has come
		}
	}
	if r.pause(t.Context(), 0) {
		t.Error("a ring was made, says a pause in which none was")
	}
}

// TestTheRecorderSaysThatItIsReady once, and when it is: what is emitted then is recorded.
func TestTheRecorderSaysThatItIsReady(t *testing.T) {
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	w, err := ring.Create(ring.Options{Dir: rings, Program: "there", Shards: 1, Spare: 1, Buffers: 2, BufferSize: 4096,
		Clock: ring.Clock{Kind: uint32(clock.Monotonic), Frequency: 1e9}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Unmap()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	said := 0
	r, err := New(Options{Dir: dir, Rings: []string{rings}, Interval: time.Millisecond,
		Ready: func() {
			if said++; said > 1 {
				t.Error("ready twice")
			}
			if _, err := ring.Open(w.Path()); err == nil {
				t.Error("ready, and the ring has no reader")
			}
		},
		Counts: func(Summary) {
			if said > 0 {
				cancel()
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if said != 1 {
		t.Errorf("ready %d times", said)
	}
}
