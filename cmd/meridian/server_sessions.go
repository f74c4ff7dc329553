package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"meridian/internal/collect/session"
	"meridian/internal/collect/wire"
)

// Times of requests to servers.
const (
	controlWithin  = 90 * time.Second // recorders take a while to begin and to end
	sessionsWithin = 10 * time.Second
	serverStarts   = 2 * time.Second        // its broker listens before it answers
	serversSpeak   = 750 * time.Millisecond // each says twice a second that it is there
)

// controlFlags are those of commands that ask servers.
type controlFlags struct {
	server, key string
	hosts       []string
	json        bool
}

func (f *controlFlags) add(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&f.server, "server", "", "`URL` of the broker, or several, separated by commas (default: those of --key, else "+defaultBroker+")")
	cmd.Flags().StringVar(&f.key, "key", "", "`FILE` with the key of operators, where 'meridian server init' has made one")
	cmd.Flags().BoolVar(&f.json, "json", false, "a JSON object a line")
	completions(cmd, map[string]cobra.CompletionFunc{"server": choices()})
}

func newServerStart() *cobra.Command {
	var f controlFlags
	cmd := &cobra.Command{
		Use:   "start SESSION [--hosts HOST,HOST...] [-- RECORD-FLAG... [-- COMMAND [ARG]...]]",
		Short: "Begin to record a session on many hosts at once",
		Long: `Have the agents that wait for commands ('meridian agent --standby') record a session, with the flags of 'meridian record' behind --: what to record
(--program, --kernel, --packets, --snaplen, --filter, --netns, --title, --flush, --keep), and a COMMAND for agents with --allow-commands. Without --hosts all
hosts that are there record it. When the command returns, each host is recording, or the line of the host says why not.

A host that is away joins when it comes back, and without --hosts a new host as well, until 'meridian server stop SESSION'. Servers keep the session
on their disks. A host records one session at a time. The name of a session is not used twice.

Exit code: 0 done, 1 failed, 2 wrong usage, 3 done, but a host does not record, or none does.`,
		Example: `  meridian server start nightly -- --kernel sched,net
  meridian server start checkout-42 --hosts web1,web2,db -- --kernel net --filter 'port 443'
  meridian server start load --server nats://collector:4222 -- -- ./load --seconds 60`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); len(args) == 0 || dash == 0 || dash != 1 && len(args) != 1 {
				return wrong("want one SESSION: the recorder's flags go behind --")
			}
			return wrongIf(errors.Join(wire.CheckSession(args[0]), checkCommanded(args[1:], true)))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.control(cmd, wire.ControlStart, wire.Control{Session: args[0], Hosts: f.hosts, Args: args[1:]})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringSliceVar(&f.hosts, "hosts", nil, "record these `HOSTS` alone")
	f.add(cmd)
	completions(cmd, map[string]cobra.CompletionFunc{"hosts": choices()})
	return cmd
}

