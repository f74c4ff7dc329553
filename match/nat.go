package match

import (
	"meridian/trace"
)

// Address translation rewrites addresses and ports but keeps what TCP and the payload say. Connections that found no
// partner under their addresses are joined by their two initial sequence numbers, 64 bits that agree by chance in one of
// 2^64 pairs; where a capture began too late for them, by several packets with the same sequence number,
// acknowledgement and timestamp.

// maxSampled is how many packets of a connection without its SYNs are offered for recognition: the first ones, since the
// captures that overlap at all mostly begin together, and every so many after.
const maxSampled = 256

// minAgreeing is how many packets two such connections must share.
const minAgreeing = 3

func joinTranslated(conversations []conversation, a, b *index, joinedA, joinedB []bool) []conversation {
	identities := make(map[uint64]int)
	prints := make(map[uint64]int)
	for j := range b.connections {
		if joinedB[j] {
			continue
		}
		c := &b.connections[j]
		if opener, ok := openerOf(b, c); ok {
			identities[c.identity(opener)] = j
		}
		for _, n := range spread(b.members(c)) {
			if p := b.at(n); distinctive(p) {
				prints[fingerprint(p)] = j
			}
		}
	}
	if len(identities) == 0 && len(prints) == 0 {
		return conversations
	}
	for i := range a.connections {
		if joinedA[i] {
			continue
		}
		c := &a.connections[i]
		j, swapped, ok := partner(a, b, c, identities, prints)
		if !ok || joinedB[j] {
			continue
		}
		joinedA[i], joinedB[j] = true, true
		d := &b.connections[j]
		conversations = append(conversations, conversation{a: a, b: b, flowA: c.flow, flowB: d.flow, connA: c, connB: d, swapped: swapped})
	}
	return conversations
}

// partner finds the connection of b that is c of a under other addresses.
func partner(a, b *index, c *connection, identities, prints map[uint64]int) (j int, swapped, ok bool) {
	if opener, known := openerOf(a, c); known {
		if j, ok = identities[c.identity(opener)]; ok {
			other, _ := openerOf(b, &b.connections[j])
			return j, other != opener, true
		}
	}
	hits := make(map[int]int)
	for _, n := range a.members(c) {
		p := a.at(n)
		if !distinctive(p) {
			continue
		}
		j, found := prints[fingerprint(p)]
		if !found {
			continue
		}
		if hits[j]++; hits[j] >= minAgreeing {
			return j, sentByOther(b, &b.connections[j], p), true
		}
	}
	return 0, false, false
}

// distinctive reports whether a packet's numbers say enough to recognise its connection by: a zero acknowledgement is
// every SYN's.
func distinctive(p *trace.Packet) bool {
	return p.Kind == trace.TCP && p.Ack != 0 && p.Flags&(trace.ACK|trace.RST) == trace.ACK
}

// openerOf returns the direction that opened the connection, if both its SYNs were captured.
func openerOf(x *index, c *connection) (int, bool) {
	if !c.known[0] || !c.known[1] {
		return 0, false
	}
	for _, n := range x.members(c) {
		if p := x.at(n); p.Kind == trace.TCP && p.Flags&(trace.SYN|trace.ACK) == trace.SYN {
			return direction(p), true
		}
	}
	return 0, false
}

// sentByOther reports whether in b the packet that p is there goes in the direction that p does not have in its own
// capture.
func sentByOther(b *index, c *connection, p *trace.Packet) bool {
	for _, n := range b.members(c) {
		if q := b.at(n); q.Kind == trace.TCP && fingerprint(q) == fingerprint(p) {
			return direction(q) != direction(p)
		}
	}
	return false
}

// spread returns at most 2*maxSampled of the packets: the first ones and an even choice of the others.
func spread(packets []uint32) []uint32 {
	if len(packets) <= 2*maxSampled {
		return packets
	}
	out := append([]uint32(nil), packets[:maxSampled]...)
	rest := packets[maxSampled:]
	for i := range maxSampled {
		out = append(out, rest[i*len(rest)/maxSampled])
	}
	return out
}

// joinTranslatedDatagrams joins the flows of datagrams that only one capture knows under their addresses, by packets of
// equal content. An identification beside the digest makes chance unlikely with a single packet; without one, several
// must agree.
func joinTranslatedDatagrams(conversations []conversation, a, b *index, unmatchedA, unmatchedB []bool) []conversation {
	type place struct {
		flow, direction int
		several         bool
	}
	places := make(map[uint64]place)
	for f, unmatched := range unmatchedB {
		if !unmatched || b.Flows[f].Protocol == protocolTCP {
			continue
		}
		for _, n := range b.packets(f) {
			p := b.at(n)
			if p.Kind != trace.Datagram || p.Digest == 0 || p.Flags != 0 {
				continue
			}
			key := contentKey(p, p.Digest)
			old, known := places[key]
			places[key] = place{f, direction(p), known && (old.several || old.flow != f || old.direction != direction(p))}
		}
	}
	if len(places) == 0 {
		return conversations
	}
	for f, unmatched := range unmatchedA {
		if !unmatched || a.Flows[f].Protocol == protocolTCP {
			continue
		}
		if u, ok := translatedFlow(a, f, func(p *trace.Packet) (int, int, bool) {
			q, ok := places[contentKey(p, p.Digest)]
			return q.flow, q.direction, ok && !q.several && b.Flows[q.flow].Protocol == a.Flows[f].Protocol
		}); ok {
			u.a, u.b = a, b
			conversations = append(conversations, u)
		}
	}
	return conversations
}

// translatedFlow returns the flow of the other capture in which most packets of flow f were found again.
func translatedFlow(a *index, f int, find func(*trace.Packet) (flow, direction int, ok bool)) (conversation, bool) {
	type partner struct {
		flow    int
		swapped bool
	}
	score := make(map[partner]int)
	best := partner{}
	for _, n := range a.packets(f) {
		p := a.at(n)
		if p.Kind != trace.Datagram || p.Digest == 0 || p.Flags != 0 {
			continue
		}
		flow, d, ok := find(p)
		if !ok {
			continue
		}
		at := partner{flow, d != direction(p)}
		if score[at]++; p.ID != 0 {
			score[at] += minAgreeing
		}
		if score[at] > score[best] {
			best = at
		}
	}
	if score[best] < minAgreeing {
		return conversation{}, false
	}
	return conversation{flowA: f, flowB: best.flow, swapped: best.swapped}, true
}
