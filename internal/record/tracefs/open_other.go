//go:build !linux

package tracefs

import (
	"context"

	"meridian/internal/record/kernel"
	"meridian/trace"
)

// Recorder is there on Linux alone.
type Recorder struct{ none struct{} }

// Open always fails here.
func Open(Options, *trace.Warnings) (*Recorder, error) { return nil, elsewhere() }

func elsewhere() error {
	return &Unavailable{Reason: kernel.NotSupported, Missing: "only Linux has it"}
}

func (r *Recorder) Classes() []trace.Class                                { return nil }
func (r *Recorder) Read(context.Context, func(*kernel.Event) error) error { return elsewhere() }
func (r *Recorder) Follow(pid int) error                                  { return elsewhere() }
func (r *Recorder) Following() ([]int, error)                             { return nil, nil }
func (r *Recorder) Stop() error                                           { return nil }
func (r *Recorder) Lost() ([]uint64, error)                               { return nil, nil }
func (r *Recorder) Close() error                                          { return nil }
