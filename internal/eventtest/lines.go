package eventtest

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// LineWriter writes a line of each event as it comes, with what is said of it: how late it is, and by how much it was moved, ns.
type LineWriter interface {
	trace.Sink
	Annotate(late, moved int64)
	Flush() error
}

// WriteLines returns what a writer makes of events. It says of each event that is before the one written last how late it is, and that
// it was moved by a tenth of that.
func WriteLines[W LineWriter](t Fataler, open func(io.Writer, *trace.Schema) (W, error), l *trace.Schema, events []trace.TimelineEvent) string {
	var out bytes.Buffer
	w, err := open(&out, l)
	Write(t, &annotated{LineWriter: w}, err, events)
	return out.String()
}

type annotated struct {
	LineWriter
	last clock.TimelineTime
}

func (a *annotated) Write(e *trace.TimelineEvent) error {
	if late := clock.Sub(a.last, e.Time); a.last > 0 && late > 0 {
		a.Annotate(late, late/10)
	}
	a.last = e.Time
	return a.LineWriter.Write(e)
}

// KeepsFailure checks that Flush and every call after it return an error of the output.
func KeepsFailure[W LineWriter](t testing.TB, open func(io.Writer, *trace.Schema) (W, error)) {
	t.Helper()
	e := trace.TimelineEvent{Map: -1}
	w, err := open(fullDisk{}, oneOfEach())
	if err == nil {
		err = w.Write(&e)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []func() error{w.Flush, w.Flush, func() error { return w.Write(&e) }, w.Close} {
		if err := call(); !errors.Is(err, errFull) {
			t.Errorf("error %v", err)
		}
	}
}
