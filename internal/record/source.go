package record

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"meridian/trace"
)

// Source brings events that are not a program's: the kernel's, packets.
type Source interface {
	// Name names the source's files.
	Name() string
	// Streams and Classes return those known so far; both only grow, and grow before an event says so. The streams of a
	// source are all processors (trace.CPU) or none is.
	Streams() []trace.Stream
	Classes() []trace.Class
	// Read calls each with event after event, in order within a stream, until the context is done, and then with what
	// was there by then. It returns nil then, and else what went wrong; an error of each ends it.
	Read(ctx context.Context, each func(*Event) error) error
	// Lost returns how many events of each stream had to be left out so far. It may be called while Read runs.
	Lost() []uint64
}

// Event is one of a source's. It belongs to the source again when each has returned.
type Event struct {
	Stamp  uint64 // CLOCK_MONOTONIC, ns
	Stream int    // index into the source's streams: for kernel events the processor
	Class  int    // index into its classes
	Values []trace.Value
}

// latest is how long an event stays in memory at most.
const latest = 250 * time.Millisecond

// sourceWriter writes what a source brings.
type sourceWriter struct {
	source Source
	mu     sync.Mutex // the source's goroutine writes, another one flushes
	rows   *rows
	failed error
}

func newSourceWriter(t *hostTrace, s Source) (*sourceWriter, error) {
	streams := s.Streams()
	cpus := len(streams) > 0 && streams[0].Kind == trace.CPU
	r, err := newRows(t, s.Name(), cpus)
	if err != nil {
		return nil, err
	}
	if err := r.declare(s.Classes()); err != nil {
		return nil, err
	}
	return &sourceWriter{source: s, rows: r}, nil
}

// reading reads until read returns, and flushes beside it as often as [latest] asks. A flush that fails ends it, since read
// would learn of that only when something comes.
func reading(ctx context.Context, flush func() error, read func(context.Context) error) error {
	inner, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		t := time.NewTicker(latest)
		defer t.Stop()
		for {
			select {
			case <-inner.Done():
				return
			case <-t.C:
			}
			if flush() != nil {
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

// run writes until the source ends. What it gave before it failed is in the file then.
func (w *sourceWriter) run(ctx context.Context) error {
	err := reading(ctx, w.flush, func(ctx context.Context) error { return w.source.Read(ctx, w.take) })
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
	return errors.Join(err, w.keep())
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
		return fmt.Errorf("record: %s: an event of stream %d and class %d, which it does not have", w.source.Name(), e.Stream, e.Class)
	}
	return w.rows.write(e)
}

// flush writes out what is in memory, and what was lost.
func (w *sourceWriter) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = w.rows.add(w.source.Streams())
	}
	if w.failed == nil {
		w.rows.lose(w.source.Lost())
		w.failed = w.rows.flush()
	}
	return w.failed
}

// keep writes what is in memory, whatever became of the source. An error is the output's.
func (w *sourceWriter) keep() error {
	w.rows.lose(w.source.Lost())
	if err := w.rows.flush(); err != nil {
		w.failed = err
		return err
	}
	return nil
}

// finish is for after run.
func (w *sourceWriter) finish() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	if !ofOutput(w.failed) { // else it was told
		if w.failed == nil {
			err = w.rows.add(w.source.Streams())
		}
		err = errors.Join(err, w.keep())
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
