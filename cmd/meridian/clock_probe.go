package main

import (
	"github.com/spf13/cobra"

	"meridian/internal/probe"
	"meridian/internal/show"
	"meridian/internal/synchroniser"
)

func newClockProbe() *cobra.Command {
	var f delayFlags
	cmd := &cobra.Command{
		Use:   "probe [NAME=]HOST[:PORT]... [--for TIME] [--json] [-o FILE.svg]",
		Short: "Characterise the round trips to other hosts",
		Long: `Ask hosts that run 'meridian clock serve' and print their round trips, without the time that the other end took: minimum, median, maximum, mean, and the
mean of those up to twice the minimum, which leaves out what queues and schedulers did. With it a histogram, whose last bar has all beyond.
"off by at most" is what the stamps can be off, the worst of all.

A bound of the offset between two clocks is never narrower than the uncertainty of the rates leaves it, and can be about as narrow as the
minimum here. So this comes before synchronising.

Exit code: 0 done or interrupted, 1 failed, 2 wrong usage, 3 a host did not answer.`,
		Example: `  meridian clock probe db
  meridian clock probe db web --for 30s --rate 100 -o trips.svg
  meridian clock probe db --json | jq '.delays[].min_ns'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			targets, err := clockTargets(cmd, args)
			if err != nil {
				return err
			}
			var o synchroniser.Options
			if o.Probe, err = f.options(); err != nil {
				return err
			}
			trips, off := make([][]int64, len(targets)), make([]int64, len(targets))
			err = f.measure(o, targets, func(_ *synchroniser.Synchroniser, host int, x probe.Sample) {
				trips[host] = append(trips[host], trip(x))
				off[host] = max(off[host], x.T1.Error+x.T2.Error+x.T3.Error+x.T4.Error)
			})
			if err != nil {
				return err
			}
			r := &show.DelayReport{Title: "Round trips"}
			for i, t := range targets {
				r.Delays = append(r.Delays, show.NewDelays("round trip", t.Name, trips[i], &off[i]))
			}
			return f.print(r, "no answer from")
		},
	}
	f.add(cmd)
	return cmd
}
