package wire

import (
	"cmp"
	"slices"

	"meridian/internal/plainhttp"
)

// Kinds of requests, by what tells them apart.
const (
	Bytes  = iota // payload one way, then the other
	Lines         // HTTP/1
	Stream        // HTTP/2
)

// Request is a request as one host saw it: the client's, where that is recorded, else the server's. All packets are that
// host's, in the order of its clock.
type Request struct {
	Kind       int
	Connection int32
	Direction  uint8 // of the request
	ByServer   bool  // the client is not recorded
	Stream     uint32
	Name       string // method and path; "" where no headers were captured
	Status     string // "" where not known
	GRPC       string
	First      *Packet // of the request
	Sent       *Packet // its last
	Answer     *Packet // the first of the reply
	Last       *Packet // its last
	Packets    int     // with payload
	Again      int     // of these, sent before
	Overlaps   bool    // it cannot be divided
}

// Requests returns the requests of all connections, in order of connection and of time. Those without a reply are left out; Unanswered has
// them, as far as headers tell that they are requests.
func (s *Set) Requests() (out []Request) {
	s.clients, s.unanswered = make([]uint8, len(s.connections)), nil
	for n := range s.connections {
		views := s.connections[n]
		client := s.clientOf(int32(n))
		s.clients[n] = client
		best := -1
		for i := range views {
			out := slices.ContainsFunc(views[i].packets, func(p *Packet) bool { return p.Out && p.Direction == client })
			if best < 0 || out {
				best = i
			}
			if out {
				break
			}
		}
		if best < 0 {
			continue
		}
		list := views[best].packets
		from := len(out)
		found, unanswered := requestsOf(list, client, namesOf(views))
		out, s.unanswered = append(out, found...), append(s.unanswered, unanswered...)
		by := !slices.ContainsFunc(list, func(p *Packet) bool { return p.Out && p.Direction == client })
		for i := from; i < len(out); i++ {
			out[i].Connection, out[i].ByServer = int32(n), by
		}
	}
	return out
}

// Unanswered returns the requests of HTTP without a reply that Requests found, in order of connection.
func (s *Set) Unanswered() []Request { return s.unanswered }

// clientOf returns the direction in which a connection's requests go: by what HTTP says, by its SYN, else from the higher port.
func (s *Set) clientOf(n int32) uint8 {
	bySYN, found := uint8(0), false
	for _, v := range s.connections[n] {
		for _, p := range v.packets {
			for _, i := range p.HTTP {
				switch i.What {
				case plainhttp.Request:
					return p.Direction
				case plainhttp.Response:
					return 1 - p.Direction
				}
			}
			if p.Flags&syn != 0 && !found {
				bySYN, found = p.Direction, true
				if p.Flags&ack != 0 {
					bySYN = 1 - p.Direction
				}
			}
		}
	}
	if found {
		return bySYN
	}
	if s.names[n].ends[0].Port() < s.names[n].ends[1].Port() {
		return 1
	}
	return 0
}

// byteOf names the first byte of a segment.
type byteOf struct {
	direction uint8
	seq       uint32
}

// namesOf returns what of HTTP the packets of any host have, by their first byte: headers may have been captured on one host only.
func namesOf(views []view) map[byteOf][]plainhttp.Item {
	names := make(map[byteOf][]plainhttp.Item)
	for _, v := range views {
		for _, p := range v.packets {
			if len(p.HTTP) > 0 {
				names[byteOf{p.Direction, p.Seq}] = p.HTTP
			}
		}
	}
	return names
}

func requestsOf(list []*Packet, client uint8, names map[byteOf][]plainhttp.Item) (found, unanswered []Request) {
	t := talk{client: client, streams: make(map[uint32]*Request), http2: beginsHTTP2(list, names)}
	for i, p := range list {
		if p.Length == 0 {
			if p.Flags&(syn|rst) == syn {
				t.close()
				t.http2 = beginsHTTP2(list[i+1:], names)
			}
			continue
		}
		items := names[byteOf{p.Direction, p.Seq}]
		if p.Earlier != nil {
			t.again(p)
			continue
		}
		switch {
		case t.http2 || slices.ContainsFunc(items, func(i plainhttp.Item) bool { return i.Stream != 0 }):
			t.http2 = true
			t.frames(p, items)
		case t.http1 || len(items) > 0:
			if !t.http1 {
				t.finish()
			}
			t.http1 = true
			t.lines(p, items)
		default:
			t.bytes(p)
		}
		if !p.Out && p.Other != nil && p.Other.Earlier != nil { // what was sent first never came here
			t.count()
		}
	}
	t.close()
	slices.SortStableFunc(t.out, func(a, b Request) int { return cmp.Compare(a.First.At, b.First.At) })
	return t.out, t.lost
}

// beginsHTTP2 reports whether the first headers of a connection are of HTTP/2: what goes before them is its preface and settings, and no request.
func beginsHTTP2(list []*Packet, names map[byteOf][]plainhttp.Item) bool {
	for _, p := range list {
		if p.Length == 0 && p.Flags&(syn|rst|ack) == syn {
			return false
		}
		if items := names[byteOf{p.Direction, p.Seq}]; p.Length > 0 && len(items) > 0 {
			return items[0].Stream != 0
		}
	}
	return false
}

