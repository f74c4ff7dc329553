package input

import (
	"context"
	"errors"
	"fmt"

	"meridian/format"
	"meridian/trace"
)

// Away is a capture that stays where it is: only what alignment needs of it comes here.
type Away struct {
	Size int64 // of the file, bytes
	// Fetch returns the capture of a host, with the packets reduced; m keeps these, unless it is nil. An [AbsentError] leaves it out; any other error ends the reading of all traces.
	Fetch func(ctx context.Context, host string, m trace.Memory, w *trace.Warnings) (*trace.Capture, error)
}

// AbsentError says that a capture elsewhere cannot be had.
type AbsentError struct{ Err error }

func (e *AbsentError) Error() string { return e.Err.Error() }
func (e *AbsentError) Unwrap() error { return e.Err }

// NewAway returns a capture of a host that stays elsewhere. name stands for its path in messages; no other trace has it.
func NewAway(host, name string, a Away) Trace {
	return Trace{Host: host, Path: name, kind: format.Capture, away: &a}
}

// IsAway reports whether a trace stays elsewhere, so that neither its events nor the bytes of its packets can be read.
func (t Trace) IsAway() bool { return t.away != nil }

// size returns that of the trace's file, 0 where it is not known.
func (t Trace) size() int64 {
	if t.away != nil {
		return t.away.Size
	}
	if info, err := format.Stat(t.Path); err == nil {
		return info.Size()
	}
	return 0
}

// read fetches the capture.
func (a *Away) read(ctx context.Context, in Trace, m trace.Memory, w *trace.Warnings, advance func(read int64)) (c content, err error) {
	c.capture, err = a.Fetch(ctx, in.Host, m, w)
	advance(a.Size)
	var absent *AbsentError
	if err != nil && errors.As(err, &absent) {
		return content{absent: fmt.Sprintf("%s (%s) was left out: %v", in.Host, in.Path, absent)}, nil
	}
	return c, err
}