func newServerStop() *cobra.Command {
	var f controlFlags
	cmd := &cobra.Command{
		Use:   "stop SESSION",
		Short: "End the recording of a session on all its hosts",
		Long: `End a session that 'meridian server start' began, on all its hosts. When the command returns, their recorders have ended; what servers do not have yet
is sent further ('meridian server sessions' shows it). A host that is away ends when it comes back.

Exit code: 0 done, 1 failed, 2 wrong usage, 3 done, but a host is away, or its trace is not whole.`,
		Example: `  meridian server stop nightly
  meridian server stop nightly --server nats://collector:4222 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return wrong("want one SESSION, found %d", len(args))
			}
			return wrongIf(wire.CheckSession(args[0]))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.control(cmd, wire.ControlStop, wire.Control{Session: args[0]})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.add(cmd)
	return cmd
}

func wrongIf(err error) error {
	if err != nil {
		return wrong("%v", err)
	}
	return nil
}

// connect connects to a broker to ask servers.
func (f *controlFlags) connect(cmd *cobra.Command) (*nats.Conn, error) {
	c, err := connectAsOperator(f.server, f.key, (&quietFlag{}).log(cmd))
	if err == nil {
		f.server = c.ConnectedUrlRedacted()
	}
	return c, err
}

// control asks a server to start or to stop a session, and prints what became of it on each host.
func (f *controlFlags) control(cmd *cobra.Command, subject string, request wire.Control) error {
	for _, h := range request.Hosts {
		if err := wire.CheckHost(h); err != nil {
			return wrong("--hosts: %v", err)
		}
	}
	c, err := f.connect(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	out, err := askControl(cmd.Context(), c, f.server, subject, request)
	if err != nil {
		return err
	}
	return f.printOutcome(cmd, request.Session, subject == wire.ControlStart, out.Hosts)
}

// askControl has one server do what an operator asks for.
func askControl(outer context.Context, c *nats.Conn, server, subject string, request wire.Control) (out wire.Outcome, err error) {
	request.Version = wire.Version
	ctx, cancel := context.WithTimeout(outer, controlWithin)
	defer cancel()
	m, err := c.RequestWithContext(ctx, subject, wire.Encode(request))
	for late := time.Now().Add(serverStarts); errors.Is(err, nats.ErrNoResponders) && time.Now().Before(late); {
		select {
		case <-ctx.Done():
		case <-time.After(serverStarts / 20):
		}
		m, err = c.RequestWithContext(ctx, subject, wire.Encode(request))
	}
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return out, fmt.Errorf("%s: no server is there, only a broker: start 'meridian server --nats %s'", server, brokerURLs(server))
	case err != nil && outer.Err() == nil:
		return out, fmt.Errorf("%s: %w: no server answered; 'meridian server sessions' says how session %s stands", server, err, request.Session)
	case err != nil:
		return out, err
	}
	if out, err = wire.Decode[wire.Outcome](m.Data); err != nil {
		return out, err
	}
	if out.Error != "" {
		return out, errors.New(strings.Map(printable, out.Error))
	}
	return out, nil
}

// printOutcome prints a line for each host. A host that does not do what was asked for is a broken promise.
func (f *controlFlags) printOutcome(cmd *cobra.Command, name string, start bool, hosts []wire.HostState) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	encoder := json.NewEncoder(cmd.OutOrStdout())
	bad := 0
	for _, h := range hosts {
		if h.Error != "" || start && h.State != wire.StateRecording {
			bad++
		}
		if !f.json {
			fmt.Fprintf(w, "%s\t%s\t%s\n", strings.Map(printable, h.Host), strings.Map(printable, string(h.State)), strings.Map(printable, h.Error))
		} else if err := encoder.Encode(h); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch {
	case start && len(hosts) == 0:
		return &brokenPromise{fmt.Sprintf("session %s: no host waits for commands yet ('meridian agent --standby'); those that come will record it", name)}
	case bad > 0:
		return &brokenPromise{fmt.Sprintf("session %s: %d of %d hosts did not do all that was asked for", name, bad, len(hosts))}
	}
	return nil
}

func newServerSessions() *cobra.Command {
	var f controlFlags
	cmd := &cobra.Command{
		Use:   "sessions [--server URL]",
		Short: "List the sessions that servers record or store, with their hosts",
		Long: `List the sessions: those that operators started (running or stopped) and those that agents began by themselves (other). For each host: what it does,
how many bytes servers store, how many wait on the host to be sent, and what is wrong.

States of hosts: recording; sending (the recorder has ended, and servers lack something); ended (servers have everything); failed; waiting (for the
command, which comes within seconds); busy (with another session); away (no agent is heard); stored (no agent says anything of it).

Exit code: 0 done, 1 failed, 2 wrong usage, 3 done, but a server did not answer.`,
		Example: `  meridian server sessions
  meridian server sessions --json | jq 'select(.state == "running")'`,
		Args:              noArguments,
		RunE:              func(cmd *cobra.Command, _ []string) error { return f.sessions(cmd) },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.add(cmd)
	return cmd
}

func (f *controlFlags) sessions(cmd *cobra.Command) error {
	c, err := f.connect(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	lists, missing, err := askAll[wire.SessionList](cmd.Context(), c, wire.ControlSessions, nil, nil, sessionsWithin)
	if err != nil {
		return fmt.Errorf("%s: %w", f.server, err)
	}
	sessions := session.Join(lists)
	if f.json {
		encoder := json.NewEncoder(cmd.OutOrStdout())
		for _, s := range sessions {
			if err := encoder.Encode(s); err != nil {
				return err
			}
		}
	} else if err := printSessions(cmd, sessions); err != nil {
		return err
	}
	for _, l := range lists {
		if l.Error != "" {
			missing = append(missing, fmt.Sprintf("%s (%s)", l.Server, l.Error))
		}
	}
	if len(missing) > 0 {
		return &brokenPromise{strings.Map(printable, "no answer from "+strings.Join(missing, ", "))}
	}
	return nil
}

func printSessions(cmd *cobra.Command, sessions []wire.SessionStatus) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SESSION\tSTATE\tSINCE\tHOST\tDOES\tSTORED\tWAITING\tSERVERS\tPROBLEM")
	for _, s := range sessions {
		since := "-"
		if !s.Since.IsZero() {
			since = s.Since.Local().Format(time.DateTime)
		}
		head := s.Name + "\t" + string(s.State) + "\t" + since
		if len(s.Stats) == 0 {
			fmt.Fprintln(w, head+"\t-")
		}
		for _, h := range s.Stats {
			line := []string{head, h.Host, string(h.State), strconv.FormatInt(h.Stored, 10), strconv.FormatInt(h.Waiting, 10), strconv.Itoa(h.Servers), strings.Map(printable, h.Error)}
			line[1], line[2] = strings.Map(printable, h.Host), strings.Map(printable, string(h.State))
			fmt.Fprintln(w, strings.Join(line, "\t"))
			head = "\t\t"
		}
	}
	return w.Flush()
}

var errNoServer = errors.New("no server is there: is 'meridian server' running?")

// noResponders is the status of a broker's reply to a request that nobody takes (ADR-4 of NATS).
const noResponders = "503"

// askAll asks all servers, and returns their answers and the names of those that did not answer. Servers that are not known are those that are heard.
func askAll[T interface{ From() string }](ctx context.Context, c *nats.Conn, subject string, request []byte, known []string, within time.Duration) (answers []T, missing []string, err error) {
	alive, replies := make(chan *nats.Msg, 1024), make(chan *nats.Msg, 1024)
	inbox := c.NewInbox()
	for s, to := range map[string]chan *nats.Msg{wire.AllServersAlive: alive, inbox: replies} {
		if _, err := c.ChanSubscribe(s, to); err != nil {
			return nil, nil, err
		}
	}
	if err := c.PublishRequest(subject, inbox, request); err != nil {
		return nil, nil, err
	}
	heard, answered := map[string]bool{}, map[string]bool{}
	listened, late := time.After(serversSpeak), time.After(within)
	over, untaken := known != nil, false
	for _, s := range known {
		heard[s] = true
	}
	for {
		switch {
		case over && len(answers) > 0 && containsAll(answered, heard):
			return answers, nil, nil
		case over && untaken && len(heard)+len(answers) == 0:
			return nil, nil, errNoServer
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-listened:
			over = true
		case <-late:
			if len(heard)+len(answers) == 0 {
				return nil, nil, errNoServer
			}
			for s := range heard {
				if !answered[s] {
					missing = append(missing, s)
				}
			}
			slices.Sort(missing)
			return answers, missing, nil
		case m := <-alive:
			if s, err := wire.Decode[wire.ServerStatus](m.Data); err == nil && s.Version == wire.Version {
				heard[s.Server] = true
			}
		case m := <-replies:
			// Silence alone does not say that no server is there: one on a busy machine is late.
			untaken = untaken || len(m.Data) == 0 && m.Header.Get("Status") == noResponders
			if a, err := wire.Decode[T](m.Data); err == nil && len(m.Data) > 0 && !answered[a.From()] {
				answered[a.From()] = true
				answers = append(answers, a)
			}
		}
	}
}

func containsAll(in, all map[string]bool) bool {
	for s := range all {
		if !in[s] {
			return false
		}
	}
	return true
}
