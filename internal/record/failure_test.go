//go:build linux

package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"meridian/clock"
	bpf "meridian/internal/record/kernel"
	"meridian/sensor/ring"
	"meridian/trace"
)

// brokenKernel is a recording of the kernel's events that fails.
type brokenKernel struct{ err error }

func (k brokenKernel) Classes() []trace.Class {
	return []trace.Class{{Name: "irq_handler_entry", Category: "irq"}}
}
func (k brokenKernel) Stop() error             { return nil }
func (k brokenKernel) Lost() ([]uint64, error) { return []uint64{0, 0}, nil }
func (k brokenKernel) Read(_ context.Context, give func(*bpf.Event) error) error {
	for i := range 10 {
		if err := give(&bpf.Event{Stamp: uint64(clock.Monotonic.Now()), CPU: i % 2}); err != nil {
			return err
		}
	}
	return k.err
}

// brokenSource is any other one that fails, or that brings what cannot be.
type brokenSource struct {
	event Event
	err   error
}

func (s *brokenSource) Name() string { return "interfaces" }
func (s *brokenSource) Streams() []trace.Stream {
	return []trace.Stream{{Name: "interfaces", Kind: trace.Device, Parent: -1}}
}
func (s *brokenSource) Classes() []trace.Class { return []trace.Class{{Name: "change"}} }
func (s *brokenSource) Lost() []uint64         { return nil }
func (s *brokenSource) Read(_ context.Context, each func(*Event) error) error {
	if err := each(&s.event); err != nil {
		return err
	}
	return s.err
}

// envOf returns what a trace's environment says of what ended before the recording did.
func envOf(t *testing.T, dir string) (incomplete []string) {
	t.Helper()
	m, err := readMetadata(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Env {
		if strings.HasPrefix(e.Name, "incomplete_") {
			incomplete = append(incomplete, e.Text)
		}
	}
	return incomplete
}

// countEvents returns how many different events of a program and how many of the failing source or capture a trace has.
func countEvents(t *testing.T, o *Options, pid int) (program, source int) {
	t.Helper()
	all := read(t, o.Dir)
	found := map[[2]int]int{}
	numbers(all, pid, found)
	for _, e := range all {
		if n := e.class.Name; n == "irq_handler_entry" || n == "change" {
			source++
		}
	}
	if o.Packets != nil {
		stamps, warnings := captured(t, filepath.Join(o.Dir, packetFiles, "web.pcapng"))
		if source = len(stamps); len(warnings) > 0 {
			t.Errorf("%q", warnings)
		}
	}
	return len(found), source
}

// TestWhatFailsEndsNothingElse: each kind of source fails at once, and what a program emits from then on is recorded; what
// the source had brought by then too.
func TestWhatFailsEndsNothingElse(t *testing.T) {
	failure := errors.New("no more\nof it")
	source := func(s Source, err error) Source {
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		what   string
		o      Options
		name   string
		reason string
		events int // of the source
	}{
		{"the kernel's events", Options{Sources: []Source{source(Kernel(brokenKernel{failure}))}}, "kernel", "no more; of it", 10},
		{"a source that just ends", Options{Sources: []Source{source(Kernel(brokenKernel{}))}}, "kernel", "ended by itself", 10},
		{"netlink", Options{Sources: []Source{&brokenSource{err: failure}}}, "interfaces", "no more; of it", 1},
		{"an event that cannot be", Options{Sources: []Source{&brokenSource{event: Event{Class: 7}}}}, "interfaces", "unknown stream 0 or class 7", 0},
		{"packets", Options{Packets: &endingCapture{fakeCapture{frames: 40, err: failure}}}, "packets", "no more; of it", 40},
		{"packets of nothing", Options{Packets: &strangeCapture{}}, "packets", "interface 9, which was not described", 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			rings := t.TempDir()
			good := &fakeKernel{from: uint64(clock.Monotonic.Now())}
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			var told []Failure
			var late *process
			o := c.o
			o.Dir, o.Host, o.Rings, o.Interval = filepath.Join(t.TempDir(), "trace"), "web", []string{rings}, time.Millisecond
			o.Sources = append(o.Sources, good)
			o.Failed = func(f Failure) {
				told = append(told, f)
				late = program(t, "late", rings, "GOROUTINES=1", "EVENTS=100")
			}
			o.Counts = func(s Summary) {
				for _, of := range s.Streams {
					if of.Name == "late" && of.Events >= 100 && good.lost.Load() > 0 {
						cancel()
					}
				}
			}
			r, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			before := time.Now()
			s, err := r.Run(ctx)
			if err != nil || errors.Is(ctx.Err(), context.DeadlineExceeded) || len(told) != 1 || len(s.Failures) != 1 || s.Unlisted != 0 {
				t.Fatalf("%v, %v; told %+v; %+v", err, ctx.Err(), told, s)
			}
			f := s.Failures[0]
			if f != told[0] || f.Name != c.name || !strings.Contains(f.Reason, c.reason) || f.PID != 0 || f.At.Before(before.Add(-time.Second)) || f.At.After(time.Now().Add(time.Second)) {
				t.Errorf("%+v, %+v", f, told)
			}
			if line := f.String(); strings.Contains(line, "\n") || strings.Count(line, c.name+":") != 1 {
				t.Errorf("%q", line)
			}
			if env := envOf(t, o.Dir); len(env) != 1 || env[0] != f.String() {
				t.Errorf("the trace says %q, the summary %q", env, f.String())
			}
			late.end(t)
			found, brought := countEvents(t, &o, late.Process.Pid)
			if found != 100 || brought != c.events {
				t.Errorf("%d events of 100 that came after the failure, %d of %d that the source brought", found, brought, c.events)
			}
			babeltraceWithLoss(t, o.Dir)
		})
	}
}

