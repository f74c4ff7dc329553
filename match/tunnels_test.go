package match

import (
	"context"
	"net/netip"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// tunnelWorld is two captures, a and b, with a delay of 100 between them. b's clock is 5000 ahead.
type tunnelWorld struct {
	tables   [2]trace.FlowTable
	captures [2]*trace.Capture
	sent     map[clock.HostTime]clock.HostTime // every packet: the stamp at its sender, and the other's
	at       clock.HostTime
	content  uint32
}

func newTunnelWorld() *tunnelWorld {
	w := &tunnelWorld{sent: make(map[clock.HostTime]clock.HostTime), at: 1000}
	for h, name := range []string{"a", "b"} {
		w.tables[h] = trace.NewFlowTable()
		w.captures[h] = &trace.Capture{Host: name, File: name + ".pcap", Granularity: 1}
	}
	return w
}

// end is 10.0.0.host.
func end(host, port int) trace.FlowEnd {
	return trace.FlowEnd{Lo: 10<<24 | uint64(host), Port: uint16(port)}
}

// way is how a packet crosses: 1 from a to b, else back.
func (w *tunnelWorld) send(way int, inside [2]trace.FlowEnd, outside [2][2]trace.FlowEnd) {
	w.at += 300
	w.content++
	stamps := [2]clock.HostTime{w.at, w.at + 100 + 5000}
	if way < 0 {
		stamps = [2]clock.HostTime{w.at + 100, w.at + 5000}
		w.sent[stamps[1]] = stamps[0]
	} else {
		w.sent[stamps[0]] = stamps[1]
	}
	for h, c := range w.captures {
		t := &w.tables[h]
		tunnel := uint32(0)
		if o := outside[h]; o != [2]trace.FlowEnd{} {
			tunnel = t.Tunnel(o[0], o[1], false, 42, false)
		}
		p := c.Packets.Append()
		*p = trace.Packet{Time: stamps[h], Kind: trace.Datagram, Digest: w.content, Length: 100, TTL: 64}
		p.Flow, _ = t.FindInside(tunnel, inside[0], inside[1], protocolUDP, false)
		c.Flows = t.Flows()
	}
}

func (w *tunnelWorld) match(t *testing.T, o Options) (right, wrong int, warnings []string) {
	t.Helper()
	var said trace.Warnings
	r, err := Match(context.Background(), w.captures[:], o, &said)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Channels {
		for _, m := range c.Messages {
			if w.sent[m.Sent] == m.Received {
				right++
			} else {
				wrong++
			}
		}
	}
	return right, wrong, said.Lines()
}

func reversed(ends [2]trace.FlowEnd) [2]trace.FlowEnd { return [2]trace.FlowEnd{ends[1], ends[0]} }

func same(o [2]trace.FlowEnd) [2][2]trace.FlowEnd { return [2][2]trace.FlowEnd{o, o} }

var tunnelEnds = [2]trace.FlowEnd{end(101, 0), end(102, 0)}

func TestOneWayFlowsBetweenTwoAddressesTellTheirSidesTogether(t *testing.T) {
	for swap := range 3 { // whichever address is the lower, of both or of the inner ones alone
		for _, tunnelled := range []bool{false, true} {
			w := newTunnelWorld()
			for i := range 40 {
				a, b := end(1, 40000+i%4), end(2, 4789)
				if i%2 == 1 {
					a, b = end(1, 4789), end(2, 50000+i%4)
				}
				outside := tunnelEnds
				if swap > 0 {
					a.Lo, b.Lo = b.Lo, a.Lo
				}
				if swap == 1 {
					outside = reversed(outside)
				}
				inside, way := [2]trace.FlowEnd{a, b}, 1
				if i%2 == 1 {
					inside, outside, way = reversed(inside), reversed(outside), -1
				}
				if !tunnelled {
					outside = [2]trace.FlowEnd{}
				}
				w.send(way, inside, same(outside))
			}
			if right, wrong, said := w.match(t, Options{}); right != 40 || wrong != 0 || len(said) != 0 {
				t.Errorf("swapped %d, tunnelled %v: %d right, %d wrong, %q", swap, tunnelled, right, wrong, said)
			}
		}
	}
}

func TestOneWayFlowsOfOtherAddressesTellNothing(t *testing.T) {
	w := newTunnelWorld()
	for range 20 {
		w.send(1, [2]trace.FlowEnd{end(1, 1), end(2, 2)}, [2][2]trace.FlowEnd{})
		w.send(-1, [2]trace.FlowEnd{end(3, 3), end(4, 4)}, [2][2]trace.FlowEnd{})
	}
	if right, wrong, said := w.match(t, Options{}); right != 0 || wrong != 0 || len(said) != 1 {
		t.Errorf("%d right, %d wrong, %q", right, wrong, said)
	}
}

// Copies of both directions go one way. The addresses inside, though each is a host's, say nothing of it.
func TestCopiesInATunnelGoTheWayOfTheTunnel(t *testing.T) {
	mirrored := func() *tunnelWorld {
		w := newTunnelWorld()
		for i := range 40 {
			inside := [2]trace.FlowEnd{end(1, 1000), end(2, 2000)}
			if i%2 == 1 {
				inside = reversed(inside)
			}
			w.send(1, inside, same(tunnelEnds))
		}
		return w
	}
	if right, wrong, said := mirrored().match(t, Options{}); right != 0 || wrong != 0 || len(said) != 1 {
		t.Errorf("%d right, %d wrong, %q", right, wrong, said)
	}
	address := func(s string) []netip.Addr { return []netip.Addr{netip.MustParseAddr(s)} }
	for _, c := range []struct {
		o    Options
		want int
	}{
		{Options{Addresses: map[string][]netip.Addr{"a": address("10.0.0.101")}}, 40},
		{Options{Addresses: map[string][]netip.Addr{"b": address("10.0.0.102")}}, 40},
		{Options{Addresses: map[string][]netip.Addr{"a": address("10.0.0.1")}}, 0},
		{Options{Addresses: map[string][]netip.Addr{"b": address("10.0.0.2")}}, 0},
	} {
		if right, wrong, _ := mirrored().match(t, c.o); right != c.want || wrong != 0 {
			t.Errorf("%v: %d right, %d wrong", c.o.Addresses, right, wrong)
		}
	}
	w := mirrored() // something that goes back between the tunnel's ends
	for i := range 10 {
		way := 1 - 2*(i%2)
		ends := tunnelEnds
		if way < 0 {
			ends = reversed(ends)
		}
		w.send(way, ends, [2][2]trace.FlowEnd{})
	}
	if right, wrong, said := w.match(t, Options{}); right != 50 || wrong != 0 || len(said) != 0 {
		t.Errorf("%d right, %d wrong, %q", right, wrong, said)
	}
}

func TestAPacketInsideATunnelIsTheOneOutsideWhereBothDirectionsShowIt(t *testing.T) {
	none := [2]trace.FlowEnd{}
	for _, c := range []struct {
		name     string
		oneWay   bool
		mirrored bool             // also the other way
		other    [2]trace.FlowEnd // what b sees the packets inside of
		want     int
	}{
		{"the tunnel ends between the captures", false, false, none, 40},
		{"another tunnel", false, false, [2]trace.FlowEnd{end(201, 0), end(202, 0)}, 40},
		{"the addresses of the tunnel are translated", false, false, [2]trace.FlowEnd{end(101, 0), end(203, 0)}, 40},
		{"only one direction", true, false, none, 0},
		{"copies too", false, true, none, 0},
	} {
		w := newTunnelWorld()
		for i := range 40 {
			way, inside, outside := 1, [2]trace.FlowEnd{end(1, 1000), end(2, 2000)}, [2][2]trace.FlowEnd{tunnelEnds, c.other}
			if i%2 == 1 && !c.oneWay {
				way, inside = -1, reversed(inside)
				outside[0], outside[1] = reversed(outside[0]), reversed(outside[1])
			}
			if i > 30 && c.mirrored {
				outside[0] = tunnelEnds
			}
			w.send(way, inside, outside)
		}
		if right, wrong, said := w.match(t, Options{Addresses: map[string][]netip.Addr{"a": {netip.MustParseAddr("10.0.0.1")}}}); right != c.want || wrong != 0 {
			t.Errorf("%s: %d right, %d wrong, %q", c.name, right, wrong, said)
		}
	}
}

// Times to live of the tunnel's header and of the packet's own are of different ways.
func TestHopsOfDifferentHeadersAreNotCompared(t *testing.T) {
	w := newTunnelWorld()
	w.send(1, [2]trace.FlowEnd{end(1, 1), end(2, 2)}, [2][2]trace.FlowEnd{tunnelEnds, {}})
	a, b := newIndex(w.captures[0], 0, nil), newIndex(w.captures[1], 1, nil)
	a.Packets.At(0).TTL, b.Packets.At(0).TTL = 62, 64
	u := &conversation{a: a, b: b}
	if got, _ := hops(u); got != 0 {
		t.Error(got)
	}
	b.Flows[0].Tunnel = a.Flows[0].Tunnel
	if got, _ := hops(u); got != -1 {
		t.Error(got)
	}
}
