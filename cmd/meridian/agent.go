package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/ship"
	"meridian/internal/collect/wire"
)

// agentFlags is what the command line says.
type agentFlags struct {
	quietFlag
	server, session, host, dir, limit string
	replicas                          int
	compress                          bool
	drain, batch                      time.Duration
}

func newAgent() *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "agent [--server URL] [-o DIR] [flags] -- [RECORD-FLAG]... [-- COMMAND [ARG]...]",
		Short: "Record this host and send the trace to servers while it grows",
		Long: `Run 'meridian record -o DIR' with the flags behind --, and send what it writes to servers ('meridian server').

DIR is all that is kept: what servers have not acknowledged is sent again from there, however often agent, servers or the broker are killed.
When the agent is started again with the same DIR, it goes on. A recorder outlives its agent, and the agent a recorder: it starts another,
which continues the trace, unless the recorder runs a COMMAND. Where a recorder writes DIR already, its trace is sent.

The recorder waits for no server. With --keep among its flags it drops the oldest part of the trace, whether or not that has been sent; what was
not is missing on the servers. It is not counted, so let --keep hold more than servers are ever behind.

Marks and clocks are sent first, then events, then packets.

Exit code: that of the recorder if it is not 0; else 0 done, 1 failed, 2 wrong usage, 3 done, but not everything is on the disks of as many
servers as are wanted.`,
		Example: `  meridian agent -- --kernel sched,net
  meridian agent --server nats://collector:4222 -o /var/lib/meridian/trace -- --keep 10m,2GiB --packets
  meridian agent --session nightly --replicas 2 -- -- ./server --port 8080`,
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); len(args) > 0 && at != 0 {
				return wrong("unexpected argument %s: the recorder's flags go behind --", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.server, "server", defaultBroker, "`URL` of the broker, or several, separated by commas")
	flags.StringVarP(&f.dir, "output", "o", "meridian-trace", "record into `DIR`")
	flags.StringVar(&f.session, "session", "", "`NAME` of the session, the directory on the servers (default: the time when DIR was begun)")
	flags.StringVar(&f.host, "host", "", "`NAME` of this host (default: its hostname)")
	flags.IntVar(&f.replicas, "replicas", 1, "how many servers store the trace, `N`")
	flags.StringVar(&f.limit, "limit", "", "send at most this `SIZE` a second, such as 10MiB")
	flags.DurationVar(&f.batch, "batch", 20*time.Millisecond, "how long bytes wait for others to be sent with, `TIME` up to 10s; shorter takes more of a processor")
	flags.BoolVar(&f.compress, "compress", false, "compress what is sent, by zstd")
	flags.DurationVar(&f.drain, "drain", 30*time.Second, "how long to go on sending after the recording has ended")
	f.quietFlag.add(cmd)
	return cmd
}

func (f *agentFlags) run(cmd *cobra.Command, args []string) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	log := f.log(cmd)
	c, err := connectAsHost(f.server, f.host, log)
	if err != nil {
		return err
	}
	defer c.Close()
	ended := make(chan struct{})
	o.Conn, o.Ended, o.Log = c, ended, log
	s, err := ship.New(o)
	if err != nil {
		return err
	}
	log("session %s, host %s: sending %s to %s", o.Session, o.Host, o.Dir, c.ConnectedUrlRedacted())
	r := recorder{dir: f.dir, args: append([]string{"--host", f.host}, args...), stderr: cmd.ErrOrStderr(), stdout: cmd.OutOrStdout(), log: log}
	// Shipping goes on after the command is interrupted: what the recorder writes at its end is sent as well.
	shipping, stop := context.WithCancel(context.WithoutCancel(cmd.Context()))
	defer stop()
	var all errgroup.Group
	var sum ship.Summary
	all.Go(func() (err error) {
		sum, err = s.Run(shipping)
		return err
	})
	code, err := r.run(cmd.Context())
	close(ended)
	timer := time.AfterFunc(f.drain, stop)
	defer timer.Stop()
	if err := errors.Join(err, all.Wait()); err != nil {
		return err
	}
	log("%d bytes recorded, %d acknowledged, %d lost", sum.Recorded, sum.Acknowledged, sum.Lost)
	if code != 0 {
		return &commandEnded{err: fmt.Errorf("the recorder ended with exit code %d", code), code: code}
	}
	if missing := sum.Recorded - sum.Acknowledged - sum.Lost; missing > 0 || sum.Lost > 0 {
		return &brokenPromise{fmt.Sprintf("%d bytes were not acknowledged within %v and %d are lost; to send the rest, run the agent with -o %s again", missing, f.drain, sum.Lost, f.dir)}
	}
	return nil
}

// options returns the shipper's.
func (f *agentFlags) options() (o ship.Options, err error) {
	if f.host == "" {
		if f.host, err = os.Hostname(); err != nil {
			return o, fmt.Errorf("this host's name: %w: give --host", err)
		}
	}
	if err := wire.CheckHost(f.host); err != nil {
		return o, wrong("--host: %v", err)
	}
	if f.replicas < 1 || f.replicas > 16 {
		return o, wrong("--replicas %d: write a number from 1 to 16", f.replicas)
	}
	if f.drain < 0 {
		return o, wrong("--drain %v is negative", f.drain)
	}
	if f.batch < time.Millisecond || f.batch > 10*time.Second {
		return o, wrong("--batch %v: want a time from 1ms to 10s", f.batch)
	}
	o = ship.Options{Host: f.host, Dir: f.dir, Replicas: f.replicas, Compress: f.compress, Every: f.batch}
	if f.limit != "" {
		bytes, ok, err := parseSize(f.limit)
		if err != nil || !ok || bytes < 1024 {
			return o, wrong("--limit %s: write a size of 1KiB or more, such as 10MiB", f.limit)
		}
		o.Rate = bytes
	}
	o.Session, err = f.sessionOf()
	return o, err
}

// sessionFile has the name of the session in a directory, so that an agent that is started again goes on with it.
const sessionFile = ".session"

// sessionOf returns the session of the directory, which is made.
func (f *agentFlags) sessionOf() (string, error) {
	if err := os.MkdirAll(f.dir, 0o777); err != nil {
		return "", err
	}
	path := filepath.Join(f.dir, sessionFile)
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	known := strings.TrimSpace(string(b))
	name := f.session
	switch {
	case name != "" && known != "" && name != known:
		return "", wrong("--session %s: %s belongs to session %s: use another directory, or leave --session out", name, f.dir, known)
	case name == "":
		name = known
	}
	if name == "" {
		name = time.Now().UTC().Format("2006-01-02T15-04-05")
	}
	if err := wire.CheckSession(name); err != nil {
		return "", wrong("--session: %v", err)
	}
	if known == name {
		return name, nil
	}
	return name, os.WriteFile(path, []byte(name+"\n"), 0o666)
}
