package record

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
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

// TestATrickleIsInTheFilesWithinFlush waits for each of some events of a source before the next one is emitted. The
// median is compared, since the machine may stop the recorder at any time; no wait may be shorter than none.
func TestATrickleIsInTheFilesWithinFlush(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	k := &trickle{next: make(chan struct{})}
	ready := make(chan struct{})
	r, err := New(Options{Dir: dir, Rings: []string{t.TempDir()}, Sources: []Source{k}, Flush: 10 * time.Millisecond, Ready: func() { close(ready) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() {
		_, err := r.Run(ctx)
		over <- err
	}()
	<-ready
	size := func() int64 {
		paths, _ := filepath.Glob(filepath.Join(dir, "kernel_*_0"))
		if len(paths) == 0 {
			return 0
		}
		info, err := os.Stat(paths[0])
		if err != nil {
			return 0
		}
		return info.Size()
	}
	var waits []time.Duration
	for range 21 {
		before, at := size(), time.Now()
		k.next <- struct{}{}
		for size() == before {
			if time.Since(at) > time.Minute {
				t.Fatal("an event does not come into the file")
			}
			time.Sleep(200 * time.Microsecond)
		}
		waits = append(waits, time.Since(at))
	}
	cancel()
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	slices.Sort(waits)
	if median := waits[len(waits)/2]; median > 40*time.Millisecond {
		t.Errorf("events of a source wait %v at the median, with a flush of 10 ms", median)
	}
	if n := len(read(t, dir)); n < 21 {
		t.Errorf("%d events", n)
	}
}
