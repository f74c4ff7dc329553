package match

import "meridian/trace"

// A host whose tracer recorded no addresses (bare.go) may stand beside one that was captured with them. Both know of a
// packet its sequence and acknowledgement numbers and its flags, and the one without addresses knows whether it sent the
// packet, so the other one's part follows from that. What they have in common is matched by the rules of bare.go, without
// window and checksum, which a capture does not keep apart: with all flags, which tell an acknowledgement from the answer
// that follows it, and then without PSH and FIN. A packet of an addressed capture that begins within what its sender sent before is a part sent again, and never used as a sending;
// its lengths tell even where it is of the last segment.

// sightings are what a capture saw of TCP: what may have been sent (0) and what may have been received (1), by keys, each
// once.
type sightings struct {
	*index
	times [2][]int64
	keys  [2][2][]bareKey // with all flags, and without PSH and FIN
}

// add notes a packet one way.
func (s *sightings) add(way int, p *trace.Packet, resent bool) {
	if p.Ack == 0 {
		return // a first SYN says too little of itself
	}
	open := plainPrint(p)
	for level, key := range [...]uint64{mix(open, uint64(p.Flags)), open} {
		s.keys[way][level] = append(s.keys[way][level], bareKey{key, len(s.times[way]), resent})
	}
	s.times[way] = append(s.times[way], p.Time)
}

func (s *sightings) settle() *sightings {
	for way := range s.keys {
		for level := range s.keys[way] {
			s.keys[way][level] = once(s.keys[way][level], s.times[way], way)
		}
	}
	return s
}

// bareSightings are those of packets without addresses.
func bareSightings(x *index) *sightings {
	s := &sightings{index: x}
	sockets := make(sockets)
	for _, n := range x.bare {
		p := x.at(n)
		if p.From == trace.Sent {
			s.add(0, p, sockets.resent(p))
		} else {
			s.add(1, p, false)
		}
	}
	return s.settle()
}

// addressedSightings are those of packets with addresses: both ways where the capture does not say which way they went.
func addressedSightings(x *index) *sightings {
	s := &sightings{index: x}
	type reach struct {
		to    uint32 // behind the last byte
		known bool
	}
	reached := make([][2]reach, len(x.Flows))
	each(&x.Packets, func(_ uint32, p *trace.Packet) {
		if p.Kind != trace.TCP {
			return
		}
		r := &reached[p.Flow>>1][direction(p)]
		end := p.Seq + p.Length
		if p.Flags&(trace.SYN|trace.FIN) != 0 {
			end++
		}
		resent := r.known && int32(p.Seq-r.to) < 0
		if p.Flags&trace.SYN != 0 {
			resent = r.known && end == r.to // or a new connection
		}
		if !r.known || p.Flags&trace.SYN != 0 || int32(end-r.to) > 0 {
			*r = reach{end, true}
		}
		if p.From != trace.Received {
			s.add(0, p, resent)
		}
		if p.From != trace.Sent {
			s.add(1, p, false)
		}
	}, nil)
	return s.settle()
}

// matchBeside finds the messages between captures with packets without addresses and captures of packets with them.
func matchBeside(indexes []*index, met map[*index]bool) (links []*link, tally Tally) {
	var without, with []*sightings
	for _, x := range indexes {
		if len(x.bare) > 0 {
			without = append(without, bareSightings(x))
		}
	}
	if len(without) == 0 {
		return nil, tally
	}
	for _, x := range indexes {
		if len(x.connections) > 0 {
			with = append(with, addressedSightings(x))
		}
	}
	for _, a := range without {
		for _, b := range with {
			if a.host == b.host {
				continue
			}
			for _, way := range [][2]*sightings{{a, b}, {b, a}} {
				l := &link{from: way[0].index, to: way[1].index}
				j := newBareJoin(way[0].times[0], way[1].times[1], l)
				for level := range way[0].keys[0] {
					j.join(way[0].keys[0][level], way[1].keys[1][level])
				}
				tally.Ambiguous += j.ambiguous()
				if j.common {
					met[a.index], met[b.index] = true, true
				}
				for _, block := range l.blocks() {
					tally.Messages += int64(len(block))
				}
				links = append(links, l)
			}
		}
	}
	return links, tally
}
