package match

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// world records what two hosts, a and b, would capture of packets that travel between them. Both clocks are right, so
// whatever is matched can be held against what happened; the skew and offset of real clocks play no part in matching
// but for orientation, and b's offset takes care of that.
type world struct {
	a, b    *trace.Capture
	offset  int64                             // of b's clock
	flows   [2]map[flow]int                   // by capture
	left    map[clock.HostTime]clock.HostTime // when what was received at an instant (b's or a's stamp) had left
	natural func(e trace.Endpoint, atB bool) trace.Endpoint
}

type flow struct {
	low, high trace.Endpoint
	protocol  uint8
}

func newWorld(offset int64) *world {
	return &world{
		a: &trace.Capture{Host: "a", File: "a.pcap", Granularity: 1}, b: &trace.Capture{Host: "b", File: "b.pcap", Granularity: 1},
		offset: offset, flows: [2]map[flow]int{{}, {}}, left: make(map[clock.HostTime]clock.HostTime),
		natural: func(e trace.Endpoint, _ bool) trace.Endpoint { return e },
	}
}

var (
	addrA = trace.Endpoint{Addr: netip.MustParseAddr("10.0.0.1"), Port: 40000}
	addrB = trace.Endpoint{Addr: netip.MustParseAddr("10.0.0.2"), Port: 80}
)

// record puts a packet into a capture. p carries everything but the flow.
func (w *world) record(atB bool, protocol uint8, from, to trace.Endpoint, p trace.Packet) {
	c, side := w.a, 0
	if atB {
		c, side = w.b, 1
		p.Time += clock.HostTime(w.offset)
	}
	from, to = w.natural(from, atB), w.natural(to, atB)
	key, dir := flow{from, to, protocol}, uint32(0)
	if from.Compare(to) > 0 {
		key, dir = flow{to, from, protocol}, 1
	}
	n, ok := w.flows[side][key]
	if !ok {
		n = len(c.Flows)
		w.flows[side][key] = n
		c.Flows = append(c.Flows, trace.Flow{Low: key.low, High: key.high, Protocol: protocol})
	}
	p.Flow = uint32(n)<<1 | dir
	*c.Packets.Append() = p
}

// sorted puts both captures into the order of time, as captures are.
func (w *world) sorted() {
	for _, c := range []*trace.Capture{w.a, w.b} {
		var all []trace.Packet
		for i := range c.Packets.Len() {
			all = append(all, *c.Packets.At(i))
		}
		slices.SortStableFunc(all, func(p, q trace.Packet) int { return int(p.Time - q.Time) })
		c.Packets = trace.Log{}
		for _, p := range all {
			*c.Packets.Append() = p
		}
	}
}

// match matches the captures and returns the messages from a to b and back.
func (w *world) match(t testing.TB, o Options) (ab, ba []trace.Message, r *Result, warnings []string) {
	t.Helper()
	w.sorted()
	var log trace.Warnings
	r, err := Match(context.Background(), []*trace.Capture{w.a, w.b}, o, &log)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Channels {
		switch {
		case r.Clocks[c.From].Host == "a" && r.Clocks[c.To].Host == "b":
			ab = append(ab, c.Messages...)
		case r.Clocks[c.From].Host == "b" && r.Clocks[c.To].Host == "a":
			ba = append(ba, c.Messages...)
		}
	}
	return ab, ba, r, log.Lines()
}

// check demands that every message's send is no later than what it claims to have delivered really left.
func (w *world) check(t interface{ Fatalf(string, ...any) }, ab, ba []trace.Message) {
	for _, m := range ab {
		if left, ok := w.left[m.Received-clock.HostTime(w.offset)]; !ok || m.Sent > left {
			t.Fatalf("a to b: sent at %d, received at %d, but what was received left at %d", m.Sent, m.Received-clock.HostTime(w.offset), left)
		}
	}
	for _, m := range ba {
		if left, ok := w.left[-m.Received]; !ok || m.Sent-clock.HostTime(w.offset) > left {
			t.Fatalf("b to a: sent at %d, received at %d, but what was received left at %d", m.Sent-clock.HostTime(w.offset), m.Received, left)
		}
	}
}

// pass sends a packet that nothing changes on its way and returns when it arrives.
func (w *world) pass(fromA bool, protocol uint8, p trace.Packet, delay int64) clock.HostTime {
	from, to := addrA, addrB
	if !fromA {
		from, to = addrB, addrA
	}
	sent := p.Time
	w.record(!fromA, protocol, from, to, p)
	p.Time += clock.HostTime(delay)
	w.record(fromA, protocol, from, to, p)
	if fromA {
		w.left[p.Time] = sent
	} else {
		w.left[-p.Time] = sent
	}
	return p.Time
}
