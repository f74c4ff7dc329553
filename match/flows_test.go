package match

import (
	"net/netip"
	"slices"
	"testing"

	"meridian/trace"
)

// indexed is an index of TCP packets of one flow.
func indexed(packets ...trace.Packet) *index {
	c := &trace.Capture{Flows: []trace.Flow{{Low: addrA, High: addrB, Protocol: protocolTCP}}, Granularity: 1}
	for _, p := range packets {
		if p.Kind == trace.Other {
			p.Kind = trace.TCP
		}
		*c.Packets.Append() = p
	}
	return newIndex(c, 0, nil)
}

func TestASYNWithAnotherNumberBeginsAConnection(t *testing.T) {
	const syn, ack = trace.SYN, trace.ACK
	data := trace.Packet{Seq: 101, Length: 5, Flags: ack}
	for name, c := range map[string]struct {
		packets []trace.Packet
		want    []int // packets of each connection
	}{
		"no SYN":                          {[]trace.Packet{data, data}, []int{2}},
		"a SYN first":                     {[]trace.Packet{{Seq: 100, Flags: syn}, data}, []int{2}},
		"a SYN sent again":                {[]trace.Packet{{Seq: 100, Flags: syn}, {Seq: 100, Flags: syn}, data}, []int{3}},
		"a SYN behind others":             {[]trace.Packet{data, data, {Seq: 100, Flags: syn}, data}, []int{2, 2}},
		"another SYN":                     {[]trace.Packet{{Seq: 100, Flags: syn}, data, {Seq: 700, Flags: syn}, data}, []int{2, 2}},
		"its answer":                      {[]trace.Packet{{Seq: 100, Flags: syn}, {Seq: 900, Ack: 101, Flags: syn | ack, Flow: 1}, data}, []int{3}},
		"an answer alone behind others":   {[]trace.Packet{data, {Seq: 900, Ack: 101, Flags: syn | ack, Flow: 1}, data}, []int{3}},
		"another answer":                  {[]trace.Packet{{Seq: 900, Ack: 101, Flags: syn | ack, Flow: 1}, data, {Seq: 901, Ack: 101, Flags: syn | ack, Flow: 1}}, []int{2, 1}},
		"a SYN behind its answer":         {[]trace.Packet{{Seq: 900, Ack: 101, Flags: syn | ack, Flow: 1}, {Seq: 100, Flags: syn}, data}, []int{3}},
		"a SYN behind another's answer":   {[]trace.Packet{{Seq: 900, Ack: 201, Flags: syn | ack, Flow: 1}, {Seq: 100, Flags: syn}, data}, []int{1, 2}},
		"three connections":               {[]trace.Packet{{Seq: 1, Flags: syn}, {Seq: 2, Flags: syn}, {Seq: 3, Flags: syn}}, []int{1, 1, 1}},
		"datagrams of the flow's numbers": {[]trace.Packet{{Kind: trace.Datagram, Seq: 1, Flags: syn}, {Kind: trace.Datagram, Seq: 2, Flags: syn}}, nil},
	} {
		x := indexed(c.packets...)
		var got []int
		for i := range x.connections {
			got = append(got, len(x.members(&x.connections[i])))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestAConnectionKnowsWhatItsPacketsHave(t *testing.T) {
	for name, c := range map[string]struct {
		packets          []trace.Packet
		stamped, unknown bool
	}{
		"a stamp":            {[]trace.Packet{{Length: 5}, {Length: 5, TSVal: 1}}, true, false},
		"none":               {[]trace.Packet{{Length: 5}, {Length: 5}}, false, false},
		"data":               {[]trace.Packet{{Length: 5, Digest: 0}}, false, false},
		"an acknowledgement": {[]trace.Packet{{Digest: 7}}, false, false},
		"one without window": {[]trace.Packet{{Digest: 7}, {}}, false, true},
	} {
		k := &indexed(c.packets...).connections[0]
		if k.stamped != c.stamped || k.unknown != c.unknown {
			t.Errorf("%s: stamped %v, unknown %v", name, k.stamped, k.unknown)
		}
	}
}

func TestConnectionsAreTheSameByTheNumbersThatBothKnowOrByAPacket(t *testing.T) {
	packet := trace.Packet{Seq: 500, Ack: 9, Length: 5, Flags: trace.ACK}
	for name, c := range map[string]struct {
		a, b     connection
		inCommon bool
		want     bool
	}{
		"one number equal":               {connection{known: [2]bool{true}, initial: [2]uint32{5}}, connection{known: [2]bool{true}, initial: [2]uint32{5}}, false, true},
		"one number different":           {connection{known: [2]bool{true}, initial: [2]uint32{5}}, connection{known: [2]bool{true}, initial: [2]uint32{6}}, true, false},
		"the second number different":    {connection{known: [2]bool{true, true}, initial: [2]uint32{5, 8}}, connection{known: [2]bool{true, true}, initial: [2]uint32{5, 9}}, true, false},
		"different ends, none in common": {connection{known: [2]bool{true}, initial: [2]uint32{5}}, connection{known: [2]bool{false, true}, initial: [2]uint32{0, 5}}, false, false},
		"different ends, a packet":       {connection{known: [2]bool{true}, initial: [2]uint32{5}}, connection{known: [2]bool{false, true}, initial: [2]uint32{0, 6}}, true, true},
		"no number, a packet":            {connection{}, connection{}, true, true},
		"no number, none in common":      {connection{}, connection{}, false, false},
	} {
		other := packet
		if !c.inCommon {
			other.Seq++
		}
		a, b := indexed(packet), indexed(other)
		c.a.to, c.b.to = 1, 1
		if got := sameConnection(a, b, &c.a, &c.b); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAConnectionIsJoinedOnceAndItsPartnerFound(t *testing.T) {
	syn := func(n uint32) trace.Packet { return trace.Packet{Seq: n, Flags: trace.SYN} }
	a, b := indexed(syn(1), syn(2), syn(3)), indexed(syn(2), syn(3), syn(9), syn(1))
	var got [][2]uint32
	for _, u := range pairUp(a, b) {
		got = append(got, [2]uint32{u.connA.initial[0], u.connB.initial[0]})
	}
	if !slices.Equal(got, [][2]uint32{{1, 1}, {2, 2}, {3, 3}}) {
		t.Errorf("%v", got)
	}
	for _, c := range []struct {
		low, high string
		want      bool
	}{{"0.0.0.0", "10.0.0.1", true}, {"10.0.0.1", "::", true}, {"10.0.0.1", "10.0.0.2", false}, {"::", "0.0.0.0", true}} {
		f := &trace.Flow{Low: trace.Endpoint{Addr: netip.MustParseAddr(c.low)}, High: trace.Endpoint{Addr: netip.MustParseAddr(c.high)}}
		if anonymous(f) != c.want {
			t.Errorf("%s to %s", c.low, c.high)
		}
	}
}

func TestTheOpenerSentTheSYNWithoutAnAcknowledgement(t *testing.T) {
	syn, answer := trace.Packet{Seq: 1, Flags: trace.SYN}, trace.Packet{Seq: 9, Ack: 2, Flags: trace.SYN | trace.ACK, Flow: 1}
	turned := func(p trace.Packet) trace.Packet { p.Flow ^= 1; return p }
	for name, c := range map[string]struct {
		packets []trace.Packet
		opener  int
		ok      bool
	}{
		"both":                 {[]trace.Packet{syn, answer}, 0, true},
		"turned":               {[]trace.Packet{turned(syn), turned(answer)}, 1, true},
		"the answer first":     {[]trace.Packet{answer, syn}, 0, true},
		"behind a datagram":    {[]trace.Packet{{Kind: trace.Datagram, Flow: 1, Flags: trace.SYN}, syn, answer}, 0, true},
		"the SYN alone":        {[]trace.Packet{syn}, 0, false},
		"the answer alone":     {[]trace.Packet{answer}, 0, false},
		"two answers":          {[]trace.Packet{turned(answer), answer}, 0, false},
		"with other flags too": {[]trace.Packet{{Seq: 1, Flags: trace.SYN | trace.PSH}, answer}, 0, true},
	} {
		x := indexed(c.packets...)
		if opener, ok := openerOf(x, &x.connections[0]); ok != c.ok || ok && opener != c.opener {
			t.Errorf("%s: %d %v", name, opener, ok)
		}
	}
}

func TestTheDirectionOfAPartnerIsThatOfTheSamePacket(t *testing.T) {
	p := trace.Packet{Kind: trace.TCP, Seq: 7, Ack: 9, Flags: trace.ACK}
	turned := func(p trace.Packet) trace.Packet { p.Flow ^= 1; return p }
	other := p
	other.Seq++
	for _, c := range []struct {
		in   []trace.Packet
		want bool
	}{{[]trace.Packet{p}, false}, {[]trace.Packet{turned(p)}, true}, {[]trace.Packet{turned(other), p}, false}, {[]trace.Packet{other, turned(p)}, true}, {[]trace.Packet{turned(other)}, false},
		{[]trace.Packet{{Kind: trace.Datagram, Flow: 1, Seq: 7, Ack: 9, Flags: trace.ACK}, p}, false}} {
		x := indexed(c.in...)
		x.connections[0].from, x.connections[0].to = 0, len(c.in)
		if got := sentByOther(x, &x.connections[0], &p); got != c.want {
			t.Errorf("%+v: %v", c.in, got)
		}
	}
}

func TestASpreadIsTheFirstPacketsAndAnEvenChoiceOfTheOthers(t *testing.T) {
	for _, n := range []int{0, 5, maxSampled, 2*maxSampled - 1, 2 * maxSampled, 2*maxSampled + 1, 3 * maxSampled, 10*maxSampled + 7} {
		packets := make([]uint32, n)
		for i := range packets {
			packets[i] = uint32(i)
		}
		got := spread(packets)
		if n <= 2*maxSampled {
			if !slices.Equal(got, packets) {
				t.Errorf("of %d packets: %d", n, len(got))
			}
			continue
		}
		if len(got) != 2*maxSampled || !slices.Equal(got[:maxSampled], packets[:maxSampled]) {
			t.Fatalf("of %d packets: %d", n, len(got))
		}
		gap := float64(n-maxSampled) / maxSampled
		for i, p := range got[maxSampled:] {
			if want := maxSampled + gap*float64(i); float64(p) < want-1 || float64(p) > want {
				t.Fatalf("of %d packets: the %dth is %d, want %g", n, maxSampled+i, p, want)
			}
		}
	}
}

func TestTranslatedConnectionsShareThreePackets(t *testing.T) {
	packets := func(n int, first uint32) (list []trace.Packet) {
		for i := range n {
			list = append(list, trace.Packet{Seq: first + uint32(10*i), Ack: 9, Length: 10, Flags: trace.ACK})
		}
		return list
	}
	for common := range 6 {
		a := indexed(append(packets(common, 1000), packets(20, 50_000)...)...)
		b := indexed(append(packets(common, 1000), packets(20, 90_000)...)...)
		b.Flows[0].Low.Port++ // another name
		got := pairUp(a, b)
		if (len(got) == 1) != (common >= minAgreeing) {
			t.Errorf("%d packets in common: %d conversations", common, len(got))
		}
		if len(got) == 1 && got[0].swapped {
			t.Error("turned about")
		}
	}
}

// translatedDatagrams are datagrams of a flow that only one capture knows by its addresses.
func translatedDatagrams(protocol uint8, port uint16, packets ...trace.Packet) *index {
	c := &trace.Capture{Flows: []trace.Flow{{Low: addrA, High: addrB, Protocol: protocol}}, Granularity: 1}
	c.Flows[0].Low.Port = port
	for _, p := range packets {
		p.Kind = max(p.Kind, trace.Datagram)
		*c.Packets.Append() = p
	}
	return newIndex(c, 0, nil)
}

func TestTranslatedDatagramsShareOnePacketWithAnIdentificationOrThree(t *testing.T) {
	d := func(digest uint32, id uint16) trace.Packet { return trace.Packet{Digest: digest, ID: id, Length: 9} }
	turned := func(p trace.Packet) trace.Packet { p.Flow ^= 1; return p }
	for name, c := range map[string]struct {
		a, b        []trace.Packet
		protoA      uint8
		joined, two bool
	}{
		"one with an identification":    {[]trace.Packet{d(1, 5)}, []trace.Packet{d(1, 5)}, 17, true, false},
		"two without":                   {[]trace.Packet{d(1, 0), d(2, 0)}, []trace.Packet{d(1, 0), d(2, 0)}, 17, false, false},
		"three without":                 {[]trace.Packet{d(1, 0), d(2, 0), d(3, 0)}, []trace.Packet{d(1, 0), d(2, 0), d(3, 0)}, 17, true, false},
		"turned about":                  {[]trace.Packet{d(1, 5)}, []trace.Packet{turned(d(1, 5))}, 17, true, true},
		"most decide":                   {[]trace.Packet{d(1, 5), d(2, 6), d(3, 7)}, []trace.Packet{turned(d(1, 5)), d(2, 6), d(3, 7)}, 17, true, false},
		"most decide, first of them":    {[]trace.Packet{d(1, 5), d(2, 6), d(3, 7)}, []trace.Packet{turned(d(1, 5)), turned(d(2, 6)), d(3, 7)}, 17, true, true},
		"the first of two as good":      {[]trace.Packet{d(1, 5), d(2, 6)}, []trace.Packet{d(1, 5), turned(d(2, 6))}, 17, true, false},
		"an identification counts more": {[]trace.Packet{d(1, 0), d(2, 0), d(3, 0), d(4, 9)}, []trace.Packet{turned(d(1, 0)), turned(d(2, 0)), turned(d(3, 0)), d(4, 9)}, 17, true, false},
		"content not kept":              {[]trace.Packet{d(0, 5), d(0, 6), d(0, 7)}, []trace.Packet{d(0, 5), d(0, 6), d(0, 7)}, 17, false, false},
		"both ways":                     {[]trace.Packet{d(1, 5)}, []trace.Packet{d(1, 5), turned(d(1, 5))}, 17, false, false},
		"the same again":                {[]trace.Packet{d(1, 5)}, []trace.Packet{d(1, 5), d(1, 5)}, 17, true, false},
		"both ways and again":           {[]trace.Packet{d(1, 5)}, []trace.Packet{d(1, 5), turned(d(1, 5)), turned(d(1, 5))}, 17, false, false},
		"another protocol":              {[]trace.Packet{d(1, 5)}, []trace.Packet{d(1, 5)}, 1, false, false},
		"TCP":                           {[]trace.Packet{d(1, 5)}, []trace.Packet{d(1, 5)}, 6, false, false},
		"no datagram":                   {[]trace.Packet{{Kind: trace.Unaddressed, Digest: 1, ID: 5, Length: 9}}, []trace.Packet{d(1, 5)}, 17, false, false},
		"nothing":                       {[]trace.Packet{d(1, 5)}, []trace.Packet{d(2, 5)}, 17, false, false},
	} {
		a, b := translatedDatagrams(c.protoA, 1, c.a...), translatedDatagrams(17, 2, c.b...)
		got := joinTranslatedDatagrams(nil, a, b, []bool{true}, []bool{true})
		if (len(got) == 1) != c.joined || c.joined && (got[0].swapped != c.two || got[0].a != a || got[0].b != b || got[0].flowA != 0 || got[0].flowB != 0) {
			t.Errorf("%s: %+v", name, got)
		}
		for _, matched := range [][2]bool{{false, true}, {true, false}} { // what is joined already is not looked at
			if got := joinTranslatedDatagrams(nil, a, b, matched[:1], matched[1:]); len(got) != 0 {
				t.Errorf("%s: joined again", name)
			}
		}
	}
	// The same content in two flows says nothing of either.
	a, b := translatedDatagrams(17, 1, d(1, 5)), translatedDatagrams(17, 2, d(1, 5))
	b.Flows = append(b.Flows, b.Flows[0])
	*b.Packets.Append() = trace.Packet{Kind: trace.Datagram, Digest: 1, ID: 5, Length: 9, Flow: 2}
	b = newIndex(b.Capture, 0, nil)
	if got := joinTranslatedDatagrams(nil, a, b, []bool{true}, []bool{true, true}); len(got) != 0 {
		t.Errorf("of two flows: %+v", got)
	}
	b = translatedDatagrams(6, 2, d(1, 5))
	if got := joinTranslatedDatagrams(nil, translatedDatagrams(6, 1, d(1, 5)), b, []bool{true}, []bool{true}); len(got) != 0 {
		t.Errorf("of TCP flows: %+v", got)
	}
}

func TestRolesAreThoseOfDecidedConversationsOrOfTheHostsOwnAddress(t *testing.T) {
	x, y := indexed(), indexed()
	y.host = 1
	for _, c := range []struct {
		own, other []netip.Addr // of the two hosts
		near       int
		swapped    bool
		wantX      int8
		wantY      int8
	}{
		{nil, nil, 0, false, 0, 0}, {[]netip.Addr{addrA.Addr}, nil, 0, false, 1, 0}, {[]netip.Addr{addrB.Addr}, []netip.Addr{addrA.Addr}, 0, false, -1, 1},
		{[]netip.Addr{addrA.Addr, addrB.Addr}, nil, 0, false, 0, 0}, {nil, nil, 1, false, 1, -1}, {nil, nil, -1, false, -1, 1}, {nil, nil, 1, true, 1, 1}, {nil, nil, -1, true, -1, -1},
		{[]netip.Addr{addrB.Addr}, nil, 1, false, 1, -1},
	} {
		r := &orientation{own: []map[netip.Addr]bool{{}, {}}}
		for i, list := range [][]netip.Addr{c.own, c.other} {
			for _, a := range list {
				r.own[i][a] = true
			}
		}
		got := newRoles([]*index{x, y}, []conversation{{a: x, b: y, near: c.near, swapped: c.swapped}}, r)
		if got.of[x][0] != c.wantX || got.of[y][0] != c.wantY {
			t.Errorf("%+v: %d and %d", c, got.of[x][0], got.of[y][0])
		}
	}
	roles := &roles{of: map[*index][]int8{x: {1, -1, 0}}}
	for _, c := range []struct {
		p           trace.Packet
		sent, known bool
	}{
		{trace.Packet{Flow: 0}, true, true}, {trace.Packet{Flow: 1}, false, true}, {trace.Packet{Flow: 2}, false, true}, {trace.Packet{Flow: 3}, true, true}, {trace.Packet{Flow: 4}, false, false},
		{trace.Packet{Flow: 1, From: trace.Sent}, true, true}, {trace.Packet{Flow: 0, From: trace.Received}, false, true}, {trace.Packet{Flow: 0, From: trace.Foreign}, true, true},
		{trace.Packet{Flow: trace.NoFlow}, false, false}, {trace.Packet{Flow: trace.NoFlow, From: trace.Sent}, true, true},
	} {
		if sent, known := roles.sent(x, &c.p); known != c.known || known && sent != c.sent {
			t.Errorf("%+v: sent %v, known %v", c.p, sent, known)
		}
	}
}
