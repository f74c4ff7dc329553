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
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"meridian/format/ctf"
	"meridian/internal/collect/fetch"
	"meridian/internal/collect/session"
	"meridian/internal/collect/wire"
	"meridian/trace"
)

// fetchFlags is what the command line says.
type fetchFlags struct {
	quietFlag
	server, key, dir string
	hosts            []string
	around           string
	span, within     time.Duration
}

func newServerFetch() *cobra.Command {
	var f fetchFlags
	cmd := &cobra.Command{
		Use:   "fetch [SESSION] [--around INSTANT [--span TIME]] [--hosts HOST,HOST...] [-o DIR]",
		Short: "Bring the traces of a session from servers to this machine",
		Long: `Copy the traces of a session into DIR/HOST, byte for byte, each file from the server that has most of it; 'meridian align DIR/*' reads them. The name of each
directory is printed when it is whole. What is interrupted lies in DIR/.HOST.partial, and the same command goes on with it, after it has compared what is
there with what the server has. A session that is still recorded is copied as far as it has come.

With --around, hosts whose agents keep a flight recorder ('meridian agent --on-demand') first send what they recorded around INSTANT: --span from its beginning
to its end, half of it before INSTANT. Servers store it as a new session, SESSION or around-INSTANT. Whole packets are sent that overlap the span, by
the clock of each host, and one on either side. The same command goes on where it was interrupted. INSTANT is a time such as 2026-01-02T15:04:05.5Z, a
time of today (15:04:05, here), or how long ago, such as -30s.

Exit code: 0 done, 1 failed, 2 wrong usage, 3 done, but a host that was named has no trace, a host does not have all of the span, a server did not
answer, something was lost, or is not described by any metadata that is there, or 'meridian server sessions' shows a problem of a host.`,
		Example: `  meridian server fetch nightly
  meridian server fetch --around -20s
  meridian server fetch crash-7 --around 2026-01-02T15:04:05.5Z --span 30s --hosts web,db
  meridian server fetch nightly --hosts web,db -o traces/ --server nats://collector:4222
  meridian align nightly/* -o timeline.html`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && f.around != "" {
				return nil
			}
			if len(args) != 1 {
				return wrong("want one SESSION, found %d", len(args))
			}
			return wrongIf(wire.CheckSession(args[0]))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.around != "" {
				return f.runAround(cmd, strings.Join(args, ""))
			}
			if cmd.Flags().Changed("span") || cmd.Flags().Changed("within") {
				return wrong("--span and --within need --around")
			}
			return f.run(cmd, args[0])
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.server, "server", "", "`URL` of the broker, or several, separated by commas (default: those of --key, else "+defaultBroker+")")
	flags.StringVar(&f.key, "key", "", "`FILE` with the key of operators, where 'meridian server init' has made one")
	flags.StringSliceVar(&f.hosts, "hosts", nil, "fetch these `HOSTS` alone")
	flags.StringVar(&f.around, "around", "", "have hosts send what they recorded around `INSTANT` first")
	flags.DurationVar(&f.span, "span", 10*time.Second, "with --around: how long the part is, `TIME` up to 1h")
	flags.DurationVar(&f.within, "within", 2*time.Minute, "with --around: wait so long for hosts to have sent it, `TIME`")
	flags.StringVarP(&f.dir, "output", "o", "", "copy into `DIR` (default: the session's name)")
	f.quietFlag.add(cmd)
	completions(cmd, map[string]cobra.CompletionFunc{"server": choices(), "hosts": choices(), "around": choices("-10s", "-1m"), "span": choices("10s", "1m"), "within": choices("2m")})
	return cmd
}

func (f *fetchFlags) run(cmd *cobra.Command, name string) error {
	c, err := connectAsOperator(f.server, f.key, f.log(cmd))
	if err != nil {
		return err
	}
	defer c.Close()
	return f.fetch(cmd, c, name)
}

// fetch copies the hosts of a session.
func (f *fetchFlags) fetch(cmd *cobra.Command, c *nats.Conn, name string) error {
	if f.dir == "" {
		f.dir = name
	}
	lists, missing, err := askAll[wire.SessionList](cmd.Context(), c, wire.ControlSessions, nil, nil, sessionsWithin)
	if err != nil {
		return fmt.Errorf("%s: %w", c.ConnectedUrlRedacted(), err)
	}
	sessions := session.Join(lists)
	hosts, err := f.hostsOf(name, sessions)
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
	var lacking, broken []string
	for _, host := range hosts {
		found, short, err := f.host(cmd, c, servers, name, host)
		if err != nil {
			return err
		}
		if !found {
			lacking = append(lacking, host)
		}
		if short != "" {
			broken = append(broken, short)
		}
	}
	if len(lacking) > 0 {
		broken = append(broken, fmt.Sprintf("no server has a trace of %s", strings.Join(lacking, ", ")))
	}
	if len(missing) > 0 {
		broken = append(broken, fmt.Sprintf("no answer from %s, which may have more", strings.Join(missing, ", ")))
	}
	if broken = append(broken, problemsOf(name, hosts, sessions)...); len(broken) > 0 {
		return &brokenPromise{strings.Map(printable, fmt.Sprintf("session %s: %s", name, strings.Join(broken, "; ")))}
	}
	return nil
}

