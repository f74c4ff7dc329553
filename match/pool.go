package match

import (
	"cmp"
	"net/netip"
	"slices"

	"meridian/trace"
)

// A conversation that goes one way has no round trip. But those between the same two addresses have the same sides: a tunnel over
// UDP takes another port for everything that it carries, so that each of its flows goes one way, yet all of them go between the
// tunnel's two ends. So the packets of all conversations between two addresses vote together (senderside.go).

// pool is conversations between two addresses that nothing decided so far.
type pool struct {
	members []*conversation
	flipped []bool // the member's direction 0 is the pool's direction 1
}

// poolKey is the two captures and the two addresses as each of them sees them, first the one that is lower in a.
type poolKey struct {
	a, b       *index
	inA, inB   netip.Addr
	inA2, inB2 netip.Addr
}

// fromPools decides the conversations that are open, and learns from them.
func (r *orientation) fromPools(conversations []conversation, open func(i int) bool) {
	pools := make(map[poolKey]*pool)
	var ordered []*pool
	for i := range conversations {
		if !open(i) {
			continue
		}
		u := &conversations[i]
		key := poolKey{a: u.a, b: u.b}
		key.inA, key.inB = u.sender(0)
		key.inA2, key.inB2 = u.sender(1)
		flipped := key.inA2.Less(key.inA)
		if flipped {
			key.inA, key.inA2, key.inB, key.inB2 = key.inA2, key.inA, key.inB2, key.inB
		}
		if key.inA == key.inA2 {
			continue
		}
		p := pools[key]
		if p == nil {
			p = &pool{}
			pools[key], ordered = p, append(ordered, p)
		}
		p.members, p.flipped = append(p.members, u), append(p.flipped, flipped)
	}
	for _, p := range ordered {
		near := p.vote()
		for i, u := range p.members {
			if u.near = near; p.flipped[i] {
				u.near = -near
			}
			r.learn(u)
		}
	}
}

// vote returns which capture is nearer to the sender of the pool's direction 0.
func (p *pool) vote() int {
	if len(p.members) < 2 {
		return 0 // it has voted alone
	}
	longest := 0
	for _, u := range p.members {
		longest = max(longest, len(u.members(true)), len(u.members(false)))
	}
	for most := firstPackets; ; most *= 16 {
		if s := p.compare(most); s.votes >= minCommon || most >= longest {
			return s.first
		}
	}
}

// compare lets the first most packets of each member vote.
func (p *pool) compare(most int) rttVote {
	var common []commonPacket
	waysA, waysB := make(map[int]int), make(map[int]int) // flows whose direction 0 is the pool's direction 1 have 1
	var inA, inB []uint32
	for i, u := range p.members {
		flip := 0
		if p.flipped[i] {
			flip = 1
		}
		waysA[u.flowA], waysB[u.flowB] = flip, u.otherDirection(flip)
		for _, c := range commonPackets(u, most, repeatWithin, u.exactKey()) {
			c.direction ^= flip
			common = append(common, c)
		}
		inA, inB = append(inA, head(u.members(true), most)...), append(inB, head(u.members(false), most)...)
	}
	slices.SortFunc(common, func(c, d commonPacket) int { return cmp.Compare(c.number, d.number) })
	slices.Sort(inA)
	slices.Sort(inB)
	u := p.members[0]
	splitA, knownA := splitOf(u.a, inA, func(p *trace.Packet) int { return direction(p) ^ waysA[int(p.Flow>>1)] })
	splitB, knownB := splitOf(u.b, inB, func(p *trace.Packet) int { return direction(p) ^ waysB[int(p.Flow>>1)] })
	if !knownA || !knownB {
		return rttVote{shared: len(common)}
	}
	return compare(common, splitA.minus(splitB), u.a.Granularity+u.b.Granularity)
}
