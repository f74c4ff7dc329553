package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"meridian/align"
	"meridian/clock"
	"meridian/internal/pipeline"
	"meridian/internal/show/view"
)

// viewFlags is what the command line says.
type viewFlags struct {
	methodFlags
	filterFlags
	logicalFlag
	quietFlag
	traceFlags
	output    string
	budget    int
	index     string
	keep      keepValue
	listen    string
	noBrowser bool
	follow    bool
	latency   time.Duration
	notes     []string
	noteFile  string
	against   []string
}

func newView() *cobra.Command {
	var f viewFlags
	cmd := &cobra.Command{
		Use:   "view [HOST=]TRACE... [-o FILE.html | --follow]",
		Short: "Show the timeline of traces in the browser",
		Long: `Put traces on one time base as 'meridian align' does, from the same inputs and with the same flags, and show the timeline
in the browser: a row for each thread, processor and interface of every host, messages between them, the bound of each instant,
and the messages that contradict the order. Press ? in the page for its keys.

The address of the page is printed on stdout. It contains a secret, so only you on this
machine can read the page; it is valid until the command is interrupted. A trace on another machine is seen by way of ssh:
  ssh -L 8080:127.0.0.1:8080 HOST meridian view --listen 127.0.0.1:8080 --no-browser TRACE...
With --listen 0.0.0.0:PORT, anyone who has the address can read the trace, and it crosses the network unencrypted.

-o writes the timeline as one file instead, which needs no server: all of a small trace, as much of a large one as --size
allows; the page says what is missing.

--index keeps what the page is drawn from, which otherwise lies in the system's temporary directory (TMPDIR) until the command
ends. Such a file is a TRACE too, alone, and is shown at once.

--follow shows trace directories and captures while they grow, which need not be there yet: the page follows the present until one looks back. Events are
shown when they are --latency old, so that those before them have come. --index then names a directory; a
follower that ended, or was killed, goes on there. --keep bounds what the index takes on disk: the oldest parts are dropped, and
the page says so where it is asked for them. If the disk is full the view goes on in memory.

--note INSTANT=WORDS puts a note on the timeline, as one does in the page (Shift+N). INSTANT is as for --from.

--notes FILE keeps the page's notes and bookmarks in FILE, such as one beside the trace: they are read from it, and what is changed in the page is
written to it at once, as a whole. FILE is made with the first note. Rows are named in it, so that it can be used with other flags. Notes of rows and
instants that are not shown stay in it. --note adds to it, -o writes its notes into the page. Only a page on this machine changes it: others who read by --listen cannot.

--against compares the timeline with another run's: names are paired by their hosts, and the page says what takes longer or shorter beyond noise and
bounds. It may be repeated, for a run of several traces; the other flags hold for both.

--from, --to, --host, --stream, --event, --where and --field choose events as for 'meridian convert'. With
--method ` + pipeline.AsRecorded + ` stamps stay as they were recorded.

Exit code: 0 done or interrupted while it served, 1 failed, 2 wrong usage; with -o also 3 done, but a host was left
unaligned or unbounded, an inversion remains, the traces have gaps (damaged or cut short), or the traces have no host, row, event, field or time as asked for; with
--follow 3 for the reasons that 'meridian tail' gives it; the reason is on stderr.`,
		Example: `  meridian view client.pcap server.pcapng
  meridian view web=lttng-web/ db=lttng-db/ --from +10s --to +12s
  meridian view spans.json -o timeline.html
  meridian view web=a.pcap db=b.pcap --index monday.mvx
  meridian view monday.mvx --note +1.5s='the deployment began' -o monday.html
  meridian view monday.mvx --notes monday.notes.json
  meridian view before/ --against after/
  meridian view monday.mvx --listen 127.0.0.1:8080 --no-browser
  meridian view --follow web=/srv/web-trace db=/srv/db-trace`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.output, "output", "o", "", "write one `FILE` of HTML instead of serving")
	flags.IntVar(&f.budget, "size", view.DefaultBudget>>20, "largest size of FILE, about, `MB`")
	flags.StringVar(&f.index, "index", "", "keep the index as `FILE`, to be viewed again without the traces")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "serve at `ADDRESS:PORT`; port 0 is any that is free")
	flags.BoolVar(&f.noBrowser, "no-browser", false, "open no browser")
	flags.StringArrayVar(&f.notes, "note", nil, "put a note on the timeline, `INSTANT=WORDS` such as +1.5s='the deployment began'; may be repeated")
	flags.StringVar(&f.noteFile, "notes", "", "keep the notes and bookmarks of the page in `FILE`")
	flags.StringArrayVar(&f.against, "against", nil, "compare with another run, `[HOST=]TRACE` or an index; may be repeated")
	flags.BoolVar(&f.follow, "follow", false, "show trace directories while they are recorded")
	flags.Var(&f.keep, "keep", "with --follow, keep only the last `AMOUNT` of the index and drop what is older: a duration, a size, or both (1h, 2GiB, 1h,2GiB)")
	flags.DurationVar(&f.latency, "latency", 100*time.Millisecond, "with --follow, how long events wait for earlier ones, `TIME` from 1ms to 1h")
	f.filterFlags.add(cmd)
	f.logicalFlag.add(cmd)
	f.methodFlags.add(cmd, append(align.Methods(), pipeline.AsRecorded))
	f.traceFlags.add(cmd)
	f.quietFlag.add(cmd)
	completions(cmd, map[string]cobra.CompletionFunc{
		"size": choices(), "listen": choices("127.0.0.1:8080"), "latency": choices("20ms", "100ms", "1s"), "keep": choices("10m", "1h", "2GiB", "1h,2GiB"),
		"output": cobra.FixedCompletions([]string{"html"}, cobra.ShellCompDirectiveFilterFileExt),
	})
	return cmd
}

