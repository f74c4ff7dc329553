package keep

import (
	"math"

	"meridian/clock"
)

// side is one direction of the constraints: v[i] <= v[other] + cost, of each node with those beside it on its clock and with
// the other ends of its messages.
type side struct {
	next, previous []float64 // cost to take the value of the clock's next node, and of the one before
	start          []int32   // of each node among the messages, and the end
	message, other []int32
	cost           []float64
}

// newSide lists the messages by the node that they constrain.
func newSide(nodes int, messages []message, ends func(*message) (at, other int32)) side {
	s := side{
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

// demand says how much longer than their granularity's limit messages must take, ns.
func (n *network) demand(margin int64) {
	for _, s := range []*side{&n.earlier, &n.later} {
		for k, i := range s.message {
			m := &n.messages[i]
			s.cost[k] = float64(m.delay) + float64(m.step-margin)
		}
	}
}

// limits says between which lengths a clock may show a stretch, of which the estimate is given, ns.
type limits func(host, timeline float64) (least, most float64)

// around allows rates near the estimate's, as long as the clock does not run back.
func around(rate float64) limits {
	return func(host, timeline float64) (least, most float64) {
		return max(timeline-rate*host, 0), timeline + rate*host
	}
}

// anyClock allows what a clock can be, whatever the estimate is.
func anyClock(host, _ float64) (least, most float64) { return host / 2, 2 * host }

// allow says how clocks may run under the correction.
func (n *network) allow(of limits) {
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

// correct finds the correction that keeps clocks within limits, and reports whether there is one.
func (n *network) correct(of limits) bool {
	n.allow(of)
	greatest, least := make([]float64, len(n.nodes)), make([]float64, len(n.nodes))
	negated := func(to, from []float64) {
		for i, v := range from {
			to[i] = -v
		}
	}
	highest := make([]float64, len(n.nodes)) // of the least solutions with their sign changed
	negated(highest, n.low)
	copy(least, highest)
	lowest := make([]float64, len(n.nodes))
	negated(lowest, n.high)
	copy(greatest, n.high)
	if !n.settle(&n.earlier, greatest, n.low) || !n.settle(&n.later, least, lowest) {
		return false
	}
	for i := range greatest {
		greatest[i], least[i] = min(greatest[i], max(0, -least[i])), min(least[i], max(0, -greatest[i]))
	}
	if !n.settle(&n.earlier, greatest, n.low) || !n.settle(&n.later, least, lowest) {
		return false
	}
	for i := range n.correction {
		n.correction[i] = (greatest[i] - least[i]) / 2
	}
	return true
}

const (
	// slack is what float64 may have lost, ns: far below a stamp's step.
	slack = 1e-3
	// sweeps is how often the nodes are gone through, forth and back. A path turns back in time only over an inverted
	// message, so few are enough; where they are not, a greater rate needs fewer.
	sweeps = 200
)

// settle lowers v to the greatest solution that is nowhere above it (Bellman and Ford, the nodes in the order of time and
// back). It reports false where that falls below the floor: constraints go around in a circle and demand more each time.
func (n *network) settle(s *side, v, floor []float64) bool {
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
