package match

import (
	"math/big"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// flagged is a capture of one flow of which some packets of direction 0 were sent, as it says, and some came in.
func flagged(sent, received, unknown int) *index {
	c := &trace.Capture{Flows: []trace.Flow{{Low: addrA, High: addrB, Protocol: protocolUDP}}}
	for from, n := range map[trace.Direction]int{trace.Sent: sent, trace.Received: received, trace.Unknown: unknown, trace.Foreign: unknown} {
		for range n {
			*c.Packets.Append() = trace.Packet{Kind: trace.Datagram, From: from}
		}
	}
	return newIndex(c, 0, nil)
}

func TestNineOfTenFlagsTellTheDirection(t *testing.T) {
	for _, c := range []struct{ sent, received, unknown, want int }{
		{1, 0, 0, 1}, {0, 1, 0, -1}, {0, 0, 5, 0}, {19, 1, 0, 1}, {18, 2, 0, 0}, {1, 19, 0, -1}, {2, 18, 0, 0}, {5, 5, 0, 0}, {19, 1, 30, 1}, {20, 0, 0, 1}, {38, 2, 0, 1}, {37, 3, 0, 0},
	} {
		x := flagged(c.sent, c.received, c.unknown)
		if a, b := flagsOf(x, 0, 0), flagsOf(x, 0, 1); a != c.want || b != -c.want {
			t.Errorf("%d sent, %d received: %d, and %d the other way", c.sent, c.received, a, b)
		}
	}
}

// seen is a flow from addrA to addrB in two captures, which the second may see under other addresses.
func seen(t *testing.T, swapped bool, a, b []trace.Packet) *conversation {
	t.Helper()
	build := func(host int, packets []trace.Packet, turned bool) *index {
		c := &trace.Capture{Flows: []trace.Flow{{Low: addrA, High: addrB, Protocol: protocolUDP}}, Granularity: 1}
		for _, p := range packets {
			if turned {
				p.Flow ^= 1
			}
			*c.Packets.Append() = p
		}
		return newIndex(c, host, nil)
	}
	return &conversation{a: build(0, a, false), b: build(1, b, swapped), swapped: swapped}
}

func TestTheHigherTimeToLiveIsNearerToTheSender(t *testing.T) {
	p := func(direction uint32, ttl uint8) trace.Packet {
		return trace.Packet{Kind: trace.Datagram, Flow: direction, TTL: ttl}
	}
	for _, swapped := range []bool{false, true} {
		for _, c := range []struct {
			a, b []trace.Packet
			want int
		}{
			{[]trace.Packet{p(0, 64)}, []trace.Packet{p(0, 63)}, 1}, {[]trace.Packet{p(0, 63)}, []trace.Packet{p(0, 64)}, -1}, {[]trace.Packet{p(0, 64)}, []trace.Packet{p(0, 64)}, 0},
			{[]trace.Packet{p(1, 64)}, []trace.Packet{p(1, 63)}, -1}, {[]trace.Packet{p(1, 63)}, []trace.Packet{p(1, 64)}, 1},
			{[]trace.Packet{p(0, 0), p(0, 64)}, []trace.Packet{p(0, 63)}, 1}, {[]trace.Packet{p(0, 0)}, []trace.Packet{p(0, 63)}, 0}, {[]trace.Packet{p(0, 64)}, []trace.Packet{p(0, 0)}, 0},
			{[]trace.Packet{p(0, 64), p(1, 60)}, []trace.Packet{p(0, 64), p(1, 61)}, 1}, {nil, []trace.Packet{p(0, 63)}, 0}, {[]trace.Packet{p(1, 70), p(0, 64)}, []trace.Packet{p(1, 1), p(0, 65)}, -1},
		} {
			if got, _ := hops(seen(t, swapped, c.a, c.b)); got != c.want {
				t.Errorf("swapped %v: %v and %v: %d, want %d", swapped, c.a, c.b, got, c.want)
			}
		}
	}
}

func TestBsDirectionIsTheOtherOneWhereAddressesAreTurned(t *testing.T) {
	for _, c := range []struct {
		swapped bool
		d, want int
	}{{false, 0, 0}, {false, 1, 1}, {true, 0, 1}, {true, 1, 0}} {
		if got := (&conversation{swapped: c.swapped}).otherDirection(c.d); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestCapturesAreOfOneHostWhereMostConversationsSayso(t *testing.T) {
	a, b, d := &index{Capture: &trace.Capture{File: "a"}}, &index{Capture: &trace.Capture{File: "b"}}, &index{Capture: &trace.Capture{File: "d"}}
	for _, c := range []struct {
		same, other, silent int // conversations
		want                bool
	}{{1, 0, 0, true}, {1, 1, 0, false}, {2, 1, 0, true}, {1, 2, 0, false}, {0, 1, 0, false}, {0, 0, 0, false}, {0, 0, 5, false}, {1, 0, 5, true}, {3, 3, 0, false}, {4, 3, 9, true}} {
		var conversations []conversation
		var found []evidence
		add := func(n int, e evidence) {
			for range n {
				conversations, found = append(conversations, conversation{a: a, b: b}), append(found, e)
			}
		}
		add(c.same, evidence{sameHost: true, shared: 1})
		add(c.other, evidence{shared: 1})
		add(c.silent, evidence{})
		add(7, evidence{sameHost: true, group: true, shared: 1}) // of any two hosts on one network
		conversations, found = append(conversations, conversation{a: a, b: d}), append(found, evidence{shared: 3})
		var w trace.Warnings
		r := &orientation{indexes: []*index{a, b, d}}
		same := r.sameHosts(conversations, found, &w)
		if same[[2]*index{a, b}] != c.want || same[[2]*index{a, d}] || (len(w.Lines()) > 0) != c.want {
			t.Errorf("%+v: %v, %q", c, same, w.Lines())
		}
	}
}

func TestAHostsOwnAddressesAreThoseItsPacketsLeaveWithAnInitialTimeToLive(t *testing.T) {
	for _, c := range []struct {
		ttl     uint8
		options Options
		a, b    []netip.Addr
	}{
		{64, Options{}, []netip.Addr{addrA.Addr}, []netip.Addr{addrB.Addr}}, {255, Options{}, []netip.Addr{addrA.Addr}, []netip.Addr{addrB.Addr}},
		{63, Options{}, nil, nil}, {0, Options{}, nil, nil},
		{64, Options{Addresses: map[string][]netip.Addr{"a": {addrA.Addr}}}, []netip.Addr{addrA.Addr}, []netip.Addr{addrB.Addr}},
		{64, Options{Addresses: map[string][]netip.Addr{"b": {netip.AddrFrom16(addrB.Addr.As16()), netip.MustParseAddr("1.2.3.4")}}}, []netip.Addr{addrA.Addr}, []netip.Addr{netip.MustParseAddr("1.2.3.4"), addrB.Addr}},
		// The user knows better: what a sends with, b has.
		{64, Options{Addresses: map[string][]netip.Addr{"c": {addrA.Addr}}}, []netip.Addr{addrA.Addr}, []netip.Addr{addrB.Addr}},
	} {
		w := newWorld(1_000_000_000)
		for i := range int64(12) {
			p := trace.Packet{Time: clock.HostTime(1_000_000_000 + i*1_000_000), Kind: trace.TCP, Seq: uint32(100 * i), Ack: 5, Length: 100, Flags: trace.ACK, TTL: c.ttl}
			from, to := addrA, addrB
			if i%2 == 1 {
				from, to = to, from
			}
			w.record(i%2 == 1, protocolTCP, from, to, p)
			p.Time += 20_000
			if p.TTL > 0 {
				p.TTL -= 3
			}
			w.record(i%2 == 0, protocolTCP, from, to, p)
		}
		_, _, r, _ := w.match(t, c.options)
		if !slices.Equal(r.Addresses[0], c.a) || !slices.Equal(r.Addresses[1], c.b) {
			t.Errorf("time to live %d, %v: %v", c.ttl, c.options.Addresses, r.Addresses)
		}
	}
}

func TestAnAddressThatIsGivenToAnotherHostIsNotClaimed(t *testing.T) {
	u := seen(t, false, []trace.Packet{{TTL: 64}}, []trace.Packet{{TTL: 60}})
	u.near = 1
	for _, given := range []bool{false, true} {
		r := &orientation{given: map[netip.Addr]int{}, own: []map[netip.Addr]bool{{}, {}}}
		if given {
			r.given[addrA.Addr] = 1
		}
		r.claim(u)
		if r.own[0][addrA.Addr] == given || len(r.own[1]) != 0 {
			t.Errorf("given %v: %v", given, r.own)
		}
	}
}

// TestAnAddressIsClaimedWhereNoRouterDecrementedTheTimeToLive: systems send with 64 (Linux, macOS), 128 (Windows), 255 (routers,
// Solaris) or 32 (Windows 95).
func TestAnAddressIsClaimedWhereNoRouterDecrementedTheTimeToLive(t *testing.T) {
	initial := map[int]bool{32: true, 64: true, 128: true, 255: true}
	for hops := range 256 {
		packets := []trace.Packet{{TTL: uint8(hops)}}
		u := seen(t, false, packets, packets)
		u.near = 1
		r := &orientation{given: map[netip.Addr]int{}, own: []map[netip.Addr]bool{{}, {}}}
		r.claim(u)
		if got := r.own[0][addrA.Addr]; got != initial[hops] {
			t.Errorf("time to live %d: claimed %v", hops, got)
		}
	}
}

func TestTheSenderOfBothDirectionsIsClaimedOnItsOwnSide(t *testing.T) {
	for _, swapped := range []bool{false, true} {
		for _, near := range []int{-1, 0, 1} {
			all := []trace.Packet{{Flow: 0, TTL: 64}, {Flow: 1, TTL: 64}}
			u := seen(t, swapped, all, all)
			u.near = near
			r := &orientation{given: map[netip.Addr]int{}, own: []map[netip.Addr]bool{{}, {}}}
			r.claim(u)
			atA, atB := addrA.Addr, addrB.Addr // whose packets leave at a, and at b as b knows them
			if near < 0 {
				atA, atB = atB, atA
			}
			if swapped {
				atB = map[netip.Addr]netip.Addr{addrA.Addr: addrB.Addr, addrB.Addr: addrA.Addr}[atB]
			}
			want := []map[netip.Addr]bool{{atA: true}, {atB: true}}
			if near == 0 {
				want = []map[netip.Addr]bool{{}, {}}
			}
			for i := range want {
				if len(r.own[i]) != len(want[i]) || near != 0 && !r.own[i][[]netip.Addr{atA, atB}[i]] {
					t.Errorf("swapped %v, near %d: %v, want %v", swapped, near, r.own, want)
				}
			}
		}
	}
}

func TestAddressesAreKeysOfTheirPairOfCapturesAndMACsOfTheirCapture(t *testing.T) {
	u := seen(t, false, []trace.Packet{{}}, []trace.Packet{{}})
	if n := len(keysOf(u, 0)); n != 1 {
		t.Errorf("one address under one name: %d keys", n)
	}
	u.b.Flows[0].Low.Addr = netip.MustParseAddr("9.9.9.9")
	u.b.Flows[0].Source[0] = trace.MAC{1}
	keys := keysOf(u, 0)
	if len(keys) != 3 || keys[0].addr != addrA.Addr || keys[1].addr != u.b.Flows[0].Low.Addr || keys[2].mac != (trace.MAC{1}) || keys[2].in != u.b {
		t.Errorf("%+v", keys)
	}
	if n := len(keysOf(u, 1)); n != 1 {
		t.Errorf("the other direction: %d keys", n)
	}
}

func TestWhatCannotBeDecidedIsCountedAndSaid(t *testing.T) {
	w := newWorld(3_000_000_000)
	oneWay(w, func(*trace.Packet, bool) {})
	_, _, r, warnings := w.match(t, Options{})
	if r.Tally != (Tally{Unoriented: 10}) || !strings.Contains(strings.Join(warnings, "\n"), "TCP 10.0.0.1:40000-10.0.0.2:80 in a.pcap and b.pcap") {
		t.Errorf("%+v, %q", r.Tally, warnings)
	}
	// What shares no packet is nothing to decide.
	w = newWorld(0)
	for i := range clock.HostTime(9) {
		for _, atB := range []bool{false, true} {
			w.record(atB, protocolUDP, addrA, addrB, trace.Packet{Time: i, Kind: trace.Datagram, Length: 9, Digest: uint32(i + 1)})
			if atB {
				w.b.Packets.At(int(i)).Digest += 1000
			}
		}
	}
	if _, _, r, warnings := w.match(t, Options{}); r.Tally != (Tally{}) || len(warnings) > 0 || r.Captures[0].Met || r.Captures[1].Met {
		t.Errorf("%+v, %q, %+v", r.Tally, warnings, r.Captures)
	}
}

func TestTheEarlierEvidenceDecides(t *testing.T) {
	p := func(from trace.Direction, ttl uint8) []trace.Packet {
		return []trace.Packet{{Kind: trace.Datagram, From: from, TTL: ttl}}
	}
	for _, c := range []struct {
		a, b trace.Direction
		ttlA uint8
		want evidence
	}{
		{trace.Sent, trace.Unknown, 0, evidence{near: 1}}, {trace.Received, trace.Unknown, 0, evidence{near: -1}},
		{trace.Unknown, trace.Received, 0, evidence{near: 1}}, {trace.Unknown, trace.Sent, 0, evidence{near: -1}},
		{trace.Sent, trace.Received, 0, evidence{near: 1}}, {trace.Received, trace.Sent, 0, evidence{near: -1}},
		{trace.Sent, trace.Sent, 0, evidence{sameHost: true}}, {trace.Received, trace.Received, 0, evidence{sameHost: true}},
		{trace.Unknown, trace.Unknown, 61, evidence{near: 1}}, {trace.Unknown, trace.Unknown, 59, evidence{near: -1}}, {trace.Unknown, trace.Unknown, 60, evidence{}},
		{trace.Received, trace.Unknown, 59, evidence{near: -1}}, {trace.Sent, trace.Unknown, 61, evidence{near: 1}},
		// What a received has more hops left at a than at b: a forwards it.
		{trace.Received, trace.Unknown, 61, evidence{contested: true}}, {trace.Unknown, trace.Received, 59, evidence{contested: true}},
	} {
		u := seen(t, false, p(c.a, c.ttlA), p(c.b, 60))
		r := newOrientation([]*index{u.a, u.b}, []string{"a", "b"}, Options{})
		if got := r.examine(u); got.near != c.want.near || got.sameHost != c.want.sameHost || got.contested != c.want.contested {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	for _, c := range []struct {
		to   string
		a, b trace.Direction
		want bool
	}{
		{"ff02::16", trace.Received, trace.Received, true}, {"255.255.255.255", trace.Received, trace.Received, true}, {"224.0.0.251", trace.Received, trace.Received, true},
		{"ff02::16", trace.Sent, trace.Sent, false}, {"10.0.0.2", trace.Received, trace.Received, false},
	} {
		u := seen(t, false, p(c.a, 0), p(c.b, 0))
		for _, x := range []*index{u.a, u.b} {
			x.Flows[0].High.Addr = netip.MustParseAddr(c.to)
		}
		r := newOrientation([]*index{u.a, u.b}, []string{"a", "b"}, Options{})
		if got := r.examine(u); !got.sameHost || got.group != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	u := seen(t, false, p(trace.Sent, 0), p(trace.Unknown, 0))
	for _, c := range []struct {
		host string
		addr netip.Addr
		want int
	}{{"a", addrA.Addr, 1}, {"b", addrA.Addr, -1}, {"a", addrB.Addr, -1}, {"b", addrB.Addr, 1}, {"c", addrA.Addr, 0}} {
		r := newOrientation([]*index{u.a, u.b}, []string{"a", "b", "c"}, Options{Addresses: map[string][]netip.Addr{c.host: {c.addr}}})
		if got := r.fromGiven(u); got != c.want {
			t.Errorf("%s is of %s: %d, want %d", c.addr, c.host, got, c.want)
		}
	}
}

func TestFlagsNeedSupportWhereHopsOrRoundTripsContradictThem(t *testing.T) {
	for _, c := range []struct{ flags, hops, trips, near int }{
		{1, 0, 0, 1}, {1, 1, 0, 1}, {1, 0, 1, 1}, {1, 1, 1, 1}, {1, -1, 1, 1}, {1, 1, -1, 1}, // supported by one at least
		{1, -1, 0, 0}, {1, 0, -1, 0}, {1, -1, -1, -1},
	} {
		for _, turn := range []int{1, -1} {
			var e evidence
			e.byFlags(turn*c.flags, turn*c.hops, turn*c.trips)
			if e.near != turn*c.near || e.contested != (c.near != c.flags) || e.flagged != (c.hops == 0 && c.trips == 0) {
				t.Errorf("%+v, turned %d: %+v", c, turn, e)
			}
		}
	}
	// Captures of which one flow's flags are contradicted are not believed in another one's.
	x, y, z := &index{}, &index{}, &index{}
	conversations := []conversation{{a: x, b: y}, {a: x, b: y}, {a: x, b: y}, {a: x, b: z}}
	found := []evidence{{contested: true}, {near: 1, flagged: true}, {near: 1}, {near: 1, flagged: true}}
	distrustFlags(conversations, found)
	for i, want := range []int{0, 0, 1, 1} {
		if found[i].near != want {
			t.Errorf("conversation %d: %d, not %d", i, found[i].near, want)
		}
	}
}

func TestTheOwnMACIsTheOneEndOfEveryFrame(t *testing.T) {
	mac := func(last byte) trace.MAC { return trace.MAC{2, 0, 0, 0, 0, last} }
	flow := func(s0, t0, s1, t1 trace.MAC) trace.Flow {
		return trace.Flow{Source: [2]trace.MAC{s0, s1}, Target: [2]trace.MAC{t0, t1}}
	}
	none := trace.MAC{}
	all := trace.MAC{255, 255, 255, 255, 255, 255}
	for name, c := range map[string]struct {
		flows []trace.Flow
		want  trace.MAC
	}{
		"two neighbours":          {[]trace.Flow{flow(mac(1), mac(2), mac(2), mac(1)), flow(mac(1), mac(3), mac(3), mac(1))}, mac(1)},
		"only what came":          {[]trace.Flow{flow(mac(2), mac(1), none, none), flow(mac(3), mac(1), none, none)}, mac(1)},
		"a single neighbour":      {[]trace.Flow{flow(mac(1), mac(2), mac(2), mac(1))}, none},
		"a mirror port":           {[]trace.Flow{flow(mac(1), mac(2), none, none), flow(mac(3), mac(4), none, none)}, none},
		"broadcasts do not count": {[]trace.Flow{flow(mac(1), mac(2), none, none), flow(mac(1), mac(3), none, none), flow(mac(4), all, none, none)}, mac(1)},
		"without a source":        {[]trace.Flow{flow(none, mac(1), none, none), flow(mac(1), mac(2), mac(3), mac(1))}, mac(1)},
		"without a target":        {[]trace.Flow{flow(mac(9), none, none, none), flow(mac(1), mac(2), mac(3), mac(1))}, mac(1)},
		"loopback":                {[]trace.Flow{flow(mac(1), mac(1), none, none)}, mac(1)},
		"loopback and others":     {[]trace.Flow{flow(mac(1), mac(1), none, none), flow(mac(2), mac(3), none, none)}, none},
		"no link layer":           {nil, none},
	} {
		if got := ownMAC(&index{Capture: &trace.Capture{Flows: c.flows}}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestEitherCapturesOwnMACTells(t *testing.T) {
	mac := func(last byte) trace.MAC { return trace.MAC{2, 0, 0, 0, 0, last} }
	for _, swapped := range []bool{false, true} {
		for _, c := range []struct {
			ownA, ownB trace.MAC
			want       int
		}{{mac(1), trace.MAC{}, 1}, {mac(2), trace.MAC{}, -1}, {trace.MAC{}, mac(2), 1}, {trace.MAC{}, mac(1), -1}, {mac(1), mac(2), 1}, {mac(2), mac(1), -1}, {mac(1), mac(1), 0}, {mac(7), mac(8), 0}, {}} {
			u := seen(t, swapped, []trace.Packet{{}}, []trace.Packet{{}})
			u.a.Flows[0].Source[0], u.a.Flows[0].Target[0] = mac(1), mac(2)
			d := u.otherDirection(0)
			u.b.Flows[0].Source[d], u.b.Flows[0].Target[d] = mac(1), mac(2)
			r := &orientation{indexes: []*index{u.a, u.b}, macs: []trace.MAC{c.ownA, c.ownB}}
			if got := r.fromMAC(u); got != c.want {
				t.Errorf("swapped %v, %+v: %d", swapped, c, got)
			}
		}
	}
}

func TestOffsetsOfTwoClocksSubtractAndTurnAbout(t *testing.T) {
	a, b := span{low: 10, high: 30}, span{low: 1, high: 5}
	if got := a.minus(b); got != (span{5, 29}) { // 10-5 to 30-1
		t.Errorf("%+v", got)
	}
	if got := a.reversed(); got != (span{-30, -10}) {
		t.Errorf("%+v", got)
	}
}

func TestTheOffsetOfTwoDirectionsIsWhatMostTurnsLeave(t *testing.T) {
	const big = 37_000_000_000
	// A packet of each direction in turn, 10 and 14 ns apart, those of direction 1 by another clock. Some of its turns are late besides.
	turns := func(exchanges int, offset clock.HostTime, late map[int]clock.HostTime) (packets []trace.Packet) {
		for i := range exchanges {
			at := clock.HostTime(24 * i)
			packets = append(packets, trace.Packet{Time: at + late[2*i]}, trace.Packet{Flow: 1, Time: at + 10 + offset + late[2*i+1]})
		}
		return packets
	}
	reversed := func(packets []trace.Packet) []trace.Packet {
		for i := range packets {
			packets[i].Flow ^= 1
		}
		return packets
	}
	one := map[int]clock.HostTime{6: 3 * minClockOffset}
	for name, c := range map[string]struct {
		packets []trace.Packet
		want    span
		unknown bool
	}{
		"one clock":                            {packets: turns(20, 0, nil)},
		"ahead":                                {packets: turns(20, big, nil), want: span{big - 14, big + 10}},
		"behind":                               {packets: turns(20, -big, nil), want: span{-big - 14, -big + 10}},
		"three exchanges":                      {packets: turns(3, -big, nil), want: span{-big - 14, -big + 10}},
		"the other way":                        {packets: reversed(turns(20, big, nil)), want: span{-big - 10, -big + 14}},
		"ahead and one is late":                {packets: turns(20, big, one), want: span{big - 14, big + 10}},
		"two exchanges":                        {packets: turns(2, -big, nil), unknown: true},
		"one exchange":                         {packets: turns(1, -big, nil), unknown: true},
		"one way":                              {packets: []trace.Packet{{}, {Time: 10}}},
		"one is late":                          {packets: turns(20, 0, one)},
		"one of few is late":                   {packets: turns(3, 0, map[int]clock.HostTime{2: 3 * minClockOffset})},
		"a tenth is late":                      {packets: turns(20, 0, map[int]clock.HostTime{2: 5e6, 9: 4e6, 20: 3e6, 31: 9e6})},
		"less than any offset of two clocks":   {packets: turns(20, minClockOffset-20, nil)},
		"further behind than the least offset": {packets: turns(20, -minClockOffset-20, nil), want: span{-minClockOffset - 34, -minClockOffset - 10}},
		"no steady offset": {packets: turns(6, 0, map[int]clock.HostTime{
			1: -2e6, 3: -4e9, 5: -9e15, 7: -3e6, 9: -5e12, 11: -7e10}), unknown: true},
	} {
		x := newIndex(&trace.Capture{Flows: make([]trace.Flow, 1)}, 0, nil)
		for _, q := range c.packets {
			*x.Packets.Append() = q
		}
		x = newIndex(x.Capture, 0, nil)
		if got, known := splitOf(x, x.packets(0), direction); got != c.want || known == c.unknown {
			t.Errorf("%s: %+v, known %v; want %+v", name, got, known, c.want)
		}
	}
}

func TestVotesAreRefutedByExactBinomialTails(t *testing.T) {
	// Exact tails of 1/10, as fractions over 10^n.
	tail := func(k, n int) *big.Rat {
		sum := new(big.Int)
		for i := k; i <= n; i++ {
			term := new(big.Int).Binomial(int64(n), int64(i))
			sum.Add(sum, term.Mul(term, new(big.Int).Exp(big.NewInt(9), big.NewInt(int64(n-i)), nil)))
		}
		return new(big.Rat).SetFrac(sum, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
	}
	limit := big.NewRat(1, 1_000_000)
	for n := range 60 {
		for k := range n + 1 {
			if got, want := refuted(k, n), tail(k, n).Cmp(limit) < 0; got != want {
				t.Errorf("%d of %d: %v", k, n, got)
			}
		}
	}
	if !refuted(101_600, 1_000_000) || refuted(101_000, 1_000_000) {
		t.Error("of a million votes") // the standard deviation is 300, and five of them are not enough
	}
}
