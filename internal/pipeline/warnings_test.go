package pipeline

import (
	"math"
	"slices"
	"testing"

	"meridian/align"
	"meridian/align/bound"
	"meridian/align/network"
	"meridian/internal/show"
	"meridian/trace"
)

func TestStepsAndStretchesAreSaidInOneLineEach(t *testing.T) {
	s := &align.Solution{
		Tree:    &network.Tree{Parent: []int{0, 0, 0}, Contradictions: []network.Contradiction{{Clocks: []int{0, 2, 1}, Timeline: 2_500_000_000, By: 17}}},
		Assumed: bound.Default,
		Pairs:   []align.Pair{{A: 0, B: 1, Stretches: []bound.Stretch{{From: 0, To: 10e9, Wander: 1234.5}, {From: 20e9, To: 20_050_000_000, Wander: math.Inf(1), Steep: true}, {From: 30e9, To: 31e9, Wander: 99}}}},
		Steps:   []align.Step{{Clock: 0, At: 1_767_225_630_000_000_001, By: 1_000_000_000, Other: -1}, {Clock: 2, At: -500_000_000, By: -1_500, Other: 1}},
	}
	a := &Aligned{Matched: twoLists().Matched, Solution: s, Report: &show.Report{Assumption: "smooth"}}
	f := &findings{Aligned: a, warnings: new(trace.Warnings)}
	f.warnOfSteps()
	f.warnOfStretches()
	f.warnOfLoops()
	want := []string{
		"a: its clock was set by +1.000000 s at 1767225630.000000001 s of its time; aligned in pieces",
		"c: its clock was set by -0.000002 s (or that of b the other way) at -0.500000000 s of its time; aligned in pieces",
		"a and b: their messages show that a clock wanders by more than 30 ppb/s; bounds there (2 stretches of 11s in all) rest on up to 1.23e+03 ppb/s",
		"a and b: a clock was slewed fast or set by little, as their messages show; bounds there (1 stretch of 50ms) rest on the greatest rate of a slew, 18.2%, and one step at a time",
		"a and b: their skew is more than the assumed 500 ppm (1 stretch of 50ms); no greatest skew is assumed there; state one with --max-skew",
		"a, c, b: the bounds along the loop of these hosts contradict each other, so a clock wanders more than assumed; state a larger --wander (by 17 ns at 2.500000000 s)",
	}
	if got := f.warnings.Lines(); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	broken := []string{"one of c and b was set by -0.000002 s, or the other way, and nothing tells which", "the bounds of a, c, b contradict each other"}
	if !slices.Equal(a.Broken, broken) {
		t.Errorf("broken: %q, not %q", a.Broken, broken)
	}
	const words = "smooth; but 1.23e+03 ppb/s in 2 stretches of 11s in all of a and b, 8 times what the messages show there, slewed or set in 1 stretch of 50ms of a and b, " +
		"steeper in 1 stretch of 50ms of a and b; and no clock ran off and came back between two messages of one direction"
	if a.Report.Assumption != words {
		t.Errorf("the assumption is %q", a.Report.Assumption)
	}
}

func TestStretchesThatAreOnlySteepAreNotSaidToWander(t *testing.T) {
	for _, wander := range []float64{30, 0.7, 1e-3, 12345.678} {
		s := &align.Solution{
			Assumed: bound.Assumption{Wander: wander, Epsilon: 100, MaxSkew: 500},
			Pairs:   []align.Pair{{A: 0, B: 1, Stretches: []bound.Stretch{{From: 0, To: 5e9, Wander: math.Nextafter(wander, math.Inf(1)), Steep: true}}}},
		}
		a := &Aligned{Matched: twoLists().Matched, Solution: s, Report: &show.Report{Assumption: "smooth"}}
		f := &findings{Aligned: a, warnings: new(trace.Warnings)}
		f.warnOfStretches()
		want := []string{"a and b: their skew is more than the assumed 500 ppm (1 stretch of 5s); no greatest skew is assumed there; state one with --max-skew"}
		if got := f.warnings.Lines(); !slices.Equal(got, want) {
			t.Errorf("wander %g: %q, not %q", wander, got, want)
		}
		const words = "smooth; but steeper in 1 stretch of 5s of a and b; and no clock ran off and came back between two messages of one direction"
		if a.Report.Assumption != words {
			t.Errorf("wander %g: the assumption is %q", wander, a.Report.Assumption)
		}
	}
}
