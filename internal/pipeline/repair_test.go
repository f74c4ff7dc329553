package pipeline

import (
	"slices"
	"testing"

	"meridian/align"
	"meridian/align/quality"
	"meridian/clock"
	"meridian/internal/show"
	"meridian/trace"
)

// withinATick are a message from a and one to it of the same tick: b received the one before it sent the other.
func withinATick() *trace.Problem {
	return &trace.Problem{
		Clocks: []trace.Clock{
			{Host: "a", Name: "a", Granularity: 10_000_000, First: 0, Last: 0},
			{Host: "b", Name: "b", Granularity: 1, First: 1_000, Last: 3_000},
		},
		Channels: []trace.Channel{
			{From: 0, To: 1, Messages: []trace.Message{{Sent: 0, Received: 1_000}}},
			{From: 1, To: 0, Messages: []trace.Message{{Sent: 3_000, Received: 0}}},
		},
	}
}

func TestARepairCountsWhatItLeaves(t *testing.T) {
	line := func(by int64) clock.Map {
		return clock.Map{Mid: clock.Curve{{X: -10_000, Y: clock.TimelineTime(-10_000 + by)}, {X: 10_000, Y: clock.TimelineTime(10_000 + by)}}}
	}
	p := withinATick()
	for by, most := range map[int64]int64{0: 3_000, -1_000: 2_000, -2_000: 2_000} {
		_, repair, err := RepairMaps(p, []clock.Map{line(0), line(by)}, AlignOptions{Repair: repairControlled}, func(i int) string { return p.Clocks[i].Host })
		if err != nil {
			t.Fatal(err)
		}
		if repair.Remaining != 1 || repair.RemainingNs < 1_900 || repair.RemainingNs > most {
			t.Errorf("b later by %d ns: %+v, want 1 remaining, by 1900 ns to %d ns", by, *repair, most)
		}
	}
}

func TestWhatARepairLeavesBreaksAPromise(t *testing.T) {
	for _, c := range []struct {
		repair *show.Repair
		least  int64
		want   []string
	}{
		{nil, 0, nil},
		{&show.Repair{Method: "clc", Inversions: 3}, 0, nil},
		{&show.Repair{Method: "clc", Remaining: 2, RemainingNs: 1_500}, 0, []string{
			"2 of 9 messages still arrive before they were sent, by up to 1.500 µs: --repair clc cannot mend stamps that contradict each other, nor take equal stamps of one host apart"}},
		{&show.Repair{Method: "clc", Remaining: 2, RemainingNs: 1_500}, 1, []string{
			"2 of 9 messages still arrive before they were sent or sooner than --min-delay, by up to 1.500 µs: --repair clc cannot mend stamps that contradict each other, nor take equal stamps of one host apart"}},
	} {
		a := &Aligned{Matched: twoLists().Matched, Solution: &align.Solution{Quality: quality.Counts{Messages: 9}}, Report: &show.Report{Repair: c.repair}}
		a.Options.MinDelay = c.least
		f := &findings{Aligned: a, warnings: new(trace.Warnings)}
		checkRepair(f)
		if !slices.Equal(f.Broken, c.want) {
			t.Errorf("%+v: %q, want %q", c.repair, f.Broken, c.want)
		}
	}
}
