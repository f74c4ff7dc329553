package sensor

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"meridian/sensor/internal/testtrace"
	"meridian/sensor/ring"
)

// small makes a ring of one shard with as many events of 1024 bytes as fit, and a function that says the stamp of the next.
func small(t *testing.T, buffers int) (w *ring.Ring, emit func() bool) {
	t.Helper()
	w, err := ring.Create(ring.Options{Dir: t.TempDir(), Shards: 1, Buffers: buffers, BufferSize: 4096, Clock: ring.Clock{Kind: 3, Frequency: 1e9}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Unmap() })
	h, err := w.Register(ring.Class{Name: "test", Fields: "integer { size = 8; } _x[1012];"})
	if err != nil {
		t.Fatal(err)
	}
	stamp := uint64(0)
	return w, func() bool {
		p := w.Shard(0).Reserve(1024)
		if p == nil {
			return false
		}
		stamp++
		ring.PutHead(p, h.ID, 1024, stamp)
		w.Shard(0).Commit(1024, stamp)
		return true
	}
}

func TestWhatARecordingTookIsNotTakenAgain(t *testing.T) {
	w, emit := small(t, 2)
	for emit() {
	}
	d, err := newDrain(w.Path(), filepath.Join(t.TempDir(), "trace"), Options{Host: "h"})
	if err != nil {
		t.Fatal(err)
	}
	d.pass() // as many packets as it may take, and it has not seen that there is no more
	if err := d.finish(); err != nil {
		t.Fatal(err)
	}
	r, err := ring.Open(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var p ring.Packet
	if ok, err := r.Next(&p); ok || err != nil {
		t.Errorf("%d events are read a second time: %v", p.Count, err)
	}
}

func TestEventsThatAShardDiscardedAreToldEvenIfItHasNoOther(t *testing.T) {
	w, _ := small(t, 2)
	for range 3 {
		w.Shard(0).Reserve(1 << 20) // larger than any event: dropped
	}
	d, err := newDrain(w.Path(), filepath.Join(t.TempDir(), "trace"), Options{Host: "h"})
	if err != nil {
		t.Fatal(err)
	}
	d.pass()
	if err := d.finish(); err != nil {
		t.Fatal(err)
	}
	if n := testtrace.ReadLossy(t, d.t.dir).Discarded; n != 3 {
		t.Errorf("%d events counted as discarded, of 3", n)
	}
}

func TestStopTellsOfTypesThatFoundNoRoom(t *testing.T) {
	classes.Lock()
	all, known := slices.Clone(classes.all), maps.Clone(classes.known)
	classes.Unlock()
	defer func() {
		classes.Lock()
		classes.all, classes.known = all, known
		classes.Unlock()
	}()
	dir := t.TempDir()
	if err := Start(Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	for i := range 1024 {
		NewEvent0("crowd", strings.Repeat("x", i%100+1)+strings.Repeat("y", i/100)).Emit()
	}
	if err := Stop(); err == nil || !strings.Contains(err.Error(), "no room for more") {
		t.Errorf("%v", err)
	}
	if err := Start(Options{Dir: dir}); err == nil || errors.Is(err, ErrStarted) {
		t.Errorf("started with more types than there is room for: %v", err)
	}
}

// TestRecordingEndsWhileTheClocksAreRead is for the race detector: the recording was started by another.
func TestRecordingEndsWhileTheClocksAreRead(t *testing.T) {
	if err := Start(Options{Dir: t.TempDir(), Interval: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	defer Stop()
	for range 20 {
		stop, err := Record(filepath.Join(t.TempDir(), "trace"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
}
