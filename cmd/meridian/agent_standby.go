package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/ship"
	"meridian/internal/collect/standby"
	"meridian/internal/collect/wire"
	"meridian/internal/dirlock"
)

// commanded are the flags of 'meridian record' that a server may choose for an agent: what is recorded, and how much is kept. All others name files,
// directories or addresses of the agent's host, run something, or belong to the agent.
var commanded = []string{"program", "kernel", "packets", "snaplen", "filter", "netns", "title", "flush", "keep", "quiet"}

// checkCommanded refuses flags of 'meridian record' that come from a server and are not permitted, or not flags at all.
func checkCommanded(args []string, commands bool) error {
	cmd := newRecord()
	flags := cmd.Flags()
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("flags of the recorder: %w", explainFlag(cmd, err))
	}
	var refused []string
	flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(commanded, f.Name) {
			refused = append(refused, "--"+f.Name)
		}
	})
	if len(refused) > 0 {
		return fmt.Errorf("an agent takes no %s from a server: give it to the agent itself, behind --", strings.Join(refused, ", "))
	}
	switch at := flags.ArgsLenAtDash(); {
	case flags.NArg() > 0 && at != 0:
		return fmt.Errorf("unexpected argument %s: a command to record stands behind --", flags.Arg(0))
	case at == 0 && !commands:
		return fmt.Errorf("this agent runs no commands such as %q: start it with --allow-commands", flags.Arg(0))
	}
	return nil
}

// standby waits for commands until it is interrupted. args are those that every recorder of this host has.
func (f *agentFlags) standBy(cmd *cobra.Command, args []string) error {
	if f.session != "" {
		return wrong("--session and --standby exclude each other: servers name the sessions")
	}
	if slices.Contains(args, "--") {
		return wrong("--standby: commands come from servers: leave out what is behind the second --")
	}
	log := f.log(cmd)
	key, err := f.invitation(log)
	if err != nil {
		return err
	}
	o, err := f.shipping()
	if err != nil {
		return err
	}
	if err := f.checkProbes(args); err != nil {
		return err
	}
	if err := f.checkAllowRun(); err != nil {
		return err
	}
	if err := f.checkAllowCaptures(); err != nil {
		return err
	}
	if err := f.makeDir(); err != nil {
		return err
	}
	lock, err := dirlock.Lock(f.dir)
	if err != nil {
		return fmt.Errorf("%s: %w: does another agent wait for commands there?", f.dir, err)
	}
	defer lock.Close()
	c, err := connectAsHost(f.server, f.host, key, log)
	if err != nil {
		return err
	}
	defer c.Close()
	probes := new(atomic.Pointer[agentProbes])
	o.Probing = func() *wire.Probing {
		if p := probes.Load(); p != nil {
			return p.probing()
		}
		return nil
	}
	a, err := standby.New(standby.Options{
		Conn: c.Conn, Host: f.host, Dir: f.dir, Ship: o, Drain: f.drain, RemoveSent: f.removeSent, Log: log,
		Check:  func(args []string) error { return checkCommanded(args, f.allowCommands) },
		Record: f.recordCommanded(cmd, args, c.Conn, probes),
	})
	if err != nil {
		return err
	}
	log("host %s waits for commands, at %s", f.host, redacted(f.server))
	watching, stop := context.WithCancel(cmd.Context())
	var watch errgroup.Group
	watch.Go(func() error { f.watchAndServe(c, log)(watching); return nil })
	watch.Go(func() error { return f.serveRuns(watching, c.Conn, log) })
	err = a.Run(cmd.Context())
	stop()
	if err := errors.Join(err, watch.Wait()); err != nil {
		return &commandEnded{err, exitFailed} // also when interrupted, which is how agents end
	}
	return nil
}

// recordCommanded returns what records sessions, as processes. current is how the recorder that runs exchanges probes.
func (f *agentFlags) recordCommanded(cmd *cobra.Command, args []string, c *nats.Conn, current *atomic.Pointer[agentProbes]) standby.Recorder {
	return func(ctx context.Context, x standby.Recording) (warning string, err error) {
		said := &lastLine{to: underneath(cmd.ErrOrStderr())}
		probes := newAgentProbes(f, x.Dir, filepath.Base(x.Dir), slices.Concat(args, x.Args), c, f.log(cmd))
		current.Store(probes)
		defer current.Store(nil)
		r := recorder{
			dir: x.Dir, args: slices.Concat(f.recorderArgs(), args, x.Args),
			stdout: cmd.OutOrStdout(), stderr: said, log: f.log(cmd), ready: x.Ready, ends: true,
		}
		if x.Continued && r.hasCommand() {
			other, err := r.waitForOther(ctx)
			if err == nil && !other && len(r.wrong) == 0 {
				warning = "the agent was started again after the recorder had ended; how it did is not known"
			}
			return cmp.Or(strings.Join(r.wrong, "; "), warning), err
		}
		code, err := probes.beside(ctx, &r)
		switch {
		case err != nil:
			return "", err
		case code == exitBroken:
			return strings.Join(append(r.wrong, said.String()), "; "), nil
		case code != exitDone:
			return "", fmt.Errorf("the recorder ended with exit code %d: %s", code, said)
		}
		return strings.Join(r.wrong, "; "), nil
	}
}

// lastLine hands on what is written and remembers the last line that says something.
type lastLine struct {
	to io.Writer

	mu   sync.Mutex
	line []byte
	last string
}

// maxLine bounds what is remembered of a line.
const maxLine = 1000

func (l *lastLine) Write(b []byte) (int, error) {
	l.mu.Lock()
	for _, c := range b {
		if c != '\n' {
			if len(l.line) < maxLine {
				l.line = append(l.line, c)
			}
			continue
		}
		if text := strings.TrimPrefix(string(l.line), "meridian: "); strings.TrimSpace(text) != "" && !strings.HasPrefix(text, "Try '") {
			l.last = strings.Map(printable, text)
		}
		l.line = l.line[:0]
	}
	l.mu.Unlock()
	return l.to.Write(b)
}

func (l *lastLine) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// shipping returns how traces are sent, whatever session they are of.
func (f *agentFlags) shipping() (o ship.Options, err error) {
	if f.host, err = hostOr(f.host); err != nil {
		return o, err
	}
	if err := checkBrokers(f.server); err != nil {
		return o, err
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
	o = ship.Options{Replicas: f.replicas, Compress: f.compress, Every: f.batch}
	if f.limit != "" {
		bytes, ok, err := parseSize(f.limit)
		if err != nil || !ok || bytes < 1024 {
			return o, wrong("--limit %s: write a size of 1KiB or more, such as 10MiB", f.limit)
		}
		o.Rate = bytes
	}
	return o, nil
}
