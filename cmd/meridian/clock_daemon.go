package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"meridian/internal/synchroniser"
)

// clockDaemonFlags is what the command line says.
type clockDaemonFlags struct {
	askFlags
	methodChoice
	threshold, round, sleep, maxSleep time.Duration
	discipline                        bool
	stepBeyond                        time.Duration
	maxSlew                           float64
	metrics                           string
}

func newClockDaemon() *cobra.Command {
	var f clockDaemonFlags
	cmd := &cobra.Command{
		Use:   "daemon [NAME=]HOST[:PORT]... [--threshold TIME] [--discipline]",
		Short: "Keep an eye on the clocks of other hosts, with little traffic",
		Long: `Ask hosts that run 'meridian clock serve' for a few seconds, print a line for each, sleep, ask again. While the bounds of all offsets are within
--threshold it sleeps twice as long each time, up to --max-sleep. A host beyond the threshold, without a bound, without an answer, or whose clock
was set shortens the sleep to --sleep. Nothing is sent while it sleeps.

It sets nothing without --discipline. With it, it steers this host's system clock after that of the first host (clock_adjtime; it needs
CAP_SYS_TIME): it corrects the clock's rate, and takes an offset away by at most --max-slew. It never sets the clock, but for --step-beyond. It refuses to
start where chronyd, ntpd, systemd-timesyncd or another program keeps the clock already. An unbounded offset changes nothing, one of more than 1000 s
ends the command. When it ends the clock keeps the rate that was learned; killed (SIGKILL) while it takes an offset away, it leaves the
clock off by up to --max-slew, until it runs again.

Exit code: 0 done or interrupted, 1 failed, 2 wrong usage, 3 a host has no bound or did not answer in the last round.`,
		Example: `  meridian clock daemon db web --threshold 100us >> clocks.log
  meridian clock daemon reference.example --discipline --max-sleep 16s`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.askFlags.add(cmd)
	f.methodChoice.add(cmd)
	flags := cmd.Flags()
	flags.DurationVar(&f.threshold, "threshold", 0, "offsets whose bounds reach beyond `TIME` shorten the sleep (default: none)")
	flags.DurationVar(&f.round, "round", 3*time.Second, "ask for `TIME` each time, at least 2s")
	flags.DurationVar(&f.sleep, "sleep", 4*time.Second, "sleep at least `TIME`")
	flags.DurationVar(&f.maxSleep, "max-sleep", 64*time.Second, "sleep at most `TIME`")
	flags.BoolVar(&f.discipline, "discipline", false, "steer this host's system clock after the first host's")
	flags.Float64Var(&f.maxSlew, "max-slew", 100, "take offsets away by at most `PPM`")
	flags.DurationVar(&f.stepBeyond, "step-beyond", 0, "set the clock at once where the offset is beyond `TIME` (default: never)")
	flags.StringVar(&f.metrics, "metrics", "", "serve metrics for Prometheus at `ADDRESS`, such as 127.0.0.1:9123")
	f.quietFlag.add(cmd)
	return cmd
}

func (f *clockDaemonFlags) check() error {
	changed := f.cmd.Flags().Changed
	switch {
	case f.round < 2*time.Second || f.round > time.Hour:
		return wrong("--round %v: want a time from 2s to 1h", f.round)
	case f.sleep < time.Second || f.maxSleep < f.sleep || f.maxSleep > 24*time.Hour:
		return wrong("--sleep %v, --max-sleep %v: want times from 1s to 24h, the second not below the first", f.sleep, f.maxSleep)
	case f.threshold < 0 || f.stepBeyond < 0:
		return wrong("--threshold and --step-beyond want times that are not negative")
	case !(f.maxSlew > 0 && f.maxSlew <= 400):
		return wrong("--max-slew %v: want a number above 0 and up to 400", f.maxSlew)
	case !f.discipline && (changed("max-slew") || changed("step-beyond")):
		return wrong("--max-slew and --step-beyond need --discipline")
	}
	return f.methodChoice.check()
}

// systemClock is the clock that --discipline steers. Tests replace it.
var systemClock = synchroniser.NewSystemClock

func (f *clockDaemonFlags) run(cmd *cobra.Command, args []string) error {
	targets, err := clockTargets(cmd, args)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	o := synchroniser.Options{Method: f.method, Silence: f.maxSleep + 2*f.round}
	if o.Probe, err = f.askFlags.options(); err != nil {
		return err
	}
	d := &synchroniser.Daemon{Threshold: f.threshold, Round: f.round, Least: f.sleep, Most: f.maxSleep}
	if f.discipline {
		c, err := systemClock()
		if err != nil {
			return err
		}
		if d.Discipline, err = synchroniser.NewDiscipline(c, synchroniser.Limits{MaxSlew: f.maxSlew, Step: f.stepBeyond}); err != nil {
			return err
		}
	}
	var without []string
	d.Report = func(hosts []synchroniser.Verdict, did string, sleep time.Duration) error {
		without = nil
		for i := range hosts {
			if v := &hosts[i]; v.Unheard || !v.Bounded() {
				without = append(without, v.Name)
			}
		}
		return f.report(hosts, did, sleep)
	}
	rounds := false
	err = f.ask(o, targets, f.metrics, nil, func(ctx context.Context, s *synchroniser.Synchroniser) error {
		report := d.Report
		d.Report = func(hosts []synchroniser.Verdict, did string, sleep time.Duration) error {
			rounds = true
			return report(hosts, did, sleep)
		}
		return d.Run(ctx, s)
	})
	f.printWarnings(cmd, f.warnings.Lines())
	switch {
	case err != nil:
		return err
	case !rounds:
		return &brokenPromise{"it ended before the first round was over: nothing is known"}
	case len(without) > 0:
		return &brokenPromise{"no bound for " + strings.Join(without, ", ")}
	}
	return nil
}

// report prints a line for each host, and one of what was done.
func (f *clockDaemonFlags) report(hosts []synchroniser.Verdict, did string, sleep time.Duration) error {
	var out bytes.Buffer
	for i := range hosts {
		v := &hosts[i]
		c := clockState(v.State, 0)
		if v.Unheard && v.Answered != 0 {
			c.State = "no answer since the last round"
		}
		if err := c.Line(&out); err != nil {
			return err
		}
		if v.Beyond && v.System.Bounded {
			fmt.Fprintf(&out, "%s %s: beyond the threshold of %v\n", c.Time, c.Host, f.threshold)
		}
		if v.Stepped > 0 {
			fmt.Fprintf(&out, "%s %s: a clock was set (%d times since the last round)\n", c.Time, c.Host, v.Stepped)
		}
	}
	at := clockState(hosts[0].State, 0).Time
	if did != "" {
		fmt.Fprintf(&out, "%s this host: %s\n", at, did)
	}
	fmt.Fprintf(&out, "%s next round in %v\n", at, sleep)
	_, err := out.WriteTo(f.cmd.OutOrStdout())
	return err
}
