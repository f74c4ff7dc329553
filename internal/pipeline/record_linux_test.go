package pipeline_test

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"meridian/clock"
	"meridian/internal/netlab"
	"meridian/internal/pipeline"
	"meridian/internal/record"
	"meridian/internal/record/kernel"
	"meridian/internal/record/netstate"
	"meridian/trace"
)

// origin is by how much a trace's clock is ahead of CLOCK_MONOTONIC, as REALTIME was when it began, and by how much stamps of its
// packets may be off that, which the capture says at the end.
type origin struct{ ns, packets int64 }

// recordHost records the kernel's events of the packets of a host of a laboratory, and what else the options name, until the
// function that it returns is called. That one closes what is given too. Nothing may be warned of.
func recordHost(t *testing.T, lab *netlab.Lab, host, dir string, o record.Options, closers ...io.Closer) (stop func() record.Summary, of *origin) {
	t.Helper()
	inode, err := netstate.Inode(lab.Namespace(host))
	if err != nil {
		t.Fatal(err)
	}
	var w trace.Warnings
	events, err := kernel.Open(kernel.Options{Groups: kernel.Net, NetNS: inode, BufferSize: 32 << 20}, &w)
	if err != nil {
		t.Fatal(err)
	}
	source, err := record.Kernel(events)
	if err != nil {
		t.Fatal(err)
	}
	o.Dir, o.Host, o.Rings, o.Warnings = dir, host, []string{t.TempDir()}, &w
	o.Sources = append([]record.Source{source}, o.Sources...)
	r, err := record.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	type outcome struct {
		record.Summary
		error
	}
	done := make(chan outcome, 1)
	go func() {
		s, err := r.Run(ctx)
		done <- outcome{s, err}
	}()
	of = &origin{ns: r.Origin()}
	return func() record.Summary {
		t.Helper()
		cancel()
		s := <-done
		if s.error != nil {
			t.Fatal(s.error)
		}
		if o.Packets != nil {
			stats, err := o.Packets.Stats()
			if err != nil {
				t.Error(err)
			}
			of.packets = stats.ClockError
		}
		for _, c := range append([]io.Closer{events}, closers...) {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		if t.Logf("%s: %d of %d lost, for %d of them the kernel ran no program", host, s.Total.Lost, s.Total.Events, s.Missed); len(w.Lines()) > 0 {
			t.Errorf("%s: %q", host, w.Lines())
		}
		return s.Summary
	}, of
}

// recordEvents records the packets of a host as events, and the state of its interfaces.
func recordEvents(t *testing.T, lab *netlab.Lab, host, dir string) (stop func() record.Summary, of *origin) {
	t.Helper()
	watcher, err := netstate.Open(netstate.Options{NetNS: lab.Namespace(host)})
	if err != nil {
		t.Fatal(err)
	}
	return recordHost(t, lab, host, dir, record.Options{Sources: []record.Source{record.Interfaces(watcher)}}, watcher)
}

// TestTwoNamespacesRecordedAsTwoHostsAreAligned records what really goes between two hosts that have one clock, the
// kernel's, so that the true offset is known at every instant.
func TestTwoNamespacesRecordedAsTwoHostsAreAligned(t *testing.T) {
	lab := netlab.TwoHosts(t)
	dir := t.TempDir()
	web, db := filepath.Join(dir, "web"), filepath.Join(dir, "db")
	stopWeb, originWeb := recordEvents(t, lab, "web", web)
	stopDB, originDB := recordEvents(t, lab, "db", db)
	lab.Run(netlab.Mixed("web", "db"))
	for _, s := range []record.Summary{stopWeb(), stopDB()} {
		if s.Total.Events < 100 {
			t.Errorf("%d events", s.Total.Events)
		}
	}
	out := alignedHosts(t, web, db, "all.csv", map[string]*origin{"web": originWeb, "db": originDB})
	if n := out.Report.Quality.Messages; n < 500 {
		t.Errorf("%d messages", n)
	}
}

// holdOrigins holds the bounds of hosts whose traces all count CLOCK_MONOTONIC, each from its own origin.
func holdOrigins(t *testing.T, out *pipeline.Outcome, origins map[string]*origin) {
	t.Helper()
	reference := origins[out.Report.Reference]
	for _, h := range out.Report.Hosts {
		own := origins[h.Name]
		for _, k := range h.Map {
			truth := clock.TimelineTime(int64(k.HostNs) - own.ns + reference.ns)
			// Of packets, REALTIME is led back to CLOCK_MONOTONIC, and the difference of the two may be known wrongly.
			reading := clock.TimelineTime(50_000 + own.packets + reference.packets)
			if k.LowNs != nil && *k.LowNs > truth+reading || k.HighNs != nil && *k.HighNs < truth-reading {
				t.Errorf("%s at %d, truly %d, lies between %d and %d", h.Name, k.HostNs, truth, *k.LowNs, *k.HighNs)
			}
		}
	}
}
