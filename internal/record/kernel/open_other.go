//go:build !linux

package kernel

import (
	"context"

	"meridian/trace"
)

// Recorder is there on Linux alone.
type Recorder struct{ none struct{} }

// Open always fails here.
func Open(Options, *trace.Warnings) (*Recorder, error) {
	return nil, &Unavailable{Reason: NotSupported}
}

func (r *Recorder) Classes() []trace.Class { return nil }
func (r *Recorder) Read(context.Context, func(*Event) error) error {
	return &Unavailable{Reason: NotSupported}
}
func (r *Recorder) Follow(pid int) error      { return &Unavailable{Reason: NotSupported} }
func (r *Recorder) Following() ([]int, error) { return nil, nil }
func (r *Recorder) Stop() error               { return nil }
func (r *Recorder) Lost() ([]uint64, error)   { return nil, nil }
func (r *Recorder) Missed() (uint64, error)   { return 0, nil }
func (r *Recorder) Close() error              { return nil }
