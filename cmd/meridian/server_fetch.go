package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"meridian/internal/collect/fetch"
	"meridian/internal/collect/session"
	"meridian/internal/collect/wire"
)

// fetchFlags is what the command line says.
type fetchFlags struct {
	quietFlag
	server, key, dir string
	hosts            []string
}

func newServerFetch() *cobra.Command {
	var f fetchFlags
	cmd := &cobra.Command{
		Use:   "fetch SESSION [--hosts HOST,HOST...] [-o DIR]",
		Short: "Bring the traces of a session from servers to this machine",
		Long: `Copy the traces of a session into DIR/HOST, byte for byte, from the servers that have most of each; 'meridian align DIR/*' reads them. The name of each
directory is printed when it is whole. What is interrupted lies in DIR/.HOST.partial, and the same command goes on with it, after it has compared what is
there with what the server has. A session that is still recorded is copied as far as it has come.

Exit code: 0 done, 1 failed, 2 wrong usage, 3 done, but a host that was named has no trace, or a server did not answer.`,
		Example: `  meridian server fetch nightly
  meridian server fetch nightly --hosts web,db -o traces/ --server nats://collector:4222
  meridian align nightly/* -o timeline.html`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return wrong("want one SESSION, found %d", len(args))
			}
			return wrongIf(wire.CheckSession(args[0]))
		},
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.server, "server", "", "`URL` of the broker, or several, separated by commas (default: those of --key, else "+defaultBroker+")")
	flags.StringVar(&f.key, "key", "", "`FILE` with the key of operators, where 'meridian server init' has made one")
	flags.StringSliceVar(&f.hosts, "hosts", nil, "fetch these `HOSTS` alone")
	flags.StringVarP(&f.dir, "output", "o", "", "copy into `DIR` (default: the session's name)")
	f.quietFlag.add(cmd)
	completions(cmd, map[string]cobra.CompletionFunc{"server": choices(), "hosts": choices()})
	return cmd
}

func (f *fetchFlags) run(cmd *cobra.Command, name string) error {
	if f.dir == "" {
		f.dir = name
	}
	c, err := connectAsOperator(f.server, f.key, f.log(cmd))
	if err != nil {
		return err
	}
	defer c.Close()
	lists, missing, err := askAll[wire.SessionList](cmd.Context(), c, wire.ControlSessions, nil, nil, sessionsWithin)
	if err != nil {
		return fmt.Errorf("%s: %w", c.ConnectedUrlRedacted(), err)
	}
	hosts, err := f.hostsOf(name, session.Join(lists))
	if err != nil {
		return err
	}
	var servers []string
	for _, l := range lists {
		servers = append(servers, l.Server)
	}
	if err := os.MkdirAll(f.dir, 0o777); err != nil {
		return err
	}
	var lacking []string
	for _, host := range hosts {
		found, err := f.host(cmd, c, servers, name, host)
		if err != nil {
			return err
		}
		if !found {
			lacking = append(lacking, host)
		}
	}
	switch {
	case len(lacking) > 0:
		return &brokenPromise{fmt.Sprintf("session %s: no server has a trace of %s", name, strings.Join(lacking, ", "))}
	case len(missing) > 0:
		return &brokenPromise{strings.Map(printable, fmt.Sprintf("no answer from %s, which may have more", strings.Join(missing, ", ")))}
	}
	return nil
}

// hostsOf returns the hosts that are to be fetched.
func (f *fetchFlags) hostsOf(name string, sessions []wire.SessionStatus) (hosts []string, err error) {
	at := slices.IndexFunc(sessions, func(s wire.SessionStatus) bool { return s.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("session %s is not known: 'meridian server sessions' lists those that are", name)
	}
	for _, h := range f.hosts {
		if err := wire.CheckHost(h); err != nil {
			return nil, wrong("--hosts: %v", err)
		}
	}
	if len(f.hosts) > 0 {
		return f.hosts, nil
	}
	for _, h := range sessions[at].Stats {
		if err := wire.CheckHost(h.Host); err != nil {
			return nil, err // it becomes a directory here
		}
		if h.Stored > 0 {
			hosts = append(hosts, h.Host)
		}
	}
	if len(hosts) == 0 {
		return nil, fmt.Errorf("session %s: no server has a trace of any host yet", name)
	}
	return hosts, nil
}

// host fetches a host from the server that has most of it; false if none has anything.
func (f *fetchFlags) host(cmd *cobra.Command, c *nats.Conn, servers []string, name, host string) (found bool, err error) {
	request := wire.Encode(wire.Files{Version: wire.Version, Session: name, Host: host})
	lists, missing, err := askAll[wire.FileList](cmd.Context(), c, wire.ControlFiles, request, servers, sessionsWithin)
	if err != nil {
		return false, err
	}
	var best *wire.FileList
	var problems []string
	for i := range lists {
		if l := &lists[i]; l.Error != "" {
			problems = append(problems, fmt.Sprintf("server %s: %s", l.Server, l.Error))
		} else if l.Trace != "" && (best == nil || bytesOf(l) > bytesOf(best)) {
			best = l
		}
	}
	if best == nil {
		if problems = append(problems, missing...); len(problems) > 0 {
			return false, errors.New(strings.Map(printable, strings.Join(problems, "; ")))
		}
		return false, nil
	}
	bar := newProgress(cmd, f.quiet)
	defer bar.stop()
	h := fetch.Host{
		Conn: c, Session: name, Name: host, List: *best, Out: f.dir, Log: f.log(cmd),
		Told: func(done, total int64) { bar.show("fetch "+host, done, total) },
	}
	bytes, err := h.Run(cmd.Context())
	bar.stop()
	if err != nil {
		return false, err
	}
	f.log(cmd)("%s: %d bytes from server %s", host, bytes, strings.Map(printable, best.Server))
	_, err = fmt.Fprintln(cmd.OutOrStdout(), h.Dir())
	return true, err
}

func bytesOf(l *wire.FileList) (n int64) {
	for _, f := range l.Files {
		n += f.Have
	}
	return n
}
