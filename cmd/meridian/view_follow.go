package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"meridian/internal/live"
	"meridian/internal/show/view"
	"meridian/trace"
)

// livePage is the page of a timeline that grows.
type livePage struct {
	flags    *viewFlags
	cmd      *cobra.Command
	timeline *view.Live
	server   *view.Server
	viewer   *live.Viewer
	warnings *trace.Warnings
}

// openLivePage prepares to serve the page at the address that the flags say.
func openLivePage(f *viewFlags, cmd *cobra.Command, o live.Options, v live.ViewOptions) (*livePage, error) {
	p := &livePage{flags: f, cmd: cmd, timeline: view.NewLive(), warnings: new(trace.Warnings)}
	v.Dropped = func() {
		f.printWarnings(cmd, []string{"the oldest part of the index was dropped, as --keep says; this is said once"})
	}
	notes, err := f.openNotes()
	if err != nil {
		return nil, err
	}
	if p.server, err = view.Listen(f.listen, p.timeline, notes); err != nil {
		return nil, err
	}
	if p.viewer, err = live.OpenViewer(o, v, p.timeline, p.warnings); err != nil {
		return nil, errors.Join(err, p.server.Close())
	}
	return p, nil
}

// serve follows and serves until ctx ends, prints the address on stdout, and says in the end what became of the events.
func (p *livePage) serve(ctx context.Context) error {
	defer p.timeline.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var outcome *live.Outcome
	followed := make(chan error, 1)
	go func() {
		var err error
		outcome, err = p.viewer.Run(ctx)
		if err != nil {
			stop() // nothing more will come: the command ends
		}
		followed <- err
	}()
	err := p.flags.serveOn(ctx, p.cmd, p.server)
	stop()
	if err = errors.Join(err, <-followed); err != nil {
		return err
	}
	p.flags.printWarnings(p.cmd, p.warnings.Lines())
	if !p.flags.quiet {
		fmt.Fprintln(p.cmd.ErrOrStderr(), "meridian:", outcome.Summary())
	}
	return liveOutcome(outcome, p.warnings, p.timeline.Contradiction())
}

// followTraces shows directories while they are recorded, until it is interrupted.
func (f *viewFlags) followTraces(cmd *cobra.Command, args []string) error {
	for _, name := range []string{"output", "from", "to", "from-event", "to-event", "logical", "method", "network", "segment", "samples", "repair"} {
		if f.flags.Changed(name) {
			return wrong("--%s is for traces that are whole; leave it out with --follow", name)
		}
	}
	if f.latency < time.Millisecond || f.latency > time.Hour {
		return wrong("--latency %v: want a time from 1ms to 1h", f.latency)
	}
	return withLive(cmd, args, f.scratch, f.quiet, false, func(r *liveRun) error {
		o, v, err := f.liveOptions(r.inputs)
		if err != nil {
			return err
		}
		p, err := openLivePage(f, cmd, o, v)
		if err != nil {
			return err
		}
		return p.serve(r.ctx)
	})
}

// sealInterval is how often a live index is written to disk; 0 is the default. Tests that kill the command write it more often.
var sealInterval time.Duration

// liveOptions is what the flags say of a live timeline.
func (f *viewFlags) liveOptions(inputs []live.Input) (o live.Options, v live.ViewOptions, err error) {
	wanted, err := f.selection()
	if err != nil {
		return o, v, err
	}
	o.Inputs = inputs
	all, err := f.alignLive(&o)
	if err != nil {
		return o, v, err
	}
	if all.Align.MeasureDelay {
		return o, v, wrong("--min-delay %s is for traces that are whole; give a time with --follow", measured)
	}
	o.Sorter.Frame, o.Sorter.LeastFrame, o.Sorter.MostFrame = f.latency, f.latency, 2*f.latency
	v.KeepTime, v.KeepBytes = f.keep.Time, f.keep.Bytes
	v.Select, v.Index, v.MinDelay, v.SealInterval = wanted.Options, f.index, all.Align.MinDelay, sealInterval
	return o, v, nil
}
