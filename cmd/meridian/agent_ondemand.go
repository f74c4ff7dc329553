package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/ondemand"
)

// settleAfter is how long after the end of a span the recorder may still write packets of it. Its --flush is shorter.
const settleAfter = 3 * time.Second

// flightRecorder records, and sends what is asked for.
func (f *agentFlags) flightRecorder(cmd *cobra.Command, args []string) error {
	log := f.log(cmd)
	if f.release {
		return wrong("--release cannot be used with --on-demand: servers have only what is asked for")
	}
	if f.spool.Spool == 0 && recorderFlag(args, "--keep", "--spool") == "" {
		return wrong("--on-demand: write --spool SIZE, or --keep among the recorder's flags: nothing is sent, and %s would grow without bound", f.dir)
	}
	o, c, err := f.connect(args, log)
	if err != nil {
		return err
	}
	defer c.Close()
	probes := newAgentProbes(f, f.dir, o.Session, args, c.Conn, log)
	agent, err := ondemand.New(ondemand.Options{Conn: c.Conn, Host: f.host, Session: o.Session, Dir: f.dir, Ship: o, Settle: settleAfter, Probing: probes.probing, Log: log})
	if err != nil {
		return err
	}
	log("session %s, host %s: recording into %s, sending what is asked for to %s", o.Session, o.Host, o.Dir, redacted(f.server))
	r := recorder{dir: f.dir, args: append(f.recorderArgs(), args...), stderr: cmd.ErrOrStderr(), stdout: cmd.OutOrStdout(), log: log}
	serving, stop := context.WithCancel(context.WithoutCancel(cmd.Context()))
	defer stop()
	var all errgroup.Group
	all.Go(func() error { f.watchAndServe(c, log)(serving); return nil })
	all.Go(func() error { return agent.Run(serving) })
	code, err := probes.beside(cmd.Context(), &r)
	stop()
	if err := errors.Join(err, all.Wait()); err != nil {
		return &commandEnded{err, exitFailed} // also when interrupted, which is how agents end
	}
	return f.outcome(code, &r, nil)
}
