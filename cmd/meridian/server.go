package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect"
	"meridian/internal/collect/broker"
	"meridian/internal/collect/store"
	"meridian/internal/dirlock"
)

// serverFlags is what the command line says.
type serverFlags struct {
	quietFlag
	dir, listen, nats, name string
	limits                  store.Limits
	timeline                timelineFlags
}

func newServer() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:   "server [--dir DIR] [--listen ADDRESS | --nats URL[,URL]...]",
		Short: "Collect the traces of many hosts while they are recorded",
		Long: `Store the traces that agents ('meridian agent') send, each in a directory of its own: DIR/SESSION/HOST is byte for byte what
'meridian record' wrote on the host. What is acknowledged to an agent is on the disk. The directories grow while they are recorded:
'meridian view --follow' and 'meridian tail' read them.

A NATS broker runs within the server and listens on this machine alone, unless --listen says otherwise: whoever reaches the port can send
traces and read them. With --nats the server joins a broker that runs already. Several servers at one broker share the hosts; an agent's
--replicas says how many servers store each.

With --timeline on the server orders the events of each session on one timeline while they come, as 'meridian tail' does, and publishes them to
subscribers, on subjects of the broker and with --http as server-sent events. docs/collection.md has both. --latency is the knob between order
and speed. A subscriber that is slow sees from the numbers of events what it has missed, and delays nobody. --otlp exports slices as spans at the
corrected times. What a session held before its timeline began is left out.

Exit code: 0 interrupted, 1 failed, 2 wrong usage.`,
		Example: `  meridian server
  meridian server --timeline on --http 127.0.0.1:8090 --otlp http://127.0.0.1:4318
  meridian server --dir /var/lib/meridian --listen 127.0.0.1:4222
  meridian server --dir traces/ --nats nats://broker:4222 --name second
  meridian view --follow traces/SESSION/*`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.dir, "dir", "meridian-traces", "store the traces in `DIR`")
	flags.StringVar(&f.listen, "listen", defaultBroker, "`ADDRESS` of the broker; port 0 for a free one")
	flags.StringVar(&f.nats, "nats", "", "join the broker at these `URLS` instead of running one")
	flags.StringVar(&f.name, "name", "", "`NAME` of this server among others (default: its hostname)")
	flags.IntVar(&f.limits.Hosts, "max-hosts", 4096, "store at most `N` hosts, of all sessions")
	flags.Int64Var(&f.limits.Bytes, "max-bytes", 1<<40, "store at most `BYTES` of a host")
	f.timeline.add(cmd)
	f.quietFlag.add(cmd)
	cmd.MarkFlagsMutuallyExclusive("listen", "nats")
	cmd.AddCommand(newServerHosts())
	return cmd
}

func (f *serverFlags) run(cmd *cobra.Command) (err error) {
	if f.limits.Hosts < 1 || f.limits.Bytes < 1 {
		return wrong("--max-hosts and --max-bytes must be 1 or more")
	}
	if f.name == "" {
		if f.name, err = os.Hostname(); err != nil {
			return fmt.Errorf("this host's name: %w: give --name", err)
		}
	}
	timeline, token, err := f.timeline.options()
	if err != nil {
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
	c, end, err := f.connect(cmd)
	if err != nil {
		return err
	}
	defer end()
	server, err := collect.NewServer(collect.ServerOptions{Conn: c, Name: f.name, Store: s, Log: f.log(cmd)})
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), c.ConnectedUrlRedacted())
	f.log(cmd)("storing in %s; agents: meridian agent --server %s", f.dir, c.ConnectedUrlRedacted())
	if timeline == nil {
		return server.Run(cmd.Context())
	}
	timeline.Dir, timeline.Server, timeline.Log = f.dir, f.name, f.log(cmd)
	t, err := f.timeline.open(timeline, token, server, func() (*nats.Conn, error) { return f.join(cmd, c.ConnectedUrl()) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	all, ctx := errgroup.WithContext(cmd.Context())
	all.Go(func() error { return server.Run(ctx) })
	all.Go(func() error { return t.run(ctx) })
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

// connect connects to a broker, which runs in this process unless there is another. It is a client of the network like all others, so that
// what it prints is what agents need.
func (f *serverFlags) connect(cmd *cobra.Command) (c *nats.Conn, end func(), err error) {
	urls, stop := f.nats, func() {}
	if urls == "" {
		b, err := broker.Start(broker.Options{Listen: f.listen, Name: f.name})
		if err != nil {
			return nil, nil, err
		}
		urls, stop = b.URL(), b.Close
	}
	if c, err = f.join(cmd, urls); err != nil {
		stop()
		return nil, nil, err
	}
	return c, func() { c.Close(); stop() }, nil
}

// join connects to a broker that runs.
func (f *serverFlags) join(cmd *cobra.Command, urls string) (*nats.Conn, error) {
	c, err := nats.Connect(brokerURLs(urls), natsOptions("meridian server "+f.name, f.log(cmd))...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", urls, err)
	}
	return c, nil
}
