package record

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"meridian/internal/record/kernel"
	"meridian/trace"
)

// Source is a source of events that are not a program's: kernel events, changes of interfaces.
type Source interface {
	// Name names the source's files.
	Name() string
	// Streams and Classes return those known so far. Both only grow, and grow before Read passes on an event that needs it. Either
	// all streams of a source are processors (trace.CPU), or no stream is.
	Streams() []trace.Stream
	Classes() []trace.Class
	// Read calls each with every event, in order within a stream, until the context is done, including the events up to then.
	// Then it returns nil. It ends earlier with an error of its own or of each.
	Read(ctx context.Context, each func(*Event) error) error
	// Lost returns how many events of each stream were lost so far. It may be called while Read runs.
	Lost() []uint64
}

// Event is an event of a source. It belongs to each until that returns.
type Event struct {
	Stamp  uint64 // CLOCK_MONOTONIC, ns
	Stream int    // index into the source's streams: for kernel events the processor
	Class  int    // index into its classes
	Values []trace.Value
}

// countInterval is the time between two readings of the counts of lost events, which cost system calls.
const countInterval = 250 * time.Millisecond

// sourceWriter writes the events of a source.
type sourceWriter struct {
	source Source
	mu     sync.Mutex // the source's goroutine writes, another one flushes
	rows   *rows
	failed error
	every  time.Duration // between two calls of flush

	triggers []Trigger
	checks   *triggerChecks
	tests    [][]triggerTest // by class
	met      func(*Trigger)
}

func newSourceWriter(t *hostTrace, s Source, flush time.Duration) (*sourceWriter, error) {
	streams := s.Streams()
	cpus := len(streams) > 0 && streams[0].Kind == trace.CPU
	r, err := newRows(t, s.Name(), cpus)
	if err != nil {
		return nil, err
	}
	if err := r.declare(s.Classes()); err != nil {
		return nil, err
	}
	w := &sourceWriter{source: s, rows: r, every: flush / 2}
	_, r.whole = s.(*interfaces) // the first of them hold for all times
	r.lock = &w.mu
	return w, nil
}

// reading runs read, and calls flush every so often meanwhile, with counts at each [countInterval]. A flush that fails ends it:
// read itself would notice the failure only at the next event.
func reading(ctx context.Context, every time.Duration, flush func(counts bool) error, read func(context.Context) error) error {
	inner, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		t := time.NewTicker(max(min(every, countInterval), MinFlush/2))
		defer t.Stop()
		nextCounts := time.Now().Add(countInterval)
		for {
			select {
			case <-inner.Done():
				return
			case <-t.C:
			}
			now := time.Now()
			counts := !now.Before(nextCounts)
			if counts {
				nextCounts = now.Add(countInterval)
			}
			if flush(counts) != nil {
				cancel()
				return
			}
		}
	}()
	err := read(inner)
	cancel()
	<-over
	return err
}

func (w *sourceWriter) name() string { return w.source.Name() }

// run writes until the source ends. Events before its failure are in the file then.
func (w *sourceWriter) run(ctx context.Context) error {
	err := reading(ctx, w.every, w.flush, func(ctx context.Context) error { return w.source.Read(ctx, w.take) })
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.failed != nil:
		err = w.failed
	case ctx.Err() == nil && err == nil:
		err = errEnded
	case errors.Is(err, ctx.Err()):
		return nil
	}
	if err == nil || ofOutput(err) {
		return err
	}
	return errors.Join(err, w.writeRest())
}

func (w *sourceWriter) take(e *Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = w.write(e)
	}
	return w.failed
}

func (w *sourceWriter) write(e *Event) error {
	if e.Class >= w.rows.declared() {
		if err := w.rows.declare(w.source.Classes()); err != nil {
			return err
		}
		if err := w.rows.t.writeMetadata(); err != nil {
			return err
		}
	}
	if e.Stream >= len(w.rows.files) {
		if err := w.rows.add(w.source.Streams()); err != nil {
			return err
		}
	}
	if e.Stream < 0 || e.Stream >= len(w.rows.files) || e.Class < 0 || e.Class >= w.rows.declared() {
		return fmt.Errorf("record: %s: event of unknown stream %d or class %d", w.source.Name(), e.Stream, e.Class)
	}
	if len(w.triggers) > 0 {
		w.test(e)
	}
	return w.rows.write(e)
}

// wants has events of the source that meet a trigger ask for a snapshot. It is called before the source begins.
func (w *sourceWriter) wants(triggers []Trigger, s *snapshots) {
	w.triggers, w.checks, w.met = triggers, s.checks, s.triggered
	if len(triggers) > 0 {
		w.addTests()
	}
}

// addTests tests classes that the source has got meanwhile.
func (w *sourceWriter) addTests() {
	classes := w.source.Classes()
	for i := len(w.tests); i < len(classes); i++ {
		w.tests = append(w.tests, triggersOf(w.triggers, &classes[i], w.checks))
	}
}

// test asks for a snapshot if an event meets a trigger.
func (w *sourceWriter) test(e *Event) {
	if e.Class >= len(w.tests) {
		w.addTests()
	}
	if t := met(w.tests[e.Class], e.Values); t != nil {
		w.met(t)
	}
}

// flush writes the buffered events, and with counts those of lost ones.
func (w *sourceWriter) flush(counts bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if counts && w.failed == nil {
		if w.failed = w.rows.add(w.source.Streams()); w.failed == nil {
			w.failed = w.rows.lose(w.source.Lost())
		}
	}
	if w.failed == nil {
		w.failed = w.rows.flush()
	}
	return w.failed
}

// writeRest writes the buffered events, also of a source that has failed. An error is the output's.
func (w *sourceWriter) writeRest() error {
	err := w.rows.lose(w.source.Lost())
	if err == nil {
		err = w.rows.flush()
	}
	if err != nil {
		w.failed = err
		return err
	}
	return nil
}

// finish is called after run.
func (w *sourceWriter) finish() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	if !ofOutput(w.failed) { // else it was told
		if w.failed == nil {
			err = w.rows.add(w.source.Streams())
		}
		err = errors.Join(err, w.writeRest())
		if w.rows.end(); !ofOutput(err) {
			err = errors.Join(err, w.rows.flush())
		}
	}
	return errors.Join(err, w.rows.close())
}

func (w *sourceWriter) counts() []Counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rows.counts()
}

// faults returns the source's reasons for lost events, if it has any but a full buffer.
func (w *sourceWriter) faults() []kernel.Fault {
	if s, ok := w.source.(interface{ Faults() []kernel.Fault }); ok {
		return s.Faults()
	}
	return nil
}

// missed returns how many of the lost events the kernel kept from the source, if that can tell.
func (w *sourceWriter) missed() uint64 {
	if s, ok := w.source.(interface{ Missed() uint64 }); ok {
		return s.Missed()
	}
	return 0
}
