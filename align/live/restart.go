package live

import (
	"math"

	"meridian/clock"
)

// restart forgets the messages of a group in which something was set, or may have been: where a step of one of several clocks is
// taken for a step or a slew of another, bounds over messages from both sides of it are wrong. Bounds begin anew with the messages
// that are sent from now on. A group of two clocks keeps its messages: there is one pair, and its step divides them.
func restart(t round, g *group) {
	for _, e := range g.epochs {
		c := t.clocks[e.clock]
		if c.gone || e != c.epochs[len(c.epochs)-1] {
			continue
		}
		c.since = c.shown
		t.change(Change{Kind: Doubted, Clock: e.clock, Other: -1, Component: e.component.number, From: c.shown, To: c.shown})
	}
	// Rounds show nothing of a clock without messages: its bounds go here.
	within := make(map[*component]bool)
	for _, e := range g.epochs {
		within[e.component] = true
	}
	for _, c := range t.clocks {
		for _, e := range c.epochs {
			if within[e.component] && e.component.reference != e && !e.ended && e.any() && (e.open().bounded() || c.shown <= e.seen) {
				e.unbind(min(e.seen, c.shown-1)) // a clock that was set back shows readings again that had bounds
			}
		}
	}
	for _, p := range g.pairs {
		p.ab.clear()
		p.ba.clear()
		p.edge.Reset()
		p.received, p.looked, p.patience, p.alarmed = 0, 0, 0, false
		p.settling = settleAfter
	}
}

// settleAfter is how many messages of a pair make a round due after a restart.
const settleAfter = 6

// crowd reports whether a group is of more than two clocks.
func crowd(t round, g *group) bool {
	clocks := make(map[int]bool)
	for _, e := range g.epochs {
		clocks[e.clock] = true
	}
	return len(clocks) > 2
}

// stale reports whether a reading is from before the restart. One far before it is from a clock that was set back since.
func (c *hostClock) stale(at clock.HostTime) bool {
	return c.since != math.MinInt64 && at < c.since && at > clock.Add(c.since, -staleSpan)
}

// staleSpan is more than any message that counts travels, ns.
const staleSpan = 10_000_000_000

// clear forgets all messages.
func (w *window) clear() { w.parts, w.fresh = nil, false }
