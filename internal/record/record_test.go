//go:build unix

package record

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"meridian/clock"
	"meridian/sensor/ring"
	"meridian/trace"
)

func TestProgramsAreRecordedWholeIntoOneTrace(t *testing.T) {
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	before := clock.HostTime(clock.Monotonic.Now()) // which nobody sets
	a := program(t, "first", rings, "GOROUTINES=2", "EVENTS=6000", "LATE=1")
	b := program(t, "se/cond", rings, "GOROUTINES=3", "EVENTS=2000", "DIE=1")
	a.emitted(t)
	b.emitted(t)
	b.Wait() // killed by itself
	a.end(t)
	after := clock.HostTime(clock.Monotonic.Now())
	s := untilEnded(t, Options{Dir: dir, Rings: []string{rings}, Host: "here", Title: "a test"}, 2)
	if s.Total.Lost > 0 || len(s.Streams) != 2 {
		t.Errorf("%+v", s)
	}
	if left, _ := ring.Find(rings); len(left) > 0 {
		t.Errorf("rings of programs that ended: %v", left)
	}

	m, err := readMetadata(dir)
	if err != nil {
		t.Fatal(err)
	}
	origin := m.Clocks[0].OffsetSeconds*1_000_000_000 + m.Clocks[0].Offset
	all := read(t, dir)
	for _, p := range []struct {
		*process
		name               string
		goroutines, events int
	}{{a, "first", 2, 6000}, {b, "se/cond", 3, 2000}} {
		next := make([]int, p.goroutines)
		for _, e := range all {
			if e.class.Name != "test:number" || e.row.ID != int64(p.Process.Pid) {
				continue
			}
			g, n := int(e.values[0].Int()), int(e.values[1].Int())
			if n != next[g] || len(e.values[2].Data) != n%7 || e.class.Category != "test" {
				t.Fatalf("%s: goroutine %d: event %d %q of %v, want %d", p.name, g, n, e.values[2].Data, e.class, next[g])
			}
			next[g]++
			if e.row.Name != p.name || e.row.Kind != trace.Process {
				t.Fatalf("%s: row %+v", p.name, e.row)
			}
			// The programs' clock and this one's are read apart from each other.
			if at := e.Time - clock.HostTime(origin); at < before-clock.HostTime(time.Millisecond) || at > after+clock.HostTime(time.Millisecond) {
				t.Fatalf("%s: event %d at %d, recorded from %d to %d", p.name, n, at, before, after)
			}
		}
		if slices.ContainsFunc(next, func(n int) bool { return n != p.events }) {
			t.Errorf("%s: %v events, want %d each", p.name, next, p.events)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(all), func(e event) bool { return e.class.Name != "test:late" })); n != 1 {
		t.Errorf("%d events of a class that was declared late", n)
	}
	if n := babeltrace(t, dir); n != len(all) {
		t.Errorf("babeltrace2 prints %d events of %d", n, len(all))
	}
}

func TestChosenProgramsAloneAreRecorded(t *testing.T) {
	rings := t.TempDir()
	a := program(t, "web", rings, "GOROUTINES=1", "EVENTS=10")
	b := program(t, "database", rings, "GOROUTINES=1", "EVENTS=10")
	a.emitted(t)
	b.emitted(t)
	a.end(t)
	b.end(t)
	dir := filepath.Join(t.TempDir(), "trace")
	s := untilEnded(t, Options{Dir: dir, Rings: []string{rings}, Programs: []string{"w?b"}}, 1)
	if len(s.Streams) != 1 || s.Streams[0].Name != "web" {
		t.Errorf("%+v", s)
	}
	if left, _ := ring.Find(rings); len(left) != 1 {
		t.Errorf("rings left: %v", left)
	}
	if _, err := New(Options{Dir: dir, Programs: []string{"["}}); err == nil || !strings.Contains(err.Error(), "pattern") {
		t.Errorf("a pattern that is none: %v", err)
	}
}

func TestWhatFoundNoRoomIsCounted(t *testing.T) {
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	p := program(t, "much", rings, "GOROUTINES=1", "EVENTS=5000", "BUFFERS=2", "BUFFER_SIZE=4096", "GOMAXPROCS=1")
	p.emitted(t)
	p.end(t)
	s := untilEnded(t, Options{Dir: dir, Rings: []string{rings}}, 1)
	found := map[[2]int]int{}
	numbers(read(t, dir), p.Process.Pid, found)
	if s.Total.Lost == 0 || len(found) == 0 || uint64(len(found))+s.Total.Lost < 5000 || s.Total.Lost > 5000 {
		t.Errorf("%d of 5000 events are there, %d were counted as lost", len(found), s.Total.Lost)
	}
	tails, err := filepath.Glob(filepath.Join(dir, sensorFiles+"*"))
	if err != nil {
		t.Fatal(err)
	}
	told := uint64(0)
	for _, path := range tails {
		m, err := readMetadata(dir)
		if err != nil {
			t.Fatal(err)
		}
		at, cut, err := readTail(path, m.UUID, false)
		if err != nil || cut != 0 {
			t.Fatal(cut, err)
		}
		told += at.discarded
	}
	if told != s.Total.Lost {
		t.Errorf("the trace tells of %d lost events, the summary of %d", told, s.Total.Lost)
	}
}

func TestTwoRecordersDoNotWriteIntoOneDirectory(t *testing.T) {
	dir := t.TempDir()
	o := Options{Dir: dir, Rings: []string{t.TempDir()}}
	first, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "another recorder") {
		t.Errorf("a second recorder: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := first.Run(ctx); err != nil {
		t.Fatal(err)
	}
	again, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Run(ctx); err != nil {
		t.Fatal(err)
	}
	babeltrace(t, dir)
	read(t, dir)
}

func TestDirectoryWithOtherThingsIsNotTouched(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "letter"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "letter") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "metadata"), []byte("/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "not a trace of this recorder") {
		t.Error(err)
	}
}
