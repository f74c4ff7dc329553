package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"meridian/internal/demo"
	"meridian/internal/show/view"
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
		Short: "Run three hosts on this machine, with clocks that disagree, and show one timeline",
		Long: `Start three processes that talk to each other over TCP on this machine: web asks app, app asks db. Each has a
clock that is seconds off and runs too fast or too slow, and records what it sent, received and did, stamped
by that clock alone. Then put the three traces on one time base, show the result beside the truth, and write
the timeline as a page.

It needs no privileges and no network. In the directory it leaves
  web.json, app.json, db.json   what each process recorded: a trace in Chrome's format
  web.txt, app.txt, db.txt      what each received, as lists of messages: FROM TO SENT RECEIVED
  timeline.html                 the timeline; open it in a browser
  report.json                   the alignment report
  truth.json                    how wrong each clock really was; the alignment does not read it

A browser that runs in a sandbox (snap, Flatpak) may not see the system's temporary directory: use --dir then.

Exit code: 0 done, 1 failed, 2 wrong usage, 3 done, but the truth of a stamp lies outside its bound or a message
still arrives before it was sent.`,
		Example: `  meridian demo
  meridian demo --open
  meridian demo --duration 30s --seed 7 --dir demo
  meridian align demo/*.txt -o again.html
  meridian view demo/web.json demo/app.json demo/db.json`,
		Args: noArguments,
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

// newDemoHost is the command that the demo runs its processes with.
func newDemoHost() *cobra.Command {
	return &cobra.Command{
		Use:    demo.Command[1],
		Short:  "One of the demo's hosts; the demo starts it",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo.Host(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

func (f *demoFlags) run(cmd *cobra.Command) error {
	if f.duration < demo.Shortest || f.duration > demo.Longest {
		return wrong("--duration %v: want %v to %v", f.duration, demo.Shortest, demo.Longest)
	}
	result, err := f.play(cmd)
	if err != nil {
		return err
	}
	if !f.quiet {
		for _, line := range result.Report.Warnings {
			tell(cmd.ErrOrStderr(), "warning: ", line)
		}
	}
	show := result.Print
	if f.json {
		show = result.PrintJSON
	}
	if err := show(cmd.OutOrStdout()); err != nil {
		return err
	}
	if f.open {
		if err := view.OpenFile(result.Page()); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "meridian: warning: cannot open the page: %v; open %s yourself\n", err, result.Page())
		}
	}
	if len(result.Broken) > 0 {
		return &brokenPromise{strings.Join(result.Broken, "; ")}
	}
	return nil
}

// play runs the demo and shows how far the hosts are.
func (f *demoFlags) play(cmd *cobra.Command) (*demo.Result, error) {
	ctx, stop := context.WithCancel(cmd.Context())
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		if !f.quiet {
			showTalk(ctx, cmd, f.duration)
		}
	}()
	result, err := demo.Run(cmd.Context(), demo.Options{
		Duration: f.duration, Seed: f.seed, Directory: f.dir,
		Started: func(hosts string) {
			if !f.json {
				fmt.Fprintf(cmd.OutOrStdout(), "%s talk over TCP for %v, each with a clock of its own that is wrong.\n", hosts, f.duration)
			}
		},
	})
	stop()
	<-shown
	return result, err
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
