package causal

import (
	"math"

	"meridian/clock"
)

// direction holds the constraints v[i] <= v[other] + cost of one direction: for each node, those with its neighbours on the
// same clock and those with the other ends of its messages.
type direction struct {
	next, previous []float64 // of each node: cost of the constraints by the clock's next node and by the one before
	start          []int32   // of each node: its first entry in the lists below; one more entry for the end
	message, other []int32
	cost           []float64
}

// newDirection lists the messages by the node that they constrain; at is that node, other the one at their other end.
func newDirection(nodes int, messages []message, ends func(*message) (at, other int32)) direction {
	s := direction{
		next: make([]float64, nodes), previous: make([]float64, nodes), start: make([]int32, nodes+1),
		message: make([]int32, len(messages)), other: make([]int32, len(messages)), cost: make([]float64, len(messages)),
	}
	for i := range messages {
		at, _ := ends(&messages[i])
		s.start[at+1]++
	}
	for i := range nodes {
		s.start[i+1] += s.start[i]
	}
	fill := append([]int32(nil), s.start...)
	for i := range messages {
		at, other := ends(&messages[i])
		s.message[fill[at]], s.other[fill[at]] = int32(i), other
		fill[at]++
	}
	return s
}

// demand sets the costs of messages, so that each corrected delay exceeds its limit by margin, ns.
func (n *constraints) demand(margin int64) {
	for _, s := range []*direction{&n.earlier, &n.later} {
		for k, i := range s.message {
			m := &n.messages[i]
			s.cost[k] = float64(m.delay) + float64(m.step-margin)
		}
	}
}

// rateLimits returns the least and the greatest length, ns of the timeline, that a span of a clock may have after the
// correction. host is its length on the clock, timeline its length under the estimate.
type rateLimits func(host, timeline float64) (least, most float64)

// around allows rates that differ from the estimate's by at most rate, as long as the clock does not run back.
func around(rate float64) rateLimits {
	return func(host, timeline float64) (least, most float64) {
		return max(timeline-rate*host, 0), timeline + rate*host
	}
}

// anyClock allows every rate from a half to two, whatever the estimate's.
func anyClock(host, _ float64) (least, most float64) { return host / 2, 2 * host }

// allow sets the costs between neighbouring nodes of each clock.
func (n *constraints) allow(of rateLimits) {
	none := math.Inf(1)
	for c := range n.problem.Clocks {
		for i := n.first[c]; i < n.first[c+1]; i++ {
			n.earlier.next[i], n.later.next[i] = none, none
			if i == n.first[c] {
				n.earlier.previous[i], n.later.previous[i] = none, none
			}
			if i+1 == n.first[c+1] {
				break
			}
			n.earlier.previous[i+1], n.later.previous[i+1] = none, none
			if n.problem.Fixed[c] {
				continue
			}
			one, two := &n.nodes[i], &n.nodes[i+1]
			host, timeline := float64(clock.Sub(two.host, one.host)), float64(clock.Sub(two.timeline, one.timeline))
			least, most := of(host, timeline)
			n.earlier.next[i], n.earlier.previous[i+1] = timeline-least, most-timeline
			n.later.next[i], n.later.previous[i+1] = most-timeline, timeline-least
		}
	}
}

// correct finds the correction under the given limits of rates. It returns false if there is none.
func (n *constraints) correct(of rateLimits) bool {
	n.allow(of)
	greatest, least := make([]float64, len(n.nodes)), make([]float64, len(n.nodes))
	negated := func(to, from []float64) {
		for i, v := range from {
			to[i] = -v
		}
	}
	highest := make([]float64, len(n.nodes)) // upper limits of the negated least solutions
	negated(highest, n.low)
	copy(least, highest)
	lowest := make([]float64, len(n.nodes))
	negated(lowest, n.high)
	copy(greatest, n.high)
	if !n.lower(&n.earlier, greatest, n.low) || !n.lower(&n.later, least, lowest) {
		return false
	}
	for i := range greatest {
		greatest[i], least[i] = min(greatest[i], max(0, -least[i])), min(least[i], max(0, -greatest[i]))
	}
	if !n.lower(&n.earlier, greatest, n.low) || !n.lower(&n.later, least, lowest) {
		return false
	}
	for i := range n.correction {
		n.correction[i] = (greatest[i] - least[i]) / 2
	}
	return true
}

const (
	// slack is the rounding error that sums of float64 may have collected, ns: far below the step of a stamp.
	slack = 1e-3
	// sweeps limits the passes over the nodes, forward and back. A shortest path turns back in time only over an inverted
	// message, so few passes suffice. Where they do not, a greater rate is tried, which needs fewer.
	sweeps = 200
)

// lower changes v to the greatest solution that is nowhere above it, by the algorithm of Bellman and Ford with the nodes in
// the order of time and back. It returns false as soon as a value falls below its floor: then there is no solution, or a
// cycle of constraints lowers the values without end.
func (n *constraints) lower(s *direction, v, floor []float64) bool {
	visit := func(i int32) (changed, ok bool) {
		best := v[i]
		if c := s.next[i]; !math.IsInf(c, 1) {
			best = min(best, v[i+1]+c)
		}
		if c := s.previous[i]; !math.IsInf(c, 1) {
			best = min(best, v[i-1]+c)
		}
		for k := s.start[i]; k < s.start[i+1]; k++ {
			best = min(best, v[s.other[k]]+s.cost[k])
		}
		if best >= v[i]-slack/10 {
			return false, true
		}
		v[i] = best
		return true, best >= floor[i]-slack
	}
	for range sweeps {
		any := false
		for k := range n.order {
			changed, ok := visit(n.order[len(n.order)-1-k])
			if !ok {
				return false
			}
			any = any || changed
		}
		for _, i := range n.order {
			changed, ok := visit(i)
			if !ok {
				return false
			}
			any = any || changed
		}
		if !any {
			return true
		}
	}
	return false
}
