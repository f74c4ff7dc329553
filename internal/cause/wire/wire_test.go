package wire

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/plainhttp"
	"meridian/internal/testseed"
)

var (
	client = netip.MustParseAddrPort("10.0.0.1:40000")
	server = netip.MustParseAddrPort("10.0.0.2:80")
)

// add adds a packet that host 0, the client's, saw; down is from the server.
func add(s *Set, at int64, down bool, seq, length, ack uint32, flags uint8) *Packet {
	from, to := client, server
	if down {
		from, to = server, client
	}
	return s.Add(Packet{At: at, Out: !down, Seq: seq, Length: length, Ack: ack, Flags: flags}, from, to)
}

func drawn(list []Request) string {
	var out []string
	for _, r := range list {
		over := ""
		if r.Overlaps {
			over = " overlaps"
		}
		out = append(out, fmt.Sprintf("%s[%d-%d %d-%d]%s%s", r.Name, r.First.At, r.Sent.At, r.Answer.At, r.Last.At, r.Status, over))
	}
	return strings.Join(out, " ")
}

func TestRequestsAreWhatAlternates(t *testing.T) {
	t.Parallel()
	type p struct {
		at               int64
		down             bool
		seq, length, ack uint32
	}
	for name, c := range map[string]struct {
		packets []p
		want    string
	}{
		"one":                         {[]p{{1, false, 1, 10, 1}, {2, true, 1, 0, 11}, {3, true, 1, 20, 11}}, "[1-1 3-3]"},
		"of several packets":          {[]p{{1, false, 1, 10, 1}, {2, false, 11, 5, 1}, {3, true, 1, 20, 16}, {4, true, 21, 20, 16}}, "[1-2 3-4]"},
		"two":                         {[]p{{1, false, 1, 10, 1}, {3, true, 1, 20, 11}, {5, false, 11, 10, 21}, {6, true, 21, 1, 21}}, "[1-1 3-3] [5-5 6-6]"},
		"no answer":                   {[]p{{1, false, 1, 10, 1}}, ""},
		"an answer to nothing":        {[]p{{1, true, 1, 10, 1}, {2, false, 1, 10, 11}, {3, true, 11, 1, 11}}, "[2-2 3-3]"},
		"answered before all came":    {[]p{{1, false, 1, 10, 1}, {2, false, 11, 10, 1}, {3, true, 1, 5, 11}}, "[1-2 3-3] overlaps"},
		"sequence numbers begin anew": {[]p{{1, false, 1<<32 - 4, 10, 1}, {3, true, 1<<32 - 1, 20, 6}, {5, false, 6, 4, 19}, {6, true, 19, 4, 10}}, "[1-1 3-3] [5-5 6-6]"},
		"sent again":                  {[]p{{1, false, 1, 10, 1}, {2, false, 1, 10, 1}, {3, true, 1, 20, 11}}, "[1-2 3-3]"},
		"a part is sent again":        {[]p{{1, false, 1, 10, 1}, {2, false, 4, 7, 1}, {3, true, 1, 20, 11}, {4, true, 1, 20, 11}}, "[1-2 3-3]"},
	} {
		s := NewSet()
		for _, x := range c.packets {
			add(s, x.at, x.down, x.seq, x.length, x.ack, ack)
		}
		s.Join()
		if got := drawn(s.Requests()); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

func TestRepliesOfHTTPComeInTheOrderOfTheirRequests(t *testing.T) {
	t.Parallel()
	s := NewSet()
	ask := func(at int64, seq uint32, names ...string) {
		p := add(s, at, false, seq, 10, 1, ack)
		for _, n := range names {
			p.HTTP = append(p.HTTP, plainhttp.Item{What: plainhttp.Request, Text: n})
		}
	}
	reply := func(at int64, seq, ackSeq uint32, states ...string) {
		p := add(s, at, true, seq, 10, ackSeq, ack)
		for _, n := range states {
			p.HTTP = append(p.HTTP, plainhttp.Item{What: plainhttp.Response, Text: n})
		}
	}
	ask(1, 1, "GET /a", "GET /b")
	ask(2, 11, "GET /c")
	reply(5, 1, 21, "200")
	reply(6, 11, 21)
	reply(7, 21, 21, "404", "500")
	s.Join()
	if got, want := drawn(s.Requests()), "GET /a[1-1 5-6]200 GET /b[1-1 7-7]404 GET /c[2-2 7-7]500"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

// Probes that keep a connection open are alike, and may be many: each has its own other end.
func TestPacketsThatAreAlikeAreJoinedInTheirOrder(t *testing.T) {
	t.Parallel()
	const n = 200_000 // at which a search through all of them takes a minute
	s := NewSet()
	for i := range int64(n) {
		for host, out := range []bool{true, false} {
			s.Add(Packet{At: 10*i + int64(host), Host: host, Out: out, Flags: ack, Seq: 1, Ack: 77}, client, server)
		}
	}
	s.Join()
	for _, p := range s.connections[0][1].packets {
		if p.Other == nil || p.Other.At != p.At-1 {
			t.Fatalf("the other end of %+v is %+v", p, p.Other)
		}
	}
}

// A client that asks whether it may send its body (RFC 9110, section 10.1.1) is told so long after the reply before.
func TestAnInterimResponseIsPartOfNoReply(t *testing.T) {
	t.Parallel()
	s := NewSet()
	put := func(at int64, down bool, seq, ackSeq uint32, what plainhttp.What, text string) {
		p := add(s, at, down, seq, 10, ackSeq, ack)
		if text != "" {
			p.HTTP = []plainhttp.Item{{What: what, Text: text}}
		}
	}
	put(1, false, 1, 1, plainhttp.Request, "GET /a")
	put(2, true, 1, 11, plainhttp.Response, "200")
	put(3, true, 11, 11, 0, "")
	put(1001, false, 11, 21, plainhttp.Request, "POST /b")
	put(1002, true, 21, 21, plainhttp.Interim, "100")
	put(1003, false, 21, 31, 0, "")
	put(1004, true, 31, 31, plainhttp.Response, "201")
	s.Join()
	if got, want := drawn(s.Requests()), "GET /a[1-1 2-3]200 POST /b[1001-1003 1004-1004]201"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

// Hosts see the bytes of a connection in other segments than they were sent in. Every received packet's other end is what sent its last byte,
// wherever sequence numbers begin.
func TestTheOtherEndOfAPacketSentItsLastByte(t *testing.T) {
	t.Parallel()
	testseed.Check(t, func(t *rapid.T) {
		s, base := NewSet(), rapid.Uint32().Draw(t, "first")
		cuts := func(name string) []uint32 {
			return append(rapid.SliceOfNDistinct(rapid.Uint32Range(1, 199), 0, 8, rapid.ID).Draw(t, name), 0, 200)
		}
		var all [2][]*Packet
		for host, list := range [][]uint32{cuts("sent"), cuts("received")} {
			slices.Sort(list)
			for i := 1; i < len(list); i++ {
				p := s.Add(Packet{At: int64(1000*host + i), Host: host, Out: host == 0, Flags: ack, Seq: base + list[i-1], Length: list[i] - list[i-1], Ack: 1}, client, server)
				all[host] = append(all[host], p)
			}
		}
		s.Join()
		for _, p := range all[1] {
			q, last := p.Other, p.Seq+p.Length-1
			if q == nil || last-q.Seq >= q.Length {
				t.Fatalf("%+v was sent as %+v", p, q)
			}
		}
	})
}

func TestConnectionsAreToldByTheirEnds(t *testing.T) {
	t.Parallel()
	s := NewSet()
	if _, _, known := s.Way(0, client, server); known {
		t.Error("a connection without packets is known")
	}
	p := add(s, 1, false, 1, 1, 1, ack)
	c, d, known := s.Way(0, client, server)
	back, e, _ := s.Way(0, server, client)
	from, to := s.Ends(c, d)
	if !known || c != p.Connection || d != p.Direction || back != c || e != 1-d || from != client || to != server {
		t.Errorf("connection %d, %d and %d, from %v to %v", c, d, e, from, to)
	}
}

// A host's loopback interface has each packet twice: as it is sent and as it is received. Other hosts have connections of the same ends.
func TestAConnectionWithinAHostHasBothEndsAndIsItsOwn(t *testing.T) {
	t.Parallel()
	client, server := netip.MustParseAddrPort("127.0.0.1:40000"), netip.MustParseAddrPort("127.0.0.1:80")
	s := NewSet()
	for host := range 2 {
		for i, x := range []struct {
			down             bool
			seq, length, ack uint32
		}{{false, 1, 10, 1}, {true, 1, 0, 11}, {true, 1, 20, 11}, {false, 11, 10, 21}, {true, 21, 5, 21}} {
			from, to := client, server
			if x.down {
				from, to = server, client
			}
			for k, out := range []bool{true, false} {
				s.Add(Packet{At: int64(1000*host + 10*i + k), Host: host, Within: true, Out: out, Flags: ack, Seq: x.seq, Length: x.length, Ack: x.ack}, from, to)
			}
		}
	}
	s.Join()
	list := s.Requests()
	if got, want := drawn(list), "[0-0 21-21] [30-30 41-41] [1000-1000 1021-1021] [1030-1030 1041-1041]"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	for _, r := range list {
		if r.ByServer || r.Again > 0 || r.Sent.Other == nil || r.Sent.Other.At != r.Sent.At+1 || r.Answer.Other == nil || r.Answer.Other.At != r.Answer.At-1 {
			t.Errorf("%+v", r)
		}
	}
	a, _, _ := s.Way(0, client, server)
	if b, _, known := s.Way(1, client, server); !known || a == b {
		t.Errorf("hosts share connection %d", a)
	}
}
