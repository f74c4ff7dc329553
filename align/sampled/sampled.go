// Package sampled aligns a clock by samples of a reference that its recorder took, as tools do that synchronise around
// the program under study instead of by its messages.
//
// In go the [trace.Sample]s of one clock: at Host the reference showed Reference, give or take Error. Out comes the
// [clock.PairMap] from that clock to the reference. Which samples count is the [Mode] (Poirier 2010, section 2.2.4):
//
//	Before    the first: one offset for all                                         TAU
//	After     the last: one offset for all                                          MPE
//	Both      a line through the first and the last                                 Vampir, TAU with its tool
//	Between   a line from each to the next (Doleschal and others 2008)              VampirTrace from 5.6, MPE
//
// The first and the last piece go on beyond the samples.
//
// Bounds. A sample bounds the reference at its own instant and, since no clock runs back, from one side before and after
// it. More takes an assumption: with Both, that the clock is linear from the first sample on; with Between, that it is so
// from each sample to the next, and beyond the ends as within the first and the last piece. Then the bounds are exact:
//
//	reference
//	  ^                  |   .'    between two samples a line between their upper ends, one between their lower ends;
//	  |        |------'' | .'      beyond them the steepest and the flattest line through both
//	  |      . |------   |'
//	  |    .'  |      ''-|
//	  +--------------------------> host
//
// They say nothing of a clock that wanders between samples, which is what clocks do: half an hour apart, a wander of
// 0.1 ppm makes 90 µs of it. One offset is no line, and Before and After have no bounds.
//
// Everything is integers, bounds are rounded outwards, and the cost is O(n log n) for n samples.
package sampled

