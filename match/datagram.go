package match

import (
	"math"
	"math/bits"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// Datagrams have no sequence numbers, so their content must tell them apart: the digest of the first payload bytes, the
// IP identification and the length, all of which NAT keeps. The addresses are left aside.
//
// What found no partner is tried again without the length: a sender that lets the kernel divide its data (UDP_SEGMENT,
// as QUIC senders do) shows one super-datagram where the receiver shows many, or another one put together by GRO. The
// first of them begins with the same bytes and carries the same identification, and it was sent before it was received.
// Datagrams of different lengths may begin alike by themselves, so no other datagram of either end may begin so.

// datagramMatcher holds the buffers of one worker.
type datagramMatcher struct {
	seen       table
	sent, came []datagram
	// Those of one size.
	someSent, someCame []datagram
	up, down           []acknowledgement
	// What found no partner, without its length.
	openUp, openDown []acknowledgement
	beginnings       map[uint64]beginning
	rooms            rooms
}

// datagram is what tells a datagram from others: with its length, and without.
type datagram struct {
	exact, open uint64
	time        clock.HostTime
	id, size    uint16
}

// side is one direction of a flow in one capture.
type side struct {
	*index
	flow, direction int
}

// match finds the messages of a conversation of datagrams whose near end is known.
func (m *datagramMatcher) match(u *conversation, out *collector) {
	limit := contentLimit(u, math.MaxInt)
	m.rooms.begin(max(len(u.a.packets(u.flowA)), len(u.b.packets(u.flowB))), out.memory)
	defer m.rooms.end()
	m.seen.memory = m.rooms.memory
	for d := range 2 {
		up, down := side{u.a, u.flowA, d}, side{u.b, u.flowB, u.otherDirection(d)}
		if (u.near > 0) != (d == 0) {
			up, down = down, up
		}
		m.sent, m.came = room(&m.rooms, &m.sent, up.longest(&m.rooms)), room(&m.rooms, &m.came, down.longest(&m.rooms))
		m.sent, m.came = up.datagrams(m.sent, limit), down.datagrams(m.came, limit)
		flow := &up.Flows[up.flow]
		if servicePort(flow) > 0 {
			m.join(up.index, down.index, flow.Protocol, servicePort(flow), out)
			continue
		}
		sent, came := m.sent, m.came
		m.someSent, m.someCame = room(&m.rooms, &m.someSent, len(sent)), room(&m.rooms, &m.someCame, len(came))
		for size := range uint16(maxSize) {
			m.sent, m.came = ofSize(m.someSent[:0], sent, size, m.rooms.memory), ofSize(m.someCame[:0], came, size, m.rooms.memory)
			m.someSent, m.someCame = m.sent, m.came
			if len(m.sent)+len(m.came) > 0 {
				m.join(up.index, down.index, flow.Protocol, size, out)
			}
		}
		m.sent, m.came = sent, came
	}
}

// maxSize is one more than the size of any datagram. Sizes are the lengths of numbers of bytes, in bits: where there are no ports, they
// tell echo requests from neighbour discovery, which is repeated for other reasons.
const maxSize = 33

func sizeOf(p *trace.Packet) uint16 { return uint16(bits.Len32(p.Length)) }

func ofSize(to, list []datagram, size uint16, memory trace.Memory) []datagram {
	for from, until := range stretches(list, memory) {
		for _, d := range list[from:until] {
			if d.size == size {
				to = append(to, d)
			}
		}
	}
	return to
}

// contentLimit returns the length of datagrams up to which both captures kept enough to compare their content, as far as the
// first most packets of each tell. Of longer ones length and identification must do. Where both cut all longer ones at the same
// byte, there is no limit.
func contentLimit(u *conversation, most int) uint32 {
	const none = math.MaxUint32
	shortest, longest, whole := uint32(none), uint32(0), uint32(0) // contents kept of what was cut, and what was not
	for _, s := range []side{{u.a, u.flowA, 0}, {u.b, u.flowB, 0}} {
		for _, n := range head(s.packets(s.flow), most) {
			p := s.at(n)
			switch {
			case p.Kind != trace.Datagram || p.Length == 0:
			case p.Digest == 0 || p.Flags != 0:
				shortest, longest = min(shortest, uint32(p.Flags)), max(longest, uint32(p.Flags))
			default:
				whole = max(whole, p.Length)
			}
		}
	}
	if shortest > 0 && shortest == longest && whole <= shortest {
		return none
	}
	return shortest
}

// digestUpTo returns a datagram's digest, or 0 if it is longer than content can be compared.
func digestUpTo(p *trace.Packet, limit uint32) uint32 {
	if p.Length > limit {
		return 0
	}
	return p.Digest
}

// longest returns how many datagrams the side of a long conversation has at most.
func (s side) longest(r *rooms) (n int) {
	if r.memory != nil {
		for p := range s.each(s.packets(s.flow)) {
			if p.Kind == trace.Datagram && direction(p) == s.direction {
				n++
			}
		}
	}
	return n
}

// datagrams appends the side's datagrams in file order.
func (s side) datagrams(to []datagram, limit uint32) []datagram {
	for p := range s.each(s.packets(s.flow)) {
		if p.Kind != trace.Datagram || direction(p) != s.direction {
			continue
		}
		digest := digestUpTo(p, limit)
		if digest == 0 && p.ID == 0 {
			continue // nothing would tell it from any other of its length
		}
		to = append(to, datagram{exact: contentKey(p, digest), open: mix(uint64(digest), uint64(p.ID)), time: p.Time, id: p.ID, size: sizeOf(p)})
	}
	return to
}

// contentKey is what a datagram is recognised by, addresses aside.
func contentKey(p *trace.Packet, digest uint32) uint64 {
	return mix(uint64(digest)<<32|uint64(p.Length), uint64(p.ID))
}

// join matches what was sent with what came. port is that of the service, or a size.
func (m *datagramMatcher) join(from, to *index, protocol uint8, port uint16, out *collector) {
	m.up, m.down = room(&m.rooms, &m.up, len(m.sent)), room(&m.rooms, &m.down, len(m.came))
	m.up, m.down = m.keys(m.up, m.sent), m.keys(m.down, m.came)
	m.openUp, m.openDown = room(&m.rooms, &m.openUp, len(m.sent)), room(&m.rooms, &m.openDown, len(m.came))
	rest := &[2][]acknowledgement{m.openUp, m.openDown}
	k := kind{from: from, to: to, of: kindExact, protocol: protocol, port: port}
	hasID := func(d datagram) bool { return d.id != 0 }
	k.ids = slices.ContainsFunc(m.sent, hasID) || slices.ContainsFunc(m.came, hasID)
	var exact *finding
	out.offer(k, func(f *finding) {
		exact = f
		for from, to := range stretches(m.sent, m.rooms.memory) {
			for i := from; i < to; i++ {
				f.numbers.note(m.sent[i].id)
			}
		}
		m.seen.join(m.up, m.down, f, func(end, place int) {
			d := m.sent
			if end == 1 {
				d = m.came
			}
			rest[end] = append(rest[end], acknowledgement{d[place].open, d[place].time})
		})
	})
	m.openUp, m.openDown = rest[0], rest[1]
	if len(m.openUp) == 0 || len(m.openDown) == 0 {
		return
	}
	k.of = kindOpen
	out.offer(k, func(f *finding) {
		m.joinBeginnings(f)
		// The parts of divided datagrams have no partner, and are not missed.
		if n := f.census.common(); n > 0 && 4*n >= exact.census.common() {
			f.census.dropLone()
			exact.census.dropLone()
		}
	})
}

func (m *datagramMatcher) keys(to []acknowledgement, list []datagram) []acknowledgement {
	for from, until := range stretches(list, m.rooms.memory) {
		for _, d := range list[from:until] {
			to = append(to, acknowledgement{d.exact, d.time})
		}
	}
	return to
}

// beginning is how many datagrams of each end begin in one way, and when the one that found no partner was sent.
type beginning struct {
	count [2]uint8
	sent  clock.HostTime
}

// joinBeginnings matches what found no partner by its beginning, where no other datagram of either end begins so. As a table, it takes long
// lists by parts of the keys' range.
func (m *datagramMatcher) joinBeginnings(f *finding) {
	if m.beginnings == nil {
		m.beginnings = make(map[uint64]beginning)
	}
	parts := uint64((len(m.openUp)+len(m.openDown))/most + 1)
	for part := range parts {
		m.joinBeginningsOf(f, func(key uint64) bool { return parts == 1 || key%parts == part })
	}
}

// joinBeginningsOf does it for some keys.
func (m *datagramMatcher) joinBeginningsOf(f *finding, in func(key uint64) bool) {
	clear(m.beginnings)
	memory := m.rooms.memory
	for _, list := range [][]acknowledgement{m.openUp, m.openDown} {
		for from, to := range stretches(list, memory) {
			for _, a := range list[from:to] {
				if in(a.key) {
					m.beginnings[a.key] = beginning{}
				}
			}
		}
	}
	for end, all := range [][]datagram{m.sent, m.came} {
		for from, to := range stretches(all, memory) {
			for i := from; i < to; i++ {
				if b, ok := m.beginnings[all[i].open]; ok {
					b.count[end] = min(b.count[end]+1, maxCopies)
					m.beginnings[all[i].open] = b
				}
			}
		}
	}
	for from, to := range stretches(m.openUp, memory) {
		for _, a := range m.openUp[from:to] {
			if b, ok := m.beginnings[a.key]; ok {
				b.sent = a.time
				m.beginnings[a.key] = b
			}
		}
	}
	for end, list := range [][]acknowledgement{m.openUp, m.openDown} {
		var lone loneKeys
		for from, to := range stretches(list, memory) {
			for _, a := range list[from:to] {
				b, ok := m.beginnings[a.key]
				if !ok {
					continue
				}
				if b.count[1-end] == 0 {
					lone.wait(int(b.count[end]))
					continue
				}
				lone.pass(&f.census, end)
				if end == 0 {
					continue
				}
				f.census.add(int(b.count[0]), int(b.count[1]))
				if b.count == [2]uint8{1, 1} {
					f.link.add(trace.Message{Sent: b.sent, Received: a.time})
				} else {
					f.dropped++
				}
			}
		}
	}
}
