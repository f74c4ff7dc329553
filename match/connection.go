package match

import (
	"meridian/trace"
)

// connection is one life of a TCP flow: ports are used again, and then only the initial sequence numbers tell the lives
// apart. Its packets are a stretch of the flow's.
type connection struct {
	flow     int
	from, to int       // range in index.order
	initial  [2]uint32 // sequence number of the SYN of each direction
	known    [2]bool   // whether that SYN was captured
	asked    uint32    // the sequence number of the SYN that the other one answers
	stamped  bool      // any packet has TCP's timestamp option
	unknown  bool      // of any packet without data nothing but its numbers and flags is known
	cut      bool      // of any packet without data the capture cut SACK blocks (format/pcap, Digest)
}

// lives cuts the flows of a capture into connections while their packets go by: a SYN with another initial sequence
// number than that of its direction begins a new one. A SYN sent again keeps its number; one of an old connection that
// comes late is lost with a few packets around it, and makes no wrong match, because connections are joined by their
// numbers.
type connectionFinder struct {
	*index
	now   []connection // of each flow
	seen  []bool       // anything of that connection
	ended [][]connection
}

func newConnectionFinder(x *index) *connectionFinder {
	l := &connectionFinder{index: x, now: make([]connection, len(x.Flows)), seen: make([]bool, len(x.Flows)), ended: make([][]connection, len(x.Flows))}
	for f := range l.now {
		l.now[f] = connection{flow: f, from: x.start[f]}
	}
	return l
}

// see takes the TCP packet at a place of the index's order.
func (l *connectionFinder) see(flow, place int, p *trace.Packet) {
	if p.Flags&trace.SYN != 0 {
		c, d := &l.now[flow], direction(p)
		answer := p.Flags&trace.ACK != 0
		// A SYN that stands in the file after its own answer, as it may where processors write apart, begins nothing.
		late := c.known[1-d] && c.asked == p.Seq
		if !c.known[d] && l.seen[flow] && !answer && !late || c.known[d] && c.initial[d] != p.Seq {
			c.to = place
			l.ended[flow] = append(l.ended[flow], *c)
			*c = connection{flow: flow, from: place}
		}
		c.initial[d], c.known[d] = p.Seq, true
		if answer {
			c.asked = p.Ack - 1
		}
	}
	l.seen[flow] = true
	if p.TSVal != 0 {
		l.now[flow].stamped = true
	}
	if p.Length == 0 {
		switch {
		case p.Digest == 0:
			l.now[flow].unknown = true
		case p.Digest&(1<<cutBits-1) == 0:
			l.now[flow].cut = true
		}
	}
}

// close ends the connections still open and lists all by flow.
func (l *connectionFinder) close() {
	l.ofFlow = make([][2]int, len(l.Flows))
	for f := range l.Flows {
		from := len(l.connections)
		if l.seen[f] {
			l.now[f].to = l.start[f+1]
			l.connections = append(append(l.connections, l.ended[f]...), l.now[f])
		}
		l.ofFlow[f] = [2]int{from, len(l.connections)}
	}
}

// identity returns what names a connection wherever it is seen: its two initial sequence numbers, the opener's first.
// Only connections whose SYN and its answer were captured have one.
func (c *connection) identity(opener int) uint64 {
	return uint64(c.initial[opener])<<32 | uint64(c.initial[1-opener])
}

// cutBits is the number of lower bits of a TCP packet's digest that are 0 where its SACK blocks were cut.
const cutBits = 16

// members returns the places of the connection's packets.
func (x *index) members(c *connection) []uint32 { return x.order[c.from:c.to] }

// fingerprint recognises a packet within TCP, addresses aside: NAT keeps sequence numbers, acknowledgements and
// timestamps, and the first packet of a divided super-segment has those of the whole.
func fingerprint(p *trace.Packet) uint64 {
	return mix(uint64(p.Seq)<<32|uint64(p.Ack), uint64(p.TSVal)<<8|uint64(p.Flags&(trace.SYN|trace.ACK|trace.RST)))
}

// plainPrint is fingerprint without TCP's options. Both ends agree on timestamps when a connection begins, so where one
// capture has them and another has none, that one did not record options, as kernel tracers do not. The digest of a packet
// without data is of no use there either, since it covers options too.
func plainPrint(p *trace.Packet) uint64 {
	return mix(uint64(p.Seq)<<32|uint64(p.Ack), uint64(p.Flags&(trace.SYN|trace.ACK|trace.RST)))
}

// mix hashes two words (the finaliser of SplitMix64 over both).
func mix(a, b uint64) uint64 {
	h := a*0x9e3779b97f4a7c15 ^ b
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	return h ^ h>>31
}

// unwrap extends the 32-bit sequence numbers of one direction to 64 bits in file order. base is the value that the
// number first takes.
type unwrap struct {
	started bool
	last    int64
}

func (u *unwrap) at(seq uint32) int64 {
	if !u.started {
		u.started, u.last = true, int64(seq)
		return u.last
	}
	v := u.last + int64(int32(seq-uint32(u.last)))
	u.last = max(u.last, v)
	return v
}