import (
	"cmp"
	"fmt"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// Mode says which samples count.
type Mode uint8

const (
	Between Mode = iota // all, with lines in between; the default
	Both                // the first and the last, with one line
	Before              // the first
	After               // the last
)

// Modes are the names of all modes, by mode.
var Modes = []string{"between", "both", "before", "after"}

func (m Mode) String() string {
	if int(m) < len(Modes) {
		return Modes[m]
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// Map returns the map from the samples' clock to the reference. The samples may stand in any order; of several at one
// instant the one with the smallest error counts.
//
// It is an error if there is no sample, or only one instant where a line needs two; if samples are of several clocks, have
// a negative error, or stamps that are not within [clock.Limit]; and if the reference ran back by more than the errors explain.
func Map(samples []trace.Sample, mode Mode) (clock.PairMap, error) {
	chosen, err := inOrder(samples)
	if err != nil {
		return clock.PairMap{}, err
	}
	first, last := chosen[0], chosen[len(chosen)-1]
	switch mode {
	case Before:
		return clock.PairMap{Mid: clock.PairCurve{{X: first.Host, Y: first.Reference}}}, nil
	case After:
		return clock.PairMap{Mid: clock.PairCurve{{X: last.Host, Y: last.Reference}}}, nil
	case Both:
		chosen = []trace.Sample{first, last}
	case Between:
	default:
		return clock.PairMap{}, fmt.Errorf("sampled: unknown %v", mode)
	}
	if first.Host == last.Host {
		return clock.PairMap{}, fmt.Errorf("sampled: one sample of clock %d; a line needs two at different instants", first.Clock)
	}
	return through(chosen)
}

// inOrder checks the samples and returns them in order of the host's clock, one at an instant.
func inOrder(samples []trace.Sample) ([]trace.Sample, error) {
	if len(samples) == 0 {
		return nil, fmt.Errorf("sampled: no samples")
	}
	for _, s := range samples {
		switch {
		case s.Clock != samples[0].Clock:
			return nil, fmt.Errorf("sampled: samples of two clocks, %d and %d; want one", samples[0].Clock, s.Clock)
		case s.Error < 0 || s.Error > clock.Limit:
			return nil, fmt.Errorf("sampled: error of %d ns at host time %d ns out of range: 0 to 2^62 ns", s.Error, s.Host)
		case !clock.Valid(s.Host) || !clock.Valid(s.Reference):
			return nil, fmt.Errorf("sampled: host time %d ns, reference %d ns: not within ±2^62 ns", s.Host, s.Reference)
		}
	}
	out := slices.Clone(samples)
	slices.SortFunc(out, func(s, t trace.Sample) int {
		return cmp.Or(cmp.Compare(s.Host, t.Host), cmp.Compare(s.Error, t.Error), cmp.Compare(s.Reference, t.Reference))
	})
	return slices.CompactFunc(out, func(s, t trace.Sample) bool { return s.Host == t.Host }), nil
}

// through returns the polyline through the samples with its bounds.
func through(samples []trace.Sample) (clock.PairMap, error) {
	n := len(samples)
	low, mid, high := make(clock.PairCurve, n), make(clock.PairCurve, n), make(clock.PairCurve, n)
	for i, s := range samples { // whatever the error, no clock shows an instant beyond clock.Limit
		low[i] = clock.PairKnot{X: s.Host, Y: max(s.Reference-clock.HostTime(s.Error), -clock.Limit+1)}
		high[i] = clock.PairKnot{X: s.Host, Y: min(s.Reference+clock.HostTime(s.Error), clock.Limit-1)}
	}
	// The reference never runs back: it is nowhere lower than it was, nor higher than it will be.
	for i := 1; i < n; i++ {
		low[i].Y = max(low[i].Y, low[i-1].Y)
		high[n-1-i].Y = min(high[n-1-i].Y, high[n-i].Y)
	}
	for i, s := range samples {
		if low[i].Y > high[i].Y {
			return clock.PairMap{}, fmt.Errorf("sampled: around host time %d of clock %d the reference runs back by %d ns more than the samples' errors explain",
				s.Host, s.Clock, clock.Sub(low[i].Y, high[i].Y))
		}
		mid[i] = clock.PairKnot{X: s.Host, Y: min(max(s.Reference, low[i].Y), high[i].Y)}
		if i > 0 {
			mid[i].Y = max(mid[i].Y, mid[i-1].Y)
		}
	}
	return clock.PairMap{Mid: mid, Low: rays(low, high, clock.Down), High: rays(high, low, clock.Up)}, nil
}

// rays returns a bound that goes on beyond its ends along the lines that join it, over the first and over the last piece,
// with the opposite bound.
func rays(bound, opposite clock.PairCurve, r clock.Rounding) clock.PairCurve {
	n := len(bound)
	reach := clock.Add(clock.Sub(bound[n-1].X, bound[0].X), 10_000_000_000)
	beyond := func(from, over clock.PairKnot, reach int64) clock.PairKnot {
		to := clock.PairKnot{X: min(max(clock.Add(from.X, reach), -clock.Limit), clock.Limit)}
		rise, run := clock.Sub(from.Y, over.Y), clock.Sub(from.X, over.X)
		if run < 0 {
			rise, run = -rise, -run
		}
		// A steep ray ends where it has risen by all that instants differ by, so that its knots stay within int64 of each other.
		if rise > 0 {
			most := max(clock.MulDiv(clock.Limit, run, rise, clock.Down), 1)
			to.X = min(max(to.X, clock.Add(from.X, -most)), clock.Add(from.X, most))
		}
		to.Y = clock.Add(from.Y, clock.MulDiv(clock.Sub(to.X, from.X), max(rise, 0), run, r))
		return to
	}
	left, right := beyond(bound[0], opposite[1], -reach), beyond(bound[n-1], opposite[n-2], reach)
	out := make(clock.PairCurve, 0, n+2)
	if left.X < bound[0].X {
		out = append(out, left)
	}
	out = append(out, bound...)
	if right.X > bound[n-1].X {
		out = append(out, right)
	}
	return out
}
