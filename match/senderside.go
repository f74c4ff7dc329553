package match

import (
	"math"

	"meridian/clock"
	"meridian/trace"
)

// Which capture is on the sender's side can be told from a round trip, without knowing the clocks. Let packet p go one
// way and q the other, both seen by a and by b, and let b's clock be ahead by o. If a is nearer to the sender of p,
//
//	a saw p at t        b saw it at t + delay(p) + o
//	b saw q at u + o    a saw it at u + delay(q)
//	(a's q - b's q) - (a's p - b's p) = delay(q) + delay(p) > 0
//
// and less than 0 if b is: the offset cancels, and the sign of what is left votes. Neighbours in time are compared, and
// only what skew cannot have made in that time counts (roundtrips.go).
//
// Where one capture's two directions are stamped by two clocks their offset does not cancel. But in file order the
// packets of both directions alternate within microseconds, which tells that offset well enough to take it out
// (splitOf).

// rttVote is what two captures say of the sender's side in one conversation.
type rttVote struct {
	first    int  // +1: a is nearer to the sender of a's direction 0; -1: b; 0: cannot be told
	shared   int  // packets that both saw
	repeated int  // packets that both hold, and one of them several times
	together bool // both saw every packet at the same instant: one clock, one host
	pairs    int  // of packets there and back that could be compared
	votes    int  // of them those that skew cannot have made
	weak     bool // first may be chance within the steps of the stamps, or made by a skew that changed, or of too few votes
	few      bool // so few vote for first that false timestamps can have made it
	sure     int  // first, if enough pairs say so that no skew or step of a clock can: see minSure
	lean     int  // what all pairs say, also those that skew can have made; 0 within the steps of the stamps
}

// commonPacket is a packet that both captures saw.
type commonPacket struct {
	a, b      clock.HostTime // its stamps
	number    uint32         // b's
	direction int            // a's
	seq       uint32
	bytes     uint32 // 0 for a packet without data, else 1
}

const (
	// firstPackets is how many packets of a conversation are looked at in each capture before more are.
	firstPackets = 96
	// minCommon is how many of them both captures must share to stop there.
	minCommon = 4
)

// widening calls try with ever more of the packets from the beginning of each capture to look at, until it is content
// or has seen all. Mostly the beginnings overlap; where one capture began later, the cost is that of finding where.
func (u *conversation) widening(most int, try func(most int) bool) {
	all := max(len(u.members(true)), len(u.members(false)))
	for !try(most) && most < all {
		most *= 16
	}
}

func senderSide(u *conversation) rttVote {
	s := u.exactVote(0)
	if s.shared < minCommon {
		// Where a capture holds every frame twice, no packet was seen once.
		if more := u.exactVote(repeatWithin); more.shared > s.shared {
			s = more
		}
	}
	if s.votes == 0 && u.connA != nil {
		// Data that one end saw in super-segments, and acknowledgements one way: the first part of each must do.
		if t := u.compare(u.onlyOnce(commonPackets(u, 16*firstPackets, 0, u.beginKey()), 16*firstPackets)); t.votes > 0 || s.pairs == 0 && t.pairs > 0 {
			t.shared = max(t.shared, s.shared)
			return t
		}
	}
	if s.shared == 0 {
		s.repeated = u.repeatedPackets()
	}
	return s
}

// exactVote lets packets vote that were neither divided nor put together, as many as it takes.
func (u *conversation) exactVote(copiesWithin int64) (s rttVote) {
	u.widening(firstPackets, func(most int) bool {
		s = u.compare(commonPackets(u, most, copiesWithin, u.exactKey()))
		// Where skew could have made every round trip, quicker answers may follow. Where they are few, more may.
		return s.shared >= minCommon && (s.votes > 0 && !s.few || s.pairs == 0)
	})
	return s
}

// compare lets the packets that both captures saw vote.
func (u *conversation) compare(common []commonPacket) rttVote {
	splitA, knownA := splitOf(u.a, u.members(true), direction)
	splitB, knownB := splitOf(u.b, u.members(false), direction)
	if !knownA || !knownB {
		return rttVote{shared: len(common)}
	}
	if u.swapped {
		splitB = splitB.reversed()
	}
	return compare(common, splitA.minus(splitB), u.a.Granularity+u.b.Granularity)
}

// members returns the packets of the conversation in one of its captures.
func (u *conversation) members(ofA bool) []uint32 {
	switch {
	case ofA && u.connA != nil:
		return u.a.members(u.connA)
	case ofA:
		return u.a.packets(u.flowA)
	case u.connB != nil:
		return u.b.members(u.connB)
	}
	return u.b.packets(u.flowB)
}

