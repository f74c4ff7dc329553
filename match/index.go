package match

import (
	"iter"
	"slices"
	"unsafe"

	"meridian/trace"
)

// index holds a capture's packets by flow, each flow's in file order, and its TCP flows cut into connections.
type index struct {
	*trace.Capture
	host        int
	log         trace.Log      // the packets by place: by number, or as gather has put them
	gathered    []trace.Packet // the memory of log; nil if that is the capture's
	memory      trace.Memory   // of order and gathered
	order       []uint32       // places in log, flow by flow, without those of points that repeat others
	start       []int          // of each flow in order, and the end
	connections []connection
	ofFlow      [][2]int      // range of connections of each flow
	unaddressed []uint32      // packets without addresses, by number
	passing     map[pair]bool // addresses whose packets the host forwards: their directions say nothing
	vague       int64         // packets left out because a copy was missed, as another point shows
	tunnelled   []bool        // flows in tunnels that go the way which the addresses inside say (tunnels.go); nil without tunnels
}

// newIndex sorts by counting: two passes over the packets in file order, without those of points that repeat others
// (points.go). The second cuts the connections too; packet by
// packet of each flow it would be a third, in which every packet is far from the one before.
func newIndex(c *trace.Capture, host int, m trace.Memory) *index {
	x := &index{Capture: c, host: host, log: c.Packets, memory: m, start: make([]int, len(c.Flows)+1), passing: make(map[pair]bool)}
	points := newPointFinder(len(c.Flows))
	each(&c.Packets, func(_ uint32, p *trace.Packet) {
		x.start[p.Flow>>1+1]++
		points.see(p)
	}, func(n uint32, p *trace.Packet) {
		if p.Kind == trace.Unaddressed && (p.From == trace.Sent || p.From == trace.Received) {
			x.unaddressed = append(x.unaddressed, n)
		}
	})
	repeated, vague := points.repeated(c, x.passing)
	x.vague = vague
	leftOut := func(n uint32) bool { return repeated != nil && repeated[n>>6]&(1<<(n&63)) != 0 }
	if repeated != nil {
		each(&c.Packets, func(n uint32, p *trace.Packet) {
			if leftOut(n) {
				x.start[p.Flow>>1+1]--
			}
		}, nil)
	}
	for i := range c.Flows {
		x.start[i+1] += x.start[i]
	}
	x.order = trace.MakeIn[uint32](m, x.start[len(c.Flows)])
	place, placed := func(n uint32, _ *trace.Packet) uint32 { return n }, func() {}
	if c.Packets.Moved() {
		place, placed = x.gather(m)
	}
	next := slices.Clone(x.start)
	lives := newConnectionFinder(x)
	each(&c.Packets, func(n uint32, p *trace.Packet) {
		if leftOut(n) {
			return
		}
		f := p.Flow >> 1
		x.order[next[f]] = place(n, p)
		if p.Kind == trace.TCP {
			lives.see(int(f), next[f], p)
		}
		next[f]++
	}, nil)
	lives.close()
	placed()
	x.followTunnels()
	return x
}

// free gives back what the index has in a memory. Nothing but its connections and flows may be used afterwards.
func (x *index) free() {
	trace.FreeIn(x.memory, x.order)
	trace.FreeIn(x.memory, x.gathered)
	x.order, x.gathered, x.log = nil, nil, trace.Log{}
}

// gathered is how many packets of flows one after another are kept together where packets are not on the heap: 5 MB of them.
const gathered = 1 << 17

// Packets wait in buffers until they are written to their groups.
const (
	maxBuffers = 24 << 20 // bytes of all buffers of a capture
	maxBuffer  = 64 << 10 // bytes of one group's
)