func (f *viewFlags) run(cmd *cobra.Command, args []string) error {
	if err := needTraces(cmd, args); err != nil {
		return err
	}
	switch {
	case f.output != "" && !strings.HasSuffix(strings.ToLower(f.output), ".html"):
		return wrong("%s: the timeline is written as .html; 'meridian convert' knows other formats", f.output)
	case f.output == "" && f.flags.Changed("size"):
		return wrong("--size limits the file that -o writes; give -o FILE too")
	case f.budget < 1 || f.budget > 1000:
		return wrong("--size %d: want 1 to 1000 megabytes", f.budget)
	case f.output != "" && (f.flags.Changed("listen") || f.noBrowser):
		return wrong("-o writes a file and serves nothing; leave out --listen and --no-browser")
	case f.follow && len(f.against) > 0:
		return wrong("--against compares timelines that do not grow; leave out --follow")
	case f.follow && len(f.notes) > 0:
		return wrong("--note puts notes on a timeline that does not grow; leave out --follow, or write them in the page")
	case f.follow:
		return f.followTraces(cmd, args)
	case f.flags.Changed("keep"):
		return wrong("--keep bounds the index of --follow; give --follow too")
	case f.flags.Changed("latency"):
		return wrong("--latency is how long --follow waits for earlier events; give --follow too")
	}
	notes, err := f.openNotes()
	if err != nil {
		return err
	}
	t, broken, err := f.timeline(cmd, args)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := f.note(t, notes); err != nil {
		return err
	}
	if len(f.against) > 0 {
		other, missing, err := f.other(cmd)
		if err != nil {
			return err
		}
		defer other.Close()
		broken = append(broken, missing...)
		t.Against(other, strings.Join(args, " "), strings.Join(f.against, " "))
	}
	if f.output != "" {
		if err := pipeline.WriteView(cmd.Context(), t, f.output, view.Options{Budget: int64(f.budget) << 20}); err != nil {
			return err
		}
		f.printWritten(cmd, pipeline.Written{Path: f.output, What: "the timeline as a web page in one file"})
		if list, err := t.Requests(view.RequestQuery{Most: 1}); err != nil { // the file has them
			return err
		} else if list.Contradiction != "" {
			broken = append(broken, list.Contradiction)
		}
		if len(broken) > 0 {
			return &brokenPromise{strings.Join(broken, "; ")}
		}
		return nil
	}
	for _, reason := range broken {
		fmt.Fprintln(cmd.ErrOrStderr(), "meridian:", reason)
	}
	return f.serve(cmd, t, notes)
}

// packetMemory is what finding requests takes for each packet, bytes, as measured with 10 million: the packet, its messages, what lives between
// two collections.
const packetMemory = 450

