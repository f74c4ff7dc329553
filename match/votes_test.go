package match

import (
	"context"
	"math"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// TestTheSideOfTheSenderIsThatOfMostRoundTrips: packets of direction 0 take no time by the stamps, those of direction 1 as
// long as is said, so that each makes two round trips.
func TestTheSideOfTheSenderIsThatOfMostRoundTrips(t *testing.T) {
	repeated := func(parts ...[]int64) (all []int64) { return slices.Concat(parts...) }
	n := func(count int, v int64) []int64 { return slices.Repeat([]int64{v}, count) }
	for name, c := range map[string]struct {
		trips    []int64
		first    int
		together bool
	}{
		"all for a":               {n(10, 40_000), 1, false},
		"all for b":               {n(10, -40_000), -1, false},
		"three quarters and more": {repeated(n(8, 500), n(2, -500)), 1, false},
		"three quarters":          {repeated(n(6, 500), n(2, -500)), 0, false},
		"for b":                   {repeated(n(2, 500), n(8, -500)), -1, false},
		"no majority":             {repeated(n(5, 500), n(5, -500)), 0, false},
		"nearly as many":          {repeated(n(5, 500), n(6, -500)), 0, false},
		"one instant":             {n(10, 0), 0, true},
		"within the steps":        {repeated(n(5, 2), n(5, -2)), 0, true},
		"to one side":             {n(10, 2), 1, false},
		"mostly to one side":      {repeated(n(8, 2), n(2, -2)), 1, false},
		"a third of the other":    {repeated(n(6, 2), n(2, -2)), 0, true},
		"nine of ten":             {repeated(n(5, 1), n(4, -1), n(1, 90)), 0, true},
		"eight of ten":            {repeated(n(4, 1), n(4, -1), n(1, 90), n(1, -90)), 0, false},
		"beyond the steps":        {repeated(n(5, 3), n(5, -3)), 0, false},
	} {
		for _, origin := range []clock.HostTime{0, 1_790_000_000_000_000_000} {
			u := seen(t, false, nil, nil) // stamps of 1 ns each
			var common []commonPacket
			at := origin
			for i := range 2*len(c.trips) + 1 {
				p := commonPacket{a: at, b: at + 7_000_000_000, direction: i % 2}
				if i%2 == 1 {
					p.a += clock.HostTime(c.trips[i/2])
				}
				common = append(common, p)
				at += 1_000_000
			}
			v := u.compare(common)
			if v.first != c.first || v.together != c.together || v.shared != len(common) || v.pairs != 2*len(c.trips) {
				t.Errorf("%s: %+v", name, v)
			}
		}
	}
}

func TestRoundTripsAreShortByOneCaptureAtLeast(t *testing.T) {
	for _, c := range []struct {
		gapA, gapB clock.HostTime
		pairs      int
	}{{0, 0, 1}, {maxGap, maxGap, 1}, {maxGap + 1, maxGap + 1, 0}, {maxGap + 1, maxGap, 1}, {maxGap, maxGap + 1, 1}, {-maxGap - 1, -maxGap - 1, 0}, {-maxGap, 1 << 50, 1}} {
		u := seen(t, false, nil, nil)
		if v := u.compare([]commonPacket{{}, {a: c.gapA, b: c.gapB, direction: 1}}); v.pairs != c.pairs {
			t.Errorf("%d and %d ns apart: %d pairs", c.gapA, c.gapB, v.pairs)
		}
		if v := u.compare([]commonPacket{{}, {a: 1, b: 2}}); v.pairs != 0 {
			t.Error("two packets of one direction are no round trip")
		}
	}
}

func TestOneWayTrafficIsOfOneHostWhereAllStampsAreTheSame(t *testing.T) {
	for _, c := range []struct {
		packets, odd int
		want         bool
	}{{minCommon, 0, true}, {minCommon - 1, 0, false}, {minCommon + 5, 0, true}, {minCommon + 5, 1, false}} {
		var common []commonPacket
		for i := range clock.HostTime(c.packets) {
			common = append(common, commonPacket{a: i, b: i})
		}
		if c.odd > 0 {
			common[2].b++
		}
		if v := seen(t, false, nil, nil).compare(common); v.together != c.want || v.first != 0 {
			t.Errorf("%+v: %+v", c, v)
		}
	}
}

func TestASegmentSentAgainDoesNotVote(t *testing.T) {
	one := trace.Packet{Seq: 100, Length: 50}
	two := trace.Packet{Seq: 150, Length: 50}
	reaching := trace.Packet{Seq: 90, Length: 11} // over the first byte of one
	ending := trace.Packet{Seq: 90, Length: 10}   // up to it
	back := trace.Packet{Seq: 100, Length: 50, Flow: 1}
	for name, c := range map[string]struct {
		a, b []trace.Packet
		want int // of one, two and an acknowledgement
	}{
		"once":                {[]trace.Packet{one, two}, []trace.Packet{one, two}, 3},
		"again at a":          {[]trace.Packet{one, two, one}, []trace.Packet{one, two}, 2},
		"again at b":          {[]trace.Packet{one, two}, []trace.Packet{one, two, one}, 2},
		"again at both":       {[]trace.Packet{one, two, one}, []trace.Packet{one, two, one}, 2},
		"a part of it":        {[]trace.Packet{one, two, reaching}, []trace.Packet{one, two}, 2},
		"what ends before it": {[]trace.Packet{one, two, ending}, []trace.Packet{one, two}, 3},
		"the other way":       {[]trace.Packet{one, two, back}, []trace.Packet{one, two, back}, 3},
		"no TCP":              {[]trace.Packet{one, two, {Kind: trace.Datagram, Seq: 100, Length: 50}}, []trace.Packet{one, two}, 3},
		"both segments":       {[]trace.Packet{one, two, two}, []trace.Packet{one, two, one}, 1},
	} {
		a, b := indexed(c.a...), indexed(c.b...)
		u := &conversation{a: a, b: b, connA: &a.connections[0], connB: &b.connections[0]}
		got := u.onlyOnce([]commonPacket{{seq: 100, bytes: 1}, {seq: 150, bytes: 1}, {seq: 100}}, 99)
		if len(got) != c.want {
			t.Errorf("%s: %d votes, want %d", name, len(got), c.want)
		}
	}
}

func TestWhatFlagsDecidedStaysAndOneHostIsNotDecided(t *testing.T) {
	build := func(host int, from ...trace.Direction) *index {
		c := &trace.Capture{Host: string(rune('a' + host)), File: string(rune('a' + host)), Granularity: 1}
		for i, f := range from {
			flow := trace.Flow{Low: addrA, High: addrB, Protocol: protocolUDP}
			flow.Low.Port += uint16(i)
			c.Flows = append(c.Flows, flow)
			for k := range 6 {
				*c.Packets.Append() = trace.Packet{Kind: trace.Datagram, Flow: uint32(2 * i), From: f, Time: clock.HostTime(i*100 + k*10 + host), Digest: uint32(10*i + k + 1), Length: 9}
			}
		}
		return newIndex(c, host, nil)
	}
	// Three conversations that a sends, one that it receives, one that both sent, one of which nothing is known.
	a := build(0, trace.Sent, trace.Sent, trace.Sent, trace.Received, trace.Sent, trace.Unknown)
	b := build(1, trace.Received, trace.Received, trace.Received, trace.Sent, trace.Sent, trace.Unknown)
	conversations := pairUp(a, b)
	r := newOrientation([]*index{a, b}, []string{"a", "b"}, Options{})
	if err := r.decide(context.Background(), conversations, &trace.Warnings{}); err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, u := range conversations {
		got = append(got, u.near)
	}
	if want := []int{1, 1, 1, -1, 0, 1}; !slices.Equal(got, want) || r.undecided != 0 {
		t.Errorf("%v, want %v", got, want)
	}
	// Where most conversations were seen twice by one host, addresses learnt elsewhere decide nothing.
	a = build(0, trace.Sent, trace.Sent, trace.Sent, trace.Sent, trace.Unknown)
	b = build(1, trace.Received, trace.Sent, trace.Sent, trace.Sent, trace.Unknown)
	conversations = pairUp(a, b)
	r = newOrientation([]*index{a, b}, []string{"a", "b"}, Options{})
	if err := r.decide(context.Background(), conversations, &trace.Warnings{}); err != nil {
		t.Fatal(err)
	}
	if conversations[0].near != 1 || conversations[4].near != 0 || r.undecided != 0 {
		t.Errorf("of one host: %+v", conversations)
	}
}

func TestNumbersOfACaptureThatBeganLaterAreShiftedByWholeRounds(t *testing.T) {
	const round = 1 << 32
	p := func(seq uint32, back bool, ack uint32) trace.Packet {
		q := trace.Packet{Seq: seq, Ack: ack, Length: 10, Flags: trace.ACK}
		if back {
			q.Flow = 1
		}
		return q
	}
	var a []trace.Packet
	for i := range uint32(12) { // a sees three rounds, and the other direction in between
		a = append(a, p(i<<30, false, i), p(7, true, i))
	}
	u := func(b ...trace.Packet) *conversation {
		x, y := indexed(a...), indexed(b...)
		return &conversation{a: x, b: y, connA: &x.connections[0], connB: &y.connections[0]}
	}
	for name, c := range map[string]struct {
		b    []trace.Packet
		want int64
	}{
		"the first round":         {[]trace.Packet{p(1<<30, false, 1)}, 0},
		"the second":              {[]trace.Packet{p(1<<30, false, 5), p(2<<30, false, 6)}, round},
		"the third":               {[]trace.Packet{p(2<<30, false, 10)}, 2 * round},
		"behind one unknown to a": {[]trace.Packet{p(5<<29, false, 999), p(3<<30, false, 7)}, round},
		"beside the other way":    {[]trace.Packet{p(3<<30+5, true, 99), p(3<<30+5, true, 98), p(1<<30, false, 5)}, round},
		"nothing in common":       {[]trace.Packet{p(77, false, 999)}, 0},
	} {
		if got := roundsBetween(u(c.b...), 0); got != c.want {
			t.Errorf("%s: %d rounds and %d, want %d", name, got/round, got%round, c.want/round)
		}
	}
	// A datagram among them has no number.
	v := u(trace.Packet{Kind: trace.Datagram, Seq: 1 << 31, Ack: 3, Flags: trace.ACK}, p(1<<30, false, 5))
	v.b.connections = []connection{{to: 2}}
	v.connB = &v.b.connections[0]
	if got := roundsBetween(v, 0); got != round {
		t.Errorf("behind a datagram: %d", got)
	}
	// Where only one capture has the SYN, it still began elsewhere.
	w := u(p(1<<30, false, 5), p(7, true, 5))
	w.connA.known = [2]bool{true, false}
	var m tcpMatcher
	m.load(w)
	if got := m.b[0].segments[0].start; got != 5<<30 {
		t.Errorf("byte %d, want %d", got, int64(5)<<30)
	}
}

func TestASocketSendsAgainWhatBeginsBehindItsLast(t *testing.T) {
	for name, c := range map[string]struct {
		socket uint32
		seqs   []uint32
		want   []bool
	}{
		"in order":           {5, []uint32{10, 20, 30}, []bool{false, false, false}},
		"the same at once":   {5, []uint32{10, 10}, []bool{false, false}},
		"one back":           {5, []uint32{10, 20, 10}, []bool{false, false, true}},
		"what is last then":  {5, []uint32{10, 20, 10, 20, 30, 30}, []bool{false, false, true, true, false, false}},
		"of no known socket": {0, []uint32{10, 20, 10, 20}, []bool{false, false, false, false}},
		"as far as a window": {5, []uint32{1 << 30, 1<<30 - maxResend, 1<<30 - 1}, []bool{false, true, true}},
		"further":            {5, []uint32{1 << 30, 1<<30 - maxResend - 1}, []bool{false, false}},
		"around the end":     {5, []uint32{3, math.MaxUint32}, []bool{false, true}},
	} {
		s := make(sockets)
		for i, seq := range c.seqs {
			if got := s.resent(&trace.Packet{TSVal: c.socket, Seq: seq}); got != c.want[i] {
				t.Errorf("%s: packet %d sent again: %v", name, i, got)
			}
		}
	}
	s := make(sockets)
	s.resent(&trace.Packet{TSVal: 5, Seq: 100})
	if s.resent(&trace.Packet{TSVal: 6, Seq: 50}) {
		t.Error("sockets are not told apart")
	}
}

func TestWhatIsSentAgainWithLengthsBeginsBeforeTheLastByte(t *testing.T) {
	const ack, fin, syn = trace.ACK, trace.FIN, trace.SYN
	p := func(seq, length uint32, flags uint8) trace.Packet {
		return trace.Packet{Seq: seq, Length: length, Flags: flags | ack, From: trace.Sent}
	}
	for name, c := range map[string]struct {
		packets []trace.Packet
		want    []bool
	}{
		"in order":                     {[]trace.Packet{p(100, 10, 0), p(110, 10, 0), p(120, 0, 0)}, []bool{false, false, false}},
		"a part":                       {[]trace.Packet{p(100, 10, 0), p(109, 10, 0), p(119, 5, 0)}, []bool{false, true, false}},
		"a part within":                {[]trace.Packet{p(100, 10, 0), p(102, 2, 0), p(108, 9, 0)}, []bool{false, true, true}},
		"a FIN takes a number":         {[]trace.Packet{p(100, 10, fin), p(110, 1, 0), p(111, 1, 0)}, []bool{false, true, false}},
		"a SYN takes a number":         {[]trace.Packet{p(99, 0, syn), p(99, 5, 0), p(104, 1, 0)}, []bool{false, true, false}},
		"the SYN again":                {[]trace.Packet{p(99, 0, syn), p(99, 0, syn)}, []bool{false, true}},
		"a new connection":             {[]trace.Packet{p(99, 0, syn), p(100, 50, 0), p(40, 0, syn), p(41, 5, 0)}, []bool{false, false, false, false}},
		"a later one":                  {[]trace.Packet{p(99, 0, syn), p(700, 0, syn), p(701, 5, 0)}, []bool{false, false, false}},
		"data as far as a SYN reaches": {[]trace.Packet{p(90, 20, 0), p(109, 0, syn)}, []bool{false, true}},
	} {
		for i := range c.packets {
			c.packets[i].Ack = uint32(1000 + i) // keys of their own
		}
		x := indexed(c.packets...)
		k := addressedKeys(x)
		several := make([]bool, len(c.packets))
		for _, key := range k.keys[sentWay][0] {
			several[key.event] = key.several
		}
		if !slices.Equal(several, c.want) || len(k.keys[receivedWay][0]) != 0 {
			t.Errorf("%s: %v, want %v", name, several, c.want)
		}
	}
}

func TestPacketsWithoutAddressesAreCountedOnceWhereTheyCouldBeOneOfSeveral(t *testing.T) {
	p := func(at clock.HostTime, from trace.Direction, flags uint8, checksum uint32) trace.Packet {
		return trace.Packet{Time: at, Seq: 100, Ack: 77, Flags: trace.ACK | flags, Digest: 5<<16 | checksum, From: from}
	}
	for name, c := range map[string]struct {
		a, b      []trace.Packet
		messages  int
		ambiguous int64
	}{
		"received twice":         {[]trace.Packet{p(1, trace.Sent, 0, 9)}, []trace.Packet{p(5, trace.Received, 0, 9), p(6, trace.Received, 0, 9)}, 0, 1},
		"sent twice":             {[]trace.Packet{p(1, trace.Sent, 0, 9), p(900_000_000, trace.Sent, 0, 9)}, []trace.Packet{p(5, trace.Received, 0, 9)}, 0, 1},
		"and received otherwise": {[]trace.Packet{p(1, trace.Sent, trace.PSH, 9)}, []trace.Packet{p(5, trace.Received, trace.PSH, 9), p(6, trace.Received, 0, 8)}, 1, 0},
		"and before otherwise":   {[]trace.Packet{p(1, trace.Sent, trace.PSH, 9)}, []trace.Packet{p(5, trace.Received, 0, 8), p(6, trace.Received, trace.PSH, 9)}, 1, 0},
		"once":                   {[]trace.Packet{p(1, trace.Sent, 0, 9)}, []trace.Packet{p(5, trace.Received, 0, 8)}, 1, 0},
	} {
		found, r := unaddressedMessages(t, unaddressedCapture("a", c.a), unaddressedCapture("b", c.b))
		if len(found) != c.messages || r.Tally.Ambiguous != c.ambiguous || r.Tally.Messages != int64(c.messages) {
			t.Errorf("%s: %v, %+v", name, found, r.Tally)
		}
	}
	c := &trace.Capture{}
	*c.Packets.Append() = trace.Packet{Flow: trace.NoFlow, From: trace.Sent}
	*c.Packets.Append() = trace.Packet{Flow: trace.NoFlow, Kind: trace.Unaddressed}
	*c.Packets.Append() = trace.Packet{Flow: trace.NoFlow, Kind: trace.Unaddressed, From: trace.Foreign}
	*c.Packets.Append() = trace.Packet{Flow: trace.NoFlow, Kind: trace.Unaddressed, From: trace.Received}
	if x := newIndex(c, 0, nil); !slices.Equal(x.unaddressed, []uint32{3}) {
		t.Errorf("without addresses are packets %d", x.unaddressed)
	}
}

func TestSuperDatagramsThatBeginAlikeAreAmbiguous(t *testing.T) {
	d := func(at clock.HostTime, length uint32) datagram {
		p := trace.Packet{Digest: 3, ID: 4, Length: length}
		return datagram{exact: contentKey(&p, p.Digest), open: mix(3, 4), time: at}
	}
	m := datagramMatcher{sent: []datagram{d(1, 5000), d(900_000_000, 6000)}, came: []datagram{d(950_000_000, 1000)}}
	x := &index{}
	c := &collector{links: make(map[[2]*index]*link)}
	m.join(x, x, 0, 0, c)
	dropped := int64(0)
	for _, f := range c.found {
		dropped += f.dropped
	}
	if dropped != 1 || c.last.length() != 0 {
		t.Errorf("%d dropped, %d messages", dropped, c.last.length())
	}
}

func TestContentIsComparedUpToWhereTheCapturesDifferInWhatTheyKept(t *testing.T) {
	const unlimited = math.MaxUint32
	cut := func(length uint32, at uint8) trace.Packet {
		return trace.Packet{Kind: trace.Datagram, Digest: 7, Length: length, Flags: at}
	}
	whole := func(length uint32) trace.Packet { return cut(length, 0) }
	none := func(length uint32) trace.Packet { return trace.Packet{Kind: trace.Datagram, Length: length} }
	for _, c := range []struct {
		a, b []trace.Packet
		want uint32
	}{
		{[]trace.Packet{none(0), whole(9), {Kind: trace.TCP, Length: 9}}, nil, unlimited},
		{[]trace.Packet{none(1), whole(9)}, nil, 0},
		{[]trace.Packet{whole(900)}, []trace.Packet{whole(900)}, unlimited},
		{[]trace.Packet{cut(900, 26), whole(26)}, []trace.Packet{cut(900, 26), whole(3)}, unlimited},
		{[]trace.Packet{cut(900, 26)}, []trace.Packet{whole(26)}, unlimited},
		{[]trace.Packet{cut(900, 26)}, []trace.Packet{whole(27)}, 26},
		{[]trace.Packet{cut(900, 26)}, []trace.Packet{cut(900, 22)}, 22},
		{[]trace.Packet{cut(900, 26)}, []trace.Packet{none(900)}, 0},
	} {
		for _, swap := range []bool{false, true} {
			a, b := c.a, c.b
			if swap {
				a, b = b, a
			}
			if got := contentLimit(seen(t, false, a, b), 99); got != c.want {
				t.Errorf("%+v and %+v: up to %d bytes, not %d", a, b, got, c.want)
			}
		}
	}
}

func TestPacketsInCommonAreLookedForAsFarAsTheLongerConversationReaches(t *testing.T) {
	for _, swap := range []bool{false, true} {
		var long, short []trace.Packet
		for i := range uint32(40 * firstPackets) {
			long = append(long, trace.Packet{Seq: 100_000 + i, Ack: 7, Flags: trace.ACK})
		}
		for i := range uint32(5) { // at its end
			p := trace.Packet{Seq: 7 + i, Ack: 100_000 + i, Flags: trace.ACK, Flow: i & 1}
			long, short = append(long, p), append(short, p)
		}
		a, b := indexed(long...), indexed(short...)
		if swap {
			a, b = b, a
		}
		if v := senderSide(&conversation{a: a, b: b, connA: &a.connections[0], connB: &b.connections[0]}); v.shared != 5 {
			t.Errorf("swapped %v: %+v", swap, v)
		}
	}
}
