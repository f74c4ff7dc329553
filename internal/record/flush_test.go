package record

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"meridian/clock"
	"meridian/trace"
)

// trickle is a source of few events: one for each value of next.
type trickle struct {
	fakeKernel
	next chan struct{}
}

func (k *trickle) Read(ctx context.Context, each func(*Event) error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.next:
		}
		values := []trace.Value{trace.OfText("web"), trace.OfInt(1)}
		if err := each(&Event{Stamp: uint64(clock.Monotonic.Now()), Values: values}); err != nil {
			return err
		}
	}
}

// TestATrickleIsInTheFilesWithinFlush waits for each of some events of a source before the next one is emitted, in virtual time.
func TestATrickleIsInTheFilesWithinFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const flush = 10 * time.Millisecond
		dir := filepath.Join(t.TempDir(), "trace")
		tr, err := openTrace(&Options{Dir: dir, Warnings: new(trace.Warnings)}, clock.Take(clock.Monotonic))
		if err != nil {
			t.Fatal(err)
		}
		defer tr.close()
		k := &trickle{next: make(chan struct{})}
		w, err := newSourceWriter(tr, k, flush)
		if err == nil {
			err = tr.writeMetadata()
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- w.run(ctx) }()
		size := func() int64 {
			paths, _ := filepath.Glob(filepath.Join(dir, "kernel_*_0"))
			if len(paths) == 0 {
				return 0
			}
			info, err := os.Stat(paths[0])
			if err != nil {
				t.Fatal(err)
			}
			return info.Size()
		}
		const events = 21
		for range events {
			before := size()
			k.next <- struct{}{}
			time.Sleep(flush)
			if synctest.Wait(); size() == before {
				t.Fatalf("an event is not in the file after %v", flush)
			}
			time.Sleep(700 * time.Microsecond) // the next comes at another instant between two flushes
		}
		cancel()
		if err := errors.Join(<-over, w.finish()); err != nil {
			t.Fatal(err)
		}
		if n := len(read(t, dir)); n != events {
			t.Errorf("%d events", n)
		}
	})
}

// TestEverySourceGetsTheFlushOfTheOptions, which it keeps by writing twice as often.
func TestEverySourceGetsTheFlushOfTheOptions(t *testing.T) {
	for flush, want := range map[time.Duration]time.Duration{0: DefaultFlush / 2, 10 * time.Millisecond: 5 * time.Millisecond} {
		r, err := New(Options{Dir: filepath.Join(t.TempDir(), "trace"), Rings: []string{t.TempDir()}, Flush: flush,
			Sources: []Source{&trickle{}}, Packets: &fakeCapture{}})
		if err != nil {
			t.Fatal(err)
		}
		events, packets := r.sources[0].(*sourceWriter), r.sources[1].(*packetWriter)
		if events.every != want || packets.every != want {
			t.Errorf("with %v events are written every %v, packets every %v", flush, events.every, packets.every)
		}
		if err := errors.Join(r.finish()...); err != nil {
			t.Error(err)
		}
	}
}
