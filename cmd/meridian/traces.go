package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/spf13/cobra"

	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/scratch"
	"meridian/internal/show"
	"meridian/internal/spill"
)

// needTraces refuses a command line without a trace.
func needTraces(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return wrong("%s: no TRACE given", cmd.Name())
	}
	return nil
}

// traceFlags says how traces are read.
type traceFlags struct {
	scratch string
	memory  memoryValue
	away    func(ctx context.Context, arg string) ([]input.Trace, error) // of a command that takes captures at agents, see input.ParseWith
}

func (f *traceFlags) add(cmd *cobra.Command) {
	addScratch(cmd, &f.scratch, "traces that come through pipes, and what --memory does not hold")
	cmd.Flags().Var(&f.memory, "memory", "`SIZE` of memory to aim at, such as 512MiB: what is more goes to temporary files (default: a quarter of the machine's)")
}

// addScratch adds the flag that names the directory of temporary files, which hold what it says.
func addScratch(cmd *cobra.Command, dir *string, holds string) {
	cmd.Flags().StringVar(dir, "scratch", "", "`DIR` for temporary files: "+holds+" (default $TMPDIR, else /var/tmp)")
	completions(cmd, map[string]cobra.CompletionFunc{"scratch": cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)})
}

// withTraces finds the traces that arguments name, and does the work of a command on them while its progress is shown.
//
// Traces that come through pipes are in temporary files meanwhile, as is what does not fit in memory.
func withTraces(cmd *cobra.Command, args []string, f *traceFlags, quiet bool, work func(*tracesRun) error) (err error) {
	dir := scratch.New(scratchUnder(f.scratch))
	defer func() {
		if removing := dir.Close(); err == nil {
			err = removing
		}
	}()
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	limit := f.memory.bytes()
	if spillAll {
		limit = 0
	}
	memory := spill.New(dir, limit, cancel)
	defer func() {
		if full := memory.Err(); full != nil {
			err = full // whatever it led to
		}
		if closing := memory.Close(); err == nil {
			err = closing
		}
	}()
	args, err = input.Spool(ctx, args, dir)
	if err != nil {
		return err
	}
	var away func(arg string) ([]input.Trace, error)
	if f.away != nil {
		away = func(arg string) ([]input.Trace, error) { return f.away(ctx, arg) }
	}
	traces, err := input.ParseWith(args, away)
	if err != nil {
		return err
	}
	bar := newProgress(cmd, quiet)
	defer bar.stop()
	spareMemory(f.memory.bytes())
	progress := func(stage string, done, total int64) {
		if stage == pipeline.Reading {
			memory.Progress(done, total)
		}
		bar.show(stage, done, total)
	}
	held := func(h input.Held) *show.Memory {
		need := memoryNeed(f.memory.bytes(), h)
		if need != nil && !quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "meridian: warning: about %d MiB of memory will be needed, more than --memory %dMiB: flows of captures (%d MiB), ends of messages in recordings (%d) "+
				"and messages of lists (%d) go to no file\n", need.Needed>>20, need.Limit>>20, h.Flows>>20, h.Marks>>20, h.Messages>>20)
		}
		return need
	}
	return work(&tracesRun{ctx, traces, memory, progress, held})
}

// spillAll puts all arrays into files, however few: tests set it.
var spillAll bool

// tracesRun is what a command works with on traces.
type tracesRun struct {
	ctx      context.Context
	traces   []input.Trace
	memory   *spill.Memory // closed when the work is done
	progress pipeline.Progress
	held     func(input.Held) *show.Memory
}

// limit has a run keep to --memory, and tell where it cannot.
func (r *tracesRun) limit(o *pipeline.MatchOptions) { o.Memory, o.Held = r.memory, r.held }

// scratchUnder returns the directory in which temporary files are made if the user names none. They may be large, so it is not /tmp, which
// many systems have in memory.
func scratchUnder(given string) string {
	const persistent = "/var/tmp" // hier(7)
	if given != "" || os.Getenv("TMPDIR") != "" || runtime.GOOS == "windows" {
		return given
	}
	if info, err := os.Stat(persistent); err == nil && info.IsDir() {
		return persistent
	}
	return ""
}

// freeHeap is how large the heap may get before it is collected at all, bytes: a run on small traces ends before that.
const freeHeap = 128 << 20

// leastGrowth is by what share of what lives the heap grows before it is collected, percent. A run holds to its end what it holds, so
// waiting until the heap has doubled would keep as much again in reserve. Collections are cheap here, since packets hold no pointers.
const leastGrowth = 25

// besideHeap is what Go takes beside what lives on the heap, bytes: stacks, tables, parts of blocks.
const besideHeap = 64 << 20

// spareMemory sets how the heap is collected while traces are read. Below freeHeap, or a quarter of the run's limit, there are no
// collections. The limit alone would not do: above it, the collector would not rest. So each collection sets anew how far the heap may grow
// until the next, and a limit above that: near to it, memory that is free goes back to the system at once.
func spareMemory(limit int64) {
	free := min(freeHeap, limit/4)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(free)
	var collected func(**byte)
	collected = func(sentinel **byte) {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		growth := uint64(leastGrowth)
		live := sample[0].Value.Uint64()
		if live > 0 && live < uint64(free) {
			growth = max(growth, 100*(uint64(free)-live)/live)
		}
		debug.SetGCPercent(int(min(growth, math.MaxInt32)))
		debug.SetMemoryLimit(max(limit/8*5, int64(live+live/100*leastGrowth)+besideHeap))
		runtime.SetFinalizer(sentinel, collected) // for the next
	}
	sentinel := new(*byte) // a pointer, since objects without any share blocks, and live as long as another in theirs
	runtime.SetFinalizer(sentinel, collected)
}