// talk goes over the packets of a connection.
type talk struct {
	client       uint8
	out, lost    []Request
	http1, http2 bool
	now          *Request   // of bytes; of HTTP/1 the request whose payload comes
	waiting      []*Request // of HTTP/1: asked, not answered
	reply        *Request   // of HTTP/1: the one whose answer comes
	streams      map[uint32]*Request
	order        []uint32 // of all streams that began, ended ones too
}

func (t *talk) put(r *Request) {
	switch {
	case r == nil:
	case r.Answer != nil:
		t.out = append(t.out, *r)
	case r.Kind != Bytes:
		t.lost = append(t.lost, *r)
	}
}

// finish ends the exchange of bytes.
func (t *talk) finish() {
	t.put(t.now)
	t.now = nil
}

// close ends all that is under way.
func (t *talk) close() {
	if t.http1 {
		t.put(t.reply)
		for _, r := range t.waiting {
			t.put(r)
		}
		t.now, t.reply, t.waiting = nil, nil, nil
	}
	t.finish()
	for _, n := range t.order {
		t.put(t.streams[n])
	}
	clear(t.streams)
	t.order, t.http1, t.http2 = nil, false, false
}

// again counts a packet that was sent before, for what is under way.
func (t *talk) again(p *Packet) {
	if r := t.count(); r != nil && p.Direction == t.client && r.Answer == nil {
		r.Sent = p // the byte that was asked last came by this one
	}
}

// count counts a packet that was sent again, and returns for which request; of HTTP/2, for all that are under way.
func (t *talk) count() *Request {
	for _, r := range []*Request{t.now, t.reply} {
		if r != nil {
			r.Again++
			return r
		}
	}
	for _, r := range t.streams {
		r.Again++
	}
	return nil
}

// bytes takes payload that nothing is known of.
func (t *talk) bytes(p *Packet) {
	r := t.now
	switch {
	case p.Direction == t.client && (r == nil || r.Answer != nil):
		t.finish()
		t.now = &Request{Kind: Bytes, Direction: t.client, First: p, Sent: p, Packets: 1}
	case p.Direction == t.client:
		r.Sent = p
		r.Packets++
	case r == nil: // an answer to what was not recorded
	default:
		r.Packets++
		if r.Last = p; r.Answer == nil {
			r.Answer = p
			r.Overlaps = int32(p.Ack-r.Sent.end()) < 0
		}
	}
}

// lines takes payload of HTTP/1. Replies come in the order of their requests.
func (t *talk) lines(p *Packet, items []plainhttp.Item) {
	if p.Direction == t.client {
		begun := false
		for _, i := range items {
			if i.What != plainhttp.Request {
				continue
			}
			begun = true
			t.now = &Request{Kind: Lines, Direction: t.client, Name: i.Text, First: p, Sent: p, Packets: 1}
			t.waiting = append(t.waiting, t.now)
		}
		if !begun && t.now != nil && t.now.Answer == nil {
			t.now.Sent = p
			t.now.Packets++
		}
		return
	}
	begun := false
	for _, i := range items {
		begun = begun || i.What == plainhttp.Interim // of no reply yet
		if i.What != plainhttp.Response || len(t.waiting) == 0 {
			continue
		}
		begun = true
		t.put(t.reply)
		t.reply, t.waiting = t.waiting[0], t.waiting[1:]
		t.reply.Status, t.reply.Answer, t.reply.Last = i.Text, p, p
		t.reply.Packets++
		t.reply.Overlaps = int32(p.Ack-t.reply.Sent.end()) < 0
	}
	if !begun && t.reply != nil {
		t.reply.Last = p
		t.reply.Packets++
	}
}

// frames takes payload of HTTP/2.
func (t *talk) frames(p *Packet, items []plainhttp.Item) {
	asks := p.Direction == t.client
	for _, i := range items {
		r := t.streams[i.Stream]
		if asks && i.What == plainhttp.Request && r == nil {
			t.streams[i.Stream] = &Request{Kind: Stream, Stream: i.Stream, Direction: t.client, Name: i.Text, First: p, Sent: p, Packets: 1}
			t.order = append(t.order, i.Stream)
			continue
		}
		if r == nil {
			continue
		}
		t.item(r, p, i, asks)
	}
}

func (t *talk) item(r *Request, p *Packet, i plainhttp.Item, asks bool) {
	switch {
	case asks && i.What == plainhttp.End && r.Answer == nil:
		r.Sent = p
		return
	case asks:
		return
	case i.What == plainhttp.Response && r.Status == "":
		r.Status = i.Text
	case i.What == plainhttp.GRPC:
		r.GRPC = i.Text
	}
	if r.Answer == nil {
		r.Answer = p
	}
	if r.Last != p {
		r.Packets++
	}
	r.Last = p
	if i.What == plainhttp.End || i.What == plainhttp.Reset {
		t.put(r)
		delete(t.streams, i.Stream)
	}
}
