package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect"
	"meridian/internal/collect/archive"
	"meridian/internal/collect/fetch"
	"meridian/internal/collect/session"
	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
	"meridian/internal/dirlock"
)

// serverFlags is what the command line says.
type serverFlags struct {
	quietFlag
	dir, name string
	broker    brokerFlags
	probes    serverProbes
	limits    store.Limits
	timeline  timelineFlags
	archive   archiveFlags
}

func newServer() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:   "server [--dir DIR] [--listen ADDRESS | --nats URL[,URL]...]",
		Short: "Collect the traces of many hosts while they are recorded",
		Long: `Store the traces that agents ('meridian agent') send, each in a directory of its own: DIR/SESSION/HOST is byte for byte what
'meridian record' wrote on the host. What is acknowledged to an agent is on the disk. The directories grow while they are recorded:
'meridian view --follow' and 'meridian tail' read them.

A NATS broker runs within the server and listens on this machine alone, unless --listen says otherwise. Other machines may reach it once
'meridian server init' has made keys: the broker then speaks TLS and accepts agents with an invitation ('meridian server invite') only. With --nats the
server joins another broker, for which it waits. Several servers at one broker share the hosts; an agent's
--replicas says how many servers store each.

With --timeline on the server orders the events of each session on one timeline while they come, as 'meridian tail' does, and publishes them to
subscribers, on subjects of the broker and with --http as server-sent events. docs/collection.md has both. --latency is the knob between order
and speed. A subscriber that is slow sees from the numbers of events what it has missed, and delays nobody. --otlp exports slices as spans at the
corrected times. What a session held before its timeline began is left out.

With --archive what is stored is put into an object store as well, in parts, while it comes: s3://BUCKET/PREFIX/SESSION/HOST is then an input of
other commands. If the object store is away, the server goes on and archives later. Keys, region and endpoint are those of the AWS tools, as
docs/formats.md says.

Exit code: 0 interrupted, 1 failed, 2 wrong usage.`,
		Example: `  meridian server
  meridian server --timeline on --http 127.0.0.1:8090 --otlp http://127.0.0.1:4318
  meridian server init && meridian server invite web && meridian server --listen 0.0.0.0:4222
  meridian server --dir traces/ --nats nats://broker:4222 --name second
  meridian server --dir /var/lib/meridian --archive s3://traces/production
  meridian view --follow traces/SESSION/*`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.dir, "dir", defaultServerDir, "store the traces in `DIR`")
	f.broker.add(cmd)
	flags.StringVar(&f.probes.address, "probe-address", "", "exchange clock probes with the hosts of each session, as its host server-NAME; they reach this machine at `ADDRESS`:PORT (0 for a free port)")
	flags.StringVar(&f.name, "name", "", "`NAME` of this server among others (default: its hostname)")
	flags.IntVar(&f.limits.Hosts, "max-hosts", 4096, "store at most `N` hosts, of all sessions")
	flags.Int64Var(&f.limits.Bytes, "max-bytes", 1<<40, "store at most `BYTES` of a host in a session")
	flags.IntVar(&f.limits.Files, "max-files", 1<<14, "store at most `N` files of a host in a session")
	flags.IntVar(&f.limits.AllFiles, "max-files-of-host", 1<<18, "store at most `N` files of a host in all sessions")
	flags.IntVar(&f.limits.Sessions, "max-sessions", 4096, "store at most `N` sessions of a host")
	f.timeline.add(cmd)
	f.archive.add(cmd)
	f.quietFlag.add(cmd)
	cmd.AddCommand(newServerHosts(), newServerStart(), newServerStop(), newServerSessions(), newServerFetch(), newServerInit(), newServerInvite(), newServerRevoke())
	return cmd
}

// heapFloor is memory that is allocated and never touched, bytes: it takes addresses and no pages. A server has little that lives and makes a buffer or two
// of each message; without the floor the collector of garbage ran every few MiB, and took half of the processor time.
const heapFloor = 64 << 20