// timeline makes the timeline of the traces, or opens an index.
func (f *viewFlags) timeline(cmd *cobra.Command, args []string) (t *view.Timeline, broken []string, err error) {
	if i := slices.IndexFunc(args, view.IsIndex); i >= 0 {
		if len(args) > 1 || f.index != "" {
			return nil, nil, wrong("%s is an index, which is viewed alone", args[i])
		}
		if err := f.forTraces(args[i]); err != nil {
			return nil, nil, err
		}
		t, err := view.OpenIndex(args[i])
		return t, nil, err
	}
	wanted, err := f.filterFlags.selection()
	if err != nil {
		return nil, nil, err
	}
	o, err := f.options(false)
	if err != nil {
		return nil, nil, err
	}
	o.Select, o.Logical = wanted, f.logical
	var outcome *pipeline.Outcome
	err = withTraces(cmd, args, &f.traceFlags, f.quiet, func(r *tracesRun) (err error) {
		o.Progress = r.progress
		r.limit(&o.Match)
		t, outcome, err = pipeline.View(r.ctx, r.traces, o, f.index)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if f.memory > 0 { // else a page would depend on the machine that made it
		t.LimitPackets(int(min(view.DefaultPackets, int64(f.memory)/8*5/packetMemory)))
	}
	f.printWarnings(cmd, outcome.Warnings)
	if f.index != "" {
		f.printWritten(cmd, pipeline.Written{Path: f.index, What: "the index of the timeline, for 'meridian view'"})
	}
	return t, outcome.Broken, nil
}

// other makes the timeline of the run that is compared. An index of A is not one of B, and each may be given as one.
func (f *viewFlags) other(cmd *cobra.Command) (t *view.Timeline, broken []string, err error) {
	with := *f
	with.index = ""
	t, broken, err = with.timeline(cmd, f.against)
	for i := range broken {
		broken[i] = "--against: " + broken[i]
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--against: %w", err)
	}
	return t, broken, nil
}

// note puts the notes of the command line on the timeline, and into the file that keeps notes, if there is one.
func (f *viewFlags) note(t *view.Timeline, file *view.NoteFile) error {
	about := t.About()
	for _, note := range f.notes {
		instant, words, found := strings.Cut(note, "=")
		if !found {
			return wrong("--note %s: want INSTANT=WORDS, such as +1.5s='the deployment began'", note)
		}
		at, err := pipeline.ParseInstant(instant, about.Origin, about.Origin+clock.TimelineTime(about.Span))
		if err != nil {
			return fmt.Errorf("--note %s: %w", note, err)
		}
		if err := t.Note(at, words); err != nil {
			return wrong("--note: %v", err)
		}
	}
	if file == nil {
		return nil
	}
	if err := t.Keep(file); err != nil {
		return fmt.Errorf("--notes: %w", err)
	}
	return nil
}

// openNotes opens the file that keeps notes, if there is to be one.
func (f *viewFlags) openNotes() (*view.NoteFile, error) {
	if f.noteFile == "" {
		return nil, nil
	}
	file, err := view.OpenNotes(f.noteFile)
	if err != nil {
		return nil, fmt.Errorf("--notes: %w", err)
	}
	return file, nil
}

// forTraces refuses flags that an index would ignore: what they set was decided when it was made.
func (f *viewFlags) forTraces(path string) error {
	served := []string{"output", "size", "listen", "no-browser", "note", "notes", "against", "quiet", "help", "public",
		"slowest", "match", "sort", "json", "percentiles", "packets"} // these of 'meridian requests' ask the index
	var err error
	f.flags.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(served, flag.Name) && err == nil {
			err = wrong("--%s has no effect on the index %s; give the traces instead", flag.Name, path)
		}
	})
	return err
}

// serve serves until it is interrupted.
func (f *viewFlags) serve(cmd *cobra.Command, t view.Data, notes *view.NoteFile) error {
	s, err := view.Listen(f.listen, t, notes)
	if err != nil {
		return err
	}
	return f.serveOn(cmd.Context(), cmd, s)
}

// serveOn serves until ctx ends.
func (f *viewFlags) serveOn(parent context.Context, cmd *cobra.Command, s *view.Server) error {
	ctx, stop := context.WithCancel(parent)
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		if f.noBrowser {
			return
		}
		done, err := view.OpenURL(ctx, s.URL())
		defer done()
		if err != nil && !f.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "meridian: warning: no browser was opened: %v; open the address yourself\n", err)
		}
		<-ctx.Done()
	}()
	_, err := fmt.Fprintln(cmd.OutOrStdout(), s.URL())
	if err == nil {
		err = s.Serve(ctx)
	} else {
		s.Close()
	}
	stop()
	<-opened
	return err
}
