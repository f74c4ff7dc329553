package main

import (
	"math"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/scratch"
)

// needTraces refuses a command line without a trace.
func needTraces(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return wrong("%s: no TRACE given", cmd.Name())
	}
	return nil
}

// traceFlags says how traces are read.
type traceFlags struct{ scratch string }

func (f *traceFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.scratch, "scratch", "", "`DIR` for temporary files, as of traces that come through pipes (default: the system's)")
	completions(cmd, map[string]cobra.CompletionFunc{"scratch": cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)})
}

// withTraces finds the traces that arguments name, and does the work of a command on them while its progress is shown.
//
// Traces that come through pipes are in temporary files meanwhile.
func withTraces(cmd *cobra.Command, args []string, f *traceFlags, quiet bool, work func([]input.Trace, pipeline.Progress) error) (err error) {
	dir := scratch.New(f.scratch)
	defer func() {
		if removing := dir.Close(); err == nil {
			err = removing
		}
	}()
	args, err = input.Spool(cmd.Context(), args, dir)
	if err != nil {
		return err
	}
	traces, err := input.Parse(args)
	if err != nil {
		return err
	}
	bar := newProgress(cmd, quiet)
	defer bar.stop()
	spareMemory()
	return work(traces, bar.show)
}

// freeHeap is how large the heap may get before it is collected at all, bytes: a run on small traces ends before that.
const freeHeap = 128 << 20

// spareMemory sets how the heap is collected while traces are read. A run holds to its end what it holds, so waiting until
// the heap has doubled would keep as much again in reserve. Collections are cheap here, since packets hold no pointers.
//
// Below freeHeap there are none. The limit alone would not do: above it, the collector would not rest. So the first
// collection lifts it.
func spareMemory() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(freeHeap)
	sentinel := new(*byte) // a pointer, since objects without any share blocks, and live as long as another in theirs
	runtime.SetFinalizer(sentinel, func(**byte) {
		debug.SetGCPercent(25)
		debug.SetMemoryLimit(math.MaxInt64)
	})
}
