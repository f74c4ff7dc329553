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
	// ShownWander is the wander (ppb/s) that the messages show and the bounds therefore rest on, where none was stated
	// and it is more than the default; 0 otherwise.
	ShownWander float64
	*network.Tree
	Hosts   []Host
	Pairs   []Pair
	Quality quality.Counts
	// Routes are the changes of a least delay that were found.
	Routes []Route
	// Steps are the clocks that were set during their trace, each aligned piece by piece. Wrong counts the messages that
	// were left out because they contradict all others; in Quality they are.
	Steps []Step
	Wrong int64
	// Pieces are those of each clock that was set, in the order of time; nil where none was. Maps joins them, which for
	// stamps that a clock showed twice is right about the first time, within bounds that hold both.
	Pieces [][]Piece
}

// Route is a way between two clocks whose least delay changed: from At (ns, of the receiver's clock) on it is longer by
// By, ns.
type Route struct {
	From, To int
	At, By   int64
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
	s, err := solve(ctx, p, &o, m, reference, nil)
	if err != nil {
		return nil, err
	}
	if s.split != nil {
		return s.split.solve(ctx, &o, m, reference)
	}
	return s.Solution, nil
}

// solve aligns a problem, or the pieces of one that was split. Where steps are found in one that was not, it returns
// early and says how to split it.
func solve(ctx context.Context, p *trace.Problem, o *Options, m *method, reference int, split *split) (*solving, error) {
	s := &solving{
		Solution: &Solution{Method: m.name, Assumed: o.assumption(m)},
		options:  o, method: m, problem: p,
	}
	s.fold()
	s.Pairs = pairsOf(&s.folded.Problem)
	s.chosen = s.firstOf(reference)
	if err := s.estimate(ctx); err != nil {
		return nil, err
	}
	var err error
	if split == nil && s.broken() {
		if s.split, err = findSteps(ctx, p, s.Assumed.Epsilon, reference); err != nil || s.split != nil {
			return s, err
		}
	}
	if err := s.widen(ctx); err != nil {
		return nil, err
	}
	first := s.chosen
	if split != nil && reference < 0 {
		if first, err = s.unset(split); err != nil {
			return nil, err
		}
	}
	if err := s.place(ctx, first); err != nil {
		return nil, err
	}
	if err := s.enclose(); err != nil {
		return nil, err
	}
	s.doubt()
	s.unfold()
	if first := s.firstOf(reference); first != reference {
		s.follow(reference)
	}
	if err := s.keep(ctx); err != nil {
		return nil, err
	}
	if s.Assumption = s.Assumed.String(); m.whole != nil {
		s.Assumption, s.Assumed = m.assumption, bound.Assumption{}
	}
	s.describe()
	return s, s.measure(ctx)
}

// solving is a solution in the making.
type solving struct {
	*Solution
	options *Options
	method  *method
	problem *trace.Problem
	folded
	problems   []pair.Problem     // of each pair
	chosen     int                // the first clock of the wanted reference's host, -1 if none is wanted
	estimated  []bool             // of each pair: its estimate is the method's
	smoothed   []bool             // of each component: all its clocks at once
	deviations [][]pair.Deviation // of each clock, from that
	routes     []Route            // from that
	counts     []quality.Counts   // of each channel under the present maps, nil where they changed
	split      *split             // what the problem falls into, where a clock was set
}
