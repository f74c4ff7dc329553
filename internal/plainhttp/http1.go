package plainhttp

import (
	"bytes"
	"strconv"
	"strings"
)

// state1 is where one side is in HTTP/1 (RFC 9112).
type state1 uint8

const (
	atStart    state1 = iota // of a message
	inFields                 // its first line was reported
	inBody                   // skip bytes of it are left
	atChunk                  // at the line that has a chunk's length
	inChunk                  // skip bytes of it are left, its line end included
	inTrailers               // behind the last chunk
	toTheEnd                 // of the connection
	lost                     // until a segment begins with a message
)

var methods = []string{"GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "PATCH ", "OPTIONS ", "TRACE ", "CONNECT "}

// startsMessage reports whether bytes begin as a message does.
func startsMessage(b []byte) bool { return methodOf(b) != "" || startsResponse(b) }

// methodOf returns the method of a request line with the space behind it, "" for none.
func methodOf(b []byte) string {
	for _, m := range methods {
		if len(b) > len(m) && string(b[:len(m)]) == m && b[len(m)] > ' ' {
			return m
		}
	}
	return ""
}

func startsResponse(b []byte) bool {
	return len(b) >= 12 && string(b[:7]) == "HTTP/1." && b[8] == ' ' && digit(b[9]) && digit(b[10]) && digit(b[11])
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// take1 goes on with bytes that were captured.
func (x *side) take1(b []byte) {
	if x.state == lost && startsMessage(b) {
		x.state, x.head = atStart, x.head[:0]
	}
	for len(b) > 0 {
		switch x.state {
		case inBody, inChunk:
			n := min(x.skip, int64(len(b)))
			b = b[n:]
			x.passed(n)
		case toTheEnd, lost:
			return
		default:
			end := bytes.IndexByte(b, '\n')
			if end < 0 {
				if x.head = append(x.head, b...); len(x.head) > mostHead {
					x.state = lost
				}
				return
			}
			x.head = append(x.head, b[:end]...)
			b = b[end+1:]
			x.line(bytes.TrimSuffix(x.head, []byte{'\r'}))
			x.head = x.head[:0]
		}
	}
}

func (x *side) passed(n int64) {
	if x.skip -= n; x.skip > 0 {
		return
	}
	if x.state == inChunk {
		x.state = atChunk
		return
	}
	x.state = atStart
}

// missing1 passes bytes that were not captured: of a body they are not needed.
func (x *side) missing1(n int64, now bool) {
	switch {
	case (x.state == inBody || x.state == inChunk) && n <= x.skip:
		x.passed(n)
		return
	case x.state == toTheEnd:
		return
	case now && x.state == atStart && len(x.head) > 0: // the rest of the first line
		if m := methodOf(x.head); m != "" {
			x.asked(strings.TrimSuffix(m, " "), Unknown)
		} else if startsResponse(x.head) {
			x.report(Item{What: Response, Text: string(x.head[9:12])})
		}
	}
	x.state, x.head = lost, x.head[:0]
}

func (x *side) asked(method, path string) {
	x.report(Item{What: Request, Text: method + " " + printable(path)})
	if len(x.methods) < 1024 {
		x.methods = append(x.methods, method)
	}
}

// body is what a message's fields say of its body.
type body struct {
	length  int64 // -1: not said
	chunked bool
	request bool
	without bool // it has none, whatever the fields say
	interim bool
	opaque  bool // other bytes follow
}

// line takes a line of a message without its end.
func (x *side) line(b []byte) {
	switch x.state {
	case atStart:
		x.first(b)
	case inFields:
		if len(b) == 0 {
			x.bodyBegins()
			return
		}
		x.field(b)
	case atChunk:
		size, _, _ := bytes.Cut(b, []byte{';'})
		n, err := strconv.ParseInt(string(bytes.TrimSpace(size)), 16, 48)
		switch {
		case len(b) == 0: // behind a chunk
		case err != nil || n < 0:
			x.state = lost
		case n == 0:
			x.state = inTrailers
		default:
			x.state, x.skip = inChunk, n
		}
	case inTrailers:
		if len(b) == 0 {
			x.state = atStart
		}
	}
}

// first takes a message's first line.
func (x *side) first(b []byte) {
	if len(b) == 0 { // RFC 9112, section 2.2: empty lines before a request are ignored
		return
	}
	x.now = body{length: -1}
	if m := methodOf(b); m != "" {
		path, version, _ := strings.Cut(string(b[len(m):]), " ")
		if !strings.HasPrefix(version, "HTTP/1.") {
			x.state = lost
			return
		}
		x.now.request, x.state = true, inFields
		x.asked(m[:len(m)-1], path)
		return
	}
	if !startsResponse(b) {
		x.state = lost
		return
	}
	x.state = inFields
	status := string(b[9:12])
	if x.now.interim = status[0] == '1' && status != "101"; x.now.interim {
		x.now.without = true
		x.report(Item{What: Interim, Text: status})
		return
	}
	method := ""
	if asked := x.other.methods; len(asked) > 0 {
		method, x.other.methods = asked[0], asked[1:]
	}
	x.now.without = method == "HEAD" || status == "204" || status == "304"
	x.now.opaque = status == "101" || method == "CONNECT" && status[0] == '2'
	x.report(Item{What: Response, Text: status})
}

func (x *side) field(b []byte) {
	name, value, _ := strings.Cut(string(b), ":")
	value = strings.TrimSpace(value)
	switch strings.ToLower(name) {
	case "content-length":
		if n, err := strconv.ParseInt(value, 10, 62); err == nil && n >= 0 {
			x.now.length = n
		}
	case "transfer-encoding":
		x.now.chunked = strings.HasSuffix(strings.ToLower(value), "chunked")
	}
}

// bodyBegins decides how long a message's body is (RFC 9112, section 6.3).
func (x *side) bodyBegins() {
	switch n := &x.now; {
	case n.opaque:
		x.protocol, x.other.protocol = neither, neither
	case n.without:
		x.state = atStart
	case n.chunked:
		x.state = atChunk
	case n.length > 0:
		x.state, x.skip = inBody, n.length
	case n.length == 0 || n.request:
		x.state = atStart
	default:
		x.state = toTheEnd
	}
}