// commonPackets returns packets that by their key both captures saw once, looking at the first most of each, in the
// order of b's file. What a capture saw again no later than copiesWithin behind the first counts as once.
func commonPackets(u *conversation, most int, copiesWithin int64, keyOf func(*trace.Packet) uint64) []commonPacket {
	type seen struct {
		time      clock.HostTime
		direction int
		count     int
	}
	note := func(x *index, members []uint32) map[uint64]seen {
		all := make(map[uint64]seen)
		for _, n := range members {
			p := x.at(n)
			key := keyOf(p)
			s := all[key]
			if s.count == 0 {
				s.time, s.direction = p.Time, direction(p)
			}
			if s.count == 0 || copiesWithin == 0 || !within(p.Time, s.time, copiesWithin) {
				s.count++
			}
			all[key] = s
		}
		return all
	}
	inA := note(u.a, head(u.members(true), most))
	members := head(u.members(false), most)
	inB := note(u.b, members)
	var common []commonPacket
	for _, n := range members {
		p := u.b.at(n)
		key := keyOf(p)
		s, t := inA[key], inB[key]
		if s.count == 1 && t.count == 1 && t.time == p.Time && u.otherDirection(s.direction) == direction(p) {
			common = append(common, commonPacket{a: s.time, b: p.Time, number: n, direction: s.direction, seq: p.Seq, bytes: min(p.Length, 1)})
		}
	}
	return common
}

// mostRepeated is how many packets of each capture are looked through for repeated ones.
const mostRepeated = 1 << 16

// repeatedPackets counts the packets of the capture with fewer of them that the other one holds too, however often.
func (u *conversation) repeatedPackets() int {
	keyOf := u.exactKey()
	held := make(map[uint64]struct{})
	for _, n := range head(u.members(true), mostRepeated) {
		held[keyOf(u.a.at(n))] = struct{}{}
	}
	inA := make(map[uint64]struct{})
	n := 0
	for _, place := range head(u.members(false), mostRepeated) {
		key := keyOf(u.b.at(place))
		if _, both := held[key]; both {
			inA[key] = struct{}{}
			n++
		}
	}
	ofA := 0
	for _, place := range head(u.members(true), mostRepeated) {
		if _, both := inA[keyOf(u.a.at(place))]; both {
			ofA++
		}
	}
	return min(n, ofA)
}

func head(packets []uint32, most int) []uint32 { return packets[:min(most, len(packets))] }

// exactKey is what a packet is recognised by when it was neither divided nor put together.
func (u *conversation) exactKey() func(*trace.Packet) uint64 {
	if u.plain() {
		return func(p *trace.Packet) uint64 { return mix(plainPrint(p), uint64(p.Length)) }
	}
	limit := uint32(math.MaxUint32)
	if u.connA == nil {
		limit = contentLimit(u, firstPackets)
	}
	return func(p *trace.Packet) uint64 {
		if p.Kind == trace.TCP {
			return mix(fingerprint(p), uint64(p.Digest)<<32|uint64(p.Length))
		}
		return contentKey(p, digestUpTo(p, limit))
	}
}

// beginKey recognises a super-segment by its first part, which has the same numbers: the length is left aside.
func (u *conversation) beginKey() func(*trace.Packet) uint64 {
	if u.plain() {
		return func(p *trace.Packet) uint64 { return mix(plainPrint(p), uint64(min(p.Length, 1))) }
	}
	return func(p *trace.Packet) uint64 {
		return mix(fingerprint(p), uint64(p.Digest)<<1|uint64(min(p.Length, 1)))
	}
}

// onlyOnce returns the common packets whose first byte each capture saw once among its first most packets. Of a segment
// sent again one capture may have seen one sending and the other the other, which would turn sender and receiver about.
func (u *conversation) onlyOnce(common []commonPacket, most int) []commonPacket {
	once := func(x *index, members []uint32, d int, seq uint32) bool {
		n := 0
		for _, k := range head(members, most) {
			p := x.at(k)
			if p.Kind == trace.TCP && direction(p) == d && seq-p.Seq < p.Length {
				n++
			}
		}
		return n == 1
	}
	var kept []commonPacket
	for _, m := range common {
		if m.bytes == 0 || once(u.a, head(u.members(true), mostRepeated), m.direction, m.seq) &&
			once(u.b, u.members(false), u.otherDirection(m.direction), m.seq) {
			kept = append(kept, m)
		}
	}
	return kept
}

// span is an interval in which the offset of direction 1's clock against direction 0's lies, ns.
type span struct{ low, high int64 }

func (s span) minus(o span) span { return span{s.low - o.high, s.high - o.low} }
func (s span) reversed() span    { return span{-s.high, -s.low} }

// splitOf returns the interval in which the offset between the clocks lies that stamped the two directions, as the
// file's order tells it. It is zero for a capture that one clock explains. Known is false where nothing tells one clock
// from two: then round trips say nothing. Way tells the direction of a packet.
func splitOf(x *index, packets []uint32, way func(*trace.Packet) int) (split span, known bool) {
	var turns turnaroundWindow
	for _, n := range head(packets, firstPackets) {
		p := x.at(n)
		turns.add(p.Time, way(p) == 0)
	}
	var judgement clockJudgement
	judgement.add(&turns)
	switch judgement.count() {
	case oneClock:
		return span{}, true
	case twoClocksFound:
		return judgement.offset(), true
	}
	return span{}, false
}
