package record

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"meridian/internal/record/kernel"
	"meridian/trace"
)

// TestFullDiskEndsARecordingOfKernelEvents sends datagrams until the disk is full.
func TestFullDiskEndsARecordingOfKernelEvents(t *testing.T) {
	disk, rings := smallDisk(t, "1m"), t.TempDir()
	dir := filepath.Join(disk, "trace")
	d := numberedDatagrams(t)
	var w trace.Warnings
	begin := func() (*Recorder, *kernel.Recorder) {
		events, source := kernelRecorder(t, kernel.Options{Groups: kernel.Net | kernel.Sched | kernel.IRQ}, &w)
		r, err := New(Options{Dir: dir, Rings: []string{rings}, Sources: []Source{source}, Warnings: &w})
		if err != nil {
			t.Fatal(err)
		}
		return r, events
	}
	r, events := begin()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	var s Summary
	go func() {
		var err error
		s, err = r.Run(ctx)
		ended <- err
	}()
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	err := error(nil)
	for n := 0; err == nil; n++ {
		if err := d.send(n % (10 * eachPort)); err != nil {
			t.Fatal(err)
		}
		if n%20 == 0 {
			select {
			case err = <-ended:
			case <-pace.C:
			}
		}
	}
	if said := err.Error(); strings.Count(said, "no space left on device") != 1 || !strings.Contains(said, "recording has ended") || !strings.Contains(said, dir) {
		t.Error(said)
	}
	t.Log(err)
	events.Close()
	all := read(t, dir)
	if n := babeltraceWithLoss(t, dir); n != len(all) || n < 1000 || uint64(n) > s.Total.Events+100 {
		t.Errorf("%d events are read, babeltrace2 prints %d, %d were written", len(all), n, s.Total.Events)
	}
	found, _, _ := d.readNumbers(t, dir)
	if len(found) == 0 {
		t.Errorf("%d datagrams", len(found))
	}

	// With more room the next recorder goes on.
	if err := unix.Mount("meridian", disk, "tmpfs", unix.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	r, events = begin()
	more, stop := context.WithCancel(context.Background())
	r.o.Interval = time.Millisecond
	r.o.Counts = func(s Summary) {
		if s.Total.Events > 100 {
			stop()
		}
	}
	if _, err := r.Run(more); err != nil {
		t.Fatal(err)
	}
	events.Close()
	after := read(t, dir)
	if n := babeltraceWithLoss(t, dir); n != len(after) || n <= len(all) {
		t.Errorf("%d events of two recorders, babeltrace2 prints %d; %d were there before", len(after), n, len(all))
	}
	for _, line := range w.Lines() {
		t.Error(line)
	}
}
