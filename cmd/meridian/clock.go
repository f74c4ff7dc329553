package main

import (
	"time"

	"github.com/spf13/cobra"

	"meridian/clock"
	"meridian/internal/show"
)

// newClock is the parent of all that measures clocks.
func newClock() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "clock",
		Short: "Measure clocks",
		Long:  "Measure the clocks of this machine, and how those of other hosts stand to it.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	cmd.AddCommand(newClockCost(), newClockKey(), newClockServe(), newClockWatch(), newClockProbe(), newClockOneWay(), newClockDaemon(), newClockCompare())
	for _, command := range cmd.Commands() {
		command.DisableFlagsInUseLine = true
	}
	return cmd
}

// clockCostFlags is what the command line says.
type clockCostFlags struct {
	outputFlags
	duration time.Duration
}

func newClockCost() *cobra.Command {
	var f clockCostFlags
	cmd := &cobra.Command{
		Use:   "cost [--duration TIME] [--json]",
		Short: "Measure what it costs to read the clocks of this machine",
		Long: `Ask for the time in every way that this machine has and print what each costs:

  min, median, p99   in a row, as in a busy program: of the means of many batches
  cycles             the median in counts of the processor's counter, which ticks at its own rate, not the cores'
  cold ...           a single call after the caches were filled with other things, as in a program that asks now and then
  step               the resolution: the smallest positive difference of two calls in a row, never below what a call takes

above it the frequency of the counter with a strict bound on its error, by the kernel's clocks, and which way sensors
stamp (*), and why.

A machine that does other things meanwhile costs more: compare medians and minima, not p99.

Exit code: 0 done, 1 failed, 2 wrong usage.`,
		Example: `  meridian clock cost
  meridian clock cost --duration 30s --json > cost.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.DurationVar(&f.duration, "duration", 2*time.Second, "how long to measure, `TIME` such as 500ms or 30s")
	f.outputFlags.add(cmd, "costs")
	return cmd
}

func (f *clockCostFlags) run(cmd *cobra.Command) error {
	if f.duration <= 0 || f.duration > time.Hour {
		return wrong("--duration %v: want a time above 0 and up to 1h", f.duration)
	}
	bar := newProgress(cmd, f.quiet)
	cost, err := clock.Measure(cmd.Context(), f.duration, func(done, total int64) { bar.show("asking", done, total) })
	bar.stop()
	if err != nil {
		return err
	}
	result := (*show.Cost)(cost)
	return f.print(cmd, nil, nil, result.Table, result.Write)
}
