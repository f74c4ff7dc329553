package match

import (
	"net/netip"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// oneWay passes TCP data in one direction only, which by itself does not tell who sends.
func oneWay(w *world, change func(p *trace.Packet, atB bool)) {
	for i := range int64(10) {
		p := trace.Packet{Time: clock.HostTime(1_000_000_000 + i*1_000_000), Kind: trace.TCP, Seq: uint32(100 * i), Ack: 5, Length: 100, Flags: trace.ACK, TTL: 64}
		for _, atB := range []bool{false, true} {
			q := p
			if atB {
				q.Time += 20_000
				w.left[q.Time] = p.Time
			}
			change(&q, atB)
			w.record(atB, protocolTCP, addrA, addrB, q)
		}
	}
}

func TestSenderIsToldByFlagsTTLAndAddresses(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(p *trace.Packet, atB bool)
		options Options
		other   func(w *world)
		want    int
	}{
		{"nothing", func(*trace.Packet, bool) {}, Options{}, nil, 0},
		{"flags at the sender", func(p *trace.Packet, atB bool) {
			if !atB {
				p.From = trace.Sent
			}
		}, Options{}, nil, 10},
		{"flags at the receiver", func(p *trace.Packet, atB bool) {
			if atB {
				p.From = trace.Received
			}
		}, Options{}, nil, 10},
		{"a hop in between", func(p *trace.Packet, atB bool) {
			if atB {
				p.TTL--
			}
		}, Options{}, nil, 10},
		{"the sender's address given", func(*trace.Packet, bool) {}, Options{Addresses: map[string][]netip.Addr{"a": {addrA.Addr}}}, nil, 10},
		{"the receiver's address given", func(*trace.Packet, bool) {}, Options{Addresses: map[string][]netip.Addr{"b": {addrB.Addr}}}, nil, 10},
		{"addresses learnt from other traffic", func(*trace.Packet, bool) {}, Options{}, func(w *world) {
			for i := range int64(6) {
				w.pass(i%2 == 0, 132, trace.Packet{Time: clock.HostTime(3_000_000_000 + i*60_000), Kind: trace.Datagram, Length: 3, Digest: uint32(i + 1), ID: uint16(5 + i)}, 20_000)
			}
		}, 13},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(3_000_000_000)
			oneWay(w, c.change)
			if c.other != nil {
				c.other(w)
			}
			ab, ba, _, warnings := w.match(t, c.options)
			w.check(t, ab, ba)
			if len(ab) != c.want {
				t.Errorf("%d messages, want %d; %q", len(ab), c.want, warnings)
			}
			if said := strings.Contains(strings.Join(warnings, "\n"), "--address"); said != (c.want == 0) {
				t.Errorf("advice %v: %q", said, warnings)
			}
		})
	}
}

// A round trip of 20 µs by a clock of 1 ms looks like one of the other side.
func TestHopsOutweighRoundTripsWithinTheStepsOfStamps(t *testing.T) {
	w := newWorld(3_000_000_000)
	w.a.Granularity, w.b.Granularity = 1_000_000, 1
	for i, atA := range []clock.HostTime{1_000_000_000, 1_000_000_000} {
		p := trace.Packet{Kind: trace.Datagram, Length: 3, Digest: uint32(i + 1), ID: uint16(5 + i)}
		from, to := addrA, addrB
		if i == 1 {
			from, to = addrB, addrA
		}
		for _, atB := range []bool{false, true} {
			p.Time, p.TTL = atA, 64
			if atB {
				p.Time = 1_000_920_000 + clock.HostTime(i)*30_000
			}
			if atB == (i == 0) { // it is the receiver's
				p.TTL--
			}
			w.record(atB, 17, from, to, p)
		}
	}
	if ab, ba, _, warnings := w.match(t, Options{}); len(ab) != 1 || len(ba) != 1 || ab[0].Sent != 1_000_000_000 || ba[0].Received != 1_000_000_000 || ba[0].Sent-ab[0].Received != 30_000 {
		t.Errorf("%d messages from a and %d from b, want one each: %q", len(ab), len(ba), warnings)
	}
}

func TestOwnLinkAddressTellsTheSender(t *testing.T) {
	w := newWorld(3_000_000_000)
	oneWay(w, func(*trace.Packet, bool) {})
	mac := func(last byte) trace.MAC { return trace.MAC{2, 0, 0, 0, 0, last} }
	w.a.Flows[0].Source[0], w.a.Flows[0].Target[0] = mac(1), mac(2)
	// A second neighbour: only a's own address is in every frame.
	w.a.Flows = append(w.a.Flows, trace.Flow{Low: addrA, High: trace.Endpoint{Addr: netip.MustParseAddr("10.0.0.9")}, Protocol: 17,
		Source: [2]trace.MAC{mac(1)}, Target: [2]trace.MAC{mac(3)}})
	ab, ba, _, _ := w.match(t, Options{})
	w.check(t, ab, ba)
	if len(ab) != 10 {
		t.Errorf("%d messages, want 10", len(ab))
	}
}

func TestSecondCaptureOfOneHostIsNamed(t *testing.T) {
	for _, c := range []struct{ flags, micros bool }{{true, false}, {false, false}, {false, true}} {
		flags := c.flags
		w := newWorld(0)
		if c.micros {
			w.b.Granularity = 1000
		}
		for i := range int64(20) {
			p := trace.Packet{Time: clock.HostTime(1_000_000_000 + i*1_000_377), Kind: trace.TCP, Seq: uint32(100 * i), Ack: 5, Length: 100, Flags: trace.ACK}
			from, to := addrA, addrB
			if i%2 == 1 {
				from, to = to, from
			}
			if flags {
				p.From = trace.Sent - trace.Direction(i%2)
			}
			w.record(false, protocolTCP, from, to, p)
			p.Time -= clock.HostTime(int64(p.Time) % w.b.Granularity)
			w.record(true, protocolTCP, from, to, p)
		}
		ab, ba, _, warnings := w.match(t, Options{})
		if len(ab)+len(ba) > 0 || !strings.Contains(strings.Join(warnings, "\n"), "second capture of the host of a.pcap") {
			t.Errorf("%+v: %d messages, %q", c, len(ab)+len(ba), warnings)
		}
	}
}
