package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"meridian/format"
	"meridian/format/ctf"
	"meridian/format/shm"
	"meridian/internal/live"
	"meridian/internal/pipeline/input"
	"meridian/trace"
)

// tailFlags is what the command line says.
type tailFlags struct {
	filterFlags
	methodFlags
	quietFlag
	format  string
	latency time.Duration
	all     bool
	rows    bool
	ring    string
	size    string
	scratch string
	window  time.Duration
}

func newTail() *cobra.Command {
	var f tailFlags
	formats := live.LineFormats()
	cmd := &cobra.Command{
		Use:   "tail [HOST=]DIR|CAPTURE...",
		Short: "Print the events of traces as they are recorded",
		Long: `Follow trace directories that grow, as 'meridian record' and LTTng write them, and print their events on one timeline as they
come, a line each, until it is interrupted. A directory need not be there yet. One that holds
traces, such as a session of LTTng, stands for those that it holds and those that come. Captures (pcap, pcapng) that grow are followed as well,
those that 'meridian record --packets' puts into a trace without being named. Events that were recorded before are left out without --all.
A capture may come through a pipe (-, a named pipe, a process substitution). It is copied to a temporary file; where all traces are pipes, the command ends
with the last of them.

With several hosts the clocks are aligned while messages come, and aligned anew every second: each event has its bounds, as 'meridian align' gives them.
Bounds hold unless a clock that its recorder does not read beside a counter is set or steered by less than a round trip, which messages cannot show.
The first three seconds may be held back until the clocks are aligned.

--latency is the one knob between order and speed: an event waits that long for earlier ones of other streams. One that comes
later still is printed at once and marked late; then events wait longer for a while, at most twice --latency.

Packets of several hosts, in captures and among kernel events, make messages. Their ends (send, receive) are printed with --rows, or if --event names them. They
are found a second or two after they happened, and marked late.

Where it is found that a clock was set or steered, an event meridian:doubt says which places that were printed before may be wrong, of each host.

Readings of clocks that recorders store (meridian:clock, meridian:steering) are left out unless --event asks for them.

--format gnuplot draws the last --window anew every second, for a gnuplot that runs. --format picl writes a PICL trace; late events have no
place in it, are left out but for ends of slices, and counted.

--ring writes the events into a file in shared memory instead, from which any number of programs of this user read them without a system
call; it never waits for them. docs/live.md has its layout, examples/subscribe programs in Go and C. The file is removed at the end.

--host, --stream, --event, --where and --field choose events as for 'meridian convert'.

Exit code: 0 interrupted, 1 failed, 2 wrong usage, 3 interrupted, but a clock was set or steered meanwhile, events were lost before they were recorded or dropped by
'record --keep' before they were read, packets are missing or damaged, a directory or file could not be read at the end, the output was not read, late events had no place in the format, messages are
shown received before they were sent, or a host was left unaligned or without bounds for most of its events; the reason is on stderr. 141 where the reader of the output is gone (SIGPIPE).`,
		Example: `  meridian tail trace/
  meridian tail trace/ --event 'request*' --where 'status>=500'
  meridian tail web=/srv/web-trace db=/srv/db-trace --format json | jq .fields
  ssh web tcpdump -U -w - | meridian tail web=- db=/srv/db-trace
  meridian tail trace/ --latency 20ms --format csv > events.csv
  meridian tail trace/ --rows --format gnuplot | gnuplot -p
  meridian tail trace/ --ring /dev/shm/timeline`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.format, "format", formats[0], "print as `FORMAT`: "+strings.Join(formats, ", "))
	flags.DurationVar(&f.latency, "latency", 100*time.Millisecond, "how long events wait for earlier ones, `TIME` from 1ms to 1h")
	flags.BoolVar(&f.all, "all", false, "begin with what was recorded before")
	flags.BoolVar(&f.rows, "rows", false, "print what happens on the rows of a timeline (threads, calls, interrupts) instead of the events as recorded")
	flags.DurationVar(&f.window, "window", 10*time.Second, "how much of the timeline --format gnuplot shows, `TIME` from 10ms to 1h")
	flags.StringVar(&f.ring, "ring", "", "write into a ring at `FILE`, which should be in /dev/shm, instead of printing")
	flags.StringVar(&f.size, "ring-size", "4MiB", "how much the ring holds, `SIZE` from 256KiB to 1GiB")
	addScratch(cmd, &f.scratch, "traces that come through pipes")
	f.filterFlags.addEvents(cmd)
	f.methodFlags.addLive(cmd)
	f.quietFlag.add(cmd)
	completions(cmd, map[string]cobra.CompletionFunc{"format": choices(formats...), "ring-size": choices("256KiB", "4MiB", "64MiB"), "latency": choices("20ms", "100ms", "1s")})
	return cmd
}

