package match

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"meridian/clock"
	"meridian/trace"
)

// repeatWithin is the greatest distance between the copies of one frame that a capture holds several times, ns.
const repeatWithin = 10_000_000

// segment is a stretch of a direction's bytes in one packet: [start, end), SYN and FIN counting one each as they do in
// sequence numbers.
type segment struct {
	start  int64
	reach  int64 // greatest end of all segments up to this one
	time   clock.HostTime
	bytes  uint32
	stamp  uint32 // the sender's timestamp option
	id     uint16 // identification, 0 where it means nothing
	copies uint8  // segments with the same bytes, stamp and identification, up to 255
	syn    bool
	apart  bool   // of which two are further apart than repeatWithin
	others uint32 // place in half.others of when the second copy and the third were seen, if there are
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
	ids              []uint16                       // of acknowledgements
	unnumbered       bool                           // some of them have none, though others do
	unbroken         unbroken                       // identifications of all packets
	others           [][maxTimes - 1]clock.HostTime // of segments with several copies
	late             []segment                      // that came behind one with a higher start
	memory           trace.Memory                   // of the segments and acknowledgements; nil: Go's heap
}

// tcpMatcher holds the buffers of one worker.
type tcpMatcher struct {
	a, b     [2]half
	seen     table
	some     [2][]acknowledgement
	segments segmentMatcher
	rooms    rooms
}

// match finds the messages of a connection whose near end is known.
func (m *tcpMatcher) match(u *conversation, out *collector) {
	m.rooms.begin(max(u.connA.to-u.connA.from, u.connB.to-u.connB.from), out.memory)
	defer m.rooms.end()
	m.load(u)
	m.segments.rooms, m.seen.memory = &m.rooms, m.rooms.memory
	certain := m.cannotRepeat(u)
	keptIDs := m.judgeIDs(u)
	for d := range 2 {
		up, down, from, to := m.way(u, d)
		kept := keptIDs[d]
		k := kind{from: from, to: to, of: kindData, protocol: protocolTCP, ids: kept}
		out.offer(k, func(f *finding) {
			f.certain = certain
			f.unbroken = up.unbroken.whole()
			m.segments.wholeStamps = to.WholeStamps
			m.segments.match(up, down, f)
		})
		k.of, k.ids = kindOpening, false
		out.offer(k, func(f *finding) {
			f.certain = certain
			m.segments.offerOpening(f)
		})
		k.of = kindAck
		for _, h := range []*half{up, down} {
			h.unnumbered = kept && slices.Contains(h.ids, 0)
		}
		if up.unnumbered || down.unnumbered {
			out.offer(k, func(f *finding) {
				f.certain = certain
				m.joinAcknowledgements(up, down, f, false)
			})
		}
		k.ids = kept
		out.offer(k, func(f *finding) {
			f.certain = certain
			f.unbroken = up.unbroken.whole()
			m.joinAcknowledgements(up, down, f, kept)
		})
	}
}

// cannotRepeat reports whether the packets that both captures hold of a connection are not those of an idle one, which
// are the same for hours (keepalives): both captures hold its SYN, or the same bytes, or its packets have timestamps.
func (m *tcpMatcher) cannotRepeat(u *conversation) bool {
	if u.connA.stamped && u.connB.stamped {
		return true
	}
	for d := range 2 {
		e := u.otherDirection(d)
		if u.connA.known[d] && u.connB.known[e] {
			return true
		}
		a, b := m.a[d].segments, m.b[e].segments
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		// A keepalive may have one byte.
		if min(a[len(a)-1].reach, b[len(b)-1].reach)-max(a[0].start, b[0].start) > 1 {
			return true
		}
	}
	return false
}

// way returns the halves of a's direction d and their captures, the sender's first.
func (m *tcpMatcher) way(u *conversation, d int) (up, down *half, from, to *index) {
	up, down, from, to = &m.a[d], &m.b[u.otherDirection(d)], u.a, u.b
	if (u.near > 0) != (d == 0) {
		return down, up, to, from
	}
	return up, down, from, to
}

