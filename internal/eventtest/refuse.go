package eventtest

import (
	"errors"
	"io"
	"strings"
	"testing"

	"meridian/trace"
)

// NewWriter is a constructor of a writer with its options.
type NewWriter func(w io.Writer, s *trace.Schema) (trace.Sink, error)

// RefusesNilSchema checks that a writer without a schema is refused with an error of its format.
func RefusesNilSchema(t testing.TB, format string, open NewWriter) {
	t.Helper()
	if _, err := open(io.Discard, nil); err == nil || err.Error() != format+": the schema is nil" {
		t.Errorf("without a schema: %v", err)
	}
}

// RefusesInvalidEvents checks that a writer names the event that its schema does not hold or that comes too late, and is
// of no use after that.
func RefusesInvalidEvents(t testing.TB, open NewWriter) {
	t.Helper()
	RefusesUnknownIndices(t, open)
	refuses(t, open, trace.TimelineEvent{Time: -1}, "event 2 at -1 ns is")
}

// RefusesUnknownIndices checks that a writer names the event whose host, stream or class its schema does not hold, that it is of
// no use after that, and that it takes nothing after Close.
func RefusesUnknownIndices(t testing.TB, open NewWriter) {
	t.Helper()
	for _, test := range []struct {
		event trace.TimelineEvent
		want  string
	}{
		{trace.TimelineEvent{Host: 5}, "event 2: host 5 out of range (the schema has 1)"},
		{trace.TimelineEvent{Host: -1}, "event 2: host -1 out of range (the schema has 1)"},
		{trace.TimelineEvent{Host: 1}, "event 2: host 1 out of range (the schema has 1)"},
		{trace.TimelineEvent{Event: trace.Event{Stream: -1}}, "event 2: stream -1 out of range (the schema has 1)"},
		{trace.TimelineEvent{Event: trace.Event{Class: 1}}, "event 2: class 1 out of range (the schema has 1)"},
	} {
		refuses(t, open, test.event, test.want)
	}
	w, err := open(io.Discard, oneOfEach())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if w.Write(&trace.TimelineEvent{}) == nil {
		t.Error("an event was accepted after Close")
	}
}

func refuses(t testing.TB, open NewWriter, event trace.TimelineEvent, want string) {
	t.Helper()
	w, err := open(io.Discard, oneOfEach())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&trace.TimelineEvent{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&event); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, not %s", err, want)
	}
	if w.Close() == nil {
		t.Error("a writer that refused an event was closed without an error")
	}
}

// ReportsFailure checks that Close returns an error of the output.
func ReportsFailure(t testing.TB, open NewWriter) {
	t.Helper()
	w, err := open(fullDisk{}, oneOfEach())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("Close: %v", err)
	}
}

func oneOfEach() *trace.Schema {
	return &trace.Schema{Hosts: []string{"a"}, Streams: []trace.Stream{{Host: "a"}}, Classes: []trace.Class{{}}}
}

type fullDisk struct{}

var errFull = errors.New("no space left")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
