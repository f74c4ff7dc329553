package bound

import (
	"math"
	"testing"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// However far the asked range lies from the messages, pieces grow with the distance, so that their number stays small.
func TestCurvesOfAnyRangeHaveFewKnots(t *testing.T) {
	for _, at := range []clock.HostTime{-clock.Limit + 1, 0, clock.Limit - 1} {
		p := &pair.Problem{AB: pair.Messages{{{Sent: at, Received: at}}}, BA: pair.Messages{{{Sent: at, Received: at}}}}
		p.AB[0] = append(p.AB[0], trace.Message{Sent: at / 2, Received: at / 2})
		for _, a := range []Assumption{Default, {}, {Wander: -1, Epsilon: -1}, {Wander: math.NaN(), Epsilon: math.NaN()}} {
			c := New(p, a)
			for _, r := range [][2]clock.HostTime{{math.MinInt64, math.MaxInt64}, {math.MaxInt64, math.MinInt64}, {0, 0}} {
				if n := len(c.Instants(r[0], r[1])); n > 2*maxKnots {
					t.Errorf("messages around %d, %v over %d: %d instants", at, a, r, n)
				}
			}
		}
	}
}
