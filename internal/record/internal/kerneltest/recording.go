// Package kerneltest holds what the tests of the two recorders of kernel events share, record/kernel and record/tracefs: a
// recording that is read while the test goes on, programs to record, and the cases that both recorders must pass.
package kerneltest

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"
	"testing"

	"meridian/clock"
	"meridian/internal/record/kernel"
	"meridian/trace"
)

// Recorder is a recorder of kernel events.
type Recorder interface {
	Classes() []trace.Class
	Read(context.Context, func(*kernel.Event) error) error
	Follow(pid int) error
	Stop() error
	Lost() ([]uint64, error)
	Close() error
}

// Event is an event that was kept.
type Event struct {
	kernel.Event
	Type *trace.Class
}

// Name returns the name of the event's class.
func (e *Event) Name() string { return e.Type.Name }

// Value returns a field of the event, or fails the test.
func (e *Event) Value(t testing.TB, field string) *trace.Value {
	t.Helper()
	for i := range e.Type.Fields {
		if e.Type.Fields[i].Name == field {
			return &e.Values[i]
		}
	}
	t.Fatalf("%s has no field %s", e.Name(), field)
	return nil
}

// Recording is a recorder that is read while the test goes on. It is closed at the test's end.
type Recording struct {
	Recorder Recorder
	Events   []Event // once Stop or Wait has returned

	t    *testing.T
	done chan error
}

// New returns a recording of a recorder that was opened and is not read yet.
func New(t *testing.T, r Recorder) *Recording {
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Recording{Recorder: r, t: t, done: make(chan error, 1)}
}

// Read begins to read the recorder.
func (r *Recording) Read(ctx context.Context) {
	last := map[int]uint64{}
	classes := r.Recorder.Classes()
	go func() {
		r.done <- r.Recorder.Read(ctx, func(e *kernel.Event) error {
			if e.Stamp < last[e.CPU] {
				r.t.Errorf("processor %d: %d after %d", e.CPU, e.Stamp, last[e.CPU])
			}
			last[e.CPU] = e.Stamp
			kept := Event{Event: *e, Type: &classes[e.Class]}
			kept.Values = nil
			for i := range e.Values {
				kept.Values = append(kept.Values, e.Values[i].Clone())
			}
			r.Events = append(r.Events, kept)
			return nil
		})
	}()
}

// Wait waits until Read has ended, and returns its error.
func (r *Recording) Wait() error { return <-r.done }

// Stop ends the recording and returns what was recorded, in the order of the stamps.
func (r *Recording) Stop() []Event {
	r.t.Helper()
	if err := r.Recorder.Stop(); err != nil {
		r.t.Fatal(err)
	}
	if err := r.Wait(); err != nil {
		r.t.Fatal(err)
	}
	slices.SortStableFunc(r.Events, func(a, b Event) int { return cmp.Compare(a.Stamp, b.Stamp) })
	return r.Events
}

// Lost returns how many events were lost on all processors.
func (r *Recording) Lost() (n uint64) {
	r.t.Helper()
	lost, err := r.Recorder.Lost()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, x := range lost {
		n += x
	}
	return n
}

// Missed returns for how many events the kernel ran no program, of those that Lost returns.
func (r *Recording) Missed() uint64 {
	r.t.Helper()
	by, ok := r.Recorder.(interface{ Missed() (uint64, error) })
	if !ok {
		return 0
	}
	n, err := by.Missed()
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// Overflowed returns how many events found no room, on all processors.
func (r *Recording) Overflowed() uint64 {
	r.t.Helper()
	otherwise := r.Missed() // which only grows, as do faults
	if by, ok := r.Recorder.(interface {
		Faults() ([]kernel.Fault, error)
	}); ok {
		faults, err := by.Faults()
		if err != nil {
			r.t.Fatal(err)
		}
		for _, f := range faults {
			otherwise += uint64(f.Count)
		}
	}
	return max(r.Lost(), otherwise) - otherwise
}

// Source returns those of the events that wanted accepts, or all if it is nil, as a source of a trace. Stop was called.
func (r *Recording) Source(wanted func(*Event) bool) *Source {
	s := &Source{classes: r.Recorder.Classes()}
	for cpu := range 1 << 10 {
		s.streams = append(s.streams, trace.Stream{Name: "CPU " + strconv.Itoa(cpu), Kind: trace.CPU, ID: int64(cpu), Parent: -1})
	}
	for i := range r.Events {
		if e := &r.Events[i]; wanted == nil || wanted(e) {
			s.events = append(s.events, e)
		}
	}
	return s
}

// Source brings the events of a recording.
type Source struct {
	classes []trace.Class
	streams []trace.Stream
	events  []*Event
	next    int
}

// Next implements [trace.Source].
func (s *Source) Next(e *trace.Event) error {
	if s.next == len(s.events) {
		return io.EOF
	}
	at := s.events[s.next]
	*e = trace.Event{Time: clock.HostTime(at.Stamp), Stream: at.CPU, Class: at.Class}
	s.next++
	return nil
}

// Values implements [trace.Source].
func (s *Source) Values() []trace.Value { return s.events[s.next-1].Values }

// Streams implements [trace.Source].
func (s *Source) Streams() []trace.Stream { return s.streams }

// Classes implements [trace.Source].
func (s *Source) Classes() []trace.Class { return s.classes }

// Close implements [trace.Source].
func (s *Source) Close() error { return nil }
