//go:build unix

package record

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// laggingSource is of two processors, whose rings are read one after the other: the second loses events before any of its own
// are given, and these are older than what the first one gave. The loss is told when the recorder asks for it.
type laggingSource struct {
	fakeKernel
	begin  uint64
	stamps [2][]uint64 // of each processor, in the order in which they are given
	told   chan struct{}
	asked  int
}

func (k *laggingSource) Lost() []uint64 {
	if k.asked++; k.asked == 3 { // and so its file has been flushed twice
		close(k.told)
	}
	return []uint64{0, 7}
}

func (k *laggingSource) Read(ctx context.Context, each func(*Event) error) error {
	give := func(cpu int) error {
		for _, at := range k.stamps[cpu] {
			if err := each(&Event{Stamp: k.begin + at, Stream: cpu, Values: []trace.Value{trace.OfText("x"), trace.OfInt(1)}}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := give(0); err != nil {
		return err
	}
	select {
	case <-k.told:
	case <-ctx.Done():
	}
	if err := give(1); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func TestWhatWasLostMovesNoEvent(t *testing.T) {
	k := &laggingSource{fakeKernel: fakeKernel{cpus: true}, begin: clock.Monotonic.Now(), told: make(chan struct{})}
	k.stamps = [2][]uint64{{100, 9_000_000}, {200, 300, 9_000_001}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir := t.TempDir()
	r, err := New(Options{Dir: dir, Rings: []string{t.TempDir()}, Sources: []Source{k}, Interval: 1, Counts: func(s Summary) {
		if s.Total.Events == 5 {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	origin := r.Origin()
	s, err := r.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var got [2][]uint64
	for _, e := range read(t, dir) {
		if e.row.Kind == trace.CPU {
			got[e.row.ID] = append(got[e.row.ID], uint64(e.Time-clock.HostTime(origin))-k.begin)
		}
	}
	for cpu := range got {
		if !slices.Equal(got[cpu], k.stamps[cpu]) {
			t.Errorf("processor %d has events at %d, recorded at %d", cpu, k.stamps[cpu], got[cpu])
		}
	}
	if s.Total.Lost != 7 || s.Total.Moved != 0 {
		t.Errorf("%+v", s.Total)
	}
	if n := babeltraceWithLoss(t, dir); n < 5 {
		t.Errorf("babeltrace2 prints %d events", n)
	}
}

func TestWhatWasLostIsToldWhereNothingElseCame(t *testing.T) {
	k := &laggingSource{fakeKernel: fakeKernel{cpus: true}, told: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	before := clock.Monotonic.Now()
	r, err := New(Options{Dir: dir, Rings: []string{t.TempDir()}, Sources: []Source{k}})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := r.Run(ctx); err != nil || s.Total.Lost != 7 {
		t.Fatalf("%+v, %v", s, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "kernel_*_1"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	packet, err := os.ReadFile(files[0])
	le := binary.LittleEndian
	if err != nil || len(packet) < sourceHead || len(packet)%unit != 0 || le.Uint64(packet[atSize:]) != uint64(8*len(packet)) {
		t.Fatalf("%d bytes, which are not one packet, %v", len(packet), err)
	}
	if at, lost := le.Uint64(packet[atShard+8:]), le.Uint64(packet[atDiscarded:]); at < before || lost != 7 {
		t.Errorf("%d lost are told at %d, which begins at %d", lost, at, before)
	}
}
