package match

import (
	"context"
	"math/rand/v2"

	"meridian/clock"
	"meridian/trace"
)

var tContext = context.Background()

// chatterShape is what two hosts say to each other at random.
type chatterShape struct {
	flows, packets int
	long           int // packets of the first flow beside
	offset         int64
	lost, again    float64 // shares of packets that a capture misses, that are sent again
	translated     bool    // b sees other ports
	points         bool    // a sees what it sends at two points
	twoClocks      bool    // b's clock of received packets is another
	directions     bool    // captures know them
}

// chatter returns the captures of two hosts.
func chatter(random *rand.Rand, s chatterShape) []*trace.Capture {
	w := newWorld(s.offset)
	if s.translated {
		w.natural = func(e trace.Endpoint, atB bool) trace.Endpoint {
			if atB && e.Addr == addrA.Addr {
				e.Port += 1000
			}
			return e
		}
	}
	type state struct {
		number [2]uint32
		syn    [2]bool
	}
	flows := make([]state, s.flows)
	for i := range flows {
		flows[i].number = [2]uint32{random.Uint32(), random.Uint32()}
	}
	now := int64(1_000_000_000)
	for n := range s.packets + s.long {
		i := 0
		if n >= s.long {
			i = random.IntN(s.flows)
		}
		f, d := &flows[i], random.IntN(2)
		from, to := addrA, addrB
		from.Port += uint16(i)
		if d == 1 {
			from, to = to, from
		}
		now += random.Int64N(100_000)
		p := trace.Packet{Time: clock.HostTime(now), TTL: 64, ID: uint16(n)}
		protocol := uint8(protocolTCP)
		if i%4 == 3 {
			protocol = protocolUDP
			p.Kind, p.Length, p.Digest = trace.Datagram, uint32(random.IntN(1000)), random.Uint32()>>uint(random.IntN(30))|1
		} else {
			p.Kind, p.Seq, p.Ack, p.TSVal, p.Flags = trace.TCP, f.number[d], f.number[1-d], uint32(now/1e6), trace.ACK
			p.Length = uint32(random.IntN(3) * 700)
			if !f.syn[d] && (d == 0 || f.syn[0]) {
				p.Flags, p.Length, f.syn[d] = trace.SYN, 0, true
				if d == 1 {
					p.Flags |= trace.ACK
				}
				f.number[d]++
			}
			f.number[d] += p.Length
		}
		copies := 1
		if random.Float64() < s.again {
			copies = 2
		}
		for range copies {
			send(w, random, &s, protocol, from, to, p, d == 1)
			p.Time += 300_000
		}
	}
	w.sorted()
	return []*trace.Capture{w.a, w.b}
}

// send lets both captures see a packet, or miss it.
func send(w *world, random *rand.Rand, s *chatterShape, protocol uint8, from, to trace.Endpoint, p trace.Packet, fromB bool) {
	const delay = 100_000
	for _, atB := range []bool{fromB, !fromB} {
		seen := p
		if atB != fromB {
			seen.Time, seen.TTL = seen.Time+delay+clock.HostTime(random.IntN(50_000)), seen.TTL-1
		}
		if s.directions {
			seen.From = trace.Sent
			if atB != fromB {
				seen.From = trace.Received
			}
		}
		if s.twoClocks && atB && !fromB {
			seen.Time += 37_000_000_000
		}
		if random.Float64() < s.lost {
			continue
		}
		w.record(atB, protocol, from, to, seen)
		if s.points && !atB && !fromB {
			seen.Point, seen.Time = 7, seen.Time+500
			w.record(atB, protocol, from, to, seen)
		}
	}
}