func (f *serverFlags) run(cmd *cobra.Command) (err error) {
	if min(f.limits.Hosts, f.limits.Files, f.limits.AllFiles, f.limits.Sessions) < 1 || f.limits.Bytes < 1 {
		return wrong("--max-hosts, --max-bytes, --max-files, --max-files-of-host and --max-sessions must be 1 or more")
	}
	if f.name == "" {
		if f.name, err = os.Hostname(); err != nil {
			return fmt.Errorf("this host's name: %w: give --name", err)
		}
	}
	if err := f.probes.check(f.name); err != nil {
		return err
	}
	timeline, token, err := f.timeline.options()
	if err != nil {
		return err
	}
	archiving, err := f.archive.options()
	if err != nil {
		return err
	}
	floor := make([]byte, heapFloor)
	defer runtime.KeepAlive(floor)
	log := f.log(cmd)
	if err := f.broker.check(f.dir, log); err != nil {
		return err
	}
	s, err := store.New(f.dir, store.OS{}, f.limits)
	if err != nil {
		return err
	}
	lock, err := dirlock.Lock(f.dir)
	if err != nil {
		return fmt.Errorf("%s: %w: is another server running?", f.dir, err)
	}
	defer func() { err = errors.Join(err, s.Close(), lock.Close()) }()
	c, follow, end, err := f.broker.connect(cmd.Context(), f.name, log)
	if err != nil && cmd.Context().Err() != nil {
		return nil // interrupted while it waited for its broker
	}
	if err != nil {
		return err
	}
	defer end()
	serverOptions := collect.ServerOptions{Conn: wire.Over(c), Name: f.name, Store: s, Log: log}
	var archived *archive.Archive
	if archiving != nil {
		archiving.Store, archiving.Server, archiving.Log = s, f.name, log
		archived = archive.New(*archiving)
		serverOptions.Archived = archived.Has
	}
	server, err := collect.NewServer(serverOptions)
	if err != nil {
		return err
	}
	registry, err := session.OpenRegistry(f.dir, store.OS{})
	if err != nil {
		return err
	}
	director := session.NewDirector(session.Options{Conn: c, Server: f.name, Registry: registry, Stored: s.Sizes, Lacking: f.broker.lacking(),
		Endpoints: fetch.Endpoints(f.dir, f.name), Log: log})
	tasks := []func(context.Context) error{server.Run, director.Run, follow}
	if timeline != nil {
		timeline.Dir, timeline.Server, timeline.Log = f.dir, f.name, log
		var t *timelineServer
		if t, err = f.timeline.open(timeline, token, server, func() (*nats.Conn, error) { return f.broker.join(cmd.Context(), f.name, log) }); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, t.close()) }()
		tasks = append(tasks, t.run)
	}
	// Said when all connections are there: from now on the server goes on without its broker.
	fmt.Fprintln(cmd.OutOrStdout(), f.broker.url(c))
	log("storing in %s; agents: meridian agent %s", f.dir, f.broker.agentFlags(c))
	if archived != nil {
		tasks = append(tasks, archived.Run)
	}
	f.probes.server, f.probes.dir, f.probes.broker, f.probes.stderr, f.probes.log = server, f.dir, &f.broker, cmd.ErrOrStderr(), log
	return runWhile(cmd.Context(), f.probes.run, tasks)
}

// runWhile runs tasks until ctx ends and first has ended after it, or one fails. What first sends at its end, the tasks take.
func runWhile(ctx context.Context, first func(context.Context) error, tasks []func(context.Context) error) error {
	all, within := errgroup.WithContext(context.WithoutCancel(ctx))
	within, stop := context.WithCancel(within)
	defer stop()
	for _, task := range tasks {
		all.Go(func() error { return task(within) })
	}
	all.Go(func() error {
		defer stop()
		either, end := context.WithCancel(within)
		defer end()
		defer context.AfterFunc(ctx, end)()
		return first(either)
	})
	return all.Wait()
}

// log returns what prints a line for people.
func (f *quietFlag) log(cmd *cobra.Command) func(format string, args ...any) {
	return func(format string, args ...any) {
		if !f.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "meridian: "+format+"\n", args...)
		}
	}
}
