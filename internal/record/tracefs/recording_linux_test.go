package tracefs

import (
	"context"
	"errors"
	"testing"

	"meridian/internal/record/internal/kerneltest"
	"meridian/internal/record/kernel"
	"meridian/internal/testneed"
	"meridian/trace"
)

// missing ends the test for what the error says this machine lacks.
func missing(t *testing.T, err error) {
	t.Helper()
	var u *Unavailable
	if !errors.As(err, &u) {
		t.Fatal(err)
	}
	testneed.Missing(t, "%v", u)
}

// warn returns a reporter whose warnings the test logs at its end.
func warn(t *testing.T) *trace.Warnings {
	w := new(trace.Warnings)
	t.Cleanup(func() { t.Logf("%q", w.Lines()) })
	return w
}

// open opens a recorder, or ends the test.
func open(t *testing.T, o Options) (*kerneltest.Recording, *Recorder) {
	t.Helper()
	r, err := Open(o, warn(t))
	if err != nil {
		missing(t, err)
	}
	return kerneltest.New(t, r), r
}

// record opens a recorder and reads it.
func record(t *testing.T, o Options) (*kerneltest.Recording, *Recorder) {
	t.Helper()
	rec, r := open(t, o)
	rec.Read(context.Background())
	return rec, r
}

// begin is record for the shared cases.
func begin(t *testing.T, o kernel.Options) *kerneltest.Recording {
	t.Helper()
	rec, _ := record(t, o)
	return rec
}