func (f *tailFlags) run(cmd *cobra.Command, args []string) error {
	if err := needTraces(cmd, args); err != nil {
		return err
	}
	switch {
	case !slices.Contains(live.LineFormats(), f.format):
		return wrong("--format: unknown format %q (%s)", f.format, strings.Join(live.LineFormats(), ", "))
	case f.latency < time.Millisecond || f.latency > time.Hour:
		return wrong("--latency %v: want a time from 1ms to 1h", f.latency)
	}
	switch changed := cmd.Flags().Changed("window"); {
	case f.ring != "" && cmd.Flags().Changed("format"):
		return wrong("--ring and --format exclude each other: events are written into the ring or printed")
	case changed && f.format != "gnuplot":
		return wrong("--window needs --format gnuplot")
	case f.window < 10*time.Millisecond || f.window > time.Hour:
		return wrong("--window %v: want a time from 10ms to 1h", f.window)
	}
	t := live.TailOptions{Window: f.window, Format: f.format, Ring: f.ring}
	if cmd.Flags().Changed("ring-size") {
		var err error
		if t.Size, err = f.ringSize(); err != nil {
			return err
		}
	}
	wanted, err := f.selection()
	if err != nil {
		return err
	}
	t.Select = wanted.Options
	if len(t.Select.Events) == 0 && !f.rows {
		t.Select.Events = recordersOwn
	}
	return withLive(cmd, args, f.scratch, f.quiet, true, func(r *liveRun) error { return f.follow(cmd, r, t) })
}

// follow prints what comes until the run ends.
func (f *tailFlags) follow(cmd *cobra.Command, r *liveRun, t live.TailOptions) error {
	o := live.Options{Inputs: r.inputs, Rows: f.rows, FromEnd: !f.all}
	if _, err := f.alignLive(&o); err != nil {
		return err
	}
	f.tellStart(cmd, r.inputs)
	o.Sorter.Frame, o.Sorter.LeastFrame, o.Sorter.MostFrame = f.latency, f.latency, 2*f.latency
	var w trace.Warnings
	out, flush := newLineOutput(cmd.Context(), cmd.OutOrStdout())
	outcome, err := live.Tail(r.ctx, o, t, out, &w)
	if err == nil {
		err = flush()
	}
	if errors.Is(err, errNotRead) {
		return &brokenPromise{errNotRead.Error()}
	}
	if err != nil {
		return err
	}
	f.printWarnings(cmd, w.Lines())
	if !f.quiet {
		fmt.Fprintln(cmd.ErrOrStderr(), "meridian:", outcome.Summary())
	}
	return liveOutcome(outcome, &w, "")
}

// recordersOwn leaves out the readings of clocks that a recorder stores, five a second.
var recordersOwn = []string{"!meridian:clock", "!meridian:steering"}

// tellStart says what is waited for, and what is left out: silence could mean anything.
func (f *tailFlags) tellStart(cmd *cobra.Command, inputs []live.Input) {
	if f.quiet {
		return
	}
	for _, in := range inputs {
		if in.New {
			continue // withLive has told of it
		}
		is := ctf.IsTrace(in.Dir)
		if info, err := os.Stat(in.Dir); err == nil && !is {
			found, _ := ctf.Find(in.Dir)
			is = !info.IsDir() || len(found) > 0
		}
		switch {
		case !is && live.IsCapture(in.Dir):
			fmt.Fprintf(cmd.ErrOrStderr(), "meridian: %s is not there yet: waiting for it\n", in.Dir)
		case !is:
			fmt.Fprintf(cmd.ErrOrStderr(), "meridian: %s is no trace yet: waiting for one\n", in.Dir)
		case !f.all:
			fmt.Fprintf(cmd.ErrOrStderr(), "meridian: following %s from now on; --all prints what it holds already\n", in.Dir)
		}
	}
}

