package pipeline

import (
	"slices"
	"testing"

	"meridian/align"
	"meridian/align/network"
	"meridian/internal/show"
	"meridian/trace"
)

func TestStepsAndContradictedWanderAreSaidInOneLineEach(t *testing.T) {
	s := &align.Solution{
		Tree:        &network.Tree{Contradictions: []network.Contradiction{{Clocks: []int{0, 2, 1}, Timeline: 2_500_000_000, By: 17}}},
		LeastWander: 1234.5,
		Steps:       []align.Step{{Clock: 0, At: 1_767_225_630_000_000_001, By: 1_000_000_000, Other: -1}, {Clock: 2, At: -500_000_000, By: -1_500, Other: 1}},
	}
	a := &Aligned{Matched: twoLists().Matched, Solution: s, Report: &show.Report{LeastWanderPPBS: &s.LeastWander}}
	f := &findings{Aligned: a, warnings: new(trace.Warnings)}
	f.warnOfSteps()
	f.warnOfWander()
	f.warnOfLoops()
	want := []string{
		"a: its clock was set by +1.000000 s at 1767225630.000000001 s of its time; aligned in pieces",
		"c: its clock was set by -0.000002 s (or that of b the other way) at -0.500000000 s of its time; aligned in pieces",
		"some hosts: their messages contradict the stated wander of 30 ppb/s; the smallest that fits is 1.23e+03 ppb/s, and bounds rest on twice that",
		"a, c, b: the bounds along the loop of these hosts contradict each other, so a clock wanders more than assumed; state a larger --wander (by 17 ns at 2.500000000 s)",
	}
	if got := f.warnings.Lines(); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}
