package view

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
	"meridian/trace"
)

// captures is what client, server and db captured: packets, and nothing of threads.
type captures struct {
	records []trace.TimelineEvent
	later   clock.TimelineTime // by which messages lie elsewhere than their packets: their clocks are known better when they are found
}

const (
	capturesBegin = int64(1e18)
	captureBound  = 20_000 // of server and db, ns
	capturedMs    = int64(1_000_000)
)

// packet goes from a host to another and takes 100 µs. The port is that of the end that asks.
func (c *captures) packet(from, to int, port uint64, at int64, seq, length, ack uint64, http string) {
	hosts := [3]string{"10.0.0.1", "10.0.0.5", "10.0.0.3"}
	ports := [2]uint64{port, 80}
	if from > to {
		ports = [2]uint64{80, port}
	}
	for i, host := range [2]int{from, to} {
		when := clock.HostTime(capturesBegin + at + int64(i)*100_000)
		e := trace.TimelineEvent{Event: trace.Event{Time: when, Stream: host}, Time: clock.TimelineTime(when), Host: host, Map: host, Bounded: true}
		bound := clock.TimelineTime(0)
		if host > 0 {
			bound = captureBound
		}
		e.Low, e.High = e.Time-bound, e.Time+bound
		e.Values = []trace.Value{trace.OfText("TCP"), trace.OfText(hosts[from]), trace.OfUint(ports[0]), trace.OfText(hosts[to]), trace.OfUint(ports[1]), trace.OfUint(length),
			trace.OfUint(seq), trace.OfUint(ack), trace.OfText("."), trace.OfUint(uint64(at) % 65536), trace.OfText(http)}
		c.records = append(c.records, e)
		m := e
		m.Stream, m.Class, m.Values, m.Flow, m.Role = 3+host, 1+i, nil, uint64(len(c.records)/4+1), []trace.Role{trace.Sends, trace.Receives}[i]
		m.Time, m.Low, m.High = m.Time+c.later, m.Low+c.later, m.High+c.later
		c.records = append(c.records, m)
	}
}

// TestPacketsAreNoMessagesAsWellWhereClocksWereKnownBetterLater has a timeline as it grows.
func TestPacketsAreNoMessagesAsWellWhereClocksWereKnownBetterLater(t *testing.T) {
	t.Parallel()
	c := captures{later: 8}
	for i := range int64(3) {
		n := uint64(i)
		c.packet(0, 1, 40002, i*10*capturedMs, 1+80*n, 80, 1+100*n, "")
		c.packet(1, 0, 40002, i*10*capturedMs+capturedMs, 1+100*n, 100, 81+80*n, "")
	}
	list, err := c.timeline(t).Requests(RequestQuery{})
	if err != nil || list.Count != 3 || list.Requests[0].Peer == "" {
		t.Errorf("%d requests, want the 3 of the connection: %+v, %v", list.Count, list, err)
	}
}

// Behind the limit, messages would be made into requests without any packet.
func TestNoRequestIsFoundBehindTheLastPacketRead(t *testing.T) {
	t.Parallel()
	c := captures{}
	for i := range int64(9) {
		n := uint64(i)
		c.packet(0, 1, 40002, i*10*capturedMs, 1+80*n, 80, 1+100*n, "")
		c.packet(1, 0, 40002, i*10*capturedMs+capturedMs, 1+100*n, 100, 81+80*n, "")
	}
	for packets, want := range map[int]int{4: 1, 12: 3, 36: 9} {
		x := c.timeline(t)
		x.LimitPackets(packets)
		list, err := x.Requests(RequestQuery{})
		if err != nil || list.Count != want || (list.UpTo == 0) != (want == 9) {
			t.Errorf("of %d packets %d requests up to %d, want %d: %v", packets, list.Count, list.UpTo, want, err)
			continue
		}
		for _, r := range list.Requests {
			if r.Peer == "" || list.UpTo != 0 && r.Begin >= list.UpTo {
				t.Errorf("of %d packets a request at %d, up to %d: %+v", packets, r.Begin, list.UpTo, r)
			}
		}
	}
}

