package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"meridian/internal/show"
	"meridian/internal/synchroniser"
)

// clockWatchFlags is what the command line says.
type clockWatchFlags struct {
	askFlags
	methodChoice
	json     bool
	interval time.Duration
	metrics  string
}

func newClockWatch() *cobra.Command {
	var f clockWatchFlags
	cmd := &cobra.Command{
		Use:   "watch [NAME=]HOST[:PORT]... [--for TIME] [--json] [-o DIR]",
		Short: "Show how the clocks of other hosts stand, while it runs",
		Long: `Ask hosts that run 'meridian clock serve' for the time, over and over, and show how their clocks stand. Nothing is set.

  offset              their system clock less that of this host, now
  bound               between what the offset lies for sure: below and above the estimate
  skew                how much faster the other clock runs that nobody steers (MONOTONIC_RAW)
  least round trip    without the time that the other end took
  newest              the round trip of the newest exchange
  steps               how often answers showed that a clock was set, or steered by more than is assumed; what shows within four
                      exchanges counts once. Bounds begin anew then
  stamps              where they are taken: hardware, kernel or user (the program, later by what the kernel takes)

Bounds are strict if the rates of the free clocks wander by no more than is assumed for them (--method posterior), and if the other host's
system clock changes its rate by no more than 10 ppm within a second, and between two answers; each answer checks both. Offsets are of this host and are
those of the instant that is printed.

A step of less than about two least round trips may go unseen; bounds are wrong until it is found. Between a step and the next answer
every offset is wrong.

In a terminal the table is drawn in place; otherwise a line is printed each time for each host, with --json one of JSON.

The signal USR1 begins a quiet window, in which nothing is asked; USR2 ends it within a second.

Exit code: 0 done or interrupted, 1 failed, 2 wrong usage, 3 the offset of a host has no bound at the end, or it does not answer;
the reason is on stderr.`,
		Example: `  meridian clock watch 10.0.0.2
  meridian clock watch db=10.0.0.2 web=[fd00::3]:4123 --for 1m --json | jq .offset_ns
  meridian clock watch db --rate 1 --method ntp
  meridian clock watch db -o probes/ --metrics 127.0.0.1:9123`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.askFlags.add(cmd)
	f.methodChoice.add(cmd)
	flags := cmd.Flags()
	flags.DurationVar(&f.interval, "interval", time.Second, "print each `TIME`, from 10ms to 1h")
	flags.StringVar(&f.metrics, "metrics", "", "serve metrics for Prometheus at `ADDRESS`, such as 127.0.0.1:9123")
	flags.BoolVar(&f.json, "json", false, "print a line of JSON each time for each host")
	f.quietFlag.add(cmd)
	return cmd
}

func (f *clockWatchFlags) run(cmd *cobra.Command, args []string) error {
	targets, err := clockTargets(cmd, args)
	if err != nil {
		return err
	}
	if err := f.methodChoice.check(); err != nil {
		return err
	}
	if f.interval < 10*time.Millisecond || f.interval > time.Hour {
		return wrong("--interval %v: want a time from 10ms to 1h", f.interval)
	}
	o := synchroniser.Options{Method: f.method}
	if o.Probe, err = f.askFlags.options(); err != nil {
		return err
	}
	var unbounded []string
	err = f.ask(o, targets, f.metrics, nil, func(ctx context.Context, s *synchroniser.Synchroniser) error {
		screen := newScreen(cmd.OutOrStdout())
		hints := &unansweredHints{begun: time.Now(), told: make(map[string]bool)}
		tick := time.NewTicker(f.interval)
		defer tick.Stop()
		for more := true; more; {
			select {
			case <-ctx.Done():
				more = false
				if f.json || screen.live { // what is there last
					break
				}
				continue
			case <-tick.C:
			}
			due := hints.due(s)
			if err := f.show(screen, s, due); err != nil {
				return err
			}
			if !screen.live { // otherwise they are drawn below the table
				for _, line := range hints.untold(due) {
					f.say(cmd, "%s", line)
				}
			}
		}
		unbounded = withoutBound(s)
		f.say(cmd, "%s", exchanged(s.Stats(), "done"))
		return nil
	})
	f.printWarnings(cmd, f.warnings.Lines())
	if err == nil && len(unbounded) > 0 {
		return &brokenPromise{"no bound for " + strings.Join(unbounded, "; ")}
	}
	return err
}

// answersWithin is how long a host may leave all questions without an answer before the reason is asked for.
const answersWithin = 3 * time.Second

// unansweredHints say of hosts that have never answered what to look at.
type unansweredHints struct {
	begun time.Time
	told  map[string]bool
}

// due returns a line for each host that has not answered for too long.
func (u *unansweredHints) due(s *synchroniser.Synchroniser) (lines []string) {
	if time.Since(u.begun) < answersWithin {
		return nil
	}
	for i := range s.Hosts() {
		if x := s.At(i); x.Answered == 0 {
			lines = append(lines, noAnswer(x))
		}
	}
	return lines
}

// untold returns the lines that it has not returned before.
func (u *unansweredHints) untold(lines []string) (untold []string) {
	for _, line := range lines {
		if !u.told[line] {
			u.told[line] = true
			untold = append(untold, line)
		}
	}
	return untold
}

// noAnswer says what to look at where a host has never answered.
func noAnswer(x synchroniser.State) string {
	return x.Name + ": no answer from " + x.Address + " (is 'meridian clock serve' running there, with the same key?)"
}

// show prints what is known of all hosts. A terminal has the hints below the table.
func (f *clockWatchFlags) show(screen *screen, s *synchroniser.Synchroniser, hints []string) error {
	var table show.ClockTable
	for i := range s.Hosts() {
		table = append(table, clockState(s.At(i), s.Rate(i)))
	}
	var out bytes.Buffer
	switch {
	case f.json:
		for _, c := range table {
			if err := c.WriteLine(&out); err != nil {
				return err
			}
		}
		_, err := out.WriteTo(screen.out)
		return err
	case screen.live:
		if err := table.Table(&out); err != nil {
			return err
		}
		fmt.Fprintln(&out, exchanged(s.Stats(), "done"))
		for _, line := range hints {
			fmt.Fprintln(&out, line)
		}
		return screen.draw(out.String())
	}
	for _, c := range table {
		if err := c.Line(&out); err != nil {
			return err
		}
	}
	_, err := out.WriteTo(screen.out)
	return err
}

// withoutBound returns the hosts without a bound, and why.
func withoutBound(s *synchroniser.Synchroniser) (without []string) {
	for i := range s.Hosts() {
		switch x := s.At(i); {
		case x.Bounded():
		case x.Answered == 0:
			without = append(without, noAnswer(x))
		case x.Silent:
			without = append(without, x.Name+": it does not answer any more")
		default:
			without = append(without, fmt.Sprintf("%s: %s after %d exchanges", x.Name, x.String(), x.Exchanges))
		}
	}
	return without
}

// clockState is a state as it is shown.
func clockState(x synchroniser.State, rate float64) *show.ClockState {
	at := time.Unix(0, int64(x.At))
	c := &show.ClockState{
		Time: at.UTC().Format("2006-01-02T15:04:05.000Z"), At: x.At, Host: x.Name, Address: x.Address, State: x.String(), Method: x.Method,
		Exchanges: x.Exchanges, Rate: rate, Steps: x.Steps, Set: x.Set, Sessions: x.Sessions, Here: x.Here.String(), There: x.There.String(),
	}
	if x.Exchanges > 0 {
		c.LeastRTT, c.RTT = &x.LeastRTT, &x.RTT
	}
	if !x.Estimated {
		return c
	}
	skew := x.Skew * 1e6
	c.Offset, c.Free = &x.System.Offset, &show.FreeClock{Offset: x.Free.Offset}
	if x.Method == synchroniser.DefaultMethod { // the others estimate none
		c.Skew = &skew
	}
	if x.System.Bounded {
		c.Low, c.High = &x.System.Low, &x.System.High
	}
	if x.Free.Bounded {
		c.Free.Low, c.Free.High = &x.Free.Low, &x.Free.High
	}
	return c
}

// screen draws a text again and again at one place of a terminal.
type screen struct {
	out   io.Writer
	live  bool
	width func() int
	lines int
}

func newScreen(out io.Writer) *screen {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return &screen{out: out}
	}
	return &screen{out: out, live: true, width: func() int {
		width, _, err := term.GetSize(int(file.Fd()))
		if err != nil {
			return 0
		}
		return width
	}}
}

// draw replaces what was drawn before. Lines are cut to the terminal's width: one that goes on in the next would not be replaced.
func (s *screen) draw(text string) error {
	var b strings.Builder
	if s.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", s.lines)
	}
	s.lines = 0
	width := s.width()
	for line := range strings.Lines(text) {
		if all := []rune(strings.TrimSuffix(line, "\n")); width > 0 && len(all) > width {
			line = string(all[:width]) + "\n"
		}
		b.WriteString(line)
		s.lines++
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}
