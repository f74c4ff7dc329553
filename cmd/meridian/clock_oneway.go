package main

import (
	"time"

	"github.com/spf13/cobra"

	"meridian/clock"
	"meridian/internal/probe"
	"meridian/internal/show"
	"meridian/internal/synchroniser"
)

func newClockOneWay() *cobra.Command {
	var f delayFlags
	var m methodChoice
	cmd := &cobra.Command{
		Use:   "one-way [NAME=]HOST[:PORT]... [--for TIME] [--json] [-o FILE.svg]",
		Short: "Measure the delays to and from other hosts, each way by itself",
		Long: `Synchronise with hosts that run 'meridian clock serve', and print how long messages take there and back: two distributions, which tell a slow
way from a slow way back. The first quarter of the time, two seconds at most, only synchronises.

"off by at most" is strict: the widest bound of the offset while delays were measured. Half the difference of the least delays of both ways is
in no measurement, whatever the method: it goes into the offset.

Exit code: 0 done or interrupted, 1 failed, 2 wrong usage, 3 the offset of a host had no bound: there are no delays of it.`,
		Example: `  meridian clock one-way db
  meridian clock one-way db --for 1m --rate 100 -o delays.svg`,
		RunE: func(cmd *cobra.Command, args []string) error {
			targets, err := clockTargets(cmd, args)
			if err != nil {
				return err
			}
			if err := m.check(); err != nil {
				return err
			}
			o := synchroniser.Options{Method: m.method}
			if o.Probe, err = f.options(); err != nil {
				return err
			}
			all := make([]oneWay, len(targets))
			settled := time.Now().Add(min(settleTime, f.timeFor/4))
			err = f.measure(o, targets, func(s *synchroniser.Synchroniser, host int, x probe.Sample) {
				if time.Now().After(settled) {
					all[host].take(s.State(host), x)
				}
			})
			if err != nil {
				return err
			}
			r := &show.DelayReport{Title: "One-way delays"}
			for i, t := range targets {
				r.Delays = append(r.Delays, show.NewDelays("there", t.Name, all[i].there, &all[i].off), show.NewDelays("back", t.Name, all[i].back, &all[i].off))
			}
			return f.print(r, "no bound, so no delays, of")
		},
	}
	f.add(cmd)
	m.add(cmd)
	return cmd
}

// settleTime is for how long a synchroniser runs at most until delays are taken by it.
const settleTime = 2 * time.Second

// oneWay is the delays to a host and from it.
type oneWay struct {
	there, back []int64
	off         int64 // by how much each may be off
}

// take adds a sample, by what is known of the host when it has come.
func (w *oneWay) take(s synchroniser.State, x probe.Sample) {
	if !s.Free.Bounded {
		return
	}
	w.there = append(w.there, clock.Sub(x.T2.Time, x.T1.Time)-s.Free.Offset)
	w.back = append(w.back, clock.Sub(x.T4.Time, x.T3.Time)+s.Free.Offset)
	stamps := max(x.T1.Error+x.T2.Error, x.T3.Error+x.T4.Error)
	w.off = max(w.off, max(s.Free.High-s.Free.Offset, s.Free.Offset-s.Free.Low)+stamps)
}
