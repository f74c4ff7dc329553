// Package wire finds requests in the packets of TCP connections. In go the packets of hosts, as each saw them; out come
// their other ends, what was sent again, and the requests of each connection with the packets that begin and end them.
//
//	client  | asked ....... sent |                     | answered ... ended |
//	              payload -->                                <-- payload
//	server        | .... |                             | .... |
//
// A connection is told by its addresses and ports; connections of two hosts are not mixed. One within a host has two views, one of each end. Where headers of HTTP were
// captured in clear, each request of a connection is one, also where several are under way (pipelined, or streams of
// HTTP/2). Without them, a request is payload one way and then the other: acknowledgements and bytes that were sent again
// do not count. A reply whose first packet does not acknowledge the request's last byte is of an exchange that overlaps:
// it stays one and is not divided.
//
// Instants are compared of one host only.
//
// Cost: O(n log n) for n packets, some 100 bytes each.
package wire

import (
	"cmp"
	"net/netip"
	"slices"

	"meridian/internal/plainhttp"
)

// TCP flags.
const (
	fin = 1
	syn = 2
	rst = 4
	ack = 16
)

// Packet is a TCP segment as one host saw it.
type Packet struct {
	At         int64 // ns on the timeline
	Event      int64
	Host, Row  int
	Connection int32
	Direction  uint8 // 0 from the connection's first address
	Out        bool  // this host sent it
	Within     bool  // to itself: then it has both ends, each once
	Flags      uint8
	ID         uint16 // of IPv4; 0 where not known
	Seq, Ack   uint32
	Length     uint32 // of the payload
	HTTP       []plainhttp.Item

	Other   *Packet // the same segment at the other host; nil where that is not recorded
	Earlier *Packet // an earlier sending of its first byte, by this host
}

// end is the sequence number behind the payload.
func (p *Packet) end() uint32 { return p.Seq + p.Length }

// key names a connection: its addresses, the lesser first. Those of loopback interfaces are of one host each.
type key struct {
	ends [2]netip.AddrPort
	host int // and 1 more; 0 for addresses that other hosts know
}

func keyOf(host int, from, to netip.AddrPort) (k key, direction uint8) {
	if k.ends = [2]netip.AddrPort{from, to}; from.Compare(to) > 0 {
		k.ends, direction = [2]netip.AddrPort{to, from}, 1
	}
	if from.Addr().IsLoopback() || to.Addr().IsLoopback() {
		k.host = host + 1
	}
	return k, direction
}

// Set is the packets of hosts.
type Set struct {
	number      map[key]int32
	names       []key
	connections [][]view // of each connection, by host
	unanswered  []Request
	clients     []uint8 // of each connection, the direction of its requests; made by Requests
}

// view is a connection as one host saw it; of one within a host, as one end of it did.
type view struct {
	host    int
	side    uint8
	packets []*Packet          // in order of time
	first   map[byteOf]*Packet // made when names are given
}

// NewSet returns a set without packets.
func NewSet() *Set { return &Set{number: make(map[key]int32)} }

// Add takes a packet, whose connection and direction it sets. Packets of a host come in order of its time.
func (s *Set) Add(p Packet, from, to netip.AddrPort) *Packet {
	k, direction := keyOf(p.Host, from, to)
	p.Direction = direction
	n, known := s.number[k]
	if !known {
		n = int32(len(s.names))
		s.number[k] = n
		s.names = append(s.names, k)
		s.connections = append(s.connections, nil)
	}
	p.Connection = n
	views := s.connections[n]
	side := uint8(0)
	if p.Within && p.Out == (p.Direction == 0) {
		side = 1
	}
	i := slices.IndexFunc(views, func(v view) bool { return v.host == p.Host && v.side == side })
	if i < 0 {
		i = len(views)
		views = append(views, view{host: p.Host, side: side})
	}
	x := &p
	views[i].packets = append(views[i].packets, x)
	s.connections[n] = views
	return x
}

// Connections returns how many there are.
func (s *Set) Connections() int { return len(s.names) }

// Ends returns the sender and the receiver of a connection's packets of one direction.
func (s *Set) Ends(connection int32, direction uint8) (from, to netip.AddrPort) {
	k := s.names[connection].ends
	return k[direction], k[1-direction]
}

// Client returns the direction in which a connection's requests go. It is known once Requests was called.
func (s *Set) Client(connection int32) uint8 { return s.clients[connection] }

// Way returns the connection of two addresses that a host names, and the direction of what goes from the one to the other; false before a packet
// of it was added.
func (s *Set) Way(host int, from, to netip.AddrPort) (connection int32, direction uint8, known bool) {
	k, direction := keyOf(host, from, to)
	connection, known = s.number[k]
	return connection, direction, known
}

// Join finds the other ends of packets, and what was sent again. It is called once, when all packets are there.
func (s *Set) Join() {
	for n := range s.connections {
		views := s.connections[n]
		for i := range views {
			sentAgain(views[i].packets)
		}
		for i := range views {
			for k := range views {
				if i != k {
					join(views[i].packets, views[k].packets)
				}
			}
		}
	}
}

