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
	o, v, err := f.liveOptions(args)
	if err != nil {
		return err
	}
	timeline := view.NewLive()
	defer timeline.Close()
	s, err := view.Listen(f.listen, timeline)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	var w trace.Warnings
	var outcome *live.Outcome
	followed := make(chan error, 1)
	go func() {
		var err error
		outcome, err = live.View(ctx, o, v, timeline, &w)
		if err != nil {
			stop() // nothing more will come: the command ends
		}
		followed <- err
	}()
	err = f.serveOn(ctx, cmd, s)
	stop()
	if err = errors.Join(err, <-followed); err != nil {
		return err
	}
	f.printWarnings(cmd, w.Lines())
	if !f.quiet {
		fmt.Fprintln(cmd.ErrOrStderr(), "meridian:", outcome.Summary())
	}
	return liveOutcome(outcome)
}

// liveOptions is what the flags say of a live timeline.
func (f *viewFlags) liveOptions(args []string) (o live.Options, v live.ViewOptions, err error) {
	wanted, err := f.selection()
	if err != nil {
		return o, v, err
	}
	all, err := f.options(false)
	if err != nil {
		return o, v, err
	}
	o.Inputs, o.Align.Align = liveInputs(args), all.Align.Options
	o.Sorter.Frame, o.Sorter.LeastFrame, o.Sorter.MostFrame = f.latency, f.latency, 2*f.latency
	v.Select, v.Index, v.MinDelay = wanted.Options, f.index, all.Align.MinDelay
	return o, v, nil
}
