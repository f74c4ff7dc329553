package livetest_test

import (
	"testing"
	"time"

	"meridian/align/live"
	"meridian/clock"
	"meridian/internal/livetest"
	"meridian/internal/sim"
	"meridian/internal/testneed"
)

// A clock that is set while its host is silent for about as long as the window reaches back is found, or its places behind the silence are within
// their bounds: messages from before it are not mixed with the first ones behind it.
func TestClockThatIsSetInALongSilenceIsFoundOrHarmless(t *testing.T) {
	tests := []struct {
		seed uint64
		by   int64
	}{{1, 5e6}, {4, -10e6}, {2, -10e6}, {3, 5e6}}
	for _, test := range tests[:testneed.Cases(len(tests))] {
		for silence := 29 * time.Second; silence < 64*time.Second; silence += 2250 * time.Millisecond {
			s := livetest.Two(test.seed, 12*time.Second+silence+4*time.Second, 50*time.Millisecond, 0, live.Options{Align: cheap})
			before := s.Links[0]
			before.Until = 12 * time.Second
			behind := before
			behind.From, behind.Until = before.Until+silence, 0
			s.Links = []livetest.Link{before, behind}
			s.Hosts[1].Clock.Steps = []sim.Step{{At: clock.TimelineTime(before.Until + silence/2), By: test.by}}
			w := play(t, s)
			if len(w.Unfound) == 0 && w.Outside > 0 {
				t.Errorf("seed %d, silence of %v: the step was not found, and %d places are outside", test.seed, silence, w.Outside)
			}
			if w.Outside > 4 {
				t.Errorf("seed %d, silence of %v: %d places are outside before the step was found", test.seed, silence, w.Outside)
			}
		}
	}
}