func (c *captures) timeline(t *testing.T) *Timeline {
	t.Helper()
	l := &trace.Schema{Title: "captures", Method: "made up", Assumption: "none"}
	packet := trace.Class{Name: "packet", Category: "packets"}
	for _, name := range []string{"protocol", "source", "source_port", "destination", "destination_port", "length", "seq", "ack", "flags", "id", "http"} {
		kind := trace.Uint
		if slices.Contains([]string{"protocol", "source", "destination", "flags", "http"}, name) {
			kind = trace.Text
		}
		packet.Fields = append(packet.Fields, trace.Field{Name: name, Type: trace.Type{Kind: kind, Bits: 64}})
	}
	l.Classes = []trace.Class{packet, {Name: "send", Category: "messages"}, {Name: "receive", Category: "messages"}}
	for h, host := range []string{"client", "server", "db"} {
		m := clock.Identity()
		if h > 0 {
			at := func(by int64) clock.Curve {
				begin, end := clock.HostTime(capturesBegin-1e9), clock.HostTime(capturesBegin+10e9)
				return clock.Curve{{X: begin, Y: clock.TimelineTime(int64(begin) + by)}, {X: end, Y: clock.TimelineTime(int64(end) + by)}}
			}
			m = clock.Map{Low: at(-captureBound), Mid: at(0), High: at(captureBound)}
		}
		l.Hosts, l.Maps = append(l.Hosts, host), append(l.Maps, trace.HostMap{Host: h, Map: &m})
		l.Streams = append(l.Streams, trace.Stream{Name: "packets", Host: host, Parent: -1})
	}
	for _, host := range l.Hosts {
		l.Streams = append(l.Streams, trace.Stream{Name: "messages", Host: host, Kind: trace.Messages, Parent: -1})
	}
	slices.SortStableFunc(c.records, func(a, b trace.TimelineEvent) int { return cmp.Compare(a.Time, b.Time) })
	x, err := NewTimeline(indextest.Build(t, l, "", nil, func(b *index.Builder) error {
		for i := range c.records {
			if err := b.Write(&c.records[i]); err != nil {
				return err
			}
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// TestRequestsOfCapturesBlameNothingThatTheCapturesDoNotTell has a request during which the client asked again on another connection, two
// requests at a time of which one asked the database, and one without a reply.
func TestRequestsOfCapturesBlameNothingThatTheCapturesDoNotTell(t *testing.T) {
	t.Parallel()
	var c captures
	ms := capturedMs
	seq, ack := uint64(1), uint64(1)
	at := 10 * ms
	for i := range 12 { // the last takes 60 ms; the head of each reply comes 1 ms before its body
		reply := at + 2*ms
		if i == 11 {
			reply = at + 60*ms
		}
		c.packet(0, 1, 40001, at, seq, 80, ack, fmt.Sprintf("request GET /item?id=%d", i))
		c.packet(1, 0, 40001, reply, ack, 40, seq+80, "status 200")
		c.packet(1, 0, 40001, reply+ms, ack+40, 60, seq+80, "")
		seq, ack, at = seq+80, ack+100, reply+10*ms
	}
	slow := at - 70*ms
	for i, when := range []int64{slow - 20*ms, slow + 30*ms, slow + 40*ms} {
		n := uint64(i)
		c.packet(0, 1, 40002, when, 1+80*n, 80, 1+100*n, "request GET /list")
		c.packet(1, 0, 40002, when+2*ms, 1+100*n, 100, 81+80*n, "status 200")
	}
	// While the server has the slow one, it asks the database, for whichever.
	c.packet(1, 2, 50000, slow+ms, 1, 16, 1, "")
	c.packet(2, 1, 50000, slow+41*ms, 1, 16, 17, "")
	c.packet(0, 1, 40003, slow, 1, 80, 1, "request GET /drop")
	x := c.timeline(t)
	list, err := x.Requests(RequestQuery{})
	if err != nil || list.Lost == nil || list.Lost.Count != 1 || !slices.Equal(list.Lost.Names, []string{"GET /drop"}) {
		t.Fatalf("%+v: %v", list, err)
	}
	r := &list.Requests[0]
	if r.Name != "GET /item?id=11" || r.Total != 61*ms+100_000 || r.Transfer != ms || r.ClientTime != 0 || r.Like != 11 || r.Beyond != 58*ms || r.ServerTime != 59*ms+900_000 {
		t.Errorf("the slowest is %+v", r)
	}
	if n := slices.IndexFunc(list.Groups, func(g RequestGroup) bool { return g.Name == "GET /item" && g.Count == 12 }); n < 0 || list.Names != len(list.Groups) {
		t.Errorf("groups are %+v of %d", list.Groups, list.Names)
	}
	if one, err := x.Requests(RequestQuery{Text: "id=7 server"}); err != nil || one.Matched != 1 || one.Requests[0].Name != "GET /item?id=7" {
		t.Errorf("a query has %+v: %v", one, err)
	}
	p, err := x.Path(r.ID)
	if err != nil {
		t.Fatal(err)
	}
	names := func(list []int) (out []string) {
		for _, i := range list {
			out = append(out, fmt.Sprint(p.Items[i].Name, "@", p.Items[i].Host))
		}
		slices.Sort(out)
		return out
	}
	// Whether it was this request that waited for the database is not told: it is one or the other.
	if total, beyond := names(p.Total), names(p.Beyond); !slices.Equal(total, []string{"at the host@1", "at the host@2"}) || !slices.Equal(beyond, total) {
		t.Errorf("the longest are %v, beyond the usual %v", total, beyond)
	}
	for _, it := range p.Items {
		if it.Name == "at the host" && it.Host == 2 && (it.Low != 0 || it.High != 40*ms-100_000) || it.Name == "at the host" && it.Host == 1 && it.High != 61*ms-100_000 {
			t.Errorf("an item is %+v", it)
		}
	}
	for _, y := range p.Pieces {
		if host := x.About().Rows[y.Row].Host; host == 0 && y.From < 0 {
			t.Errorf("the client is blamed: %+v", y)
		}
	}
}

func TestAllNamesOfRequestsAreThereWhereAllAreAskedFor(t *testing.T) {
	t.Parallel()
	var c captures
	const names = usualGroups + 5
	for i := range int64(names) {
		n := uint64(i)
		c.packet(0, 1, 40002, i*10*capturedMs, 1+80*n, 80, 1+100*n, fmt.Sprintf("request GET /%d", i))
		c.packet(1, 0, 40002, i*10*capturedMs+capturedMs, 1+100*n, 100, 81+80*n, "status 200")
	}
	x := c.timeline(t)
	for most, want := range map[int]int{0: usualGroups, 1000: names} {
		list, err := x.Requests(RequestQuery{MostGroups: most})
		if err != nil || len(list.Groups) != want || list.Names != names {
			t.Errorf("%d of %d names: %v", len(list.Groups), list.Names, err)
		}
	}
}