// problemsOf returns what servers say is wrong with hosts of a session, and what of them was lost.
func problemsOf(name string, hosts []string, sessions []wire.SessionStatus) (problems []string) {
	at := slices.IndexFunc(sessions, func(s wire.SessionStatus) bool { return s.Name == name })
	if at < 0 {
		return nil
	}
	for _, h := range sessions[at].Stats {
		if !slices.Contains(hosts, h.Host) {
			continue
		}
		if h.Lost > 0 {
			problems = append(problems, fmt.Sprintf("%s: %d bytes were lost before servers had them", h.Host, h.Lost))
		}
		if h.Error != "" {
			problems = append(problems, h.Host+": "+h.Error)
		}
	}
	return problems
}

// hostsOf returns the hosts that are to be fetched.
func (f *fetchFlags) hostsOf(name string, sessions []wire.SessionStatus) (hosts []string, err error) {
	at := slices.IndexFunc(sessions, func(s wire.SessionStatus) bool { return s.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("session %s is on no server: 'meridian server sessions' lists those that are; what was removed after it was archived is read from s3://", name)
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

// host fetches a host, each file from the server that has most of it; false if none has anything. broken says what nobody can read of it.
func (f *fetchFlags) host(cmd *cobra.Command, c *nats.Conn, servers []string, name, host string) (found bool, broken string, err error) {
	request := wire.Encode(wire.Files{Version: wire.Version, Session: name, Host: host})
	lists, missing, err := askAll[wire.FileList](cmd.Context(), c, wire.ControlFiles, request, servers, sessionsWithin)
	if err != nil {
		return false, "", err
	}
	var problems []string
	for _, l := range lists {
		if l.Error != "" {
			problems = append(problems, fmt.Sprintf("server %s: %s", l.Server, l.Error))
		}
	}
	if len(missing) > 0 {
		problems = append(problems, "no answer from "+strings.Join(missing, ", "))
	}
	lists = slices.DeleteFunc(lists, func(l wire.FileList) bool { return l.Error != "" || l.Trace == "" })
	if len(lists) == 0 {
		if len(problems) > 0 {
			return false, "", errors.New(strings.Map(printable, strings.Join(problems, "; ")))
		}
		return false, "", nil
	}
	slices.SortStableFunc(lists, func(a, b wire.FileList) int { return cmp.Compare(bytesOf(&b), bytesOf(&a)) })
	id, all := lists[0].Trace, len(lists)
	lists = slices.DeleteFunc(lists, func(l wire.FileList) bool { return l.Trace != id })
	if len(lists) < all {
		problems = append(problems, "a server has another trace of it, which was not fetched")
	}
	bar := newProgress(cmd, f.quiet)
	defer bar.stop()
	h := fetch.Host{
		Conn: c, Session: name, Name: host, Lists: lists, Out: f.dir, Log: f.log(cmd),
		Told: func(done, total int64) { bar.show("fetch "+host, done, total) },
	}
	bytes, err := h.Run(cmd.Context())
	bar.stop()
	if err != nil {
		return false, "", err
	}
	f.log(cmd)("%s: %d bytes from server %s", host, bytes, strings.Map(printable, strings.Join(h.From, ", ")))
	short, err := fetch.Undescribed(h.Dir())
	if err != nil {
		return true, "", err
	}
	if len(short) > 0 {
		problems = append(problems, fmt.Sprintf("no server that answers has the metadata of %d files, which nobody can read, such as %s: run the agent again, then fetch into another directory", len(short), short[0]))
	}
	gaps, err := gapsOf(cmd.Context(), h.Dir())
	if err != nil {
		return true, "", err
	}
	problems = append(problems, gaps...)
	if len(problems) > 0 {
		broken = host + ": " + strings.Join(problems, ", ")
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), h.Dir())
	return true, broken, err
}

// gapsOf returns what a fetched trace lacks: servers store bytes, and only a reader sees that a packet is damaged, or
// that events were dropped. A file that ends within a packet is none: its session may go on.
func gapsOf(ctx context.Context, dir string) (problems []string, err error) {
	var w trace.Warnings
	t, err := ctf.Open(dir, &w)
	if err != nil {
		return []string{err.Error()}, nil
	}
	_, err = t.Verify(ctx)
	if err = errors.Join(err, t.Close()); err != nil {
		return nil, err
	}
	var gaps trace.Warnings
	for _, x := range w.All() {
		if x.Gap && x.Kind != ctf.EndsWithinPacket {
			x.Subject = filepath.Base(x.Subject)
			gaps.AddAll([]trace.Warning{x})
		}
	}
	return gaps.Lines(), nil
}

func bytesOf(l *wire.FileList) (n int64) {
	for _, f := range l.Files {
		n += f.Have
	}
	return n
}
