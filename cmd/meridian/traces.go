package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"

	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
)

// needTraces refuses a command line without a trace.
func needTraces(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return wrong("%s: no TRACE given", cmd.Name())
	}
	return nil
}

// withTraces finds the traces that arguments name, and does the work of a command on them while its progress is shown.
func withTraces(cmd *cobra.Command, args []string, quiet bool, work func([]input.Trace, pipeline.Progress) error) error {
	traces, err := input.Parse(args)
	if err != nil {
		return err
	}
	bar := newProgress(cmd, quiet)
	defer bar.stop()
	// A run holds to its end what it holds, so waiting until the heap has doubled would keep as much again in reserve.
	// Collections are cheap here, since packets hold no pointers.
	debug.SetGCPercent(25)
	return work(traces, bar.show)
}
