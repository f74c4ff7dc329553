package live

import (
	"math"

	"meridian/clock"
	"meridian/trace"
)

// A clock that is set by more than the window leaves nothing to contradict: messages of before are dropped, since they are too old by that clock, or the
// pair is forgotten as one that was silent for long. The stamps of the last messages before tell it. All clocks go on in a silence:
//
//	a   100 | 3700     b   40 | 3641     silent for an hour
//	a   100 | 3700     b   40 |   41     one of the two was set

// silentPair is a pair that was forgotten.
type silentPair struct {
	a, b         *epoch
	lastA, lastB clock.HostTime
}

// leaps reports whether a message shows that one clock went on by so much more than the other, since the messages before it, that one of the two was set: no
// silence of both explains that. The bounds from before it may say nothing here, as they reach only some seconds.
func (p *pairState) leaps(from *epoch, m trace.Message) bool {
	if p.lastA == math.MinInt64 || p.lastB == math.MinInt64 {
		return false
	}
	a, b := clock.Sub(m.Received, p.lastA), clock.Sub(m.Sent, p.lastB)
	if from == p.a {
		a, b = clock.Sub(m.Sent, p.lastA), clock.Sub(m.Received, p.lastB)
	}
	return max(a, b)-min(a, b) > minLeap+max(min(a, b), 0)/maxLeapRate
}

// minLeap is longer than a message that counts travels, ns, and one part of maxLeapRate more than clocks that nobody sets differ in rate.
const minLeap, maxLeapRate = 10_000_000_000, 100

// tellLeap tells that one of two clocks was set, which messages of before are too old to contradict.
func tellLeap(t *Timeline, p *pairState) {
	t.change(Change{Kind: Bent, Clock: p.a.clock, Other: p.b.clock, Component: p.a.component.number, From: p.lastA, To: max(p.a.seen, p.lastA), Sure: true})
	p.bent = max(p.bent, p.a.seen)
	t.urgent = true
}
