package match

import (
	"cmp"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// repeatWithin is how soon a packet seen again in one capture is the same packet met at another interface (tcpdump -i
// any) and not another sending, ns. The first rttVote is kept at both ends, which is right even where it was another
// sending: the first send precedes every reception.
const repeatWithin = 10_000_000

// segment is a stretch of a direction's bytes in one packet: [start, end), SYN and FIN counting one each as they do in
// sequence numbers.
type segment struct {
	start int64
	reach int64 // greatest end of all segments up to this one
	time  clock.HostTime
	bytes uint32
	stamp uint32 // the sender's timestamp option
}

func (s *segment) end() int64 { return s.start + int64(s.bytes) }

// acknowledgement is a packet without bytes: all that it says is in its key.
type acknowledgement struct {
	key  uint64
	time clock.HostTime
}

// half is one direction of a connection in one capture.
type half struct {
	segments         []segment
	acknowledgements []acknowledgement
}

// tcpMatcher holds the buffers of one worker.
type tcpMatcher struct {
	a, b [2]half
	seen table
}

// match finds the messages of a connection whose near end is known.
func (m *tcpMatcher) match(u *conversation, out *collector) {
	m.load(u)
	for d := range 2 {
		up, down := &m.a[d], &m.b[u.otherDirection(d)]
		from, to := u.a, u.b
		if (u.near > 0) != (d == 0) {
			up, down, from, to = down, up, to, from
		}
		link := out.link(from, to)
		out.tally.Ambiguous += matchSegments(up.segments, down.segments, link)
		out.tally.Ambiguous += m.seen.matchUnique(up.acknowledgements, down.acknowledgements, link, nil)
	}
}

// load fills both captures' halves with sequence numbers that mean the same byte in both.
func (m *tcpMatcher) load(u *conversation) {
	plain := u.plain()
	loadHalves(&m.a, u.a, u.connA, plain)
	loadHalves(&m.b, u.b, u.connB, plain)
	for d := range 2 {
		e := u.otherDirection(d)
		if !(u.connA.known[d] && u.connB.known[e]) {
			m.b[e].shift(roundsBetween(u, d))
		}
		m.a[d].sort()
		m.b[e].sort()
	}
}

// loadHalves fills both directions of a connection as one capture saw it; plain leaves TCP's options aside.
func loadHalves(halves *[2]half, x *index, c *connection, plain bool) {
	var numbers [2]unwrap
	for d := range halves {
		h := &halves[d]
		h.segments, h.acknowledgements = h.segments[:0], h.acknowledgements[:0]
		numbers[d] = unwrap{started: c.known[d], last: int64(c.initial[d])}
	}
	for _, n := range x.members(c) {
		p := x.at(n)
		if p.Kind != trace.TCP {
			continue
		}
		h := &halves[direction(p)]
		bytes := p.Length
		if p.Flags&trace.SYN != 0 {
			bytes++
		}
		if p.Flags&trace.FIN != 0 {
			bytes++
		}
		if bytes == 0 {
			key := plainPrint(p)
			if !plain {
				key = mix(fingerprint(p), uint64(p.Digest))
			}
			h.acknowledgements = append(h.acknowledgements, acknowledgement{key: key, time: p.Time})
			continue
		}
		start := numbers[direction(p)].at(p.Seq)
		h.segments = append(h.segments, segment{start: start, bytes: bytes, time: p.Time, stamp: p.TSVal})
	}
}

func (h *half) shift(by int64) {
	if by == 0 {
		return
	}
	for i := range h.segments {
		h.segments[i].start += by
	}
}

// sort orders the segments by their first byte, drops repeated packets, and notes how far the segments so far reach.
func (h *half) sort() {
	byStart := func(s, t segment) int { return cmp.Or(cmp.Compare(s.start, t.start), cmp.Compare(s.bytes, t.bytes)) }
	if !slices.IsSortedFunc(h.segments, byStart) {
		slices.SortStableFunc(h.segments, byStart)
	}
	h.segments = slices.CompactFunc(h.segments, func(s, t segment) bool {
		return s.start == t.start && s.bytes == t.bytes && s.stamp == t.stamp && within(s.time, t.time, repeatWithin)
	})
	reach := int64(-1) << 62
	for i := range h.segments {
		reach = max(reach, h.segments[i].end())
		h.segments[i].reach = reach
	}
}

func within(a, b clock.HostTime, distance int64) bool {
	return int64(a-b) <= distance && int64(b-a) <= distance
}

// roundsBetween returns what must be added to b's unwrapped numbers of one direction so that they mean a's bytes: where
// a capture began in mid-connection each side has unwrapped from its own first packet, and they may be whole rounds of
// 2^32 apart. A packet that both saw tells.
func roundsBetween(u *conversation, d int) (by int64) {
	printOf := u.printer()
	u.widening(firstPackets, func(most int) (found bool) {
		seen := make(map[uint64]int64)
		eachNumber(u.a, u.connA, d, most, printOf, func(print uint64, number int64) bool {
			if _, ok := seen[print]; !ok {
				seen[print] = number
			}
			return true
		})
		eachNumber(u.b, u.connB, u.otherDirection(d), most, printOf, func(print uint64, number int64) bool {
			var at int64
			if at, found = seen[print]; found {
				by = at - number
			}
			return !found
		})
		return found
	})
	return by &^ (1<<32 - 1)
}

// eachNumber yields the unwrapped sequence numbers of one direction, looking at the first most packets.
func eachNumber(x *index, c *connection, d, most int, printOf func(*trace.Packet) uint64, yield func(print uint64, number int64) bool) {
	numbers := unwrap{started: c.known[d], last: int64(c.initial[d])}
	for _, n := range head(x.members(c), most) {
		p := x.at(n)
		if p.Kind == trace.TCP && direction(p) == d && !yield(printOf(p), numbers.at(p.Seq)) {
			return
		}
	}
}

// matchSegments finds, for every range received, the one segment that sent its last byte, and returns how many ranges
// were left out because several did, or because that byte was received more than once. Timestamps tell a
// retransmission from the original wherever both packets carry them.
func matchSegments(up, down []segment, link *link) (ambiguous int64) {
	var cu, cd cover
	for _, s := range down {
		last := s.end() - 1
		sent, at := cu.find(up, last, s.stamp)
		if sent == 0 {
			continue
		}
		if received, _ := cd.find(down, last, s.stamp); sent > 1 || received > 1 {
			ambiguous++
			continue
		}
		link.add(trace.Message{Sent: up[at].time, Received: s.time})
	}
	return ambiguous
}

// cover looks up the segments over a byte; it remembers its place, since the bytes asked for mostly ascend.
type cover struct{ after int }

// find returns how many segments (2 stands for more) cover byte b with a timestamp that does not contradict stamp, and
// the last of them.
func (c *cover) find(segments []segment, b int64, stamp uint32) (count, at int) {
	for c.after < len(segments) && segments[c.after].start <= b {
		c.after++
	}
	for c.after > 0 && segments[c.after-1].start > b {
		c.after--
	}
	for i := c.after - 1; i >= 0 && segments[i].reach > b; i-- {
		s := &segments[i]
		if s.end() <= b || s.stamp != stamp && s.stamp != 0 && stamp != 0 {
			continue
		}
		if count++; count > 1 {
			return count, at
		}
		at = i
	}
	return count, at
}
