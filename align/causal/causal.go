// Package causal restores the clock condition by the least change of the estimates: after it, no message is received before
// it was sent. All clocks of a component are changed together.
//
// In go the estimates with their bounds, and the messages ([Problem]). Out come estimates under which no message is
// inverted and which lie within the bounds ([RestoreOrder]). They are changed only where a message requires it.
//
// The idea: changing one clock at a time can fail. Let app be estimated too far from db, and let web follow app:
//
//	web <----> app <----> db, the reference
//	     tight      inverted
//
// The messages between web and app leave app no room to move, and web has no inverted message and so no reason to move
// first. Therefore one system of constraints covers all clocks. Its unknown is a correction e, in ns of the timeline, at
// every stamp that takes part:
//
//	e[sent] <= e[received] + delay - least    for each message: its corrected delay is at least the least one
//	e[k+1]  <= e[k] + w (x[k+1] - x[k])       for each clock: the correction changes its rate by at most w
//	e[k]    <= e[k+1] + w (x[k+1] - x[k])     and the corrected clock never runs back
//	low <= e <= high                          for each clock: the strict bounds; 0 for the reference
//
// These are difference constraints: each bounds the difference of two unknowns. The greatest and the least solution of such
// a system are shortest paths, and the mean of two solutions is a solution. Let L be the least solution and U the greatest.
// Then
//
//	the greatest solution that is nowhere above max(0, L)    moves senders back,
//	the least solution that is nowhere below min(0, U)       moves receivers forward,
//
// each only where some constraint requires it. The result is their mean: the two ends of an inverted message share the
// change, unless bounds, the reference or other messages hold one of them. Where no constraint requires a change, e is 0.
// w is the smallest power of ten for which a solution exists. If there is none below 1, some estimate is far from what any
// clock does, and all rates from a half to two are allowed.
//
// The cost: messages much slower than the worst inversion cannot be inverted by the correction and are left out. So the cost
// is one pass over all messages, and some passes over the quick ones.
package causal

import (
	"meridian/clock"
	"meridian/trace"
)

// Problem holds clocks on one timeline and the messages between them. RestoreOrder does not change it. It relies on clocks
// and channels that align.Solve accepts, and on Maps, each with an estimate, and Fixed being as many as the clocks; where one is
// missing it panics, as an index out of range does.
type Problem struct {
	Clocks   []trace.Clock
	Channels []trace.Channel
	Maps     []clock.Map // of each clock: the estimate, and bounds where there are some
	Fixed    []bool      // of each clock: it must not move, being the reference or in another component
}

// reachGrowth is the factor by which the reach grows when a correction inverted a message that was left out.
const reachGrowth = 16

// RestoreOrder returns the estimates of all clocks, changed so that no message is inverted by more than the granularity of
// the receiver's stamps; where that is 1 ns, not at all. If no such estimates lie within the bounds, the bounds are
// ignored. It returns false if the messages contradict each other under any clocks. Curves that need no change are returned
// as they were given; they share their knots with the problem.
func RestoreOrder(p *Problem) ([]clock.Curve, bool) {
	curves := make([]clock.Curve, len(p.Maps))
	for i := range p.Maps {
		curves[i] = p.Maps[i].Mid
	}
	worst, slowest := p.inversion(curves)
	if worst == 0 {
		return curves, true
	}
	for reach := growReach(worst, slowest); ; reach = growReach(reach, slowest) {
		n := newConstraints(p, reach)
		if !n.solve() {
			return nil, false
		}
		moved := n.curves(curves)
		if left, _ := p.inversion(moved); left == 0 || reach >= slowest {
			return moved, true
		}
	}
}

// growReach returns reach times [reachGrowth], at most most.
func growReach(reach, most int64) int64 {
	if reach > most/reachGrowth {
		return most
	}
	return reachGrowth * reach
}

// receiverStep returns by how much a message may be inverted because of the granularity of its receiver's stamps, ns: 0 for
// stamps of 1 ns.
func receiverStep(c *trace.Clock) int64 {
	if c.Granularity <= 1 {
		return 0
	}
	return c.Granularity
}

// rounding is the error of a delay that comes from knots at whole ns, ns.
const rounding = 1

// inversion returns the greatest inversion of any message, ns, 0 if there is none, and the delay of the slowest message.
func (p *Problem) inversion(curves []clock.Curve) (worst, slowest int64) {
	for i := range p.Channels {
		c := &p.Channels[i]
		allowed := int64(0)
		if s := receiverStep(&p.Clocks[c.To]); s > 0 {
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

// margins are by how much corrected delays must exceed their limit, ns, tried in turn. The first makes rounding to whole
// ns harmless; the others serve messages too quick for it.
var margins = [...]int64{3, 1, -1}

// solve finds the correction with the strictest of the constraints that allow one. It returns false if none do.
func (n *constraints) solve() bool {
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
