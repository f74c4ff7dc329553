package pipeline

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"

	"meridian/align"
	"meridian/clock"
	"meridian/internal/pipeline/usage"
	"meridian/internal/show"
	"meridian/order"
	"meridian/trace"
)

// AsRecorded is the method that aligns nothing: stamps stay as recorded, on one timeline by assumption. It has no bounds.
const AsRecorded = "none"

// AlignOptions says how to align.
type AlignOptions struct {
	align.Options        // the method may be AsRecorded where a function says so
	Repair        string // one of Repairs, after any method; "" for none
	// Replies is the premise on which replies of spans rest: one of ReplyPremises; "" for the first.
	Replies string
}

// check refuses, before any work is done, options that cannot be.
func (o *AlignOptions) check() error {
	if o.Method != AsRecorded {
		if err := o.Options.Check(); err != nil {
			return &usage.Error{Reason: err.Error()}
		}
	}
	if o.Replies != "" && !slices.Contains(ReplyPremises(), o.Replies) {
		return usage.Errorf("--replies: unknown premise %q (%s)", o.Replies, strings.Join(ReplyPremises(), ", "))
	}
	return o.CheckRepair()
}

// Solved is a matched problem with the maps of its clocks.
type Solved struct {
	*Matched
	Solution *align.Solution
	Repair   *show.Repair // of what the method left inverted; nil if none was asked for
	Options  AlignOptions
	ladder   ladder
	// undivided is what undividedRoundTrips returns; nil: not asked yet
	undivided map[[2]int]int64
}

// Solve aligns the clocks, and repairs what is left inverted.
func Solve(ctx context.Context, m *Matched, o AlignOptions) (*Solved, error) {
	s, l, err := solveLadder(ctx, m, o)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, &usage.Error{Reason: err.Error()}
	}
	solved := &Solved{Matched: m, Options: o, ladder: l}
	solved.Solution, solved.Repair, err = Repair(ctx, l.problem, s, o)
	return solved, err
}

// Aligned is a matched problem on a timeline, with the report of how it came there; or as it was recorded.
type Aligned struct {
	*Matched
	Options  AlignOptions
	Solution *align.Solution  // nil as recorded
	Report   *show.Report     // nil as recorded
	Broken   []string         // promises that could not be kept
	coverage *coverage        // nil as recorded
	segments []segment        // of the captures
	disorder []order.Disorder // of each capture, though its clock was not set
}

// Align aligns the clocks, repairs what is left inverted, and reports the result. With the method AsRecorded stamps stay
// as they are.
func Align(ctx context.Context, m *Matched, o AlignOptions, w *trace.Warnings) (*Aligned, error) {
	if o.Method == AsRecorded {
		a := &Aligned{Matched: m}
		a.segments, a.disorder = m.findSegments(nil)
		return a, nil
	}
	var trips map[[2]int]int64
	var beside sync.WaitGroup
	beside.Go(func() { trips = undividedRoundTrips(m.Channels) }) // the solver leaves processors free
	s, err := Solve(ctx, m, o)
	beside.Wait()
	if err != nil {
		return nil, err
	}
	s.undivided = trips
	return s.Describe(ctx, w)
}

// mapOf returns the map of a clock. It is nil, which leaves stamps as they are, as recorded and for one clock alone.
func (a *Aligned) mapOf(clock int) *clock.Map {
	if a.Solution == nil || len(a.Clocks) == 1 {
		return nil
	}
	return &a.coverage.maps[clock]
}

// extent returns the first and the last instant of the timeline.
func (a *Aligned) extent() (first, last clock.TimelineTime) {
	first, last = math.MaxInt64, math.MinInt64
	for i := range a.Clocks {
		c := &a.Clocks[i]
		if c.Events == 0 {
			continue
		}
		from, to := clock.TimelineTime(c.First), clock.TimelineTime(c.Last) // as recorded
		if m := a.mapOf(i); m != nil {
			from, to = m.At(c.First), m.At(c.Last)
		}
		first, last = min(first, from), max(last, to)
	}
	if first > last {
		return 0, 0
	}
	return first, last
}
