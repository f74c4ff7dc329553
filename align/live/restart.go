package live

import (
	"math"
	"slices"

	"meridian/clock"
)

// restart forgets the messages of a group in which something was set, or may have been: where a step of one of several clocks is
// taken for a step or a slew of another, bounds over messages from both sides of it are wrong. Bounds begin anew with the messages
// that are sent from now on. A group of two clocks keeps its messages: there is one pair, and its step divides them.
func restart(t round, g *group) {
	var among []int
	for _, e := range g.epochs {
		if !slices.Contains(among, e.clock) {
			among = append(among, e.clock)
		}
	}
	doubt := doubts(t).inquire(g, among)
	for _, e := range g.epochs {
		c := t.clocks[e.clock]
		if c.gone || e != c.epochs[len(c.epochs)-1] {
			continue
		}
		c.since = c.shown
		t.change(Change{Kind: Doubted, Clock: e.clock, Other: -1, Component: e.component.number, From: c.shown, To: c.shown,
			Doubt: doubt.number, Among: doubt.among})
	}
	// Rounds show nothing of a clock without messages: its bounds go here.
	within := make(map[*component]bool)
	for _, e := range g.epochs {
		within[e.component] = true
	}
	for _, c := range t.clocks {
		for _, e := range c.epochs {
			if within[e.component] {
				doubts(t).expose(e)
			}
		}
	}
	for _, p := range g.pairs {
		p.begin()
	}
}

// doubts is what a timeline does with clocks that may have been set.
type doubts struct{ *Timeline }

// expose shows an epoch without bounds from its last reading on. The reference of a timeline has none to lose.
func (t doubts) expose(e *epoch) {
	c := t.clocks[e.clock]
	if e.component.reference != e && !e.ended && e.any() && (e.open().bounded() || c.shown <= e.seen) {
		from := min(e.seen, c.shown-1) // a clock that was set back shows readings again that had bounds
		if c.since == c.shown {        // and it may be set back now, while messages do not tell yet
			from = min(from, clock.Add(c.since, -staleSpan))
		}
		e.unbind(from)
	}
}

// begin forgets the messages of a pair.
func (p *pairState) begin() {
	p.ab.clear()
	p.ba.clear()
	p.edge.Reset()
	p.received, p.looked, p.patience, p.alarmed, p.proved = 0, 0, 0, false, false
	p.settling = settleAfter
}

// find looks for clocks that may have been set among groups of more than two, before a round is made of their messages. The
// messages of two clocks that contradict the assumption by themselves say that one of the two was set. Where several such pairs
// have one clock in common, it is that one. The messages of these clocks are forgotten; those of all other pairs stay.
func (t doubts) find() {
	for _, g := range round(t).groups() {
		if !crowd(round(t), g) {
			continue
		}
		var broken []*pairState
		for _, p := range g.pairs {
			if p.alarmed && p.edge.Contradictory() {
				broken = append(broken, p)
			}
		}
		if len(broken) > 0 {
			t.drop(g, suspectsOf(broken))
		}
	}
}

// drop forgets the messages of some clocks of a group, and shows these, or all where the reference is among them, without
// bounds until messages come.
func (t doubts) drop(g *group, suspects map[*epoch]bool) {
	among := clocksOf(suspects)
	doubt := t.inquire(g, among)
	for _, e := range g.epochs {
		c := t.clocks[e.clock]
		if suspects[e] && !c.gone && e == c.epochs[len(c.epochs)-1] {
			c.since = c.shown
			t.change(Change{Kind: Doubted, Clock: e.clock, Other: -1, Component: e.component.number, From: c.shown, To: c.shown,
				Doubt: doubt.number, Among: doubt.among})
		}
		if suspects[e] || suspects[e.component.reference] {
			t.expose(e)
		}
	}
	for _, p := range g.pairs {
		if suspects[p.a] || suspects[p.b] {
			p.begin()
		}
	}
}

// minWitnesses is how many pairs must contradict themselves to blame the clock that they have in common alone: two may be the work
// of two other clocks that were set at about the same time.
const minWitnesses = 3

// suspectsOf returns the clock that pairs with contradictions have in common, if they are enough, or all of their clocks.
func suspectsOf(broken []*pairState) map[*epoch]bool {
	n := make(map[*epoch]int)
	for _, p := range broken {
		n[p.a]++
		n[p.b]++
	}
	out := make(map[*epoch]bool)
	for e, k := range n {
		if len(broken) >= minWitnesses && k == len(broken) {
			return map[*epoch]bool{e: true}
		}
		out[e] = true
	}
	return out
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

// setBack reports whether a clock whose messages are stale was set back since its restart: it has shown nothing else, while another
// clock went on by more than messages are late. Without that, a clock that is set back right after a restart would be heard only when it
// comes to where it was.
func (c *hostClock) setBack(other int, shows clock.HostTime) bool {
	first, known := c.staleFrom[other]
	if !known {
		if c.staleFrom == nil {
			c.staleFrom = make(map[int]clock.HostTime)
		}
		c.staleFrom[other] = shows
		return false
	}
	return clock.Sub(shows, first) > maxStale
}

// maxStale is how long messages may all be stale, ns.
const maxStale = 1_000_000_000

// again doubts a clock that was set back after a restart.
func (t doubts) again(e *epoch) {
	for _, g := range round(t).groups() {
		if slices.Contains(g.epochs, e) && crowd(round(t), g) {
			t.clocks[e.clock].staleFrom = nil
			t.drop(g, map[*epoch]bool{e: true})
			t.urgent = true
			t.publish()
		}
	}
}

// staleSpan is more than any message that counts travels, ns.
const staleSpan = 10_000_000_000

// clear forgets all messages.
func (w *window) clear() { w.parts, w.fresh = nil, false }
