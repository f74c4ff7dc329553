// Package pipeline joins the rooms into one run: traces in, one timeline out.
//
//	inputs --> format/* --> match --> align --> report, page
//	                 \--(frames again)--> order --> merged capture
//
// In go the paths of traces, each of a host; out come an [Outcome] and the files asked for. The rooms between know only
// trace and clock; this one knows which of them follows which, and nothing of how they work. A capture is read twice,
// once reduced to what matching needs and once frame by frame to be written, so memory holds no packet's bytes.
// Output files appear whole and together, or not at all.
package pipeline

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"meridian/align"
	"meridian/match"
	"meridian/show"
	"meridian/trace"
)

// Options says what to do with the inputs.
type Options struct {
	Align     align.Options
	Addresses map[string][]netip.Addr // by host, as match.Options
	Outputs   []string                // files to write; the name picks the format
	// Progress is told how far each stage is, in units of its own, from several goroutines; it may be nil.
	Progress func(stage string, done, total int64)
}

// Outcome is what a run came to.
type Outcome struct {
	Report *show.Report
	// Broken lists the promises that could not be kept: hosts left unaligned, inversions that remain.
	Broken []string
}

// UsageError is a mistake in what was asked for, not in the data.
type UsageError struct{ Reason string }

func (e *UsageError) Error() string { return e.Reason }

func usage(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// run is the state that the stages pass on.
type run struct {
	Options
	inputs   []Input
	captures []*trace.Capture
	lists    []*trace.List
	warnings trace.Warnings
	matched  *match.Result
	listed   map[int]*trace.List // by clock: where a clock is known from a list
	cut      []stretch           // the captures, where a clock was set back in pieces
	solution *align.Solution
	report   *show.Report
	broken   []string
}

// Run aligns the traces and writes the outputs.
func Run(ctx context.Context, inputs []Input, o Options) (*Outcome, error) {
	r := &run{Options: o, inputs: inputs}
	if r.Progress == nil {
		r.Progress = func(string, int64, int64) {}
	}
	writers, err := r.writers()
	if err != nil {
		return nil, err
	}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	r.matched, err = match.Match(ctx, r.captures, match.Options{Addresses: r.Addresses}, &r.warnings)
	if err != nil {
		return nil, err
	}
	r.addLists()
	if err := r.checkNames(); err != nil {
		return nil, err
	}
	r.solution, err = align.Solve(ctx, &r.matched.Problem, r.Align)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, &UsageError{err.Error()}
	}
	r.describe()
	if err := r.write(ctx, writers); err != nil {
		return nil, err
	}
	r.report.Warnings = r.warnings.Lines()
	return &Outcome{Report: r.report, Broken: r.broken}, nil
}

// checkNames refuses names that no input has, which would otherwise be passed over in silence, and names that two clocks
// would share.
func (r *run) checkNames() error {
	named := make(map[string]bool)
	for _, c := range r.matched.Clocks {
		if named[c.Name] {
			return usage("%s is the name of a host and of the second clock of another; name the host otherwise with HOST=FILE", c.Name)
		}
		named[c.Name] = true
	}
	for name := range r.Addresses {
		known := false
		for _, c := range r.matched.Clocks {
			known = known || c.Host == name
		}
		if !known {
			return usage("--address names host %q, which no input is of", name)
		}
	}
	return nil
}

// addLists joins the messages of lists to those matched. A host that a capture already named keeps its clock.
func (r *run) addLists() {
	p := &r.matched.Problem
	r.listed = make(map[int]*trace.List)
	number := make(map[string]int)
	for i, c := range p.Clocks {
		number[c.Name] = i
	}
	see := func(clock int, stamp int64) {
		c := &p.Clocks[clock]
		if c.Events == 0 {
			c.First, c.Last = stamp, stamp
		}
		c.First, c.Last = min(c.First, stamp), max(c.Last, stamp)
		c.Events++
	}
	for _, l := range r.lists {
		clocks := make([]int, len(l.Hosts))
		for i, name := range l.Hosts {
			n, known := number[name]
			if !known {
				n = len(p.Clocks)
				number[name] = n
				p.Clocks = append(p.Clocks, trace.Clock{Name: name, Host: name, Granularity: 1})
				r.matched.Addresses = append(r.matched.Addresses, nil)
			}
			clocks[i] = n
			r.listed[n] = l
		}
		for _, c := range l.Channels {
			from, to := clocks[c.From], clocks[c.To]
			for _, m := range c.Messages {
				see(from, m.Sent)
				see(to, m.Received)
			}
			p.Channels = append(p.Channels, trace.Channel{From: from, To: to, Messages: c.Messages})
		}
	}
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