// joinAcknowledgements offers a finding the packets without bytes, those that have numbers if others have none.
func (m *tcpMatcher) joinAcknowledgements(up, down *half, f *finding, numbered bool) {
	lists := [2][]acknowledgement{up.acknowledgements, down.acknowledgements}
	if up.unnumbered || down.unnumbered {
		for end, h := range []*half{up, down} {
			m.some[end] = room(&m.rooms, &m.some[end], len(h.acknowledgements))
			for from, to := range stretches(h.acknowledgements, h.memory) {
				for i := from; i < to; i++ {
					if (h.ids[i] != 0) == numbered {
						m.some[end] = append(m.some[end], h.acknowledgements[i])
					}
				}
			}
			lists[end] = m.some[end]
		}
	}
	m.seen.join(lists[0], lists[1], f, nil)
	for _, id := range up.ids {
		if numbered && id != 0 {
			f.numbers.note(id)
		}
	}
}

// load fills both captures' halves with sequence numbers that mean the same byte in both.
func (m *tcpMatcher) load(u *conversation) {
	keyOf := u.acknowledgementKey()
	loadHalves(&m.a, u.a, u.connA, keyOf, &m.rooms)
	loadHalves(&m.b, u.b, u.connB, keyOf, &m.rooms)
	for d := range 2 {
		e := u.otherDirection(d)
		if !(u.connA.known[d] && u.connB.known[e]) {
			m.b[e].shift(roundsBetween(u, d))
		}
		m.a[d].sort()
		m.b[e].sort()
	}
}

// acknowledgementKey returns what both captures can recognise a packet without bytes by.
func (u *conversation) acknowledgementKey() func(*trace.Packet) uint64 {
	switch {
	case u.connA.stamped != u.connB.stamped:
		return plainPrint
	case u.connA.unknown != u.connB.unknown:
		return fingerprint
	case u.connA.cut || u.connB.cut:
		return func(p *trace.Packet) uint64 { return mix(fingerprint(p), uint64(p.Digest>>cutBits)) }
	}
	return func(p *trace.Packet) uint64 { return mix(fingerprint(p), uint64(p.Digest)) }
}

// loadHalves fills both directions of a connection as one capture saw it; keyOf tells packets without bytes apart.
func loadHalves(halves *[2]half, x *index, c *connection, keyOf func(*trace.Packet) uint64, r *rooms) {
	var with, without [2]int // packets with bytes, and without, of a long connection
	if r.memory != nil {
		for p := range x.each(x.members(c)) {
			if p.Kind == trace.TCP && bytesOf(p) > 0 {
				with[direction(p)]++
			} else {
				without[direction(p)]++
			}
		}
	}
	var numbers [2]unwrap
	for d := range halves {
		h := &halves[d]
		h.segments, h.acknowledgements = room(r, &h.segments, with[d]), room(r, &h.acknowledgements, without[d])
		h.ids, h.others, h.memory = room(r, &h.ids, without[d]), h.others[:0], r.memory
		h.unbroken = unbroken{}
		numbers[d] = unwrap{started: c.known[d], last: int64(c.initial[d])}
	}
	for some := range slices.Chunk(x.members(c), stretch) {
		for _, n := range some {
			p := x.at(n)
			if p.Kind != trace.TCP {
				continue
			}
			h := &halves[direction(p)]
			h.unbroken.see(p)
			bytes := bytesOf(p)
			if bytes == 0 {
				h.acknowledgements = append(h.acknowledgements, acknowledgement{key: keyOf(p), time: p.Time})
				h.ids = append(h.ids, p.ID)
				continue
			}
			start := numbers[direction(p)].at(p.Seq)
			h.segments = append(h.segments, segment{start: start, bytes: bytes, time: p.Time, stamp: p.TSVal, id: p.ID, syn: p.Flags&trace.SYN != 0, copies: 1})
		}
		x.touched(len(some))
	}
}