// ringSize reads --ring-size.
func (f *tailFlags) ringSize() (int64, error) {
	size, unit, err := parseSize(f.size)
	switch {
	case f.ring == "":
		return 0, wrong("--ring-size needs --ring FILE")
	case err != nil:
		return 0, wrong("--ring-size: %v", err)
	case !unit || size < shm.MinSize || size > shm.MaxSize:
		return 0, wrong("--ring-size %q: want a size from 256KiB to 1GiB", f.size)
	}
	return size, nil
}

// liveInputs reads arguments of the form [HOST=]DIR and [HOST=]CAPTURE. What comes through a pipe is looked at when it has come.
func liveInputs(args []string, copies *input.Copies) (inputs []live.Input, err error) {
	given := make(map[string]string)
	for _, arg := range args {
		host, dir, named := strings.Cut(arg, "=")
		if !named || host == "" || strings.ContainsRune(host, '/') {
			host, dir = "", arg
		}
		if dir == "" {
			return nil, wrong("%q: no directory given", arg)
		}
		if format.Mounted(dir) {
			return nil, wrong("%s: only what lies on a disk is followed; 'meridian convert' and 'meridian view' without --follow read it", dir)
		}
		if info, err := os.Stat(dir); err == nil && !info.IsDir() && copies.Pipe(dir) == "" && !live.IsCapture(dir) {
			return nil, wrong("%s is neither a directory nor a capture that is not compressed (pcap, pcapng): only these are followed", dir)
		}
		if before, ok := given[filepath.Clean(dir)]; ok {
			return nil, wrong("%q and %q name one directory: its events would come twice", before, arg)
		}
		given[filepath.Clean(dir)] = arg
		inputs = append(inputs, live.Input{Host: host, Dir: dir})
	}
	nameInputs(inputs)
	return inputs, nil
}

// nameInputs names hosts as other commands do: after their directories, or as much of the paths as tells them apart. Those of a directory of traces
// have the names that the traces say.
func nameInputs(inputs []live.Input) {
	count := make(map[string]int)
	for _, in := range inputs {
		count[input.Stem(in.Dir)]++
	}
	for i := range inputs {
		in := &inputs[i]
		if in.Host != "" {
			continue
		}
		in.Derived, in.Host = true, input.Stem(in.Dir)
		if count[in.Host] > 1 {
			in.Host = filepath.Clean(in.Dir)
		}
	}
}

// liveOutcome turns what could not be kept into an error. w has the warnings of the inputs; contradiction is what
// cannot be of the requests that were listed.
func liveOutcome(o *live.Outcome, w *trace.Warnings, contradiction string) error {
	broken := o.Lost.Reasons()
	if gaps := w.Gaps(); gaps != "" && len(broken) == 0 { // else the counts say it
		broken = append(broken, gaps)
	}
	if o.Unplaced > 0 {
		broken = append(broken, fmt.Sprintf("%d events came late and have no place in this format, whose records are in the order of time; give more --latency", o.Unplaced))
	}
	if o.Unwritten > 0 {
		broken = append(broken, fmt.Sprintf("the last %d events are not in the index, since its disk is full; make room and view the traces again with the same --index", o.Unwritten))
	}
	if len(o.Unread) > 0 {
		broken = append(broken, "not all could be read: "+strings.Join(o.Unread, "; "))
	}
	if o.PassedOver != "" {
		broken = append(broken, o.PassedOver)
	}
	if len(o.Unaligned) > 0 {
		broken = append(broken, "no messages align "+strings.Join(o.Unaligned, ", "))
	}
	broken = append(broken, o.Unbounded...)
	if reversed := o.Reversed(); reversed != "" {
		broken = append(broken, reversed)
	}
	if contradiction != "" {
		broken = append(broken, contradiction)
	}
	if len(o.Set) > 0 {
		broken = append(broken, "bounds that were shown before it was found that a clock was set, or is steered, may be wrong: "+o.SetText())
	}
	if len(broken) > 0 {
		return &brokenPromise{strings.Join(broken, "; ")}
	}
	return nil
}
