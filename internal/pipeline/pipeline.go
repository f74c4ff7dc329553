// Package pipeline joins the rooms into one run: traces in, one timeline out.
//
//	inputs --> format/* --> match --> align --> report, view
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
	"sync/atomic"

	"meridian/align"
	"meridian/internal/show"
	"meridian/internal/show/index"
	"meridian/match"
	"meridian/trace"
)

// Options says what to do with the inputs.
type Options struct {
	Align     align.Options
	Addresses map[string][]netip.Addr // by host, as match.Options
	Samples   Samples                 // for the method sampled
	Repair    string                  // one of Repairs, after any method; "" for none
	Outputs   []string                // files to write; the name picks the format
	Filter    Wanted                  // what of the events, and of packets, is written
	Since     bool                    // PICL: seconds since the start instead of UTC
	// Progress is told how far each stage is, in units of its own, from several goroutines; it may be nil.
	Progress func(stage string, done, total int64)
}

// Outcome is what a run came to.
type Outcome struct {
	Report *show.Report
	// Broken lists the promises that could not be kept: hosts left unaligned, inversions that remain.
	Broken []string
	// Played is what became of events; nil if none were written.
	Played *show.Conversion
	// Packets is how many packets were written as a capture; nil if no capture was written.
	Packets  *int64
	Warnings []string
}

// UsageError is a mistake in what was asked for, not in the data.
type UsageError struct{ Reason string }

func (e *UsageError) Error() string { return e.Reason }

func usage(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// run is the state that the stages pass on.
type run struct {
	Options
	inputs      []Input
	captures    []*trace.Capture
	lists       []*trace.List
	recordings  []*recording
	warnings    trace.Warnings
	matched     *match.Result
	listed      map[int]*trace.List   // by clock: where a clock is known from a list
	listedFrom  int                   // the first clock that only lists, or samples, name
	granularity []trace.Granularity   // by clock: of the stamps of those that no capture knows
	marks       map[int][]mark        // by clock: what lists say of it beside messages
	steps       map[int]int64         // by clock: the step of its stamps, where a format knows it
	sampled     int                   // the clock that only samples were taken against, or -1
	sent        int                   // channels of messages that were sent; those behind stand for collectives
	drawn       [2]int                // from which to which channel the ends of messages are events of recordings
	flows       []uint64              // by channel, how many messages came before it
	played      *show.Conversion      // what became of events
	merged      atomic.Pointer[int64] // how many packets were written as a capture
	saidOfRows  bool                  // what is amiss with events as rows was said
	cut         []stretch             // the captures, where a clock was set back in pieces
	solution    *align.Solution
	repaired    *show.Repair
	report      *show.Report
	broken      []string
	builders    []*index.Builder // of timelines to be looked at
}

// Run aligns the traces and writes the outputs.
func Run(ctx context.Context, inputs []Input, o Options) (*Outcome, error) {
	r := &run{Options: o, inputs: inputs, sampled: -1}
	writers, err := r.writers()
	if err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := r.gather(ctx); err != nil {
		return nil, err
	}
	if err := r.estimate(ctx); err != nil {
		return nil, err
	}
	r.describe()
	if err := r.write(ctx, writers); err != nil {
		return nil, err
	}
	r.report.Warnings = r.warnings.Lines()
	return &Outcome{Report: r.report, Broken: r.broken, Played: r.played, Packets: r.merged.Load(), Warnings: r.report.Warnings}, nil
}

// check refuses, before any work is done, options that cannot be.
func (o *Options) check() error {
	if err := o.Align.Check(); err != nil {
		return &UsageError{err.Error()}
	}
	if err := o.Filter.check(); err != nil {
		return err
	}
	return o.checkRepair()
}

// estimate aligns the problem, and repairs what is left.
func (r *run) estimate(ctx context.Context) error {
	s, err := align.Solve(ctx, &r.matched.Problem, r.Align)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return &UsageError{err.Error()}
	}
	r.solution = s
	if r.repaired, err = r.repair(s.Maps); err != nil || r.repaired == nil {
		return err
	}
	return r.remeasure(ctx, s)
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
