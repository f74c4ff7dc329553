package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"meridian/internal/record"
	"meridian/internal/record/packet"
	"meridian/trace"
)

// recordFlags is what the command line says.
type recordFlags struct {
	outputFlags
	dir, host, title string
	programs, after  []string
	rings            string
	kernel, netns    string
	packets          interfaceList
	snaplen          int
	filter           string
}

func newRecord() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record -o DIR [-- COMMAND [ARG]...]",
		Short: "Record the events of this host's programs into one trace",
		Long: `Record what programs with sensors emit (packages sensor for Go and sensor/c for C and C++), and on request what the
kernel does and the packets of this host, on one clock, which steps of the system's time do not disturb. DIR is a trace
in CTF, which 'meridian align', 'meridian convert', babeltrace2 and Trace Compass read; DIR/packets has its packets as
pcapng, which Wireshark reads, and which come with DIR where that is given to 'meridian align' and 'meridian convert'.

Recording goes on until COMMAND ends, or without one until it is interrupted. What COMMAND leaves running is recorded no
longer; a line says how many processes these are, where --kernel sched or syscalls has followed them. To wait for what runs
in the background, have a shell do so: -- sh -c 'server & client & wait'. COMMAND is started
with MERIDIAN=1, by which its sensors are on. Programs that run already, and those that start meanwhile, are recorded too;
--program leaves only those that match. What programs have emitted and nobody has recorded yet is taken as well.

--kernel records events of the kernel by eBPF beside them, as LTTng names them: net (packets with their headers, which
'meridian align' matches as it does those of captures), sched, irq, syscalls. With a COMMAND, sched and syscalls are
those of COMMAND and its children alone, from its first instruction on. It needs root, or CAP_BPF and CAP_PERFMON.

--packets captures packets as tcpdump does, of all interfaces or of those named (--packets=eth0,lo): the first bytes of
each, with its direction. --filter leaves those that match an expression of tcpdump's: hosts, nets, ports, protocols,
sizes, with and, or, not. It needs root, or CAP_NET_RAW. --netns takes the packets, and the programs, of one network
namespace for those of the host, which is how several hosts on one machine are recorded.

Where the system does not permit something, a line says what is missing, and the next best is recorded: kernel events
by tracefs, packets for those of --kernel net, what programs emit.

If DIR has a trace of a recorder that ended or was killed since the machine was started, it goes on: nothing is lost and
nothing repeated. --after does so for a new DIR.

What fails meanwhile, one of these sources or the ring of a program, is told at once and recorded no further; all else is.

Exit code: that of COMMAND if it is not 0; else 0 done, 1 failed, 2 wrong usage, 3 done, but events were lost, as the
summary counts them, or something failed before the end.`,
		Example: `  meridian record -o trace/ -- ./server --port 8080
  meridian record -o trace/ --program 'web*' --program 4711
  meridian record -o trace/ --packets --filter 'tcp port 443' -- curl -s https://example.org
  meridian record -o web/ --kernel net,sched,irq -- ./server
  meridian convert trace/ -o timeline.pftrace -o packets.pcapng`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.dir, "output", "o", "", "write the trace to `DIR`")
	flags.StringArrayVar(&f.programs, "program", nil, "record programs of this name or process number, `PATTERN`; may be repeated")
	flags.StringVar(&f.kernel, "kernel", "", "record kernel events of these `GROUPS`: net, sched, irq, syscalls")
	flags.Var(&f.packets, "packets", "record packets; of these `INTERFACES` alone as --packets=eth0,lo")
	flags.Lookup("packets").NoOptDefVal = anyInterface
	flags.IntVar(&f.snaplen, "snaplen", packet.DefaultSnaplen, "keep the first `BYTES` of each packet, which are its headers; 0: whole packets")
	flags.StringVar(&f.filter, "filter", "", "record packets that match this `EXPRESSION`, as tcpdump's: 'tcp port 80 and not host 10.0.0.1'")
	flags.StringVar(&f.netns, "netns", "", "packets, interfaces and programs of the network namespace `NAME` alone")
	flags.StringVar(&f.host, "host", "", "`NAME` of this host in the trace (default: its own, or that of --netns)")
	flags.StringVar(&f.title, "title", "", "`TEXT` that the trace says of itself")
	flags.StringArrayVar(&f.after, "after", nil, "do not repeat what is in the trace `DIR` of a recorder that was killed; may be repeated")
	flags.StringVar(&f.rings, "rings", "", "programs have their rings in `DIR`, as by MERIDIAN=DIR (default: where they make them by themselves)")
	f.outputFlags.add(flags, "summary")
	completions(cmd, map[string]cobra.CompletionFunc{
		"program": choices(), "host": choices(), "title": choices(), "netns": choices(), "filter": choices(), "snaplen": choices(),
		"kernel": choices("net", "sched", "irq", "syscalls", "net,sched,irq", "net,sched,irq,syscalls"),
		"packets": func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return interfaceNames(), cobra.ShellCompDirectiveNoFileComp
		},
	})
	return cmd
}

