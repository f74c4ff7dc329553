// Package align turns messages into clock maps: for every clock the way to one timeline, with a lower and an upper
// bound at every instant.
//
// In goes a [trace.Problem], out comes a [Solution]. The work is done by packages of their own:
//
//	pair      every two clocks that exchanged messages: their map, by any of the published estimators
//	envelope  the same by the envelope smoother, and all clocks at once
//	bound     strict bounds of two clocks under a stated wander
//	network   the reference of each component, the maps carried to it, the bounds tightened over all paths
//	sampled   clocks by samples of a reference instead of messages
//	quality   what the messages look like afterwards: inversions, delays, bounds
//
// A method estimates (methods.go); a network strategy joins what it says of pairs. By default clocks are smoothed along a
// tree of the surest pairs, then all at once, levels chosen so that no delay is negative (envelope). Bounds do not come
// from the method: they hold for whatever clocks keep the assumption, and the estimate is kept within them. Last, what
// messages are still inverted push the estimates aside.
//
// Pairs are worked on in parallel; the result does not depend on how many at a time. The cost is O(n) in the messages.
package align

import (
	"context"

	"meridian/align/bound"
	"meridian/align/network"
	"meridian/align/pair"
	"meridian/align/quality"
	"meridian/trace"
)

// Pair is what two clocks that exchanged messages say about each other.
type Pair struct {
	A, B     int
	AB, BA   int64 // messages from a to b and back
	Estimate pair.Estimate
	// RoundTrip is the sum of the quickest delays both ways on the timeline, ns: what no wrong offset can change.
	RoundTrip int64
	Both      bool  // there are messages both ways, and RoundTrip holds
	Least     int64 // the least delay either way that was given or measured, ns
}

// Host is what is known of one clock on the timeline.
type Host struct {
	Skew, SkewLow, SkewHigh float64 // frequency against the timeline, ppm
	Determined, Enclosed    bool
	Spread                  pair.Spread // error over its trace
	Bounded                 bool
	// Deviation is the statistical error, as pair.Estimate has it; empty where the method has none.
	Deviation []pair.Deviation
}

// Solution is one timeline per component.
type Solution struct {
	Method  string
	Network string // the strategy that joined the pairs; "" for methods that place all clocks at once
	// Assumption is what the bounds rest on, in words; Assumed in numbers, zero for linear clocks. LeastWander is 0
	// where the messages allow what was stated; otherwise the smallest wander that they allow (ppb/s), and Assumed
	// twice that.
	Assumption  string
	Assumed     bound.Assumption
	LeastWander float64
	*network.Tree
	Hosts   []Host
	Pairs   []Pair
	Quality quality.Counts
	// Steps are the clocks that were set during their trace, each aligned piece by piece.
	Steps []Step
}

// Step is a clock that was set.
type Step struct {
	Clock   int
	At      int64 // its reading, ns, after which it was set
	By      int64 // forward, ns
	Between int64 // ns before At that may as well have been the instant: between two messages nobody saw it
}

// Solve aligns the clocks of a problem. Errors are wrong options and a method that cannot work on what it is given;
// otherwise, whatever the messages are like, there is a solution, and its pairs say how good.
func Solve(ctx context.Context, p *trace.Problem, o Options) (*Solution, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	m, err := o.method()
	if err != nil {
		return nil, err
	}
	reference, err := o.reference(p)
	if err != nil {
		return nil, err
	}
	s := &solving{
		Solution: &Solution{Method: m.name, Assumed: o.assumption(m)},
		options:  &o, method: m, problem: p,
	}
	s.fold()
	s.Pairs = pairsOf(&s.folded.Problem)
	if err := s.estimate(ctx); err != nil {
		return nil, err
	}
	if err := s.place(ctx, s.firstOf(reference)); err != nil {
		return nil, err
	}
	if err := s.enclose(); err != nil {
		return nil, err
	}
	s.unfold()
	if first := s.firstOf(reference); first != reference {
		s.follow(reference)
	}
	if err := s.keep(ctx); err != nil {
		return nil, err
	}
	s.Assumption = s.Assumed.String()
	s.describe()
	return s.Solution, s.measure(ctx)
}

// solving is a solution in the making.
type solving struct {
	*Solution
	options *Options
	method  *method
	problem *trace.Problem
	folded
	estimated []bool    // of each pair: its estimate is the method's
	sigma     []float64 // of each clock, for the joint smoother
}
