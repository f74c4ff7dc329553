package match

import (
	"net/netip"

	"meridian/trace"
)

// A packet that one capture saw inside a tunnel the other may have seen before the tunnel or behind it, or in another one. It is the
// same packet, but whether it went from one capture to the other the addresses inside do not say: copies for an analyser are
// sent there whatever they are copies of. Both directions tell: where two addresses talk to each other and each direction inside
// took one direction outside, packets go the way they say. A tunnel in which only one direction was seen is joined with nothing
// but the same tunnel.

// insideTalk is two addresses inside a tunnel, and the tunnel's. The lower address inside comes first.
type insideTalk struct {
	low, high       netip.Addr
	outward, inward netip.Addr // the end of the tunnel on the side of low, and on that of high
	id              uint32
}

// followTunnels finds the flows in tunnels that go the way which the addresses inside say.
func (x *index) followTunnels() {
	const both = 1 | 2
	seen := make(map[insideTalk]int) // directions inside that were seen while the lower address went from one end of the tunnel
	of := func(f *trace.Flow) insideTalk {
		return insideTalk{f.Low.Addr, f.High.Addr, f.Tunnel.From, f.Tunnel.To, f.Tunnel.ID}
	}
	for i := range x.Flows {
		if f := &x.Flows[i]; !f.Tunnel.IsZero() {
			seen[of(f)] |= x.directions(i)
		}
	}
	if len(seen) == 0 {
		return
	}
	x.tunnelled = make([]bool, len(x.Flows))
	for i := range x.Flows {
		f := &x.Flows[i]
		if f.Tunnel.IsZero() || f.Tunnel.Mirror || f.Low.Addr == f.High.Addr {
			continue
		}
		here := of(f)
		reverse := here
		reverse.outward, reverse.inward = here.inward, here.outward
		x.tunnelled[i] = seen[here] == both && seen[reverse] == 0
	}
}

// directions returns the directions in which a flow has packets, a bit each.
func (x *index) directions(flow int) (seen int) {
	for _, n := range x.packets(flow) {
		if seen |= 1 << direction(x.at(n)); seen == 1|2 {
			break
		}
	}
	return seen
}

// straight reports whether a flow's packets go the way that its addresses say.
func (x *index) straight(flow int) bool {
	return x.tunnelled == nil || x.tunnelled[flow] || x.Flows[flow].Tunnel.IsZero()
}

// insideSender is sender without regard to tunnels.
func (u *conversation) insideSender(d int) (atA, atB netip.Addr) {
	a, _ := u.a.Flows[u.flowA].Ends(d)
	b, _ := u.b.Flows[u.flowB].Ends(u.otherDirection(d))
	return a.Addr, b.Addr
}

// joinAcross joins the flows that found no partner in the same tunnel with those that have the same ends in another one or in none,
// where there is one of them on either side. Flows that may be joined no other way are taken out of what is left.
func joinAcross(conversations []conversation, a, b *index, joinedA, joinedB, unmatchedA, unmatchedB []bool) []conversation {
	if a.tunnelled == nil && b.tunnelled == nil {
		return conversations
	}
	dropUncertain(a, joinedA, unmatchedA)
	dropUncertain(b, joinedB, unmatchedB)
	inA, inB := byEnds(a, unmatchedA), byEnds(b, unmatchedB)
	for f := range a.Flows { // in order: the maps have none
		key := endsOf(&a.Flows[f])
		g, known := inB[key]
		if !unmatchedA[f] || !known || g < 0 || inA[key] != f {
			continue
		}
		unmatchedA[f], unmatchedB[g] = false, false
		if a.Flows[f].Protocol == protocolTCP {
			conversations = joinConnections(conversations, a, b, f, g, joinedA, joinedB)
			continue
		}
		conversations = append(conversations, conversation{a: a, b: b, flowA: f, flowB: g})
	}
	return conversations
}

// dropUncertain takes out of what is left the flows in tunnels whose packets may not go the way that their addresses say.
func dropUncertain(x *index, joined, unmatched []bool) {
	for f := range x.Flows {
		if x.straight(f) {
			continue
		}
		unmatched[f] = false
		for c := x.ofFlow[f][0]; c < x.ofFlow[f][1]; c++ {
			joined[c] = true
		}
	}
}

// endsOf is keyOf without the tunnel.
func endsOf(f *trace.Flow) flowKey { return flowKey{low: f.Low, high: f.High, protocol: f.Protocol} }

// byEnds returns the flows left, by their ends: -1 for several of the same ends.
func byEnds(x *index, unmatched []bool) map[flowKey]int {
	flows := make(map[flowKey]int)
	for f := range x.Flows {
		if !unmatched[f] {
			continue
		}
		key := endsOf(&x.Flows[f])
		if _, known := flows[key]; known {
			flows[key] = -1
			continue
		}
		flows[key] = f
	}
	return flows
}