// commandEnded says with what exit code the recording ends: that of a command that did not end well, or our own even where an
// interrupt came meanwhile, which is how recordings end.
type commandEnded struct {
	err  error
	code int
}

func (e *commandEnded) Error() string { return e.err.Error() }

func (f *recordFlags) run(cmd *cobra.Command, args []string) error {
	if f.dir == "" {
		return wrong("record: no directory for the trace; name one with -o DIR")
	}
	if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
		if slices.Contains(interfaceNames(), args[0]) {
			return wrong("record: %s: interfaces stand behind =, as in --packets=%s", args[0], args[0])
		}
		return wrong("record: %s: a command to record stands behind --", args[0])
	}
	for _, p := range f.programs {
		if _, err := filepath.Match(p, ""); err != nil {
			return wrong("--program %s: %v; a pattern is a name with * and ?, or the number of a process", p, err)
		}
	}
	if f.host == "" && !strings.Contains(f.netns, "/") {
		f.host = f.netns // a host of its own on this machine
	}
	o := record.Options{Dir: f.dir, Host: f.host, Title: f.title, Programs: f.programs, After: f.after, Warnings: new(trace.Warnings)}
	started := "1"
	if f.rings != "" {
		rings, err := filepath.Abs(f.rings)
		if err != nil {
			return err
		}
		o.Rings, started = []string{rings}, rings
	}
	sources, err := f.openSources(len(args) > 0, o.Warnings, func(line string) {
		if !f.quiet { // now, and not when hours have been recorded in vain
			fmt.Fprintln(cmd.ErrOrStderr(), "meridian: warning:", line)
		}
	})
	if err != nil {
		return err
	}
	defer sources.close()
	o.Sources = sources.list
	if sources.packets != nil {
		o.Packets = sources.packets
	}
	if sources.netns != 0 {
		o.Only = inNamespace(sources.netns)
	}
	live := liveCounts(cmd.ErrOrStderr(), f.quiet || len(args) > 0)
	o.Counts = live.show
	o.Failed = func(part record.Failure) {
		if !f.quiet {
			live.clear()
			fmt.Fprintln(cmd.ErrOrStderr(), "meridian: warning:", strings.Map(printable, part.String()))
		}
	}
	recorder, err := record.New(o)
	if err != nil {
		return err
	}

	// Recording ends when the command has: what is to end the recording is for the command first.
	ending, ends := endingsOf(cmd.Context())
	ctx, cancel := context.WithCancel(ending)
	var child *exec.Cmd
	ended := make(chan error, 1)
	if len(args) > 0 {
		ctx, cancel = context.WithCancel(context.WithoutCancel(ending))
		child, err = startCommand(func() *exec.Cmd {
			c := exec.CommandContext(ending, args[0], args[1:]...)
			c.Cancel = func() error { return ends.passOn(c.Process) }
			c.Stdin, c.Stdout, c.Stderr = os.Stdin, cmd.OutOrStdout(), cmd.ErrOrStderr()
			c.Env = append(os.Environ(), "MERIDIAN="+started)
			return c
		}, sources.follow())
		var unfollowed *notFollowed
		if errors.As(err, &unfollowed) {
			o.Warnings.Add("kernel events", "the command could not be followed", unfollowed.Error())
		} else if err != nil {
			cancel()
			_, failed := recorder.Run(ctx)
			return errors.Join(fmt.Errorf("record: %w", err), failed)
		}
		go func() {
			ended <- child.Wait()
			cancel()
		}()
	}
	defer cancel()
	summary, failed := recorder.Run(ctx)
	live.clear()
	if child != nil && failed == nil && !f.quiet {
		if line := sources.left(args[0]); line != "" {
			fmt.Fprintln(cmd.ErrOrStderr(), "meridian: warning:", line)
		}
	}
	sources.close() // which tells what was not kept
	var last error
	if child != nil {
		if failed != nil { // told now, since the command may run for long
			fmt.Fprintln(cmd.ErrOrStderr(), "meridian:", failed)
			failed = fmt.Errorf("%s was not recorded to its end", args[0])
		}
		last = statusOf(args[0], <-ended)
	}
	broken := notKept(&summary, o.Packets != nil)
	err = f.print(cmd, o.Warnings.Lines(), broken, func(w io.Writer) error { return recordTable(w, summary) },
		func(w io.Writer) error { return json.NewEncoder(w).Encode(summary) })
	switch {
	case failed != nil:
		return &commandEnded{failed, exitFailed}
	case last != nil:
		return last
	}
	return err
}
