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
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"meridian/record"
	"meridian/trace"
)

// recordFlags is what the command line says.
type recordFlags struct {
	outputFlags
	dir, host, title string
	programs, after  []string
	rings            string
	kernel, netns    string
}

func newRecord() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record -o DIR [-- COMMAND [ARG]...]",
		Short: "Record the events of this host's programs into one trace",
		Long: `Record what programs with sensors emit (packages sensor for Go and sensor/c for C and C++) into one trace in CTF,
which 'meridian align', 'meridian convert', babeltrace2 and Trace Compass read. All events of the host are on one clock,
which steps of the system's time do not disturb.

Recording goes on until COMMAND ends, or without one until it is interrupted. COMMAND is started with MERIDIAN=1, by which
its sensors are on. Programs that run already, and those that start meanwhile, are recorded too; --program leaves only
those that match. What programs have emitted and nobody has recorded yet is taken as well.

--kernel records events of the kernel by eBPF beside them, as LTTng names them: net (packets with their headers, which
'meridian align' matches as it does those of captures), sched, irq, syscalls. With a COMMAND, sched and syscalls are
those of COMMAND and its children alone. It needs root, or CAP_BPF and CAP_PERFMON; where that or the kernel's support is
missing, that is said in a line, and the rest is recorded. --netns takes the packets of one network namespace for those
of the host, which is how several hosts on one machine are recorded.

If DIR has a trace of a recorder that ended or was killed since the machine was started, it goes on: nothing is lost and
nothing repeated. --after does so for a new DIR.

Exit code: that of COMMAND if it is not 0; else 0 done, 1 failed, 2 wrong usage, 3 done, but events were lost, as the
summary counts them.`,
		Example: `  meridian record -o trace/ -- ./server --port 8080
  meridian record -o trace/ --program 'web*' --program 4711
  meridian record -o web/ --kernel net,sched,irq -- ./server
  meridian convert trace/ -o timeline.pftrace`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.dir, "output", "o", "", "write the trace to `DIR`")
	flags.StringArrayVar(&f.programs, "program", nil, "record programs of this name or process number, `PATTERN`; may be repeated")
	flags.StringVar(&f.kernel, "kernel", "", "record kernel events of these `GROUPS`: net, sched, irq, syscalls")
	flags.StringVar(&f.netns, "netns", "", "packets and interfaces of the network namespace `NAME` alone")
	flags.StringVar(&f.host, "host", "", "`NAME` of this host in the trace (default: its own)")
	flags.StringVar(&f.title, "title", "", "`TEXT` that the trace says of itself")
	flags.StringArrayVar(&f.after, "after", nil, "do not repeat what is in the trace `DIR` of a recorder that was killed; may be repeated")
	flags.StringVar(&f.rings, "rings", "", "programs have their rings in `DIR`, as by MERIDIAN=DIR (default: where they make them by themselves)")
	f.outputFlags.add(flags, "summary")
	completions(cmd, map[string]cobra.CompletionFunc{
		"program": choices(), "host": choices(), "title": choices(), "netns": choices(),
		"kernel": choices("net", "sched", "irq", "syscalls", "net,sched,irq", "net,sched,irq,syscalls"),
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
		return wrong("record: %s: a command to record stands behind --", args[0])
	}
	for _, p := range f.programs {
		if _, err := filepath.Match(p, ""); err != nil {
			return wrong("--program %s: %v; a pattern is a name with * and ?, or the number of a process", p, err)
		}
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
	sources, err := f.openSources(len(args) > 0, o.Warnings)
	if err != nil {
		return err
	}
	defer sources.close()
	o.Sources = sources.list
	live := liveCounts(cmd.ErrOrStderr(), f.quiet || len(args) > 0)
	o.Counts = live.show
	recorder, err := record.New(o)
	if err != nil {
		return err
	}

	// Recording ends when the command has: an interrupt is for the command first.
	ctx, cancel := context.WithCancel(cmd.Context())
	var child *exec.Cmd
	ended := make(chan error, 1)
	if len(args) > 0 {
		ctx, cancel = context.WithCancel(context.WithoutCancel(cmd.Context()))
		child = exec.CommandContext(cmd.Context(), args[0], args[1:]...)
		child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, cmd.OutOrStdout(), cmd.ErrOrStderr()
		child.Env = append(os.Environ(), "MERIDIAN="+started)
		if err := child.Start(); err != nil {
			cancel()
			_, failed := recorder.Run(ctx)
			return errors.Join(fmt.Errorf("record: %w", err), failed)
		}
		if err := sources.follow(child.Process.Pid); err != nil {
			o.Warnings.Add("kernel events", "the command could not be followed", err.Error())
		}
		go func() {
			ended <- child.Wait()
			cancel()
		}()
	}
	defer cancel()
	summary, failed := recorder.Run(ctx)
	sources.close() // which tells what was not kept
	live.clear()
	var last error
	if child != nil {
		if failed != nil { // told now, since the command may run for long
			fmt.Fprintln(cmd.ErrOrStderr(), "meridian:", failed)
			failed = fmt.Errorf("%s was not recorded to its end", args[0])
		}
		last = statusOf(args[0], <-ended)
	}
	var broken []string
	if n := summary.Total.Lost; n > 0 {
		broken = append(broken, fmt.Sprintf("%d events found no room and are lost", n))
	}
	if n := summary.Total.Overwritten; n > 0 {
		broken = append(broken, fmt.Sprintf("%d bytes of events were overwritten before they could be recorded", n))
	}
	if n := summary.Total.Damaged; n > 0 {
		broken = append(broken, fmt.Sprintf("%d parts of rings could not be understood", n))
	}
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

// statusOf returns how a command ended, nil for well.
func statusOf(name string, err error) error {
	var exit *exec.ExitError
	switch {
	case errors.Is(err, context.Canceled): // interrupted, and it ended well
		return nil
	case !errors.As(err, &exit):
		return err
	}
	code := exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal()) // as shells do
	}
	return &commandEnded{fmt.Errorf("%s: %v", name, exit), code}
}

// recordTable prints the summary for people.
func recordTable(w io.Writer, s record.Summary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "process\tevents\tbytes\tlost\t  stream")
	for _, c := range slices.Concat(s.Streams, []record.Counts{s.Total}) {
		pid := ""
		if c.PID != 0 {
			pid = fmt.Sprint(c.PID)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t  %s\n", pid, c.Events, c.Bytes, c.Lost, strings.Map(printable, c.Name))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s: %d events of %d streams on one clock, known to %v\n", s.Dir, s.Total.Events, len(s.Streams), s.ClockError)
	return err
}

// printable keeps what a program calls itself from moving the cursor.
func printable(c rune) rune {
	if c < ' ' || c == 0x7f {
		return '?'
	}
	return c
}

// counter shows on a terminal what was recorded so far.
type counter struct{ to io.Writer }

func liveCounts(w io.Writer, quiet bool) *counter {
	if file, ok := w.(*os.File); ok && !quiet && term.IsTerminal(int(file.Fd())) {
		return &counter{w}
	}
	return &counter{}
}

func (c *counter) show(s record.Summary) {
	if c.to != nil {
		fmt.Fprintf(c.to, "\r\x1b[K%d streams, %d events, %.1f MB, %d lost", len(s.Streams), s.Total.Events, float64(s.Total.Bytes)/1e6, s.Total.Lost)
	}
}

func (c *counter) clear() {
	if c.to != nil {
		fmt.Fprint(c.to, "\r\x1b[K")
	}
}
