package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"meridian/internal/collect/broker"
	"meridian/internal/collect/trust"
	"meridian/internal/collect/wire"
)

// brokerFlags say which broker a server is at.
type brokerFlags struct {
	listen, nats, keyFile string
	insecure              bool
	limits                broker.Limits

	keys *trust.Trust   // nil where 'meridian server init' has made none
	own  *broker.Broker // nil where it runs elsewhere
	key  *trust.Key     // of this server; nil where the broker asks for none
}

func (f *brokerFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", defaultBroker, "`ADDRESS` of the broker; port 0 for a free one")
	flags.StringVar(&f.nats, "nats", "", "join the broker at these `URLS` instead of running one")
	flags.StringVar(&f.keyFile, "key", "", "with --nats: `FILE` with the key of this server (default: DIR/.trust/server.key if it is there)")
	flags.BoolVar(&f.insecure, "insecure", false, "listen beyond this machine without keys: everybody who reaches the port may send and read traces")
	flags.IntVar(&f.limits.Connections, "max-connections", 8192, "let at most `N` clients connect to the broker at a time")
	flags.IntVar(&f.limits.PerKey, "max-connections-of-key", 64, "of them, let at most `N` have the key of one host, or of operators")
	cmd.MarkFlagsMutuallyExclusive("listen", "nats")
	cmd.MarkFlagsMutuallyExclusive("insecure", "nats")
}

// check reads the keys of the server whose directory is dir.
func (f *brokerFlags) check(dir string, say func(format string, args ...any)) (err error) {
	if f.limits.Connections < 2 {
		return wrong("--max-connections %d: write a number of 2 or more", f.limits.Connections)
	}
	if f.limits.PerKey < 1 {
		return wrong("--max-connections-of-key %d: write a number of 1 or more", f.limits.PerKey)
	}
	if err := checkServerDir(dir); err != nil {
		return err
	}
	if f.keys, err = trust.Open(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file := f.keyFile
	switch {
	case file != "" && f.nats == "":
		return wrong("--key needs --nats: a broker of its own has its keys in %s", dir)
	case file == "" && f.keys != nil:
		file = f.keys.ServerKey()
	}
	if f.key, err = keyFile("key", file, wire.ServerRole, say); err != nil || f.nats != "" {
		return err
	}
	open := broker.CheckListen(f.listen)
	switch {
	case f.keys != nil && f.insecure:
		return wrong("--insecure: %s has keys: leave --insecure out", dir)
	case f.keys == nil && open != nil && !f.insecure:
		return wrong("--listen: %v: make keys by 'meridian server init --dir %s', or give --insecure where everybody on the network is trusted", open, dir)
	case open != nil && f.insecure:
		say("warning: --insecure: everybody who reaches %s may send and read traces, and nothing is encrypted", f.listen)
	}
	return broker.CheckFree(f.listen) // before a directory is made
}

// expiresSoon is when a certificate is to be made anew.
const expiresSoon = 30 * 24 * time.Hour

// connect connects to a broker, which runs in this process unless there is another. follow takes over changes of the users until its context ends.
func (f *brokerFlags) connect(ctx context.Context, name string, say func(format string, args ...any)) (c *nats.Conn, follow func(context.Context) error, end func(), err error) {
	stop := func() {}
	follow = func(context.Context) error { return nil }
	if f.nats == "" {
		o := broker.Options{Listen: f.listen, Name: name, Log: say, Limits: f.limits}
		if f.keys != nil {
			if o.Users, err = f.keys.Users(); err != nil {
				return nil, nil, nil, err
			}
			if o.TLS, err = f.keys.TLS(); err != nil {
				return nil, nil, nil, err
			}
			if until := o.TLS.Certificates[0].Leaf.NotAfter; time.Until(until) < expiresSoon {
				say("warning: the broker's certificate is valid until %s: make another by 'meridian server init --renew --dir %s'", until.Format(time.DateOnly), f.keys.ServerDir())
			}
		}
		b, err := broker.Start(o)
		if err != nil {
			return nil, nil, nil, err
		}
		f.own, stop = b, b.Close
		if f.keys != nil {
			follow = func(ctx context.Context) error { return followUsers(ctx, f.keys, b, o.Users, say) }
		}
	}
	if c, err = f.join(ctx, name, say); err != nil {
		stop()
		return nil, nil, nil, err
	}
	return c, follow, func() { c.Close(); stop() }, nil
}

// lacking returns what says why a host cannot connect; nil where no keys are known.
func (f *brokerFlags) lacking() func() func(host string) string {
	if f.keys == nil {
		return nil
	}
	return f.keys.Lacking
}

// url returns where clients find the broker to which a server is connected.
func (f *brokerFlags) url(c *nats.Conn) string {
	if f.own != nil {
		return f.own.URL()
	}
	return c.ConnectedUrlRedacted()
}

// agentFlags are those of agents that find the broker.
func (f *brokerFlags) agentFlags(c *nats.Conn) string {
	switch {
	case f.keys != nil:
		return fmt.Sprintf("--invite FILE ('meridian server invite HOST --dir %s' makes it)", f.keys.ServerDir())
	case f.key != nil:
		return "--invite FILE ('meridian server invite HOST' makes it)"
	}
	return "--server " + f.url(c)
}

// join connects to the broker, and waits for another's. Within this process it needs neither a socket nor TLS: chunks go from memory to memory.
func (f *brokerFlags) join(ctx context.Context, name string, say func(format string, args ...any), more ...nats.Option) (*nats.Conn, error) {
	name = "meridian server " + name
	if f.own == nil {
		return f.await(ctx, name, say, more...)
	}
	url, inside := f.own.InProcess()
	return connectTo(url, name, f.key, say, append(more, inside)...)
}

// await connects to a broker that may begin later than this server.
func (f *brokerFlags) await(ctx context.Context, name string, say func(format string, args ...any), more ...nats.Option) (*nats.Conn, error) {
	for told := false; ; told = true {
		c, err := connectTo(f.nats, name, f.key, say, more...)
		switch {
		case err == nil && told:
			say("connected to %s", c.ConnectedUrlRedacted())
			return c, nil
		case err == nil, !isAway(err):
			return c, err
		case !told:
			say("%s cannot be reached yet: nothing is stored until it can; is a broker running there?", redacted(f.nats))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(reconnectEvery):
		}
	}
}

// isAway reports whether a connection failed since no broker is there now.
func isAway(err error) bool {
	var failed *net.OpError
	var name *net.DNSError
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, io.EOF) || errors.As(err, &failed) || errors.As(err, &name)
}

// followUsers lets a broker accept those who are invited, and closes the connections of those who are revoked.
func followUsers(ctx context.Context, keys *trust.Trust, b *broker.Broker, users []wire.User, say func(format string, args ...any)) error {
	return keys.Follow(ctx, users, func(now []wire.User) error {
		if err := b.SetUsers(now); err != nil {
			return err
		}
		for _, u := range now {
			if !slices.Contains(users, u) {
				say("%s %s: its key is accepted now", u.Role, u.Name)
			}
		}
		for _, u := range users {
			if !slices.Contains(now, u) {
				say("%s %s: its key is refused now", u.Role, u.Name)
			}
		}
		users = now
		return nil
	}, func(err error) { say("the broker's users stay as they are: %v", err) })
}
