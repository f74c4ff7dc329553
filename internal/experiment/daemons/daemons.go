// Package daemons has the standard daemons of experiments: what "use:" names in a file. Each is a file here: a
// protocol.Spec, by which files are checked, and a function that makes its phases.
//
// A daemon is a process of this program on its host, in the working directory that the host gave it. What it knows of the
// experiment is in its environment (internal/experiment/host).
package daemons

import (
	"context"
	"fmt"
	"io"

	"meridian/internal/experiment/protocol"
)

// standard is a standard daemon.
type standard struct {
	spec protocol.Spec
	// make returns the phases of a new daemon, which share its state, and what ends it: called once, after its phases have ended.
	make func(ctx context.Context) (phases map[string]protocol.Phase, end func(), err error)
}

// all are the standard daemons. To add one, add a line.
func all() []*standard {
	return []*standard{fault, iperf3, pause, pipeline, probe, quiet, record, rpc}
}

// Specs describes the standard daemons.
func Specs() (specs []*protocol.Spec) {
	for _, s := range all() {
		specs = append(specs, &s.spec)
	}
	return specs
}

// Serve is a standard daemon until its input ends.
func Serve(ctx context.Context, name string, in io.Reader, out io.Writer) error {
	for _, s := range all() {
		if s.spec.Name != name {
			continue
		}
		phases, end, err := s.make(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if end != nil {
			defer end()
		}
		return protocol.Serve(ctx, in, out, phases)
	}
	return fmt.Errorf("unknown standard daemon %q", name)
}
