package pipeline

import (
	"slices"
	"strings"
	"testing"

	"meridian/internal/pipeline/input"
)

// TestASmallStepBetweenDenseMessagesIsFound has a clock that is set by 1 ms, sixteen round trips, between two exchanges
// that are 110 ms apart.
func TestASmallStepBetweenDenseMessagesIsFound(t *testing.T) {
	t.Parallel()
	inputs, err := input.Parse([]string{"testdata/cases/step-1ms-missed/messages.txt"})
	if err != nil {
		t.Fatal(err)
	}
	_, outcome := csvRows(t, inputs, Options{})
	if len(outcome.Broken) > 0 {
		t.Errorf("broken: %q", outcome.Broken)
	}
	r := outcome.Report
	if len(r.Steps) != 1 || max(r.Steps[0].ByNs-1_000_000, 1_000_000-r.Steps[0].ByNs) > 100_000 {
		t.Fatalf("steps: %+v", r.Steps)
	}
	if p := r.Pairs[0]; p.BoundNs == nil || *p.BoundNs > 60_000 {
		t.Errorf("the pair has the bound %v", p.BoundNs)
	}
}

// TestASuspendedMachinesClockStoodStill has a clock that stood still for 20 s while the other host captured packets of
// others. Where b is silent its readings lie within the 20 s, elsewhere they are as sure as they were.
func TestASuspendedMachinesClockStoodStill(t *testing.T) {
	t.Parallel()
	inputs := []input.Trace{{Host: "a", Path: "testdata/cases/suspended-machine/a.pcap"}, {Host: "b", Path: "testdata/cases/suspended-machine/b.pcap"}}
	o := Options{}
	o.Align.Reference = "a"
	rows, outcome := csvRows(t, inputs, o)
	if len(outcome.Broken) > 0 {
		t.Errorf("broken: %q", outcome.Broken)
	}
	const still = 20_000_000_000
	r := outcome.Report
	if len(r.Steps) != 1 || r.Steps[0].Host != "b" || !r.Steps[0].StoodStill || max(still+r.Steps[0].ByNs, -still-r.Steps[0].ByNs) > 1_000_000 {
		t.Fatalf("steps: %+v", r.Steps)
	}
	if !slices.ContainsFunc(outcome.Warnings, func(w string) bool { return strings.Contains(w, "stood still for 20.0") }) {
		t.Errorf("warnings: %q", outcome.Warnings)
	}
	// Clock a shows the true time, and b did until it had read 20.1 s.
	const stopped = 1_764_000_020_100_000_000
	outside, bounded, tight := 0, 0, 0
	for _, row := range rows {
		if row["host"] != "b" || row["low_ns"] == "" {
			continue
		}
		truth := number(t, row["recorded_ns"])
		if truth >= stopped {
			truth += still
		}
		low, high := number(t, row["low_ns"]), number(t, row["high_ns"])
		bounded++
		if truth < low-3 || truth > high+3 {
			outside++
		}
		if high-low < 300_000 {
			tight++
		}
	}
	if outside > 0 || bounded < 600 || tight < bounded*9/10 {
		t.Errorf("of %d events of b %d are outside of their bounds and %d have tight ones", bounded, outside, tight)
	}
}
