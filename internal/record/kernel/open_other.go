//go:build !linux

package kernel

import (
	"context"

	"meridian/trace"
)

// Recorder exists on Linux only.
type Recorder struct{ unsupported }

// Open always fails here.
func Open(Options, *trace.Warnings) (*Recorder, error) { return nil, errUnsupported }

// Followable always returns an error here.
func Followable() error { return errUnsupported }

var errUnsupported = &Unavailable{Reason: NotSupported}

// unsupported is a recorder of kernel events on a system that has none.
type unsupported struct{}

func (unsupported) Classes() []trace.Class                         { return nil }
func (unsupported) Read(context.Context, func(*Event) error) error { return errUnsupported }
func (unsupported) Follow(pid int) error                           { return errUnsupported }
func (unsupported) Following() ([]int, error)                      { return nil, nil }
func (unsupported) Stop() error                                    { return nil }
func (unsupported) Lost() ([]uint64, error)                        { return nil, nil }
func (unsupported) Missed() (uint64, error)                        { return 0, nil }
func (unsupported) Faults() ([]Fault, error)                       { return nil, nil }
func (unsupported) Lacks() (Groups, error)                         { return 0, nil }
func (unsupported) Close() error                                   { return nil }
