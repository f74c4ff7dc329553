package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"meridian/internal/record"
	"meridian/internal/record/packet"
	"meridian/trace"
)

// recordFlags are the flags of meridian record.
type recordFlags struct {
	outputFlags
	dir, host, title string
	programs, after  []string
	rings, probes    string
	kernel, netns    string
	pids             []int // whose kernel events of sched, syscalls and sockets are recorded, and their children's; none for all
	packets          interfaceList
	snaplen          int
	filter           string
	readyFD          readyFD
	flush            time.Duration
	keep             keepValue
	view             string
	triggers         []string
	triggerAfter     time.Duration
	ofAgent          bool // how it ends is left in the directory
	lastLook         bool // only what is in the rings is recorded
	outcome          *leftOutcome
}

func newRecord() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record -o DIR [-- COMMAND [ARG]...]",
		Short: "Record this host's programs with sensors, kernel events and packets into one trace",
		Long: `Record the events that programs with sensors emit (package sensor for Go, sensor/c for C and C++), and on request
kernel events and packets of this host. All are stamped by one clock, CLOCK_MONOTONIC, which steps of the system's time do
not disturb. DIR is a trace in CTF, which 'meridian align', 'meridian convert', babeltrace2 and Trace Compass read.
DIR/packets has the packets as pcapng for Wireshark; 'meridian align' and 'meridian convert' read them with DIR.

--ready-fd says when everything is being recorded, for a program that then starts the load. Without a COMMAND a line on
stderr says so, unless --quiet is given.

Recording ends when COMMAND ends, or without a command when it is interrupted. Processes that COMMAND leaves running are no
longer recorded then; with --kernel sched or syscalls, which follow them, a warning says how many there are. To wait for
background processes, run a shell that does: -- sh -c 'server & client & wait'. COMMAND runs with MERIDIAN=1 in its
environment, which switches its sensors on. Programs that run already or start meanwhile are recorded too; --program
selects among them. Events that programs emitted before, and that no recorder has read, are recorded as well.

--kernel records kernel events by eBPF, named as LTTng names them: net (packets with their headers, which 'meridian align'
matches like those of captures), sched, irq, syscalls, sockets (which bytes threads write and read), disk. With a COMMAND,
sched, syscalls and sockets are those of COMMAND and its children only, from its first instruction on. It needs root, or CAP_BPF and CAP_PERFMON.

--packets captures packets as tcpdump does, of all interfaces or of those named (--packets=eth0,lo): the first bytes of
each packet, with its direction. It needs root, or CAP_NET_RAW. --filter selects packets by an expression of tcpdump's: hosts,
nets, ports, protocols, sizes, with and, or, not. It selects those of --kernel net too: an event whose headers do not tell, such as
of ARP, is recorded, and sizes (less, greater) are refused. --netns records the packets, interfaces and programs of one network
namespace as those of the host: several recorders then record several hosts on one machine.

Where the system does not permit a source, a warning says what is missing, and the next best is recorded: kernel events by
tracefs, captured packets instead of --kernel net, the events of programs. The exit code is then 3, unless tracefs records
the same events.

If DIR has a trace of a recorder that ended or was killed since this machine was booted, recording continues it and says so: no
event of a program is lost or repeated. A trace of another host than --host is refused. --after does the same for a new DIR.

--keep drops what is older than a duration, or beyond a size, in whole packets, a chunk of files at a time. The trace says what
was dropped (events meridian:dropped), and so do the summary and 'meridian align'; it does not count as lost. --spool and --release do the same
for 'meridian agent', which has flags of these names and gives them to the recorder that it runs.

With --keep, what is kept can be saved as a trace of its own, DIR-snapshot-TIME, while recording goes on: when an event matches a
--trigger, at the signal USR1, and by 'meridian snapshot DIR'; each --trigger-after later. Requests that come before that are
answered by one snapshot. A --trigger is the name of an event as for 'meridian convert --event' (NAME or CATEGORY:NAME,
with * and ?), and conditions on its fields as for --where, all of which must hold. Events make 16 snapshots at most.

--view shows the recording in the browser while it is made, as 'meridian view --follow DIR' does, and until it is interrupted. The address is printed on
stdout. Events are then in the files within 10 ms, unless --flush says otherwise.

--probes exchanges clock probes with other hosts that do so too, so that hosts without common traffic can be aligned. FILE is JSON, readable by its
owner alone: where to answer, the key of all hosts, whom to ask and how often. It may be replaced at any time; FILE.state says how it goes.
  {"listen": "10.0.0.2:4123", "key": "64 hexadecimal digits", "ask": [{"name": "db", "address": "10.0.0.3:4123", "rate": 8}]}

When a source or the ring of a program fails, a warning says so at once; everything else is recorded further.

Exit code: that of COMMAND if it is not 0; else 0 done, 1 failed, 2 wrong usage, 3 done, but events were lost (the summary
counts them, and a process that could not be followed as one), a source or a ring failed before the end, or something was
not recorded that was asked for by name: a group of --kernel, --packets, a --program, an event or field of a --trigger.`,
		Example: `  meridian record -o trace/ -- ./server --port 8080
  meridian record -o trace/ --program 'web*' --program 4711
  meridian record -o trace/ --packets --filter 'tcp port 443' -- curl -s https://example.org
  meridian record -o trace/ --ready-fd 3 3>ready & read line <ready     (after mkfifo ready)
  meridian record -o web/ --kernel net --filter 'host 10.0.0.2 and not port 22'
  meridian record -o web/ --kernel net,sched,irq -- ./server
  meridian record -o last/ --keep 10m,2GiB --kernel net,sched
  meridian record -o trace/ --view --kernel sched -- ./server
  meridian record -o last/ --keep 10s --trigger 'web:request,ms>500' --trigger-after 2s
  meridian record -o web/ --kernel net --probes plan.json
  meridian convert trace/ -o timeline.pftrace -o packets.pcapng`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.ofAgent {
				signal.Notify(make(chan os.Signal, 1), endingSignals()...) // a terminal and systemd signal both, and the agent hands it on: no second one kills
				f.outcome = beginOutcome(f.dir)
			}
			if f.lastLook {
				f.onlyRings(cmd)
			}
			return f.outcome.end(f.run(cmd, args))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.dir, "output", "o", "", "write the trace to `DIR`")
	flags.StringArrayVar(&f.programs, "program", nil, "record only programs whose name or process number matches `PATTERN`; may be repeated")
	flags.StringVar(&f.kernel, "kernel", "", "record kernel events of these `GROUPS`: net, sched, irq, syscalls, sockets, disk")
	flags.IntSliceVar(&f.pids, "pid", nil, "of --kernel sched, syscalls and sockets, record only the processes `PIDS` and their children; may be repeated")
	flags.Var(&f.packets, "packets", "record packets of all interfaces, or of `INTERFACES`, as in --packets=eth0,lo")
	flags.Lookup("packets").NoOptDefVal = anyInterface
	flags.IntVar(&f.snaplen, "snaplen", packet.DefaultSnaplen, "keep the first `BYTES` of each packet; 0 keeps whole packets")
	flags.StringVar(&f.filter, "filter", "", "record only packets, and events of --kernel net, that match `EXPRESSION`, as for tcpdump: 'tcp port 80 and not host 10.0.0.1'")
	flags.StringVar(&f.netns, "netns", "", "record only packets, interfaces and programs of the network namespace `NAME`")
	flags.StringVar(&f.host, "host", "", "`NAME` of this host in the trace (default: its hostname, or NAME of --netns)")
	flags.StringVar(&f.title, "title", "", "`TEXT` that describes the trace")
	flags.StringVar(&f.probes, "probes", "", "exchange clock probes with other hosts as the plan in `FILE` says, and follow its changes")
	flags.StringArrayVar(&f.after, "after", nil, "continue after the trace `DIR` of a killed recorder, without repeating its events; may be repeated")
	flags.StringVar(&f.rings, "rings", "", "directory `DIR` of the programs' rings, as set by MERIDIAN=DIR (default: that of sensors)")
	flags.Var(&f.readyFD, "ready-fd", "write the line \"ready\" to file descriptor `N` and close it when everything is being recorded")
	flags.DurationVar(&f.flush, "flush", record.DefaultFlush, "have every event in the trace's files within `DURATION`; for live use 10ms")
	flags.Var(&f.keep, "keep", "keep only the last `AMOUNT` and drop what is older: a duration, a size, or both (10m, 2GiB, 10m,2GiB)")
	flags.Var(spoolValue{&f.keep.Keep}, "spool", "of a DIR that 'meridian agent' sends, keep `SIZE`: drop what servers have, then packets, then events")
	flags.BoolVar(&f.keep.Release, "release", false, "of a DIR that 'meridian agent' sends, drop what servers have")
	flags.StringArrayVar(&f.triggers, "trigger", nil, "save what --keep keeps when an event matches `EVENT,FIELD>N`; may be repeated")
	flags.DurationVar(&f.triggerAfter, "trigger-after", 0, "save it `DURATION` after the event, the signal or the request")
	flags.StringVar(&f.view, "view", "", "show the recording in the browser while it is made; with an `ADDRESS:PORT` serve it there and open none")
	flags.Lookup("view").NoOptDefVal = inBrowser
	flags.BoolVar(&f.ofAgent, ofAgentFlag, false, "leave in DIR what is wrong at the end, for an agent that is not there then")
	_ = flags.MarkHidden(ofAgentFlag) // it is there
	flags.BoolVar(&f.lastLook, lastLookFlag, false, "record what is in the rings, and end")
	_ = flags.MarkHidden(lastLookFlag) // it is there
	f.outputFlags.add(cmd, "summary")
	completions(cmd, map[string]cobra.CompletionFunc{
		"program": choices(), "pid": choices(), "host": choices(), "title": choices(), "netns": choices(), "filter": choices(), "snaplen": choices(), "ready-fd": choices(), "view": choices(), "trigger": choices(), "trigger-after": choices("1s", "2s", "10s"), "keep": choices("10s", "10m", "1h", "2GiB", "10m,2GiB"), "spool": choices("1GiB", "4GiB"), "flush": choices("10ms", "100ms", "1s"),
		"kernel": choices("net", "sched", "irq", "syscalls", "sockets", "disk", "net,sched,irq", "net,sched,syscalls,sockets,disk"),
		"packets": func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return interfaceNames(), cobra.ShellCompDirectiveNoFileComp
		},
	})
	return cmd
}

