package match

import (
	"cmp"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// Some kernel tracers record of a TCP packet neither addresses nor ports nor its length, only sequence and acknowledgement
// numbers, flags, window and checksum ([trace.Unaddressed]). Nothing on the way changes those, and the two numbers alone are 64
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

// packetKey is a packet in the list of one level, by what it is recognised by.
type packetKey struct {
	key     uint64
	event   int // index into the times of its way
	several bool
}

// The two ways that a packet can go, seen from a capture.
const (
	sentWay = iota
	receivedWay
)

// packetKeys are a capture's TCP packets as far as they can be recognised without addresses: the stamps of those it sent
// and of those it received, and their keys at each level in ascending order, each once.
type packetKeys struct {
	*index
	times    [2][]clock.HostTime
	keys     [2][levels][]packetKey
	openings [2][]opening
}

// add notes a packet that went one way, with its keys at the finest levels. Resent says that it begins within what its
// socket sent before.
func (k *packetKeys) add(way int, p *trace.Packet, resent bool, keys ...uint64) {
	k.addOpening(way, p)
	for level, key := range keys {
		k.keys[way][level] = append(k.keys[way][level], packetKey{key, len(k.times[way]), resent})
	}
	k.times[way] = append(k.times[way], p.Time)
}

// dropDuplicates sorts the keys and leaves each once.
func (k *packetKeys) dropDuplicates() *packetKeys {
	for way := range k.keys {
		for level := range k.keys[way] {
			k.keys[way][level] = uniqueKeys(k.keys[way][level], k.times[way], way)
		}
	}
	return k
}

// maxResend is how far behind its socket's last packet the first byte of one sent again may be: half of the largest window
// (RFC 7323, section 2.3).
const maxResend = 1 << 29

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
		case before.first-p.Seq-1 < maxResend:
			s[p.TSVal] = reach{before.first, true}
			return true
		case before.resent && p.Seq == before.first:
			return true
		}
	}
	s[p.TSVal] = reach{first: p.Seq}
	return false
}

// eachUnaddressed calls f for the capture's packets without addresses: the way they went, and whether they begin within
// what their socket sent before.
func (x *index) eachUnaddressed(f func(way int, p *trace.Packet, resent bool)) {
	last := make(sockets)
	for _, n := range x.unaddressed {
		if p := x.Packets.At(int(n)); p.From == trace.Sent {
			f(sentWay, p, last.resent(p))
		} else {
			f(receivedWay, p, false)
		}
	}
}

// unaddressedKeys lists the packets without addresses by all that is known of them.
func unaddressedKeys(x *index) *packetKeys {
	k := &packetKeys{index: x}
	x.eachUnaddressed(func(way int, p *trace.Packet, resent bool) {
		keys := [levels]uint64{levelKey(p, exact), levelKey(p, unchecked), levelKey(p, open)}
		n := len(keys)
		if p.Ack == 0 {
			n = 1 // a first SYN says too little of itself without its checksum
		}
		k.add(way, p, resent, keys[:n]...)
	})
	return k.dropDuplicates()
}

func levelKey(p *trace.Packet, level int) uint64 {
	flags, rest := p.Flags, p.Digest
	if level != exact {
		rest >>= 16
	}
	if level == open {
		flags &= trace.SYN | trace.ACK | trace.RST
	}
	return mix(uint64(p.Seq)<<32|uint64(p.Ack), uint64(flags)<<32|uint64(rest))
}

// uniqueKeys sorts the keys of packets that went one way at the given times, and leaves of each key the first packet,
// which then stands for several or for itself alone.
func uniqueKeys(keys []packetKey, times []clock.HostTime, way int) []packetKey {
	slices.SortFunc(keys, func(k, l packetKey) int { return cmp.Or(cmp.Compare(k.key, l.key), cmp.Compare(k.event, l.event)) })
	to := 0
	for i := range keys {
		if to == 0 || keys[to-1].key != keys[i].key {
			keys[to] = keys[i]
			to++
			continue
		}
		first := &keys[to-1]
		if way == receivedWay || keys[i].several || !within(times[first.event], times[keys[i].event], repeatWithin) {
			first.several = true
		}
	}
	return keys[:to]
}

// matchUnaddressed finds the messages of captures with packets without addresses: between each other, and with captures of
// packets with addresses. It notes which have any in common.
func matchUnaddressed(indexes []*index, met map[*index]bool) (links []*link, tally Tally) {
	var exactly, roughly, addressed []*packetKeys
	for _, x := range indexes {
		if len(x.unaddressed) > 0 {
			exactly = append(exactly, unaddressedKeys(x))
			roughly = append(roughly, unaddressedKeysBesideAddresses(x))
		}
	}
	if len(exactly) == 0 {
		return nil, tally
	}
	for _, x := range indexes {
		if len(x.connections) > 0 {
			addressed = append(addressed, addressedKeys(x))
		}
	}
	take := func(j *keyJoin) {
		tally.Ambiguous += j.ambiguous()
		if j.common {
			met[j.link.from], met[j.link.to] = true, true
		}
		for _, block := range j.link.blocks() {
			tally.Messages += int64(len(block))
		}
		links = append(links, j.link)
	}
	match := func(a, b *packetKeys) {
		if a.host == b.host {
			return
		}
		there, back := matchKeys(a, b), matchKeys(b, a)
		there.matchOpenings(a, b, back)
		back.matchOpenings(b, a, there)
		take(there)
		take(back)
	}
	for i, a := range exactly {
		for _, b := range exactly[i+1:] {
			match(a, b)
		}
	}
	for _, a := range roughly {
		for _, b := range addressed {
			match(a, b)
		}
	}
	return links, tally
}

// matchKeys matches what one capture sent with what another received, at each level what the finer ones left.
func matchKeys(from, to *packetKeys) *keyJoin {
	j := newKeyJoin(from, to)
	for level := range levels {
		j.join(from.keys[sentWay][level], to.keys[receivedWay][level])
	}
	return j
}

// keyJoin is what became of the packets that one capture sent and another received, by their index there.
type keyJoin struct {
	sent, received []clock.HostTime
	link           *link
	used           []bool
	state          []uint8
	common         bool // a key is common to both
}

const undecided, done = 1, 2

func newKeyJoin(from, to *packetKeys) *keyJoin {
	sent, received := from.times[sentWay], to.times[receivedWay]
	return &keyJoin{sent: sent, received: received, link: &link{from: from.index, to: to.index}, used: make([]bool, len(sent)), state: make([]uint8, len(received))}
}

// join matches by one kind of key what was not matched before.
func (j *keyJoin) join(sent, came []packetKey) {
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
func (j *keyJoin) ambiguous() (n int64) {
	for _, s := range j.state {
		if s == undecided {
			n++
		}
	}
	return n
}
