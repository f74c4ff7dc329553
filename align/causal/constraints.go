package causal

import (
	"cmp"
	"math"
	"slices"

	"meridian/align/internal/curves"
	"meridian/clock"
	"meridian/trace"
)

// constraints is the system of difference constraints: a node for every stamp that takes part, clock by clock, and the
// messages between the nodes.
type constraints struct {
	problem  *Problem
	first    []int // of each clock: its first node; one more entry for the end
	nodes    []node
	order    []int32 // the nodes by their time
	messages []message
	low      []float64 // of each node: the interval of its correction, ns
	high     []float64
	// earlier constrains greatest solutions. later constrains least solutions; with their sign changed these are greatest
	// solutions too, so that one algorithm serves both.
	earlier, later direction
	correction     []float64
}

// node is one stamp of one clock; its correction is one unknown.
type node struct {
	clock    int
	host     clock.HostTime
	timeline clock.TimelineTime
	knot     bool // a corner of the estimate, which the corrected curve must keep
}

// message joins the nodes of its two stamps.
type message struct {
	from, to int32
	delay    int64 // under the estimates, ns
	step     int64 // by how much it may be inverted, ns
}

// newConstraints builds the system from the messages whose delay is at most reach. For a clock with such messages, the
// corners of its estimate and of its bounds become nodes as well: between two nodes all three are straight, so a correction
// that respects the bounds at the nodes respects them everywhere.
func newConstraints(p *Problem, reach int64) *constraints {
	n := &constraints{problem: p, first: make([]int, len(p.Clocks)+1)}
	stamps := make([][]clock.HostTime, len(p.Clocks))
	p.near(reach, func(c *trace.Channel, m trace.Message, _ int64) {
		stamps[c.From] = append(stamps[c.From], m.Sent)
		stamps[c.To] = append(stamps[c.To], m.Received)
	})
	for i := range p.Clocks {
		if len(stamps[i]) > 0 && !p.Fixed[i] {
			stamps[i] = append(stamps[i], p.corners(i)...)
		}
		slices.Sort(stamps[i])
		knots := p.Maps[i].Mid
		at := clock.NewCursor(knots)
		for _, x := range slices.Compact(stamps[i]) {
			for len(knots) > 0 && knots[0].X < x {
				knots = knots[1:]
			}
			n.nodes = append(n.nodes, node{clock: i, host: x, timeline: at.At(x), knot: len(knots) > 0 && knots[0].X == x})
		}
		n.first[i+1] = len(n.nodes)
	}
	find := func(c int, stamp clock.HostTime) int32 {
		own := n.nodes[n.first[c]:n.first[c+1]]
		k, _ := slices.BinarySearchFunc(own, stamp, func(v node, t clock.HostTime) int { return cmp.Compare(v.host, t) })
		return int32(n.first[c] + k)
	}
	p.near(reach, func(c *trace.Channel, m trace.Message, delay int64) {
		n.messages = append(n.messages, message{find(c.From, m.Sent), find(c.To, m.Received), delay, receiverStep(&p.Clocks[c.To])})
	})
	n.order = make([]int32, len(n.nodes))
	for i := range n.order {
		n.order[i] = int32(i)
	}
	slices.SortStableFunc(n.order, func(i, j int32) int { return cmp.Compare(n.nodes[i].timeline, n.nodes[j].timeline) })
	n.correction = make([]float64, len(n.nodes))
	n.low, n.high = make([]float64, len(n.nodes)), make([]float64, len(n.nodes))
	n.earlier = newDirection(len(n.nodes), n.messages, func(m *message) (at, other int32) { return m.from, m.to })
	n.later = newDirection(len(n.nodes), n.messages, func(m *message) (at, other int32) { return m.to, m.from })
	return n
}

// near calls f for every message whose delay is at most reach.
func (p *Problem) near(reach int64, f func(c *trace.Channel, m trace.Message, delay int64)) {
	for i := range p.Channels {
		c := &p.Channels[i]
		if c.From == c.To || p.Fixed[c.From] && p.Fixed[c.To] {
			continue
		}
		from, to := clock.NewCursor(p.Maps[c.From].Mid), clock.NewCursor(p.Maps[c.To].Mid)
		for _, m := range c.Messages {
			if delay := clock.Sub(to.At(m.Received), from.At(m.Sent)); delay <= reach {
				f(c, m, delay)
			}
		}
	}
}

// corners returns the host times of the corners of a clock's estimate and of its bounds within the trace. A node far outside
// would constrain nothing, and cost the precision of sums.
func (p *Problem) corners(i int) []clock.HostTime {
	var xs []clock.HostTime
	m, c := &p.Maps[i], &p.Clocks[i]
	for _, curve := range []clock.Curve{m.Mid, m.Low, m.High} {
		for _, k := range curve {
			if k.X >= c.First && k.X <= c.Last {
				xs = append(xs, k.X)
			}
		}
	}
	return xs
}

// limit sets the interval of every correction: 0 for fixed clocks; for others, if bounded, what keeps the estimate within
// its bounds, and otherwise any.
func (n *constraints) limit(bounded bool) {
	for i := range n.nodes {
		v := &n.nodes[i]
		n.low[i], n.high[i] = math.Inf(-1), math.Inf(1)
		c := &n.problem.Clocks[v.clock]
		switch {
		case n.problem.Fixed[v.clock]:
			n.low[i], n.high[i] = 0, 0
		case bounded && v.host >= c.First && v.host <= c.Last:
			low, high, lowOK, highOK := n.problem.Maps[v.clock].Bounds(v.host)
			if lowOK {
				n.low[i] = float64(clock.Sub(low, v.timeline))
			}
			if highOK {
				n.high[i] = float64(clock.Sub(high, v.timeline))
			}
		}
	}
}

// curves returns the estimates plus the correction. Nodes on a straight piece of the result get no knot.
func (n *constraints) curves(estimates []clock.Curve) []clock.Curve {
	out := slices.Clone(estimates)
	for c := range out {
		from, to := n.first[c], n.first[c+1]
		// What float64 leaves of a correction of zero is no change.
		if !slices.ContainsFunc(n.correction[from:to], func(e float64) bool { return math.Round(e) != 0 }) {
			continue
		}
		own, e := n.nodes[from:to], n.correction[from:to]
		last := len(own) - 1
		curve := make(clock.Curve, 0, len(own))
		put := func(host clock.HostTime, timeline clock.TimelineTime, e float64) {
			t := clock.Add(timeline, int64(math.Round(e)))
			if k := len(curve); k > 0 {
				t = max(t, curve[k-1].Y)
			}
			curve = append(curve, clock.Knot{X: host, Y: t})
		}
		kept := 0
		for k := range own {
			if k > 0 && k < last && !own[k].knot && straight(own, e, kept, k) {
				continue
			}
			kept = k
			put(own[k].host, own[k].timeline, e[k])
		}
		out[c] = curves.Continue(curve, estimates[c])
	}
	return out
}

// straight reports whether the correction at node k lies on the line from an earlier node to node k+1.
func straight(own []node, e []float64, earlier, k int) bool {
	f := float64(clock.Sub(own[k].host, own[earlier].host)) / float64(clock.Sub(own[k+1].host, own[earlier].host))
	return math.Abs(e[earlier]+f*(e[k+1]-e[earlier])-e[k]) < 1e-2
}