// onlyRings has the recorder record what programs emitted before, and end. An unmet --program is not its to tell.
func (f *recordFlags) onlyRings(cmd *cobra.Command) {
	f.kernel, f.packets, f.filter, f.probes, f.view = "", nil, "", "", ""
	f.snaplen, f.triggers, f.triggerAfter = packet.DefaultSnaplen, nil, 0
	ctx, cancel := context.WithCancel(cmd.Context())
	cancel()
	cmd.SetContext(ctx)
}

// commandEnded is an error with the exit code of meridian: that of a command that failed, or our own, also where an interrupt
// came meanwhile, which is how recordings end.
type commandEnded struct {
	err  error
	code int
}

func (e *commandEnded) Error() string { return e.err.Error() }

func (f *recordFlags) run(cmd *cobra.Command, args []string) error {
	o, err := f.recordOptions(cmd, args)
	if err != nil {
		return err
	}
	ready, err := f.openReady()
	if err != nil {
		return err
	}
	o.Ready = func() { f.tellReady(ready, cmd.ErrOrStderr(), len(args) > 0) }
	warn := func(line string) { // at once: not after hours of a recording that lacks what it was for
		if !f.quiet {
			tell(cmd.ErrOrStderr(), "warning: ", line)
		}
	}
	sources, err := f.openSources(len(args) > 0, o.Warnings, warn)
	if err != nil {
		return err
	}
	defer sources.close()
	sources.addTo(o)
	live := liveCounts(cmd.ErrOrStderr(), f.quiet || len(args) > 0)
	o.Counts = f.counts(live, sources, len(args) > 0)
	defer f.snapshotsAtSignals(o, cmd.ErrOrStderr())()
	o.Warn = func(line string) {
		live.clear()
		warn(strings.Map(printable, line))
	}
	o.Failed = func(part record.Failure) { o.Warn(part.String()) }
	page, err := f.openView(cmd)
	if err != nil {
		return err
	}
	defer page.close()
	recorder, err := record.New(*o)
	if err != nil {
		return err
	}
	f.tellContinued(cmd.ErrOrStderr(), recorder)
	ctx, ends := endingsOf(cmd.Context())
	child := &recordedCommand{args: args, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
	if len(args) > 0 {
		if ctx, err = child.start(ctx, ends, f.ringVariable(o), sources.follow()); err != nil {
			var unfollowed *notFollowed
			if !errors.As(err, &unfollowed) {
				_, failed := recorder.Run(ctx)
				return errors.Join(fmt.Errorf("record: %w", err), failed)
			}
			o.Warnings.Add("kernel events", "the command could not be followed", unfollowed.Error())
			sources.lacksFollowed(args[0])
		}
	}
	summary, failed := recorder.Run(ctx)
	live.clear()
	if child.running() && failed == nil {
		if line := sources.stillRunning(args[0]); line != "" {
			warn(line)
		}
	}
	sources.close() // which warns of faults
	var status error
	if child.running() {
		if failed != nil { // printed now: the command may run for long
			fmt.Fprintln(cmd.ErrOrStderr(), "meridian:", failed)
			failed = fmt.Errorf("%s was not recorded to its end", args[0])
		}
		status = child.wait()
	}
	err = f.printSummary(cmd, summary, o, f.notRecorded(&summary, sources))
	page.keep(cmd, f.quiet)
	switch {
	case failed != nil:
		return &commandEnded{failed, exitFailed}
	case status != nil:
		return status
	}
	return err
}

// printSummary prints what was recorded. Broken promises are an error, and so are things that were asked for and not recorded.
func (f *recordFlags) printSummary(cmd *cobra.Command, s record.Summary, o *record.Options, notRecorded []string) error {
	warnings := append(o.Warnings.Lines(), f.nothingRecorded(&s, o)...)
	return f.print(cmd, warnings, append(notKept(&s, o.Packets != nil), notRecorded...), func(w io.Writer) error { return recordTable(w, s, o.Keep) },
		func(w io.Writer) error {
			return json.NewEncoder(w).Encode(struct {
				record.Summary
				NotRecorded []string `json:"not_recorded,omitempty"`
			}{s, notRecorded})
		})
}

// findProgram returns why the program of a command is not found; nil for no command. It is called before the directory is made.
func findProgram(command []string) error {
	if len(command) == 0 {
		return nil
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// recordOptions checks the command line and returns the options without the sources.
func (f *recordFlags) recordOptions(cmd *cobra.Command, args []string) (*record.Options, error) {
	if f.dir == "" {
		return nil, wrong("record: no directory for the trace: name one with -o DIR")
	}
	if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
		if slices.Contains(interfaceNames(), args[0]) {
			return nil, wrong("record: unexpected argument %s: to name interfaces, write --packets=%s", args[0], args[0])
		}
		if f.view == inBrowser {
			return nil, wrong("record: unexpected argument %s: an address of --view is written --view=%s, and a command to record stands after --", args[0], args[0])
		}
		return nil, wrong("record: unexpected argument %s: a command to record stands after --", args[0])
	}
	if err := findProgram(args); err != nil {
		return nil, err
	}
	for _, p := range f.programs {
		if _, err := filepath.Match(p, ""); err != nil {
			return nil, wrong("--program %s: %v; a pattern is a name with * and ?, or the number of a process", p, err)
		}
	}
	triggers, err := f.parsedTriggers()
	if err != nil {
		return nil, err
	}
	if f.host == "" && !strings.Contains(f.netns, "/") {
		f.host = f.netns // the namespace is a host of its own
	}
	if f.view != "" && !cmd.Flags().Changed("flush") {
		f.flush = liveFlush
	}
	o := &record.Options{Dir: f.dir, Host: f.host, Title: f.title, Programs: f.programs, After: f.after,
		Flush: f.flush, Keep: f.keep.Keep, Trigger: triggers, SnapshotAfter: f.triggerAfter, Early: record.ReadEarly(), Warnings: new(trace.Warnings)}
	if f.rings != "" {
		rings, err := filepath.Abs(f.rings)
		if err != nil {
			return nil, err
		}
		o.Rings = []string{rings}
	}
	return o, nil
}

// ringVariable returns the value of MERIDIAN for the command: where it makes its rings.
func (f *recordFlags) ringVariable(o *record.Options) string {
	if f.rings == "" {
		return "1"
	}
	return o.Rings[0]
}
