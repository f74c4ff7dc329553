package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/captures"
	"meridian/internal/collect/ship"
	"meridian/internal/collect/standby"
	"meridian/internal/collect/trust"
	"meridian/internal/collect/wire"
	"meridian/internal/record"
)

// agentFlags is what the command line says.
type agentFlags struct {
	quietFlag
	server, invite            string
	session, host, dir, limit string
	probeAddress              string
	replicas                  int
	compress, release         bool
	spool                     spoolValue
	standby, allowCommands    bool
	onDemand                  bool
	removeSent                bool
	drain, batch              time.Duration
	allowRun                  string
	allowCaptures             []string
	captureDirs               captures.Dirs

	secondEnds bool // a second signal ends what is sent after the recording; else it kills
	cutShort   bool // it has
}

// defaultBatch is how long bytes wait for others to be sent with.
const defaultBatch = 100 * time.Millisecond

func newAgent() *cobra.Command {
	f := agentFlags{spool: spoolValue{new(record.Keep)}}
	cmd := &cobra.Command{
		Use:   "agent [--server URL] [-o DIR] [flags] -- [RECORD-FLAG]... [-- COMMAND [ARG]...]",
		Short: "Record this host and send the trace to servers while it grows",
		Long: `Run 'meridian record -o DIR' with the flags behind --, and send what it writes to servers ('meridian server').

DIR is all that is kept: what servers have not acknowledged is sent again from there, however often agent, servers or the broker are killed.
When the agent is started again with the same DIR, it goes on. A recorder outlives its agent, and the agent a recorder: it starts another,
which continues the trace, unless the recorder runs a COMMAND. Where a recorder writes DIR already, its trace is sent. If an agent started it, this one ends it when interrupted and says
what was wrong with it. COMMAND is not run then.

The recorder waits for no server: DIR grows. --spool bounds it: beyond that the recorder drops what servers have, then the oldest packets, then the
oldest events; with --release it drops at once what servers have. With --keep among its flags it drops the oldest part of the trace, whether or not that has been sent. Up to 16 MiB of
what it dropped is still sent. The rest is lost: it is counted, in DIR/.sent also over the ends of agents, and makes the exit code 3.

Hosts of a session exchange clock probes as the servers plan it, so that they can be aligned without common traffic: 'meridian record --probes' of
a plan that the agent writes. --probe-address says where this host is asked, off that it is not. The key of the session comes over the broker.

Marks and clocks are sent first, then events, then packets.

With --standby the agent records nothing by itself: 'meridian server start SESSION' begins and 'server stop' ends the recording of many hosts at once,
into DIR/SESSION here. The flags behind -- are added to each recording. From servers the agent takes only flags that say what is recorded (--program, --kernel,
--packets, --snaplen, --filter, --netns, --title, --flush, --keep), and a COMMAND with --allow-commands alone. Interrupted, it ends the
recording; started again, it goes on.

With --standby --allow-run FILE operators may also use this host in experiments ('meridian run --on agents'). They run what FILE names, as this
user, in a directory below DIR, and nothing else. Its lines are 'use NAME' for a standard daemon, 'run PATH' for a program with any arguments,
'run PATH ARG...' for one with these, 'env NAME' for a variable that they may set, and 'shell' for any text for sh -c.

With --allow-captures DIR operators may align captures below DIR ('meridian align agent:HOST:/PATH'): the agent sends of their packets times and what
tells them apart, no content. It opens nothing outside, whatever paths or links say.

With --on-demand DIR is a flight recorder: the agent sends nothing by itself, and what 'meridian server fetch --around INSTANT' asks for as a session of its
own. --spool or the recorder's --keep says how much stays. Give all hosts the same --session: then they exchange clock probes.

Where the server has keys, --invite is the file that 'meridian server invite HOST' has made for this host. It has the server's address and the host's name.

An agent that is interrupted before its recorder has begun records what programs emitted until then, but does not run COMMAND.

Exit code: that of the recorder if it is not 0; else 0 done, 1 failed, 2 wrong usage, 3 done, but not everything is on the disks of as many
servers as are wanted, COMMAND was not run, rings of programs were left unread, or another recorder of DIR lost events or goes on.`,
		Example: `  meridian agent -- --kernel sched,net
  meridian agent --server nats://collector:4222 -o /var/lib/meridian/trace -- --keep 10m,2GiB --packets
  meridian agent --standby --server nats://collector:4222 -o /var/lib/meridian/sessions -- --netns web
  meridian agent --standby --allow-run /etc/meridian/experiments --invite web.invitation
  meridian agent --invite web.invitation -- --kernel sched,net
  meridian agent --spool 4GiB --release -- --kernel sched,net --packets
  meridian agent --on-demand --session fleet --spool 4GiB -- --kernel sched,net --packets
  meridian agent --session nightly --replicas 2 -- -- ./server --port 8080`,
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); len(args) > 0 && at != 0 {
				return wrong("unexpected argument %s: the recorder's flags go behind --", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			defer onOneProcessor()() // an agent moves bytes and waits
			switch {
			case f.standby && f.onDemand:
				return wrong("--on-demand cannot be used with --standby: leave one of them out")
			case f.standby:
				return f.standBy(cmd, args)
			case f.onDemand:
				return f.flightRecorder(cmd, args)
			}
			return f.run(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.server, "server", "", "`URL` of the broker, or several, separated by commas (default: those of --invite, else "+defaultBroker+")")
	flags.StringVar(&f.invite, "invite", "", "`FILE` with the invitation of this host, where the server has keys")
	flags.StringVarP(&f.dir, "output", "o", "meridian-trace", "record into `DIR`")
	flags.StringVar(&f.session, "session", "", "`NAME` of the session, the directory on the servers (default: the time when DIR was begun)")
	flags.StringVar(&f.host, "host", "", "`NAME` of this host (default: that of --invite, else its hostname)")
	flags.IntVar(&f.replicas, "replicas", 1, "how many servers store the trace, `N`")
	flags.StringVar(&f.limit, "limit", "", "send at most this `SIZE` a second, such as 10MiB")
	flags.DurationVar(&f.batch, "batch", defaultBatch, "how long bytes wait for others to be sent with, `TIME` up to 10s; shorter takes more of a processor")
	flags.Var(f.spool, "spool", "let DIR grow to `SIZE`, such as 4GiB: beyond it the recorder drops what servers have, then the oldest packets, then events")
	flags.BoolVar(&f.release, "release", false, "drop from DIR what servers have")
	flags.BoolVar(&f.compress, "compress", false, "compress what is sent, by zstd")
	flags.StringVar(&f.probeAddress, "probe-address", "", "answer clock probes of other hosts at `ADDRESS`:PORT (default: where the broker is reached from, a free port); off: exchange none")
	flags.DurationVar(&f.drain, "drain", 30*time.Second, "how long to go on sending after the recording has ended; a second ^C ends it")
	flags.BoolVar(&f.standby, "standby", false, "record nothing until 'meridian server start' says so; DIR then has a directory for each session")
	flags.BoolVar(&f.onDemand, "on-demand", false, "send nothing but what 'meridian server fetch --around' asks for; needs --spool or --keep")
	flags.BoolVar(&f.allowCommands, "allow-commands", false, "with --standby: let servers run commands on this host, as this user")
	flags.StringVar(&f.allowRun, "allow-run", "", "with --standby: let operators' experiments run on this host what `FILE` names, as this user (default: nothing)")
	flags.StringArrayVar(&f.allowCaptures, "allow-captures", nil, "let operators align the captures in `DIR`, which stay here; may be repeated (default: none)")
	flags.BoolVar(&f.removeSent, "remove-sent", false, "with --standby: remove the trace of a session when servers have all of it")
	f.quietFlag.add(cmd)
	return cmd
}

func (f *agentFlags) run(cmd *cobra.Command, args []string) error {
	log := f.log(cmd)
	o, c, err := f.connect(args, log)
	if err != nil {
		return err
	}
	defer c.Close()
	o.Conn, o.Log = wire.Over(c.Conn), log
	probes := newAgentProbes(f, f.dir, o.Session, args, c.Conn, log)
	log("session %s, host %s: sending %s to %s", o.Session, o.Host, o.Dir, redacted(f.server))
	r := recorder{dir: f.dir, args: append(f.recorderArgs(), args...), stderr: cmd.ErrOrStderr(), stdout: cmd.OutOrStdout(), log: log}
	f.secondEnds = true
	code, sum, err := f.recordAndSend(cmd.Context(), o, probes, &r, f.watchAndServe(c, log))
	if err != nil {
		return err
	}
	log("%d bytes recorded, %d acknowledged, %s", sum.Recorded, sum.Acknowledged, lostOf(sum))
	return f.outcome(code, &r, f.promise(sum))
}

// recordAndSend runs a recorder until it ends or ctx does, and sends what it writes; what is left then for --drain. beside runs until all is sent.
func (f *agentFlags) recordAndSend(ctx context.Context, o ship.Options, probes *agentProbes, r *recorder, beside func(context.Context)) (code int, sum ship.Summary, err error) {
	ended := make(chan struct{})
	o.Ended, o.Probing = ended, probes.probing
	// Shipping goes on after the command is interrupted: what the recorder writes at its end is sent as well.
	shipping, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	watching, watched := context.WithCancel(shipping)
	var all errgroup.Group
	all.Go(func() error { beside(watching); return nil })
	all.Go(func() (err error) {
		defer watched()
		sum, err = f.ship(shipping, probes.conn, o)
		return err
	})
	code, err = probes.beside(ctx, r)
	close(ended)
	timer := time.AfterFunc(f.drain, stop)
	defer timer.Stop()
	if f.secondEnds {
		until := time.Now().Add(f.drain)
		all.Go(func() error { f.endAtSecond(ctx, watching, until, stop, o.Log); return nil })
	}
	err = errors.Join(err, all.Wait())
	return code, sum, err
}

// outcome returns how an agent ends, of the recorder's exit code, what is wrong with recorders before, and what servers lack.
func (f *agentFlags) outcome(code int, r *recorder, promise error) error {
	if err := removeOutcomes(f.dir); err != nil {
		return err
	}
	if code != 0 {
		for _, line := range r.wrong {
			r.log("%s", line)
		}
		return &commandEnded{err: fmt.Errorf("the recorder ended with exit code %d", code), code: code}
	}
	if len(r.wrong) == 0 {
		return promise
	}
	broken := r.wrong
	if promise != nil {
		broken = append(broken, promise.Error())
	}
	return &brokenPromise{strings.Join(broken, "; ")}
}

// ship sends what is recorded. The agent is found like those that take commands, and says that it takes none.
func (f *agentFlags) ship(ctx context.Context, c *nats.Conn, o ship.Options) (sum ship.Summary, err error) {
	var said atomic.Pointer[wire.AgentStatus]
	o.Tell = func(status *wire.AgentStatus) {
		copied := *status
		said.Store(&copied)
	}
	unserve, err := standby.Serve(c, f.host, o.Log, func() any { return said.Load() }, func([]byte) wire.HostState {
		return wire.HostState{Host: f.host, State: wire.StateRefused, Error: "its agent takes no commands: start it with --standby"}
	})
	if err != nil {
		return sum, err
	}
	defer unserve()
	s, err := ship.New(o)
	if err != nil {
		return sum, err
	}
	return s.Run(ctx)
}

// connect returns how the trace of DIR is sent, and the connection, for an agent that records by itself.
func (f *agentFlags) connect(args []string, log func(format string, args ...any)) (o ship.Options, c *agentConn, err error) {
	key, err := f.invitation(log)
	if err == nil {
		err = f.checkAllowCaptures()
	}
	if err == nil {
		err = f.checkProbes(args)
	}
	if at := slices.Index(args, "--"); err == nil && at >= 0 {
		err = findProgram(args[at+1:])
	}
	if err == nil {
		o, err = f.options() // the last that can find wrong usage: it makes the directory
	}
	if err == nil {
		c, err = connectAsHost(f.server, f.host, key, log)
	}
	return o, c, err
}

// recorderArgs returns the flags of the recorder that the agent's own imply.
func (f *agentFlags) recorderArgs() []string {
	args := []string{"--host", f.host}
	if f.spool.Spool > 0 {
		args = append(args, "--spool", f.spool.String())
	}
	if f.release {
		args = append(args, "--release")
	}
	return args
}

// promise returns an error unless servers have everything.
func (f *agentFlags) promise(sum ship.Summary) error {
	missing := sum.Recorded - sum.Acknowledged - sum.Lost
	when := fmt.Sprintf("within %v", f.drain)
	if f.cutShort {
		when = "before the second signal"
	}
	switch {
	case sum.Away > 0:
		return &brokenPromise{fmt.Sprintf("%d bytes were not acknowledged %s, and %d of them are not in %s any more: servers had them that are away; %s", missing, when, sum.Away, f.dir, lostOf(sum))}
	case missing > 0 && sum.Lost > 0:
		return &brokenPromise{fmt.Sprintf("%d bytes were not acknowledged %s: to send them, run the agent with -o %s again; %s", missing, when, f.dir, lostOf(sum))}
	case missing > 0:
		return &brokenPromise{fmt.Sprintf("%d bytes were not acknowledged %s: to send them, run the agent with -o %s again", missing, when, f.dir)}
	case sum.Lost > 0:
		return &brokenPromise{fmt.Sprintf("%s since %s was begun: the recorder dropped them before they were sent (--keep, --spool), or servers have lost them since", lostOf(sum), f.dir)}
	}
	return nil
}

// invitation returns the key of this host, from which it has its name; nil without one.
func (f *agentFlags) invitation(say func(format string, args ...any)) (*trust.Key, error) {
	key, err := keyFile("invite", f.invite, wire.HostRole, say)
	if err != nil {
		return nil, err
	}
	switch {
	case key == nil:
		f.server = cmp.Or(f.server, defaultBroker)
		return nil, nil
	case f.host != "" && f.host != key.Name:
		return nil, wrong("--host %s: %s is the invitation of host %s, which may speak for no other: leave --host out", f.host, f.invite, key.Name)
	}
	f.host, f.server = key.Name, cmp.Or(f.server, key.URLs())
	return key, nil
}

// lostOf says what is lost.
func lostOf(sum ship.Summary) string {
	if sum.LostPackets == 0 {
		return fmt.Sprintf("%d bytes lost", sum.Lost)
	}
	return fmt.Sprintf("%d bytes lost with %d packets or more", sum.Lost, sum.LostPackets)
}

// options returns the shipper's.
func (f *agentFlags) options() (o ship.Options, err error) {
	if f.allowCommands || f.removeSent || f.allowRun != "" {
		return o, wrong("--allow-commands, --allow-run and --remove-sent need --standby")
	}
	if o, err = f.shipping(); err != nil {
		return o, err
	}
	if f.session != "" {
		if err := wire.CheckSession(f.session); err != nil {
			return o, wrong("--session: %v", err)
		}
	}
	if err := f.makeDir(); err != nil {
		return o, err
	}
	o.Host, o.Dir = f.host, f.dir
	o.Session, err = f.sessionOf()
	return o, err
}

// hostOr returns the name of this host, unless another is given.
func hostOr(name string) (string, error) {
	if name == "" {
		var err error
		if name, err = os.Hostname(); err != nil {
			return "", fmt.Errorf("this host's name: %w: give --host", err)
		}
	}
	if err := wire.CheckHost(name); err != nil {
		return "", wrong("--host: %v", err)
	}
	return name, nil
}

func (f *agentFlags) makeDir() error { return os.MkdirAll(f.dir, 0o777) }

// sessionFile has the name of the session in a directory, so that an agent that is started again goes on with it.
const sessionFile = ".session"

// sessionOf returns the session of the directory.
func (f *agentFlags) sessionOf() (string, error) {
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
