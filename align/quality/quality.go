// Package quality measures an alignment by the messages it was made from.
//
// In go the problem and the clocks' maps. Out come, after Ashton (1995) and Poirier (2010, section 3.4.1), three kinds of
// metrics that need no truth:
//
//	messages    inversions (received before they were sent on the timeline), those beyond granularity, those too fast
//	broadcasts  how far apart the receptions of one sending lie
//	accuracy    the bound of the error at the best and the worst event, and on average
//
// and, where the truth is known, the error itself and how often the bounds held it (see [Against]).
//
// Each is one pass over the messages or the broadcasts, O(1) each but for messages out of order.
//
// The functions rely on a problem that align.Solve accepts, and on a map with an estimate for each of its clocks, as a solution
// has them. Where a map or a clock is missing they panic, as an index out of range does.
package quality

import (
	"math"

	"meridian/clock"
	"meridian/trace"
)

// Counts is what the messages of one channel, or of all, show under the maps.
type Counts struct {
	Messages   int64
	Inversions int64
	// BeyondGranularity counts the inversions that the steps of the two stamps do not explain.
	BeyondGranularity int64
	// Contradicting counts messages received, at the latest that their bounds allow, before the earliest that they were sent: the
	// bounds of their clocks contradict each other. A message with an end that nothing bounds on that side is not counted.
	Contradicting int64
	// TooFast counts messages quicker than the minimum delay given.
	TooFast int64
	// Quickest is the least delay on the timeline, ns; MaxInt64 without messages.
	Quickest int64
}

// rounding is what the maps' integer knots and results can add to a delay, ns.
const rounding = 1

// Channel counts one channel's messages under the maps of its clocks. minimum is the least delay possible, 0 where
// nothing is known of it.
func Channel(c *trace.Channel, clocks []trace.Clock, maps []clock.Map, minimum int64) Counts {
	from, to := clock.NewCursor(maps[c.From].Mid), clock.NewCursor(maps[c.To].Mid)
	// The receiver's stamp t means an instant of [t, t+step): it may look early by the step, on
	// either time base, and no more.
	step := max(clocks[c.To].Granularity, 1)
	low, high := clock.NewCursor(maps[c.From].Low), clock.NewCursor(maps[c.To].High)
	bounded := len(maps[c.From].Low) > 0 && len(maps[c.To].High) > 0
	n := Counts{Messages: int64(len(c.Messages)), Quickest: math.MaxInt64}
	for _, m := range c.Messages {
		delay := clock.Sub(to.At(m.Received), from.At(m.Sent))
		n.Quickest = min(n.Quickest, delay)
		if bounded && clock.Sub(high.Rounded(clock.Add(m.Received, step), clock.Up), low.Rounded(m.Sent, clock.Down)) < -rounding {
			n.Contradicting++
		}
		if delay >= minimum && delay >= 0 {
			continue
		}
		if delay < minimum {
			n.TooFast++
		}
		if delay < 0 {
			n.Inversions++
			if max(delay+step, clock.Sub(to.At(clock.Add(m.Received, step)), from.At(m.Sent))) < -rounding {
				n.BeyondGranularity++
			}
		}
	}
	return n
}

// Add adds the counts of another channel.
func (n *Counts) Add(o Counts) {
	n.Messages += o.Messages
	n.Inversions += o.Inversions
	n.BeyondGranularity += o.BeyondGranularity
	n.Contradicting += o.Contradicting
	n.TooFast += o.TooFast
	n.Quickest = min(n.Quickest, o.Quickest)
}
