package cause

import (
	"cmp"
	"slices"
)

// Kinds of requests, by how they were found.
const (
	KindSpan     = "span"     // a client's span and the messages that begin and end it
	KindExchange = "exchange" // messages that went there and back by turns
	KindHTTP     = "http"     // of HTTP/1, by its headers
	KindHTTP2    = "http2"    // a stream of HTTP/2
)

// Request is one request with its reply. There and Back are the messages; of an exchange of several each way, the last of
// the request and the first of the reply.
type Request struct {
	Kind           string
	Client, Server int   // rows
	Class          int   // name of the client's slice; -1 for none
	Begin, End     int64 // by the client's clock
	There, Back    Message
	Event, Last    int64 // the client's first and last event
	Served         int   // of Model.Ends, the server's slice; -1 for none
	Messages       int
	Name, Status   int32 // of Model.Texts
	Peer           int32 // of Model.Texts: the address of the server's end; of one that the server alone has, the client's
	ClientAddress  int32 // of Model.Texts: of a client of which it is not known which host it is; 0 for others
	ServerAddress  int32 // the same of the server
	Conversation   int32 // as of messages
	Found          int32 // 1 + its place in Model.Found; 0 for others
	Again          int   // packets of it that were sent again
	Alone          bool  // the other end was not recorded: There and Back are not set
	Overlapping    bool  // several were under way at once: it is not known which reply is whose
}

// Total is how long it took, by the client's clock.
func (r *Request) Total() int64 { return r.End - r.Begin }

// Divided reports whether it is known what of it the server and the network took.
func (r *Request) Divided() bool { return !r.Overlapping && !r.Alone }

// ServerTime is from the request's arrival to the reply's sending, by the server's clock.
func (r *Request) ServerTime() int64 { return r.Back.Sent - r.There.Received }

// Network is the time of both ways together, which is exact.
func (r *Request) Network() int64 {
	return r.There.Received - r.There.Sent + r.Back.Received - r.Back.Sent
}

// ClientTime is what of a span remains: before the request was sent and after its reply came.
func (r *Request) ClientTime() int64 {
	if r.Kind != KindSpan {
		return 0
	}
	return r.Total() - r.ServerTime() - r.Network()
}

// Transfer is what of another request remains, by the client's clock: from its first message to its last, and from the first of the reply to
// the last. Who kept them waiting it does not say; a path does.
func (r *Request) Transfer() int64 {
	if r.Kind == KindSpan {
		return 0
	}
	return r.Total() - r.ServerTime() - r.Network()
}

// Ways returns between which lengths the two ways took.
func (m *Model) Ways(r *Request) (there, back Interval) { return m.ways(r.There, r.Back) }

// Requests lists the requests of a model, in order of their begin: those of spans, those found in connections, and exchanges of the messages
// that neither have.
func (m *Model) Requests() []Request {
	for i := range m.Found {
		m.Found[i].Found = int32(i) + 1
	}
	spans, used := m.spanRequests()
	exchanges := m.exchanges(used)
	places := make([]place, 0, len(spans)+len(m.Found)+len(exchanges))
	put := func(begin, event int64) { places = append(places, place{begin, event, int32(len(places))}) }
	for i := range spans {
		s := &m.Ends[spans[i].slice]
		put(s.Begin, s.Event)
	}
	for _, list := range [][]Request{m.Found, exchanges} {
		for i := range list {
			put(list[i].Begin, list[i].Event)
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.event, b.event), cmp.Compare(a.number, b.number))
	})
	served := newByEvent(len(m.Ends), func(i int) int64 { return m.Ends[i].Event })
	out := make([]Request, len(places))
	inParts(len(out), func(from, to int) {
		for i := from; i < to; i++ {
			switch n := int(places[i].number); {
			case n < len(spans):
				m.spanRequest(&out[i], &spans[n], &served)
			case n < len(spans)+len(m.Found):
				out[i] = m.Found[n-len(spans)]
			default:
				out[i] = exchanges[n-len(spans)-len(m.Found)]
			}
		}
	})
	return out
}

// place is where a request is in the list.
type place struct {
	begin, event int64
	number       int32
}

// spanEnds is a slice that one message begins and another ends, by their places in a model.
type spanEnds struct{ slice, there, back int32 }