// gather prepares a log in which packets of one flow lie together, or near to those of some others: so matching, which goes by flow, reads
// packets nearly in the order in which the memory has them. It returns a function that copies a packet there and returns its place, and one to be
// called after the last. No packet of the log may be read before that.
// Flows are taken together by the places where they begin in the index's order; each group's packets stay in file order:
//
//	index.order   | flow 0 | flow 1 | flow 2 | flow 3 ...
//	index.log     | flows 0 and 1, mixed | flow 2 ...
func (x *index) gather(m trace.Memory) (place func(n uint32, p *trace.Packet) uint32, done func()) {
	packets := trace.RoomIn[trace.Packet](m, len(x.order))
	x.gathered, x.log = packets, trace.LogOf(packets)
	type group struct {
		next    int // place of the first that waits; -1 where no flow begins in the group
		waiting []trace.Packet
	}
	groups := make([]group, len(x.order)/gathered+1)
	for i := range groups {
		groups[i].next = -1
	}
	for _, start := range x.start {
		if g := start / gathered; g < len(groups) && groups[g].next < 0 {
			groups[g].next = start
		}
	}
	most := max(min(maxBuffer, maxBuffers/len(groups))/int(unsafe.Sizeof(trace.Packet{})), 1)
	write := func(g *group) {
		if len(g.waiting) == 0 {
			return
		}
		trace.PlaceIn(m, packets, g.next, g.waiting)
		g.next += len(g.waiting)
		g.waiting = g.waiting[:0]
	}
	place = func(_ uint32, p *trace.Packet) uint32 { // a place is less than the number of packets, which is a uint32
		g := &groups[x.start[p.Flow>>1]/gathered]
		if len(g.waiting) == most {
			write(g)
		}
		if g.waiting == nil {
			g.waiting = make([]trace.Packet, 0, most)
		}
		g.waiting = append(g.waiting, *p)
		return uint32(g.next + len(g.waiting) - 1)
	}
	return place, func() {
		for i := range groups {
			write(&groups[i])
		}
	}
}

const protocolTCP, protocolUDP = 6, 17

// each calls f for every packet that belongs to a flow and has a timestamp, and lone, if not nil, for all others.
func each(l *trace.Log, f, lone func(n uint32, p *trace.Packet)) {
	n := uint32(0)
	for chunk := range l.Chunks() {
		first := n
		for i := range chunk {
			if chunk[i].Flow != trace.NoFlow && chunk[i].Kind != trace.Untimed {
				f(first+uint32(i), &chunk[i])
			} else if lone != nil {
				lone(first+uint32(i), &chunk[i])
			}
		}
		n += uint32(len(chunk))
	}
}

// touched tells the memory that so many packets of one flow were read. Where they lie among those of other flows, the system maps what is
// around each, of their group at most.
func (x *index) touched(packets int) {
	const around, size, entry = 64 << 10, int(unsafe.Sizeof(trace.Packet{})), 4
	trace.TouchedIn(x.memory, min(packets*around, packets*size+gathered*size)+packets*entry)
}

// packets returns the places of a flow's packets in file order.
func (x *index) packets(flow int) []uint32 { return x.order[x.start[flow]:x.start[flow+1]] }

// each iterates over the packets at places, which are of one flow, and tells the memory of them.
func (x *index) each(places []uint32) iter.Seq[*trace.Packet] {
	return func(yield func(*trace.Packet) bool) {
		for len(places) > 0 {
			some := places[:min(stretch, len(places))]
			for _, n := range some {
				if !yield(x.at(n)) {
					return
				}
			}
			x.touched(len(some))
			places = places[len(some):]
		}
	}
}

// at returns a packet by place.
func (x *index) at(n uint32) *trace.Packet { return x.log.At(int(n)) }

// fromOf returns what the capture says of the way of a flow's packet.
func (x *index) fromOf(p *trace.Packet) trace.Direction {
	if len(x.passing) > 0 && p.Flow != trace.NoFlow && x.passing[wayOf(&x.Flows[p.Flow>>1])] {
		return trace.Unknown
	}
	return p.From
}

// direction is which end of the flow sent the packet: 0 for Low, 1 for High.
func direction(p *trace.Packet) int { return int(p.Flow & 1) }
