// Package keep moves the estimates of clocks aside where they still invert messages: all clocks of a component at once.
//
// In go the estimates with their bounds, and the messages. Out come estimates under which nothing is received before it was
// sent and which lie within the bounds, moved by no more than that takes.
//
// A clock alone cannot always give way. Where app was put too far from db, and web follows app,
//
//	web <----> app <----> db, the reference
//	     holds      inverts
//
// app would have to move by more than its messages with web leave it, and web has no reason to move first. So what is
// sought is one correction e of all clocks, at every stamp that counts, under
//
//	e[sent] <= e[received] + delay - least    of each message: it takes its time
//	e[k+1]  <= e[k] + w (x[k+1] - x[k])       of each clock: its rate changes by w at most,
//	e[k]    <= e[k+1] + w (x[k+1] - x[k])     and it never runs back
//	low <= e <= high                          its strict bounds; 0 for the reference
//
// These are difference constraints, so the greatest and the least solution are shortest paths, and halfway between two
// solutions lies a third. Let L be the least solution of all and U the greatest. Then
//
//	the greatest solution that is nowhere above max(0, L)    pushes senders back,
//	the least solution that is nowhere below min(0, U)       pushes receivers forward,
//
// each only where it must, and the result is the middle of the two: both ends of an inverted message give way by half,
// unless bounds, the reference or other messages hold one of them. What is not in the way stays as it is. Of w the least
// power of ten is taken with which there is a solution; where there is none, an estimate is far from any clock, and rates
// from a half to two will do.
//
// Messages that take far longer than the worst inversion do not count, so the cost is that of a pass over all messages, and
// some passes over those near it.
package keep

import (
	"meridian/clock"
	"meridian/trace"
)

// Problem is clocks on one timeline and the messages between them.
type Problem struct {
	Clocks   []trace.Clock
	Channels []trace.Channel
	Maps     []clock.Map // of each clock: the estimate, and bounds where there are some
	Fixed    []bool      // of each clock: it is the timeline, or none of this one
}

// widen is by how much more is looked at where a correction inverted what was not in its way.
const widen = 16

// Curves returns the estimates of all clocks, moved so that no message is inverted beyond the granularity of its stamps, at
// all where that is a nanosecond. Where nothing that respects the bounds is such, messages go before bounds. It reports
// false where messages contradict each other under any clocks.
func Curves(p *Problem) ([]clock.Curve, bool) {
	curves := make([]clock.Curve, len(p.Maps))
	for i := range p.Maps {
		curves[i] = p.Maps[i].Mid
	}
	worst, slowest := p.inversion(curves)
	if worst == 0 {
		return curves, true
	}
	for reach := wider(worst, slowest); ; reach = wider(reach, slowest) {
		n := newNetwork(p, reach)
		if !n.solve() {
			return nil, false
		}
		moved := n.curves(curves)
		if left, _ := p.inversion(moved); left == 0 || reach >= slowest {
			return moved, true
		}
	}
}

// wider returns so many times more, but no more than most.
func wider(reach, most int64) int64 {
	if reach > most/widen {
		return most
	}
	return widen * reach
}

// step returns what a receiver's stamp leaves open, ns: nothing where it is as fine as it can be.
func step(c *trace.Clock) int64 {
	if c.Granularity <= 1 {
		return 0
	}
	return c.Granularity
}

// rounding is what knots at whole ns can add to a delay.
const rounding = 1

// inversion returns by how much the worst message is inverted, ns, and how long the slowest takes.
func (p *Problem) inversion(curves []clock.Curve) (worst, slowest int64) {
	for i := range p.Channels {
		c := &p.Channels[i]
		allowed := int64(0)
		if s := step(&p.Clocks[c.To]); s > 0 {
			allowed = s + rounding
		}
		from, to := clock.NewCursor(curves[c.From]), clock.NewCursor(curves[c.To])
		for _, m := range c.Messages {
			delay := clock.Sub(to.At(m.Received), from.At(m.Sent))
			slowest = max(slowest, delay)
			if delay+allowed < 0 {
				worst = max(worst, clock.Sub(0, delay))
			}
		}
	}
	return worst, slowest
}

// margins are how far above the granularity's limit messages are kept, ns: so far that knots at whole ns invert none, or
// less where messages are so quick.
var margins = [...]int64{3, 1, -1}

// solve finds the correction, and reports whether there is one.
func (n *network) solve() bool {
	for _, bounded := range []bool{true, false} {
		n.limit(bounded)
		for _, margin := range margins {
			n.demand(margin)
			for rate := 1e-7; rate < 1; rate *= 10 {
				if n.correct(around(rate)) {
					return true
				}
			}
			if n.correct(anyClock) {
				return true
			}
		}
	}
	return false
}