// spanRequests finds the requests of spans in the order of Ends, and which messages they have.
func (m *Model) spanRequests() (out []spanEnds, used []bool) {
	var bySent, byReceived byEvent
	together(
		func() { bySent = newByEvent(len(m.Messages), func(i int) int64 { return m.Messages[i].SentEvent }) },
		func() {
			byReceived = newByEvent(len(m.Messages), func(i int) int64 { return m.Messages[i].ReceivedEvent })
		},
	)
	used = make([]bool, len(m.Messages))
	for i := range m.Ends {
		s := &m.Ends[i]
		there, begins := bySent.get(s.Event)
		if !begins {
			continue
		}
		back, ends := byReceived.get(s.Last)
		if !ends || m.Hosts[m.Messages[there].To] != m.Hosts[m.Messages[back].From] {
			continue
		}
		used[there], used[back] = true, true
		out = append(out, spanEnds{int32(i), int32(there), int32(back)})
	}
	return out, used
}

// spanRequest makes a request; served are the slices of Ends by the event that begins each.
func (m *Model) spanRequest(r *Request, x *spanEnds, served *byEvent) {
	s := &m.Ends[x.slice]
	there, back := &m.Messages[x.there], &m.Messages[x.back]
	*r = Request{Kind: KindSpan, Client: s.Row, Server: there.To, Class: s.Class, Begin: s.Begin, End: s.End, There: *there, Back: *back,
		Event: s.Event, Last: s.Last, Served: -1, Messages: 2}
	if k, is := served.get(there.ReceivedEvent); is {
		r.Served = k
	}
}

// talkers are two rows, and which of their conversations.
type talkers struct {
	rows         [2]int
	conversation int32
}

// exchanges finds requests in the messages that are not used: between two rows, what goes one way and then the other.
// The client is the row that sends first.
func (m *Model) exchanges(used []bool) (out []Request) {
	pairs := make(map[talkers][]int)
	var order []talkers
	for i := range m.Messages {
		x := &m.Messages[i]
		if used[i] || x.Conversation > 0 || m.Hosts[x.From] == m.Hosts[x.To] && x.From == x.To {
			continue
		}
		key := talkers{[2]int{min(x.From, x.To), max(x.From, x.To)}, x.Conversation}
		if pairs[key] == nil {
			order = append(order, key)
		}
		pairs[key] = append(pairs[key], i)
	}
	for _, key := range order {
		out = m.alternating(out, key.rows, pairs[key])
	}
	return out
}

// alternating cuts the messages between two rows into exchanges, in the order of the client's own clock. A reply belongs to
// a request if the server sent it after all of the request had come; else they overlap, and are one conversation.
func (m *Model) alternating(out []Request, rows [2]int, list []int) []Request {
	a := rows[0]
	at := func(i int) int64 { // on the clock of row a
		if x := &m.Messages[i]; x.From == a {
			return x.Sent
		}
		return m.Messages[i].Received
	}
	slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(at(i), at(j)) })
	client := m.Messages[list[0]].From
	if client != a {
		// The other row may have sent first: by its own clock, before anything came to it.
		a = client
		slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(at(i), at(j)) })
	}
	for i := 0; i < len(list); {
		if m.Messages[list[i]].From != client { // a reply to what was not recorded
			i++
			continue
		}
		first, asked := i, int64(minInstant)
		var there Message
		for ; i < len(list) && m.Messages[list[i]].From == client; i++ {
			if x := &m.Messages[list[i]]; x.Received > asked {
				asked, there = x.Received, *x
			}
		}
		if i == len(list) {
			break
		}
		answer, over := i, false
		back := m.Messages[list[i]]
		for ; i < len(list) && m.Messages[list[i]].From != client; i++ {
			over = over || m.Messages[list[i]].Sent < asked
		}
		begin, last := m.Messages[list[first]], m.Messages[list[i-1]]
		out = append(out, Request{Kind: KindExchange, Client: client, Server: rows[0] + rows[1] - client, Class: -1, Begin: begin.Sent, End: last.Received, There: there, Back: back,
			Event: begin.SentEvent, Last: last.ReceivedEvent, Served: -1, Messages: i - first, Overlapping: over || answer == first})
	}
	return out
}

const minInstant = -1 << 63
