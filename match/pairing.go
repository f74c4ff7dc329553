package match

import (
	"fmt"
	"net/netip"

	"meridian/trace"
)

// unit is one conversation seen by two captures, not yet matched packet by packet.
type conversation struct {
	a, b         *index
	flowA, flowB int
	connA, connB *connection // nil for datagrams
	swapped      bool        // b's direction 0 is a's direction 1 (addresses rewritten in between)
	near         int         // which capture is nearer to the sender of a's direction 0: +1 a, -1 b, 0 not known
}

// sender returns the address that sends a's direction d, as each capture sees it: of a packet inside a tunnel, the tunnel's.
func (u *conversation) sender(d int) (atA, atB netip.Addr) {
	atA, _ = u.a.Flows[u.flowA].Way(d)
	atB, _ = u.b.Flows[u.flowB].Way(u.otherDirection(d))
	return atA, atB
}

// String names a conversation and its captures.
func (u *conversation) String() string {
	return fmt.Sprintf("%s in %s and %s", u.a.Flows[u.flowA].String(), u.a.File, u.b.File)
}

// otherDirection translates a's direction to b's.
func (u *conversation) otherDirection(d int) int {
	if u.swapped {
		return 1 - d
	}
	return d
}

// plain reports whether only one of the captures knows more of the connection's packets than their numbers and flags: TCP's
// options, or the windows of acknowledgements, which the oldest kernel tracers leave out too.
func (u *conversation) plain() bool {
	return u.connA != nil && (u.connA.stamped != u.connB.stamped || u.connA.unknown != u.connB.unknown)
}

// printer returns the fingerprint by which both captures can recognise a packet.
func (u *conversation) printer() func(*trace.Packet) uint64 {
	if u.plain() {
		return plainPrint
	}
	return fingerprint
}

// flowKey names a flow in any capture.
type flowKey struct {
	low, high trace.Endpoint
	protocol  uint8
	tunnel    trace.Tunnel
}

func keyOf(f *trace.Flow) flowKey { return flowKey{f.Low, f.High, f.Protocol, f.Tunnel} }

// pairUp finds the conversations that both captures saw: first under the same addresses and in the same tunnel, then, for those left
// over, in another tunnel or in none (tunnels.go), then by what NAT keeps.
func pairUp(a, b *index) []conversation {
	var conversations []conversation
	byKey := make(map[flowKey]int, len(b.Flows))
	for f := range b.Flows {
		byKey[keyOf(&b.Flows[f])] = f
	}
	joinedA, joinedB := make([]bool, len(a.connections)), make([]bool, len(b.connections))
	unmatchedA := make([]bool, len(a.Flows))
	unmatchedB := make([]bool, len(b.Flows))
	for f := range unmatchedB {
		unmatchedB[f] = !anonymous(&b.Flows[f])
	}
	for f := range a.Flows {
		if anonymous(&a.Flows[f]) {
			continue
		}
		g, ok := byKey[keyOf(&a.Flows[f])]
		unmatchedA[f] = !ok
		if !ok {
			continue
		}
		unmatchedB[g] = false
		if a.Flows[f].Protocol == protocolTCP && !(a.cutTCP(f) && b.cutTCP(g)) {
			conversations = joinConnections(conversations, a, b, f, g, joinedA, joinedB)
			continue
		}
		conversations = append(conversations, conversation{a: a, b: b, flowA: f, flowB: g})
	}
	conversations = joinAcross(conversations, a, b, joinedA, joinedB, unmatchedA, unmatchedB)
	conversations = joinTranslated(conversations, a, b, joinedA, joinedB)
	return joinTranslatedDatagrams(conversations, a, b, unmatchedA, unmatchedB)
}

// cutTCP reports whether a capture cut all packets of a TCP flow so short that they are datagrams.
func (x *index) cutTCP(flow int) bool { return x.ofFlow[flow][0] == x.ofFlow[flow][1] }

// anonymous reports whether a flow has no sender of its own: hosts without an address yet (DHCP, duplicate address
// detection) all send from the unspecified one, often the same bytes, and there is no telling whose they are.
func anonymous(f *trace.Flow) bool { return f.Low.Addr.IsUnspecified() || f.High.Addr.IsUnspecified() }

// joinConnections joins the lives of one flow seen by both captures: by initial sequence numbers where both know them,
// by packets in common otherwise.
func joinConnections(conversations []conversation, a, b *index, f, g int, joinedA, joinedB []bool) []conversation {
	rangeA, rangeB := a.ofFlow[f], b.ofFlow[g]
	for i := rangeA[0]; i < rangeA[1]; i++ {
		for j := rangeB[0]; j < rangeB[1]; j++ {
			if joinedB[j] || !sameConnection(a, b, &a.connections[i], &b.connections[j]) {
				continue
			}
			joinedA[i], joinedB[j] = true, true
			conversations = append(conversations, conversation{a: a, b: b, flowA: f, flowB: g, connA: &a.connections[i], connB: &b.connections[j]})
			break
		}
	}
	return conversations
}

func sameConnection(a, b *index, c, d *connection) bool {
	compared := false
	for end := range 2 {
		if c.known[end] && d.known[end] {
			if c.initial[end] != d.initial[end] {
				return false
			}
			compared = true
		}
	}
	return compared || inCommon(a, b, c, d)
}

// inCommon reports whether two connections of the same addresses share a packet.
func inCommon(a, b *index, c, d *connection) (common bool) {
	u := conversation{a: a, b: b, connA: c, connB: d}
	printOf := u.printer()
	u.widening(firstPackets, func(most int) bool {
		prints := make(map[uint64]struct{}, min(most, c.to-c.from))
		for _, n := range head(u.members(true), most) {
			if p := a.at(n); p.Kind == trace.TCP {
				prints[printOf(p)] = struct{}{}
			}
		}
		for _, n := range head(u.members(false), most) {
			if p := b.at(n); p.Kind == trace.TCP {
				if _, common = prints[printOf(p)]; common {
					return true
				}
			}
		}
		return false
	})
	return common
}
