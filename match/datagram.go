package match

import (
	"math"

	"meridian/clock"
	"meridian/trace"
)

// Datagrams have no sequence numbers, so their content must tell them apart: the digest of the first payload bytes, the
// IP identification and the length, all of which NAT keeps. The addresses are left aside.
//
// What found no partner is tried again without the length: a sender that lets the kernel divide its data (UDP_SEGMENT,
// as QUIC senders do) shows one super-datagram where the receiver shows many, or another one put together by GRO. The
// first of them begins with the same bytes and carries the same identification, and it was sent before it was received.

// datagramMatcher holds the buffers of one worker.
type datagramMatcher struct {
	seen       table
	sent, came []datagram
	up, down   []acknowledgement
	// What found no partner, without its length.
	openUp, openDown []acknowledgement
}

// datagram is what tells a datagram from others: with its length, and without.
type datagram struct {
	exact, open uint64
	time        clock.HostTime
}

// side is one direction of a flow in one capture.
type side struct {
	*index
	flow, direction int
}

// match finds the messages of a conversation of datagrams whose near end is known.
func (m *datagramMatcher) match(u *conversation, out *collector) {
	known := contentKept(u, math.MaxInt)
	for d := range 2 {
		up, down := side{u.a, u.flowA, d}, side{u.b, u.flowB, u.otherDirection(d)}
		if (u.near > 0) != (d == 0) {
			up, down = down, up
		}
		m.sent, m.came = up.datagrams(m.sent[:0], known), down.datagrams(m.came[:0], known)
		out.tally.Ambiguous += m.join(out.link(up.index, down.index))
	}
}

// contentKept reports whether both captures kept enough of every packet to know its content, as far as the first most of
// them tell; where one did not, length and identification must do.
func contentKept(u *conversation, most int) bool {
	for _, s := range []side{{u.a, u.flowA, 0}, {u.b, u.flowB, 0}} {
		for _, n := range head(s.packets(s.flow), most) {
			if p := s.at(n); p.Kind == trace.Datagram && p.Digest == 0 && p.Length > 0 {
				return false
			}
		}
	}
	return true
}

// datagrams appends the side's datagrams in file order.
func (s side) datagrams(to []datagram, contentKept bool) []datagram {
	for _, n := range s.packets(s.flow) {
		p := s.at(n)
		if p.Kind != trace.Datagram || direction(p) != s.direction {
			continue
		}
		digest := p.Digest
		if !contentKept {
			if p.ID == 0 {
				continue // nothing would tell it from any other of its length
			}
			digest = 0
		}
		to = append(to, datagram{exact: contentKey(p, digest), open: mix(uint64(digest), uint64(p.ID)), time: p.Time})
	}
	return to
}

// contentKey is what a datagram is recognised by, addresses aside.
func contentKey(p *trace.Packet, digest uint32) uint64 {
	return mix(uint64(digest)<<32|uint64(p.Length), uint64(p.ID))
}

// join matches what was sent with what came.
func (m *datagramMatcher) join(link *link) (ambiguous int64) {
	m.up, m.down = m.up[:0], m.down[:0]
	for _, d := range m.sent {
		m.up = append(m.up, acknowledgement{d.exact, d.time})
	}
	for _, d := range m.came {
		m.down = append(m.down, acknowledgement{d.exact, d.time})
	}
	rest := &[2][]acknowledgement{m.openUp[:0], m.openDown[:0]}
	ambiguous = m.seen.matchUnique(m.up, m.down, link, func(end, place int) {
		d := m.sent
		if end == 1 {
			d = m.came
		}
		rest[end] = append(rest[end], acknowledgement{d[place].open, d[place].time})
	})
	m.openUp, m.openDown = rest[0], rest[1]
	return ambiguous + m.seen.matchUnique(m.openUp, m.openDown, link, nil)
}
