package pipeline_test

import (
	"context"
	"path/filepath"
	"testing"

	"meridian/clock"
	"meridian/internal/netlab"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/record"
	"meridian/internal/record/kernel"
	"meridian/internal/record/netstate"
	"meridian/trace"
)

// packetEvents opens the kernel's events of the packets of a host of a laboratory.
func packetEvents(t *testing.T, lab *netlab.Lab, host string, w *trace.Warnings) (*kernel.Recorder, record.Source) {
	t.Helper()
	inode, err := netstate.Inode(lab.Namespace(host))
	if err != nil {
		t.Fatal(err)
	}
	events, err := kernel.Open(kernel.Options{Groups: kernel.Net, NetNS: inode}, w)
	if err != nil {
		t.Fatal(err)
	}
	source, err := record.Kernel(events)
	if err != nil {
		t.Fatal(err)
	}
	return events, source
}

// recorded records the packets of a host of a laboratory until the function that it returns is called. Origin is what the
// trace's clock shows beyond CLOCK_MONOTONIC: what REALTIME did when it began.
func recorded(t *testing.T, lab *netlab.Lab, host, dir string) (stop func() record.Summary, origin int64) {
	t.Helper()
	var w trace.Warnings
	events, source := packetEvents(t, lab, host, &w)
	watcher, err := netstate.Open(netstate.Options{NetNS: lab.Namespace(host)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.New(record.Options{Dir: dir, Host: host, Rings: []string{t.TempDir()}, Sources: []record.Source{source, record.Interfaces(watcher)}, Warnings: &w})
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
	return func() record.Summary {
		t.Helper()
		cancel()
		o := <-done
		if o.error != nil {
			t.Fatal(o.error)
		}
		for _, err := range []error{events.Close(), watcher.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
		for _, line := range w.Lines() {
			t.Error(line)
		}
		return o.Summary
	}, r.Origin()
}

// TestTwoNamespacesRecordedAsTwoHostsAreAligned records what really goes between two hosts that have one clock, the
// kernel's, so that the true offset is known at every instant.
func TestTwoNamespacesRecordedAsTwoHostsAreAligned(t *testing.T) {
	lab := netlab.TwoHosts(t)
	dir := t.TempDir()
	web, db := filepath.Join(dir, "web"), filepath.Join(dir, "db")
	stopWeb, originWeb := recorded(t, lab, "web", web)
	stopDB, originDB := recorded(t, lab, "db", db)
	lab.Run(netlab.Mixed("web", "db"))
	for _, s := range []record.Summary{stopWeb(), stopDB()} {
		if s.Total.Lost != 0 || s.Total.Events < 100 {
			t.Errorf("%d events, %d lost", s.Total.Events, s.Total.Lost)
		}
	}
	inputs, err := input.Parse([]string{"web=" + web, "db=" + db})
	if err != nil {
		t.Fatal(err)
	}
	csv := filepath.Join(dir, "all.csv")
	out, err := pipeline.Run(context.Background(), inputs, pipeline.Options{Outputs: []string{csv}})
	if err != nil {
		t.Fatal(err)
	}
	q := out.Report.Quality
	if len(out.Broken) > 0 || q.Messages < 500 || q.Inversions != 0 {
		t.Errorf("%d messages, %d inversions, broken %q", q.Messages, q.Inversions, out.Broken)
	}
	holdOrigins(t, out, map[string]int64{"web": originWeb, "db": originDB})
}

// holdOrigins holds the bounds of hosts whose traces all count CLOCK_MONOTONIC, each from its own origin.
func holdOrigins(t *testing.T, out *pipeline.Outcome, origins map[string]int64) {
	t.Helper()
	for _, h := range out.Report.Hosts {
		for _, k := range h.Map {
			truth := clock.TimelineTime(int64(k.HostNs) - origins[h.Name] + origins[out.Report.Reference])
			// Of packets, REALTIME is led back to CLOCK_MONOTONIC, and the difference of the two may be known wrongly by this.
			const reading = 50_000
			if k.LowNs != nil && *k.LowNs > truth+reading || k.HighNs != nil && *k.HighNs < truth-reading {
				t.Errorf("%s at %d, truly %d, lies between %d and %d", h.Name, k.HostNs, truth, *k.LowNs, *k.HighNs)
			}
		}
	}
}
