package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"meridian/format/messages"
	"meridian/pipeline"
	"meridian/trace"
)

// The demo is three processes of this program that talk over loopback, each with a clock of its own that is wrong:
//
//	web ---request--> app ---query---> db        every process lists what it received, stamped by
//	    <---reply---      <--answer---           its own clock: web.txt, app.txt, db.txt
//
// What they wrote goes through the pipeline like anybody's traces. Afterwards the result is held against the truth,
// which is known because all three clocks are made from the machine's one.

const (
	shortestDemo = 200 * time.Millisecond // below it there may be too few messages for a bound on both sides
	longestDemo  = 10 * time.Minute
)

// demoFlags is what the command line says.
type demoFlags struct {
	duration time.Duration
	seed     uint64
	dir      string
	open     bool
	json     bool
	quiet    bool
}

func newDemo() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo [--open]",
		Short: "Three hosts on this machine, clocks that disagree, one timeline",
		Long: `Start three processes that talk to each other over TCP on this machine: web asks app, app asks db. Each has a
clock that is seconds off and runs too fast or too slow, and lists what it received, stamped by that clock
alone. Then put the three lists on one time base, show the result beside the truth, and write the timeline as
a page.

It needs no privileges and no network. In the directory it leaves
  web.txt, app.txt, db.txt   what each process recorded: lines FROM TO SENT RECEIVED
  timeline.html              the timeline; open it in a browser
  report.json                the alignment report
  truth.json                 how wrong each clock really was; the alignment does not read it

A browser that runs in a sandbox (snap, Flatpak) may not see the system's temporary directory: use --dir then.

Exit code: 0 done, 1 failed, 2 wrong usage, 3 done, but the truth of a stamp lies outside its bound or a message
still arrives before it was sent.`,
		Example: `  meridian demo
  meridian demo --open
  meridian demo --duration 30s --seed 7 --dir demo
  meridian align demo/*.txt -o again.html`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.open, "open", false, "open the page in the browser")
	flags.DurationVar(&f.duration, "duration", 5*time.Second, "how long the hosts talk, `TIME` such as 5s or 2m")
	flags.Uint64Var(&f.seed, "seed", 1, "`NUMBER` that the clocks' errors are drawn from")
	flags.StringVar(&f.dir, "dir", "", "write the files to `DIR`, made if missing (default: a fresh temporary one)")
	flags.BoolVar(&f.json, "json", false, "print the result as JSON")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress and no warnings on stderr")
	cmd.AddCommand(newDemoHost())
	return cmd
}

func (f *demoFlags) run(cmd *cobra.Command) (err error) {
	if f.duration < shortestDemo || f.duration > longestDemo {
		return &pipeline.UsageError{Reason: fmt.Sprintf("--duration %v: want %v to %v", f.duration, shortestDemo, longestDemo)}
	}
	place, err := newDemoPlace(f.dir)
	if err != nil {
		return err
	}
	defer func() {
		if closing := place.close(); err == nil {
			err = closing
		}
	}()
	steps := newStepWatch()
	clocks := drawDemoClocks(f.seed, machineNow())
	if err := f.record(cmd, place.work, clocks); err != nil {
		return err
	}
	outcome, lists, err := alignDemo(cmd.Context(), place.work)
	if err != nil {
		return err
	}
	truth, err := judge(outcome.Report, lists, clocks)
	if err != nil {
		return err
	}
	if err := writeTruth(filepath.Join(place.work, "truth.json"), f.seed, clocks); err != nil {
		return err
	}
	if err := place.publish(); err != nil {
		return err
	}
	result := demoResult{outcome.Report, truth, place.dir}
	if !f.quiet {
		for _, line := range outcome.Report.Warnings {
			fmt.Fprintln(cmd.ErrOrStderr(), "meridian: warning:", line)
		}
	}
	show := result.print
	if f.json {
		show = result.printJSON
	}
	if err := show(cmd.OutOrStdout()); err != nil {
		return err
	}
	if f.open {
		if err := openPage(result.page()); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "meridian: warning: cannot open the page: %v; open %s yourself\n", err, result.page())
		}
	}
	return truth.verdict(outcome.Broken, steps.stepped())
}

// record lets the hosts talk and shows how far they are.
func (f *demoFlags) record(cmd *cobra.Command, dir string, clocks []demoClock) error {
	ctx, stop := context.WithCancel(cmd.Context())
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		if !f.quiet {
			showTalk(ctx, cmd, f.duration)
		}
	}()
	err := talk(cmd.Context(), dir, clocks, f.seed, f.duration, func(hosts string) {
		if !f.json {
			fmt.Fprintf(cmd.OutOrStdout(), "%s talk over TCP for %v, each with a clock of its own that is wrong.\n", hosts, f.duration)
		}
	})
	stop()
	<-shown
	return err
}

func showTalk(ctx context.Context, cmd *cobra.Command, duration time.Duration) {
	var bar progress
	bar.start(cmd.ErrOrStderr())
	defer bar.stop()
	begun := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			bar.show("hosts talk", min(now.Sub(begun), duration).Milliseconds(), duration.Milliseconds())
		}
	}
}

// alignDemo aligns what the hosts wrote, like any lists of messages, and returns the lists as well.
func alignDemo(ctx context.Context, dir string) (*pipeline.Outcome, []*trace.List, error) {
	// The middle host's list comes first, for it names all three in the order of their talk, and the page keeps it.
	var paths []string
	var lists []*trace.List
	for _, name := range []string{"app", "web", "db"} {
		path := filepath.Join(dir, name+".txt")
		l, err := readDemoList(path)
		if err != nil {
			return nil, nil, err
		}
		paths, lists = append(paths, path), append(lists, l)
	}
	inputs, err := pipeline.ParseInputs(paths)
	if err != nil {
		return nil, nil, err
	}
	outcome, err := pipeline.Run(ctx, inputs, pipeline.Options{
		Outputs: []string{filepath.Join(dir, "timeline.html"), filepath.Join(dir, "report.json")},
	})
	return outcome, lists, err
}

func readDemoList(path string) (*trace.List, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var warnings trace.Warnings
	return messages.Read(file, path, &warnings)
}
