package match

import (
	"cmp"
	"slices"

	"meridian/trace"
)

// Some kernel tracers record of a TCP packet neither addresses nor ports nor its length, only sequence and acknowledgement
// numbers, flags, window and checksum ([trace.Bare]). Nothing on the way changes those, and the two numbers alone are 64
// bits, so they tell a packet from all others of two hosts, at one of three levels:
//
//	exact       all of them. With checksum offload the sender's checksum is not yet the one that travels.
//	unchecked   without the checksum
//	open        without PSH and FIN as well, which the first part of a divided super-segment leaves to the last
//
// A message is made where both hosts saw a key once, the sender sending and the receiver receiving. Whatever was received
// again is left out. A packet sent again at once counts as once, since its first sending came before any reception. But a
// packet that begins within what its socket sent before is never used: its bytes may have come as a part of the super-
// segment that had them first, under the same numbers; nor, behind such a packet, one that begins where the socket's last
// segment did, because the packet sent again may have reached over it. Only where a part of the last segment is sent again does
// nothing show that it was sent before; it makes a wrong message if it is lost itself and the first one's part came alone.

// Levels at which packets without addresses are compared, the finest first.
const (
	exact = iota
	unchecked
	open
	levels
)

// bareKey is a packet in the list of one level, by what it is recognised by.
type bareKey struct {
	key     uint64
	event   int // place among those sent, or received
	several bool
}

// bares are a capture's packets without addresses: the stamps of those it sent (0) and received (1), and their keys in
// order, each once.
type bares struct {
	*index
	times [2][]int64
	keys  [2][levels][]bareKey
}

// again is the farthest that a packet's first byte is taken to be behind its socket's last: half of what a window can be.
const again = 1 << 29

// sockets holds what each socket has sent.
type sockets map[uint32]reach

// reach is the greatest first byte that a socket sent, and whether bytes before it were sent again since.
type reach struct {
	first  uint32
	resent bool
}

// resent notes a packet sent, and reports whether it begins within what its socket sent before, as far as can be told.
func (s sockets) resent(p *trace.Packet) bool {
	if before, ok := s[p.TSVal]; ok && p.TSVal != 0 {
		switch {
		case before.first-p.Seq-1 < again:
			s[p.TSVal] = reach{before.first, true}
			return true
		case before.resent && p.Seq == before.first:
			return true
		}
	}
	s[p.TSVal] = reach{first: p.Seq}
	return false
}

func newBares(x *index) *bares {
	b := &bares{index: x}
	last := make(sockets)
	for _, n := range x.bare {
		p := x.at(n)
		way, resent := 1, false
		if p.From == trace.Sent {
			way, resent = 0, last.resent(p)
		}
		event := len(b.times[way])
		b.times[way] = append(b.times[way], p.Time)
		for level := range levels {
			if level != exact && p.Ack == 0 {
				break // a first SYN says too little of itself
			}
			b.keys[way][level] = append(b.keys[way][level], bareKey{bareKeyOf(p, level), event, resent})
		}
	}
	for way := range b.keys {
		for level := range b.keys[way] {
			b.keys[way][level] = once(b.keys[way][level], b.times[way], way)
		}
	}
	return b
}

func bareKeyOf(p *trace.Packet, level int) uint64 {
	flags, rest := p.Flags, p.Digest
	if level != exact {
		rest >>= 16
	}
	if level == open {
		flags &= trace.SYN | trace.ACK | trace.RST
	}
	return mix(uint64(p.Seq)<<32|uint64(p.Ack), uint64(flags)<<32|uint64(rest))
}

// once sorts the keys of packets sent (way 0) or received (1) at the given times, and leaves of each key the first packet,
// which then stands for several or for itself alone.
func once(keys []bareKey, times []int64, way int) []bareKey {
	slices.SortFunc(keys, func(k, l bareKey) int { return cmp.Or(cmp.Compare(k.key, l.key), cmp.Compare(k.event, l.event)) })
	to := 0
	for i := range keys {
		if to == 0 || keys[to-1].key != keys[i].key {
			keys[to] = keys[i]
			to++
			continue
		}
		first := &keys[to-1]
		if way == 1 || keys[i].several || !within(times[first.event], times[keys[i].event], repeatWithin) {
			first.several = true
		}
	}
	return keys[:to]
}

// matchBare finds the messages between captures with packets without addresses, and notes which have any in common.
func matchBare(indexes []*index, met map[*index]bool) (links []*link, tally Tally) {
	var all []*bares
	for _, x := range indexes {
		if len(x.bare) > 0 {
			all = append(all, newBares(x))
		}
	}
	for _, from := range all {
		for _, to := range all {
			if from.host == to.host {
				continue
			}
			l := &link{from: from.index, to: to.index}
			common, ambiguous := joinBare(from, to, l)
			tally.Ambiguous += ambiguous
			if common {
				met[from.index], met[to.index] = true, true
			}
			for _, block := range l.blocks() {
				tally.Messages += int64(len(block))
			}
			links = append(links, l)
		}
	}
	beside, more := matchBeside(indexes, met)
	tally.add(more)
	return append(links, beside...), tally
}

// joinBare matches what one capture sent with what another received, at each level what the finer ones left. It returns
// whether any key is common to both, and how many packets were received that could be one of several.
func joinBare(from, to *bares, l *link) (common bool, ambiguous int64) {
	j := newBareJoin(from.times[0], to.times[1], l)
	for level := range levels {
		j.join(from.keys[0][level], to.keys[1][level])
	}
	return j.common, j.ambiguous()
}

// bareJoin is what became of the packets that one capture sent and another received, by what they are recognised by.
type bareJoin struct {
	sent, received []int64
	link           *link
	used           []bool
	state          []uint8
	common         bool
}

const undecided, done = 1, 2

func newBareJoin(sent, received []int64, l *link) *bareJoin {
	return &bareJoin{sent: sent, received: received, link: l, used: make([]bool, len(sent)), state: make([]uint8, len(received))}
}

// join matches by one kind of key what was not matched before.
func (j *bareJoin) join(sent, came []bareKey) {
	for len(sent) > 0 && len(came) > 0 {
		s, r := &sent[0], &came[0]
		switch {
		case s.key < r.key:
			sent = sent[1:]
			continue
		case s.key > r.key:
			came = came[1:]
			continue
		}
		sent, came, j.common = sent[1:], came[1:], true
		switch {
		case j.used[s.event] || j.state[r.event] == done:
		case s.several || r.several:
			j.state[r.event] = undecided
		default:
			j.used[s.event], j.state[r.event] = true, done
			j.link.add(trace.Message{Sent: j.sent[s.event], Received: j.received[r.event]})
		}
	}
}

// ambiguous counts what was received and could be one of several.
func (j *bareJoin) ambiguous() (n int64) {
	for _, s := range j.state {
		if s == undecided {
			n++
		}
	}
	return n
}
