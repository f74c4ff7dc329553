package tracefs

import (
	"context"
	"errors"
	"os"
	"testing"

	"meridian/internal/record/kernel"
	"meridian/trace"
)

// missing skips the test for what this machine lacks, where not everything must run.
func missing(t *testing.T, err error) {
	t.Helper()
	var u *Unavailable
	switch {
	case !errors.As(err, &u):
		t.Fatal(err)
	case os.Getenv("MERIDIAN_CI") == "1":
		t.Fatal(u)
	}
	t.Skip(u)
}

// warn returns where warnings go, which the test logs at its end.
func warn(t *testing.T) *trace.Warnings {
	w := new(trace.Warnings)
	t.Cleanup(func() { t.Logf("%q", w.Lines()) })
	return w
}

// taped is an event that was kept.
type taped struct {
	stamp  uint64
	cpu    int
	class  *trace.Class
	of     int // its place among the classes
	values []trace.Value
}

// value returns a field of an event, or fails the test.
func (e *taped) value(t *testing.T, name string) *trace.Value {
	t.Helper()
	for i := range e.class.Fields {
		if e.class.Fields[i].Name == name {
			return &e.values[i]
		}
	}
	t.Fatalf("%s has no field %s", e.class.Name, name)
	return nil
}

// source is a recorder of kernel events, of either kind.
type source interface {
	Classes() []trace.Class
	Read(context.Context, func(*kernel.Event) error) error
	Stop() error
	Lost() ([]uint64, error)
	Close() error
}

// recording is a recorder that is read while the test goes on.
type recording struct {
	t      *testing.T
	source source
	done   chan error
	events []taped
}

// open opens a recorder, or skips the test.
func open(t *testing.T, o Options) (*recording, *Recorder) {
	t.Helper()
	r, err := Open(o, warn(t))
	if err != nil {
		missing(t, err)
	}
	return tape(t, r), r
}

func tape(t *testing.T, s source) *recording {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &recording{t: t, source: s, done: make(chan error, 1)}
}

func (rec *recording) read(ctx context.Context) {
	last := map[int]uint64{}
	classes := rec.source.Classes()
	go func() {
		rec.done <- rec.source.Read(ctx, func(e *kernel.Event) error {
			if e.Stamp < last[e.CPU] {
				rec.t.Errorf("processor %d: %d after %d", e.CPU, e.Stamp, last[e.CPU])
			}
			last[e.CPU] = e.Stamp
			at := taped{stamp: e.Stamp, cpu: e.CPU, class: &classes[e.Class], of: e.Class}
			for i := range e.Values {
				at.values = append(at.values, e.Values[i].Clone())
			}
			rec.events = append(rec.events, at)
			return nil
		})
	}()
}

// stop ends the recording and returns what was recorded.
func (rec *recording) stop() []taped {
	rec.t.Helper()
	if err := rec.source.Stop(); err != nil {
		rec.t.Fatal(err)
	}
	if err := <-rec.done; err != nil {
		rec.t.Fatal(err)
	}
	return rec.events
}

// lost returns how many events there was no room for.
func (rec *recording) lost() (n uint64) {
	rec.t.Helper()
	lost, err := rec.source.Lost()
	if err != nil {
		rec.t.Fatal(err)
	}
	for _, x := range lost {
		n += x
	}
	return n
}

// record opens a recorder and reads it.
func record(t *testing.T, o Options) (*recording, *Recorder) {
	t.Helper()
	rec, r := open(t, o)
	rec.read(context.Background())
	return rec, r
}
