package live

import (
	"testing"
	"time"

	"meridian/clock"
)

// A clock is slewed for a while by more than is assumed, instead of being set. Each event that was shown outside of its
// bounds lies in the interval of a doubt of its host, from the first one on.
func TestPlacesOfAClockThatWasSlewedAreWithdrawn(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		ppm  int64
		over time.Duration
	}{{300, 2 * time.Second}, {1000, time.Second}, {2000, 500 * time.Millisecond}, {-1000, time.Second}, {20_000, 300 * time.Millisecond}, {-5000, 2 * time.Second}} {
		for seed := range uint64(2) {
			const seconds = 9
			hosts := talk(seconds, 47+seed)
			var exact []int64
			for i := range hosts[1].events {
				e := &hosts[1].events[i]
				exact = append(exact, invertB(int64(e.Event.Time)))
				since := min(max(int64(e.Event.Time)-clockB(origin+4_000_000_000), 0), int64(x.over))
				by := since * x.ppm / 1_000_000
				e.Event.Time, e.Time = clock.Add(e.Event.Time, by), clock.Add(e.Time, by)
			}
			sink, wrong, untold := doubtsOf(t, hosts[:], exact, seconds)
			if len(untold) > 0 {
				t.Errorf("%d ppm for %v, seed %d: %d of %d wrong events are in no doubt: %+v", x.ppm, x.over, seed, len(untold), wrong, sink.doubts)
			}
			if wrong == 0 || len(sink.doubts) == 0 {
				t.Errorf("%d ppm for %v, seed %d: %d wrong, %d doubts: the test says nothing", x.ppm, x.over, seed, wrong, len(sink.doubts))
			}
		}
	}
}
