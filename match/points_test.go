package match

import (
	"net/netip"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// doubled records an exchange of datagrams and TCP of which a's capture holds every packet at two points.
func doubled(change func(p *trace.Packet, again bool)) *world {
	w := newWorld(5_000_000_000)
	for i := range int64(200) {
		now := clock.HostTime(1_000_000_000 + i*1_000_000)
		for _, protocol := range []uint8{protocolUDP, protocolTCP} {
			p := trace.Packet{Time: now, Kind: trace.Datagram, Length: 50, Digest: uint32(i + 1), TTL: 64}
			if protocol == protocolTCP {
				p = trace.Packet{Time: now, Kind: trace.TCP, Length: 50, Seq: uint32(50 * i), Ack: 9, Flags: trace.ACK, TTL: 64}
			}
			for _, fromA := range []bool{true, false} {
				from, to := addrA, addrB
				if !fromA {
					from, to = addrB, addrA
				}
				q := p
				q.Digest ^= uint32(protocol) << 16
				if !fromA {
					q.Digest ^= 1 << 30
					q.Time += 300_000
				}
				at := q.Time
				for again, later := range []int64{0, 7_000} {
					r := q
					r.Time += clock.HostTime(later)
					if !fromA {
						r.Time += 20_000
					}
					change(&r, again == 1)
					w.record(false, protocol, from, to, r)
					if !fromA {
						w.left[-r.Time] = at
					}
				}
				if fromA {
					q.Time += 20_000
					w.left[q.Time] = at
				}
				w.record(true, protocol, from, to, q)
			}
		}
	}
	return w
}

func TestACaptureIsReadAtOneOfItsPoints(t *testing.T) {
	for name, change := range map[string]func(p *trace.Packet, again bool){
		"interfaces": func(p *trace.Packet, again bool) {
			if p.Point = 7; again {
				p.Point = 8
			}
		},
		"hops": func(p *trace.Packet, again bool) {
			if again {
				p.TTL--
			}
		},
		"in and out": func(p *trace.Packet, again bool) {
			if p.From = trace.Received; again {
				p.From = trace.Sent
			}
		},
		"a mirror port": func(*trace.Packet, bool) {},
	} {
		w := doubled(change)
		ab, ba, r, warnings := w.match(t, Options{})
		w.check(t, ab, ba)
		if len(ab) != 400 || len(ba) != 400 || len(warnings) != 0 || r.Tally.Ambiguous != 0 {
			t.Errorf("%s: %d and %d messages of 400 each way, %+v %q", name, len(ab), len(ba), r.Tally, warnings)
		}
	}
}

func TestPointsThatShareFewPacketsAreBothRead(t *testing.T) {
	capture := func(at func(i int) uint16, digest func(i int) uint32) *index {
		c := &trace.Capture{Flows: []trace.Flow{{Low: addrA, High: addrB, Protocol: protocolUDP}}}
		for i := range 100 {
			*c.Packets.Append() = trace.Packet{Time: clock.HostTime(i * 1000), Kind: trace.Datagram, Point: at(i), Digest: digest(i), Length: 9}
		}
		return newIndex(c, 0, nil)
	}
	half := func(i int) uint16 { return uint16(i % 2) }
	own := func(i int) uint32 { return uint32(i + 1) }
	pairs := func(i int) uint32 { return uint32(i/2 + 1) }
	if n := len(capture(half, own).packets(0)); n != 100 {
		t.Errorf("of two routes %d packets of 100 are read", n)
	}
	if n := len(capture(half, pairs).packets(0)); n != 50 {
		t.Errorf("of two points %d packets of 50 are read", n)
	}
	if n := len(capture(func(int) uint16 { return 3 }, pairs).packets(0)); n != 100 {
		t.Errorf("of one point %d packets of 100 are read: one may have been sent twice", n)
	}
	if n := len(capture(half, func(int) uint32 { return 0 }).packets(0)); n != 100 {
		t.Errorf("of packets that nothing is known of %d of 100 are read", n)
	}
}

// Of a packet sent twice the point that is read may have missed a sending that another point has.
func TestAPointShowsWhatAnotherMissed(t *testing.T) {
	for _, p := range []trace.Packet{{Kind: trace.Datagram, Digest: 1000, Length: 9}, {Kind: trace.TCP, Seq: 1000, Length: 9}, {Kind: trace.TCP, Seq: 1000, Ack: 7}} {
		c := &trace.Capture{Flows: []trace.Flow{{Low: addrA, High: addrB, Protocol: protocolUDP}}}
		at := clock.HostTime(0)
		record := func(p trace.Packet, point uint16) {
			p.Time, p.Point = at, point
			at += 1000
			*c.Packets.Append() = p
		}
		for i := range uint32(20) {
			q := p
			q.Digest, q.Seq = q.Digest+10*i, q.Seq+10*i
			for copies := range 2 {
				if !(i == 5 && copies == 0 || i == 7) {
					record(q, 1)
				}
				if !(i == 6 && copies == 0) {
					record(q, 2)
				}
			}
		}
		x := newIndex(c, 0, nil)
		if n := len(x.packets(0)); n != 2*18 || x.vague != 1 {
			t.Errorf("%v: %d packets of 37 are read, %d left out", p, n, x.vague)
		}
	}
}

// A host that forwards a tunnel is the receiver of nothing in it, whatever the addresses inside.
func TestAForwardedTunnelsDirectionsSayNothing(t *testing.T) {
	tunnel := trace.Tunnel{From: addrOf("192.0.2.9"), To: addrOf("192.0.2.1"), ID: 42}
	turned := trace.Tunnel{From: tunnel.To, To: tunnel.From, ID: 42}
	inside := func(low, high string, tunnel trace.Tunnel) trace.Flow {
		return trace.Flow{Low: trace.Endpoint{Addr: addrOf(low)}, High: trace.Endpoint{Addr: addrOf(high)}, Protocol: protocolUDP, Tunnel: tunnel}
	}
	c := &trace.Capture{Flows: []trace.Flow{inside("10.0.0.1", "10.0.0.2", tunnel), inside("10.0.0.3", "10.0.0.4", turned), inside("10.0.0.5", "10.0.0.6", trace.Tunnel{})}}
	for i := range uint32(20) {
		for j, from := range []trace.Direction{trace.Received, trace.Sent} {
			*c.Packets.Append() = trace.Packet{Time: clock.HostTime(i*1000) + clock.HostTime(j), Kind: trace.Datagram, Digest: i + 1, From: from}
		}
		for flow := range uint32(2) {
			*c.Packets.Append() = trace.Packet{Time: clock.HostTime(i*1000) + 9, Kind: trace.Datagram, Flow: 2 * (flow + 1), Digest: 100 + i, From: trace.Received}
		}
	}
	x := newIndex(c, 0, nil)
	for flow, want := range []trace.Direction{trace.Unknown, trace.Unknown, trace.Received} {
		if got := x.fromOf(x.at(x.packets(flow)[0])); got != want {
			t.Errorf("flow %d: %v, not %v", flow, got, want)
		}
	}
}

func addrOf(s string) netip.Addr { return netip.MustParseAddr(s) }
