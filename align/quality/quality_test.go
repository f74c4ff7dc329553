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