// sentAgain marks the packets that a host sent or saw before.
func sentAgain(list []*Packet) {
	var bySeq [2]map[uint32]*Packet
	var behind [2]uint32
	var any [2]bool
	for i, p := range list {
		d := p.Direction
		if p.Flags&(syn|ack) == syn { // another connection between the same ports
			bySeq, any = [2]map[uint32]*Packet{}, [2]bool{}
		}
		if p.Length == 0 {
			continue
		}
		if bySeq[d] == nil {
			bySeq[d] = make(map[uint32]*Packet)
		}
		if any[d] && int32(p.Seq-behind[d]) < 0 {
			p.Earlier = bySeq[d][p.Seq]
			if p.Earlier == nil {
				p.Earlier = holding(list[:i], p)
			}
		} else {
			any[d], behind[d] = true, p.end()
		}
		if bySeq[d][p.Seq] == nil {
			bySeq[d][p.Seq] = p
		}
		if int32(p.end()-behind[d]) > 0 {
			behind[d] = p.end()
		}
	}
}

// holding finds the last packet of those before one that has its first byte.
func holding(list []*Packet, p *Packet) *Packet {
	const furthest = 4096
	for i, n := len(list)-1, 0; i >= 0 && n < furthest; i, n = i-1, n+1 {
		if q := list[i]; q.Direction == p.Direction && q.Length > 0 && p.Seq-q.Seq < q.Length {
			return q
		}
	}
	return nil
}

// same is what the two ends of a segment have in common. Interfaces join segments and divide them, so that a payload is known by its
// last byte.
type same struct {
	behind, ack uint32 // ack 0 for payload
	direction   uint8
	flags       uint8
	empty       bool
}

func sameOf(p *Packet) same {
	if p.Length == 0 {
		return same{p.Seq, p.Ack, p.Direction, p.Flags, true}
	}
	return same{behind: p.end(), direction: p.Direction}
}

// join finds for each packet that one host received the one that the other sent: of several alike the one of the same number
// in IP's header, else the first that has no other end yet.
func join(received, sent []*Packet) {
	by := make(map[same][]*Packet)
	var order [2][]*Packet // payload by its end
	for _, p := range sent {
		if !p.Out {
			continue
		}
		if p.Other == nil {
			by[sameOf(p)] = append(by[sameOf(p)], p)
		}
		if p.Length > 0 {
			order[p.Direction] = append(order[p.Direction], p)
		}
	}
	for d := range order {
		if len(order[d]) > 0 {
			base := order[d][0].Seq
			slices.SortStableFunc(order[d], func(a, b *Packet) int { return cmp.Compare(int32(a.end()-base), int32(b.end()-base)) })
		}
	}
	for _, p := range received {
		if p.Out {
			continue
		}
		k := sameOf(p)
		q, rest := choose(by[k], p)
		if by[k] = rest; q == nil && p.Length > 0 {
			q = covering(order[p.Direction], p)
		}
		if q == nil {
			continue
		}
		p.Other = q
		if q.Other == nil {
			q.Other = p
		}
	}
}

// choose takes the other end of a packet out of those of a list that have none yet; nil if it is none of them. Packets mostly come in the order in
// which they were sent, so that it is the first.
func choose(list []*Packet, p *Packet) (q *Packet, rest []*Packet) {
	which := slices.IndexFunc(list, func(q *Packet) bool { return q.ID == p.ID && q.Length == p.Length })
	if which < 0 {
		which = slices.IndexFunc(list, func(q *Packet) bool { return q.ID == 0 || p.ID == 0 || q.Length != p.Length })
	}
	switch {
	case which < 0:
		return nil, list
	case which == 0:
		return list[0], list[1:]
	}
	q = list[which]
	return q, slices.Delete(list, which, which+1)
}

// covering finds the first packet sent, by its end, that has the last byte of one.
func covering(list []*Packet, p *Packet) *Packet {
	if len(list) == 0 {
		return nil
	}
	base, last := list[0].Seq, p.end()-1
	i, _ := slices.BinarySearchFunc(list, int32(last-base), func(q *Packet, at int32) int { return cmp.Compare(int32(q.end()-base), at+1) })
	if i < len(list) && last-list[i].Seq < list[i].Length {
		return list[i]
	}
	return nil
}

// Payloads shows all packets with payload that were not sent before.
func (s *Set) Payloads(see func(*Packet)) {
	for _, views := range s.connections {
		for i := range views {
			for _, p := range views[i].packets {
				if p.Length > 0 && p.Earlier == nil {
					see(p)
				}
			}
		}
	}
}

// Name gives what of HTTP is in a segment that the kernel of a host recorded as well: the capture beside it has the headers.
// All packets of the host were added before.
func (s *Set) Name(from, to netip.AddrPort, host int, seq uint32, items []plainhttp.Item) {
	k, direction := keyOf(host, from, to)
	n, known := s.number[k]
	if !known {
		return
	}
	for i := range s.connections[n] {
		v := &s.connections[n][i]
		if v.host != host {
			continue
		}
		if v.first == nil {
			v.first = make(map[byteOf]*Packet)
			for _, p := range v.packets {
				if b := (byteOf{p.Direction, p.Seq}); p.Length > 0 && v.first[b] == nil {
					v.first[b] = p
				}
			}
		}
		if p := v.first[byteOf{direction, seq}]; p != nil {
			p.HTTP = items
		}
	}
}