// strangeCapture brings a packet of an interface that it has not.
type strangeCapture struct{ fakeCapture }

func (c *strangeCapture) Read(_ context.Context, each func(*trace.Frame, trace.Direction) error) error {
	return each(&trace.Frame{Interface: 9, Data: make([]byte, 60), Wire: 60}, trace.Sent)
}

// TestARingThatFailsEndsNothingElse: somebody makes the file of a ring shorter while it is read.
func TestARingThatFailsEndsNothingElse(t *testing.T) {
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	w, err := ring.Create(ring.Options{Dir: rings, Program: "short", Shards: 1, Clock: ring.Clock{Kind: uint32(clock.Monotonic), Frequency: 1e9}})
	if err != nil {
		t.Fatal(err)
	}
	p := program(t, "good", rings, "GOROUTINES=1") // which emits until it is told to end
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var failed atomic.Bool
	after, cut := uint64(0), false
	r, err := New(Options{Dir: dir, Rings: []string{rings}, Interval: time.Millisecond, Failed: func(Failure) { failed.Store(true) }, Counts: func(s Summary) {
		if !cut && len(s.Streams) == 2 {
			cut = true
			if err := os.Truncate(w.Path(), 0); err != nil {
				t.Error(err)
			}
		}
		for _, c := range s.Streams {
			if c.Name != "good" || !failed.Load() {
				continue
			}
			if after == 0 {
				after = c.Events
			} else if c.Events > after+100 {
				cancel()
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Run(ctx)
	if err != nil || errors.Is(ctx.Err(), context.DeadlineExceeded) || len(s.Failures) != 1 || s.Failures[0].Name != "short" || s.Failures[0].PID != os.Getpid() {
		t.Fatalf("%v, %v, %+v", err, ctx.Err(), s)
	}
	p.end(t)
	read(t, dir)
	babeltraceWithLoss(t, dir)
	if env := envOf(t, dir); len(env) != 1 || !strings.Contains(env[0], fmt.Sprintf("short (process %d): ", os.Getpid())) {
		t.Errorf("%q", env)
	}

	// Who goes on keeps what is said of the first.
	again, err := New(Options{Dir: dir, Rings: []string{t.TempDir()}, Sources: []Source{&brokenSource{err: errors.New("gone too")}}})
	if err != nil {
		t.Fatal(err)
	}
	quick, end := context.WithCancel(context.Background())
	again.o.Failed = func(Failure) { end() }
	if _, err := again.Run(quick); err != nil {
		t.Fatal(err)
	}
	if env := envOf(t, dir); len(env) != 2 || !strings.Contains(env[1], "gone too") {
		t.Errorf("%q", env)
	}
}

// TestFailuresWithoutEndAreCounted: programs that are up to no good come again and again.
func TestFailuresWithoutEndAreCounted(t *testing.T) {
	dir, rings := t.TempDir(), t.TempDir()
	var w trace.Warnings
	r, err := New(Options{Dir: dir, Rings: []string{rings}, Warnings: &w})
	if err != nil {
		t.Fatal(err)
	}
	const many = mostFailures + 7
	for n := range many {
		if err := r.fail("bad", n+1, errors.New("nonsense")); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s, err := r.Run(ctx)
	if err != nil || len(s.Failures) != mostFailures || s.Unlisted != 7 || len(envOf(t, dir)) != mostFailures || len(w.Lines()) != mostFailures {
		t.Errorf("%v, %d failures and %d more, %d in the trace", err, len(s.Failures), s.Unlisted, len(envOf(t, dir)))
	}
}
