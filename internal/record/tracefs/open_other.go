//go:build !linux

package tracefs

import (
	"meridian/internal/record/kernel"
	"meridian/trace"
)

// Recorder exists on Linux only.
type Recorder struct{ kernel.Recorder }

// Open always fails here.
func Open(Options, *trace.Warnings) (*Recorder, error) {
	return nil, &Unavailable{Reason: kernel.NotSupported, Missing: "only Linux has it"}
}
