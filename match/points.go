package match

import (
	"net/netip"

	"meridian/clock"
	"meridian/trace"
)

// A capture may have several observation points (RFC 7011): a bridge, a forwarding host or tcpdump -i any see a packet come
// in and go out, a trunk port with and without its VLAN tag. Frames of one packet at two points differ in interface,
// link-layer addresses, VLAN tags, direction or hops; frames of one point do not. A packet that is sent again passes all
// points again.
//
// So where most packets of a point were seen at an earlier one of the same direction of a flow, the later point is left
// out. Its packets say nothing new, and beside the others each would be one of several. What is sent or received twice at
// one point remains twice. Where the later point holds more copies of a packet than the one that is read, that one missed
// some, and nobody knows which: such a packet is left out at both, and counted.

// point is what tells the observation points of a capture apart.
type point struct {
	link uint16
	from trace.Direction
	ttl  uint8
}

func pointOf(p *trace.Packet) point { return point{p.Point, p.From, p.TTL} }

// pointFinder notes which directions of flows were seen at several points.
type pointFinder struct {
	first   []point // by direction of flow
	seen    []bool
	several []bool
	any     bool
}

// pair is the addresses of a flow.
type pair [2]netip.Addr

func pairOf(f *trace.Flow) pair { return pair{f.Low.Addr, f.High.Addr} }

// wayOf is the addresses between which a flow's packets went, the lower one first: of a tunnel, its ends.
func wayOf(f *trace.Flow) pair {
	from, to := f.Way(0)
	if to.Less(from) {
		from, to = to, from
	}
	return pair{from, to}
}

func newPointFinder(flows int) *pointFinder {
	return &pointFinder{first: make([]point, 2*flows), seen: make([]bool, 2*flows), several: make([]bool, 2*flows)}
}

func (f *pointFinder) see(p *trace.Packet) {
	at := pointOf(p)
	switch {
	case !f.seen[p.Flow]:
		f.seen[p.Flow], f.first[p.Flow] = true, at
	case f.first[p.Flow] != at:
		f.several[p.Flow], f.any = true, true
	}
}

const (
	// maxPoints is the number of points of one direction of a flow beyond which they are not compared: hops that change with
	// every packet are no points.
	maxPoints = 8
	// maxPassing is the greatest time between two points of one host, ns. A queue may stand between them.
	maxPassing = 1_000_000_000
)

// repeated returns, one bit each, the packets seen at points that repeat earlier ones, and those of which such a point shows that a
// copy was missed; nil if there are none. It returns the number of the latter too. It notes in passing the addresses, of tunnels
// theirs, between which packets both came in and went out: that they came in does not say that the host is their receiver.
func (f *pointFinder) repeated(c *trace.Capture, passing map[pair]bool) (bits []uint64, vague int64) {
	if !f.any {
		return nil, 0
	}
	l := &c.Packets
	of := make(map[uint32][]*pointPackets)
	each(l, func(n uint32, p *trace.Packet) {
		if !f.several[p.Flow] {
			return
		}
		list, at := of[p.Flow], pointOf(p)
		for _, x := range list {
			if x.point == at {
				x.packets = append(x.packets, n)
				return
			}
		}
		if len(list) <= maxPoints {
			of[p.Flow] = append(list, &pointPackets{point: at, packets: []uint32{n}})
		}
	}, nil)
	leaveOut := func(n uint32) {
		if bits == nil {
			bits = make([]uint64, (l.Len()+63)/64)
		}
		bits[n>>6] |= 1 << (n & 63)
	}
	for flow, list := range of {
		if len(list) > maxPoints {
			continue
		}
		kept := make(map[uint64]clock.HostTime) // when a packet was seen last at a point that is kept
		var read, others []*pointPackets
		for _, x := range list {
			if !x.repeats(l, kept) {
				read = append(read, x)
				continue
			}
			others = append(others, x)
			if x.from != list[0].from {
				passing[wayOf(&c.Flows[flow>>1])] = true
			}
			for _, n := range x.packets {
				leaveOut(n)
			}
		}
		vague += missedCopies(l, read, others, leaveOut)
	}
	return bits, vague
}

// missedCopies yields the packets read of which another point holds several copies, and more than were read. It returns how many
// they are.
func missedCopies(l *trace.Log, read, others []*pointPackets, yield func(n uint32)) (n int64) {
	var more map[uint64]int32 // how many copies of a packet a point holds, and then how many of them were not read
	var candidates []uint32
	for _, x := range others {
		copies := make(map[uint64]int32, len(x.packets))
		several := false
		for _, n := range x.packets {
			id := copyOf(l.At(int(n)))
			copies[id]++
			several = several || copies[id] > 1
		}
		if !several {
			continue
		}
		if more == nil {
			more = make(map[uint64]int32)
		}
		for id, n := range copies {
			if n > 1 {
				more[id] = max(more[id], n)
			}
		}
	}
	if more == nil {
		return 0
	}
	for _, x := range read {
		for _, packet := range x.packets {
			if id := copyOf(l.At(int(packet))); more[id] > 0 {
				more[id]--
				candidates = append(candidates, packet)
			}
		}
	}
	for _, packet := range candidates {
		if more[copyOf(l.At(int(packet)))] > 0 {
			yield(packet)
			n++
		}
	}
	return n
}

// pointPackets are the packets of one direction of a flow at one point.
type pointPackets struct {
	point
	packets []uint32
}

// repeats reports whether most of the packets were seen at the points kept so far, and else keeps this one too.
func (x *pointPackets) repeats(l *trace.Log, kept map[uint64]clock.HostTime) bool {
	copies := 0
	for _, n := range x.packets {
		p := l.At(int(n))
		if at, seen := kept[identityOf(p)]; seen && distinct(p) && within(p.Time, at, maxPassing) {
			copies++
		}
	}
	if 2*copies > len(x.packets) {
		return true
	}
	for _, n := range x.packets {
		p := l.At(int(n))
		kept[identityOf(p)] = p.Time
	}
	return false
}

// distinct reports whether anything is known of a packet that could tell it from others.
func distinct(p *trace.Packet) bool { return p.Digest != 0 || p.Kind == trace.TCP && p.Seq|p.Ack != 0 }

// identityOf hashes all of a packet that stays the same within a host.
func identityOf(p *trace.Packet) uint64 {
	h := mix(uint64(p.Digest)<<32|uint64(p.Length), uint64(p.ID))
	if p.Kind == trace.TCP {
		h = mix(h^fingerprint(p), uint64(p.Flags))
	}
	return h
}

// copyOf hashes what copies of a packet have in common: of a segment sent again the acknowledgement may be another.
func copyOf(p *trace.Packet) uint64 {
	if p.Kind == trace.TCP && p.Length > 0 {
		return mix(uint64(p.Seq)<<32|uint64(p.Length), uint64(p.TSVal))
	}
	return identityOf(p)
}
