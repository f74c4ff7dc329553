// Package ctftest opens and reads CTF traces in tests.
package ctftest

import (
	"errors"
	"io"
	"testing"

	"meridian/format/ctf"
	"meridian/trace"
)

// Open opens the trace in a directory and closes it at the end of the test. Warnings go to w, which may be nil.
func Open(t testing.TB, dir string, w *trace.Warnings) *ctf.Trace {
	t.Helper()
	tr, err := ctf.Open(dir, w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

// Each calls visit for every event of the trace in a directory, unless visit is nil. It returns the counters and the
// warnings.
func Each(t testing.TB, dir string, visit func(e *trace.Event, s *ctf.Source)) (ctf.Tally, []string) {
	t.Helper()
	var w trace.Warnings
	tr := Open(t, dir, &w)
	s := tr.Events()
	defer s.Close()
	for e := new(trace.Event); ; {
		if err := s.Next(e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if visit != nil {
			visit(e, s)
		}
	}
	s.Close()
	return tr.Tally(), w.Lines()
}
