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
	var bySent, byReceived, served byEvent // a served slice by its first event
	for i := range m.Messages {
		bySent.set(m.Messages[i].SentEvent, i)
		byReceived.set(m.Messages[i].ReceivedEvent, i)
	}
	for i := range m.Ends {
		served.set(m.Ends[i].Event, i)
	}
	var out []Request
	used := make([]bool, len(m.Messages))
	for i := range m.Ends {
		s := &m.Ends[i]
		there, begins := bySent.get(s.Event)
		back, ends := byReceived.get(s.Last)
		if !begins || !ends || m.Hosts[m.Messages[there].To] != m.Hosts[m.Messages[back].From] {
			continue
		}
		r := Request{Kind: KindSpan, Client: s.Row, Server: m.Messages[there].To, Class: s.Class, Begin: s.Begin, End: s.End, There: m.Messages[there], Back: m.Messages[back],
			Event: s.Event, Last: s.Last, Served: -1, Messages: 2}
		if k, is := served.get(r.There.ReceivedEvent); is {
			r.Served = k
		}
		used[there], used[back] = true, true
		out = append(out, r)
	}
	for i := range m.Found {
		m.Found[i].Found = int32(i) + 1
	}
	out = append(out, m.Found...)
	out = append(out, m.exchanges(used)...)
	slices.SortFunc(out, func(a, b Request) int { return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.Event, b.Event)) })
	return out
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
