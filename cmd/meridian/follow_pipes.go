package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"meridian/internal/live"
	"meridian/internal/pipeline/input"
	"meridian/internal/scratch"
)

// liveRun is what a command that follows works with.
type liveRun struct {
	ctx    context.Context
	inputs []live.Input
}

// withLive does the work of a command on the traces that arguments name, while they grow. Captures that come through pipes are copied
// to temporary files meanwhile, and these are followed. Where all traces are pipes, ctx ends with the last of them if ends is true.
func withLive(cmd *cobra.Command, args []string, under string, quiet, ends bool, work func(*liveRun) error) (err error) {
	dir := scratch.New(scratchUnder(under))
	defer func() {
		if removing := dir.Close(); err == nil {
			err = removing
		}
	}()
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	paths, copies, err := input.FollowPipes(ctx, args, dir, func(path string, last bool) {
		if !quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "meridian: %s has ended: nothing more comes from it\n", path)
		}
		if ends && last {
			stop()
		}
	})
	if err != nil {
		return err
	}
	defer func() {
		stop()
		if copying := copies.Wait(); err == nil && copying != nil {
			err = &brokenPromise{copying.Error()}
		}
	}()
	inputs, err := liveInputs(paths, copies)
	if err != nil {
		return err
	}
	for i := range inputs {
		in := &inputs[i]
		pipe := copies.Pipe(in.Dir)
		if in.New = pipe != ""; in.New {
			// A copy that stays whole takes more of the disk, and nothing else.
			in.Read = func(bytes int64) { _ = copies.Forget(in.Dir, bytes) }
			in.Ended = func() bool { return copies.Ended(in.Dir) }
		}
		if in.New && !quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "meridian: following %s, by a copy at %s that is removed at the end\n", pipe, in.Dir)
		}
	}
	return work(&liveRun{ctx, inputs})
}
