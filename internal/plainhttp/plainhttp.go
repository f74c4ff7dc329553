// Package plainhttp finds HTTP requests and responses in the payloads of TCP segments, as a capture holds them: in clear,
// and perhaps cut. In go the segments of connections in the order of the capture; out comes, for each segment, what begins
// or ends in it.
//
//	HTTP/1    GET /cart HTTP/1.1 ...        ->  "GET /cart"
//	          HTTP/1.1 200 OK ...           ->  "200"
//	HTTP/2    HEADERS 5 :method :path       ->  "#5 POST /shop.Cart/Add"
//	          HEADERS 5 :status             ->  "#5 200"
//	          HEADERS 5 grpc-status, end    ->  "#5 grpc 0; #5 end"
//
// A name is reported only where its bytes were captured. HPACK's table follows from all headers of a direction, so names
// of HTTP/2 are unknown from the first header on that is missing (RFC 7541, section 2.2). Bodies may be missing.
//
// Memory: 64 KiB for each direction at most, and HPACK's table; of 4,096 connections, the longest idle of which is forgotten.
package plainhttp

import (
	"container/list"
	"slices"
)

// Segment is a TCP segment with payload, or one that opens a connection.
type Segment struct {
	Seq    uint32 // of its first byte of payload
	Length uint32 // of its payload on the wire
	Opens  bool   // it has SYN: what was on these ports before has ended
	Data   []byte // its payload as far as it was captured
}

const (
	mostConnections = 4096
	mostHead        = 64 << 10 // bytes of a header that are gathered
	mostName        = 200      // bytes of a name that are reported
)

// Connections follows the connections of a capture. The zero value has seen none. It is for one goroutine.
type Connections struct {
	of   map[uint32]*list.Element
	last list.List // of *connection, the one used last in front
}

// Add takes a segment of one direction (0 or 1) of a connection, and returns what begins or ends in it. The items are
// valid until the next call.
func (x *Connections) Add(number uint32, direction int, s Segment) []Item {
	if x.of == nil {
		x.of = make(map[uint32]*list.Element)
	}
	e := x.of[number]
	switch {
	case e == nil:
		if s.Length == 0 {
			return nil
		}
		if len(x.of) == mostConnections {
			oldest := x.last.Back()
			delete(x.of, x.last.Remove(oldest).(*connection).number)
		}
		e = x.last.PushFront(newConnection(number))
		x.of[number] = e
	default:
		x.last.MoveToFront(e)
	}
	c := e.Value.(*connection)
	if s.Opens && s.Length == 0 {
		if c.sides[direction].known {
			e.Value = newConnection(number)
		}
		return nil
	}
	return c.add(direction, &s)
}

// connection is what is known of a connection.
type connection struct {
	number uint32
	sides  [2]side
	items  []Item
}

func newConnection(number uint32) *connection {
	c := &connection{number: number}
	for i := range c.sides {
		c.sides[i].of, c.sides[i].other = c, &c.sides[1-i]
	}
	return c
}

// side is one direction: where it is in the stream, and in HTTP.
type side struct {
	of    *connection
	other *side
	known bool
	next  uint32 // sequence number of the next byte
	protocol
	head    []byte   // gathered until it is whole
	skip    int64    // bytes of a body that come first
	methods []string // asked on this side and not answered yet
	state   state1
	now     body // of the message that is read
	two     *http2
	client  bool // it sent the preface of HTTP/2
}

type protocol uint8

const (
	undecided protocol = iota
	http1              // requests or responses
	http2Clear
	neither // given up
)

func (c *connection) add(direction int, s *Segment) []Item {
	c.items = c.items[:0]
	x := &c.sides[direction]
	data, length := s.Data, int64(s.Length)
	if int64(len(data)) > length {
		data = data[:length]
	}
	if !x.known {
		x.known, x.next = true, s.Seq
	}
	switch ahead := int64(int32(s.Seq - x.next)); {
	case ahead < 0: // sent again, perhaps with more behind
		if -ahead >= length {
			return nil
		}
		data, length = data[min(-ahead, int64(len(data))):], length+ahead
	case ahead > 0:
		x.missing(ahead, false)
	}
	x.next = s.Seq + s.Length
	x.take(data)
	if cut := length - int64(len(data)); cut > 0 {
		x.missing(cut, true)
	}
	return c.items
}

// take goes on with bytes that were captured.
func (x *side) take(b []byte) {
	if x.protocol == undecided && len(b) > 0 {
		if len(x.head) > 0 {
			b = append(x.head, b...)
		}
		x.head = nil
		if x.decide(b); x.protocol == undecided && mayStart(b) {
			x.head = append([]byte(nil), b...)
		}
	}
	switch x.protocol {
	case http1:
		x.take1(b)
	case http2Clear:
		x.two.take(b)
	}
}

// missing passes bytes that were not captured: of this segment, or of earlier ones, in which nothing is reported any more.
func (x *side) missing(n int64, now bool) {
	switch x.protocol {
	case undecided:
		x.head = nil
	case http1:
		x.missing1(n, now)
	case http2Clear:
		x.two.missing(n, now)
	}
}

// mayStart reports whether bytes are the begin of what starts a message or a connection.
func mayStart(b []byte) bool {
	begins := func(s string) bool { return len(b) <= len(s) && s[:len(b)] == string(b) }
	return begins(preface) || slices.ContainsFunc(methods, begins) || len(b) < 12 && begins("HTTP/1.1 200"[:min(len(b), 7)]+string(b[min(len(b), 7):]))
}

// decide tells by the first bytes what is spoken, and asks again at the next segment where they do not tell.
func (x *side) decide(b []byte) {
	switch {
	case x.other.protocol == http2Clear, len(b) >= len(preface) && string(b[:len(preface)]) == preface:
		x.protocol, x.two = http2Clear, newHTTP2(x)
		if x.other.protocol == http2Clear {
			break
		}
		x.two.preface, x.client = len(preface), true
		if x.other.protocol == undecided {
			x.other.protocol, x.other.two = http2Clear, newHTTP2(x.other)
		}
	case startsMessage(b):
		x.protocol = http1
	}
}

func (x *side) report(i Item) { x.of.items = append(x.of.items, i) }