// bytesOf returns how many sequence numbers a packet takes.
func bytesOf(p *trace.Packet) uint32 {
	bytes := p.Length
	if p.Flags&trace.SYN != 0 {
		bytes++
	}
	if p.Flags&trace.FIN != 0 {
		bytes++
	}
	return bytes
}

func (h *half) shift(by int64) {
	if by == 0 {
		return
	}
	for from, to := range stretches(h.segments, h.memory) {
		for i := from; i < to; i++ {
			h.segments[i].start += by
		}
	}
}

// sort orders the segments by their first byte, leaves one of those that nothing tells apart, and notes how far the segments so
// far reach.
func (h *half) sort() {
	h.orderLate()
	h.dropCopies()
	reach := int64(-1) << 62
	for from, to := range stretches(h.segments, h.memory) {
		for i := from; i < to; i++ {
			reach = max(reach, h.segments[i].end())
			h.segments[i].reach = reach
		}
	}
}

// orderLate sorts the segments stably. Most ascend as they are: only those that came behind a higher one are sorted, and then merged with
// the others from the end. Of equal ones the late came last.
func (h *half) orderLate() {
	byStart := func(s, t *segment) int { return cmp.Or(cmp.Compare(s.start, t.start), cmp.Compare(s.bytes, t.bytes)) }
	h.late = h.late[:0]
	kept := 0
	for from, to := range stretches(h.segments, h.memory) {
		for i := from; i < to; i++ {
			s := &h.segments[i]
			if kept > 0 && byStart(s, &h.segments[kept-1]) < 0 {
				h.late = append(h.late, *s)
				continue
			}
			if kept < i {
				h.segments[kept] = *s
			}
			kept++
		}
	}
	slices.SortStableFunc(h.late, func(s, t segment) int { return byStart(&s, &t) })
	for at := len(h.segments) - 1; len(h.late) > 0; at-- {
		last := &h.late[len(h.late)-1]
		if kept > 0 && byStart(last, &h.segments[kept-1]) < 0 {
			h.segments[at] = h.segments[kept-1]
			kept--
		} else {
			h.segments[at] = *last
			h.late = h.late[:len(h.late)-1]
		}
		if at%stretch == 0 {
			trace.TouchedIn(h.memory, stretch*int(unsafe.Sizeof(segment{})))
		}
	}
}

// dropCopies leaves the first of the segments that nothing tells apart, and counts them.
func (h *half) dropCopies() {
	to := 0
next:
	for i := range h.segments {
		if i%stretch == stretch-1 {
			trace.TouchedIn(h.memory, stretch*int(unsafe.Sizeof(segment{})))
		}
		s := &h.segments[i]
		for j := to - 1; j >= 0 && h.segments[j].start == s.start && h.segments[j].bytes == s.bytes; j-- {
			first := &h.segments[j]
			if first.stamp != s.stamp || first.id != s.id {
				continue
			}
			h.addCopies(first, s)
			first.copies = uint8(min(int(first.copies)+int(s.copies), math.MaxUint8))
			first.apart = first.apart || s.apart || !within(first.time, s.time, repeatWithin)
			continue next
		}
		h.segments[to] = *s
		to++
	}
	h.segments = h.segments[:to]
}

// addCopies notes when the copies that s stands for were seen beside those of first.
func (h *half) addCopies(first, s *segment) {
	if first.copies >= maxTimes {
		return
	}
	times, seen := h.times(first)
	if first.copies == 1 {
		first.others = uint32(len(h.others))
		h.others = append(h.others, [maxTimes - 1]clock.HostTime{})
	}
	more, n := h.times(s)
	for _, at := range more[:n] {
		if seen < maxTimes {
			times[seen] = at
			seen++
		}
	}
	copy(h.others[first.others][:], times[1:])
}

// times returns when the first copies of a segment were seen, and how many these are.
func (h *half) times(s *segment) (times [maxTimes]clock.HostTime, n int) {
	times[0] = s.time
	if s.copies > 1 {
		copy(times[1:], h.others[s.others][:])
	}
	return times, min(int(s.copies), maxTimes)
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
