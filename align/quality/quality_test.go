package quality

import (
	"testing"

	"meridian/clock"
	"meridian/trace"
)

func TestInversionsAreCountedByWhatTheReceiversStampAllows(t *testing.T) {
	ahead := clock.Map{Mid: clock.Curve{{X: 0, Y: -1000}}} // the receiver's clock
	maps := []clock.Map{clock.Identity(), ahead}
	for _, c := range []struct {
		name        string
		granularity int64
		delay       clock.HostTime
		minimum     int64
		want        Counts
	}{
		{"in order", 1, 5, 0, Counts{Messages: 1, Quickest: 5}},
		{"at once", 1, 0, 0, Counts{Messages: 1}},
		{"within rounding", 1, -2, 0, Counts{Messages: 1, Inversions: 1, TooFast: 1, Quickest: -2}},
		{"inverted", 1, -3, 0, Counts{Messages: 1, Inversions: 1, BeyondGranularity: 1, TooFast: 1, Quickest: -3}},
		{"within a microsecond's stamp", 1000, -900, 0, Counts{Messages: 1, Inversions: 1, TooFast: 1, Quickest: -900}},
		{"too fast", 1, 5, 10, Counts{Messages: 1, TooFast: 1, Quickest: 5}},
	} {
		clocks := []trace.Clock{{Granularity: 1}, {Granularity: c.granularity}}
		ch := trace.Channel{From: 0, To: 1, Messages: []trace.Message{{Sent: 100, Received: 1100 + c.delay}}}
		if got := Channel(&ch, clocks, maps, c.minimum); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// The step of the receiver's stamps explains an inversion as far as it goes on the timeline too, where a slow clock takes longer for it.
func TestTheStepThatExplainsAnInversionIsTheTimelinesToo(t *testing.T) {
	clocks := []trace.Clock{{Name: "a", Granularity: 1}, {Name: "b", Granularity: 100}}
	for _, c := range []struct {
		rise   clock.TimelineTime // of the receiver's map over 1000 ns
		delay  int64
		beyond int64
	}{{1000, -101, 0}, {1000, -102, 1}, {1100, -111, 0}, {1100, -112, 1}, {900, -101, 0}, {900, -102, 1}} {
		maps := []clock.Map{clock.Identity(), {Mid: clock.Curve{{X: 0, Y: 0}, {X: 1000, Y: c.rise}}}}
		channel := trace.Channel{From: 0, To: 1, Messages: []trace.Message{{Sent: clock.HostTime(-c.delay), Received: 0}}}
		if n := Channel(&channel, clocks, maps, 0); n.Inversions != 1 || n.BeyondGranularity != c.beyond || n.Quickest != c.delay {
			t.Errorf("a step of 100 ns is %d on the timeline, delay %d: %+v", c.rise/10, c.delay, n)
		}
	}
}
