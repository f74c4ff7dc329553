package match

import (
	"slices"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// told is a capture whose packets say which way they went: at the given instants, sent or received.
func told(stamps []clock.HostTime, received func(i int) bool) (*index, *roles) {
	c := &trace.Capture{Flows: []trace.Flow{{Low: addrA, High: addrB, Protocol: protocolUDP}}, Granularity: 1}
	for i, at := range stamps {
		from := trace.Sent
		if received(i) {
			from = trace.Received
		}
		*c.Packets.Append() = trace.Packet{Kind: trace.Datagram, Time: at, From: from}
	}
	x := newIndex(c, 0, nil)
	return x, &roles{of: map[*index][]int8{x: {0}}}
}

func TestTwoClocksAreThereInNineOfTenWindowsThatExcludeOne(t *testing.T) {
	for _, ahead := range []clock.HostTime{5 * minClockOffset, -5 * minClockOffset} {
		twoClocksIn(t, 1_790_000_000_000_000_000, ahead)
		twoClocksIn(t, 0, ahead)
	}
}

func twoClocksIn(t *testing.T, origin, ahead clock.HostTime) {
	t.Helper()
	for _, c := range []struct {
		windows, excluding int
		want               bool
	}{{1, 1, true}, {1, 0, false}, {10, 9, true}, {10, 8, false}, {20, 18, true}, {20, 17, false}, {9, 8, false}, {19, 17, false}, {12, 11, true}} {
		var stamps []clock.HostTime
		now := origin
		for w := range c.windows {
			for i := range window {
				now += 1000
				at := now
				if i%2 == 1 && w < c.excluding {
					at += ahead
				}
				stamps = append(stamps, at)
			}
			now += 1_000_000_000
		}
		x, roles := told(stamps, func(i int) bool { return i%2 == 1 })
		if got := twoClocks(x, roles); got != c.want {
			t.Errorf("%d of %d windows: %v", c.excluding, c.windows, got)
		}
	}
	x, roles := told(nil, nil)
	if twoClocks(x, roles) {
		t.Error("two clocks stamped nothing")
	}
	// Packets of which nothing tells the way do not part those before and behind them.
	x, roles = told([]clock.HostTime{0, 0, 10_000_000, 20, 0, 10_000_020, 40, 10_000_060, 80},
		func(i int) bool { return i == 2 || i == 5 || i == 7 })
	x.Packets.At(1).From, x.Packets.At(4).From = trace.Unknown, trace.Unknown
	x.Packets.At(4).Flow = trace.NoFlow
	if !twoClocks(x, roles) {
		t.Error("packets of unknown direction hide two clocks")
	}
}

func TestEveryPacketBelongsToTheClockOfItsDirection(t *testing.T) {
	const n = 200
	stamps := make([]clock.HostTime, n)
	received := func(i int) bool { return i%3 == 1 || i == 64 || i == 127 || i == 199 }
	x, roles := told(stamps, received)
	x.Packets.At(5).From, x.Packets.At(130).From = trace.Unknown, trace.Unknown // taken to have come in
	c := CaptureClocks{Sent: 3, Received: 8, IsReceived: receivedBits(x, roles)}
	if len(c.IsReceived) != 4 {
		t.Errorf("%d words for %d packets", len(c.IsReceived), n)
	}
	for i := range n {
		want := 3
		if received(i) || i == 5 || i == 130 {
			want = 8
		}
		if got := c.Of(i); got != want {
			t.Errorf("packet %d is of clock %d, want %d", i, got, want)
		}
	}
	for packets, want := range map[int]int{0: 0, 1: 1, 2: 1, 63: 1, 64: 1, 65: 2, 127: 2, 128: 2, 129: 3} {
		x, roles = told(make([]clock.HostTime, packets), func(int) bool { return true })
		c := CaptureClocks{Sent: 3, Received: 8, IsReceived: receivedBits(x, roles)}
		if len(c.IsReceived) != want || packets > 0 && c.Of(packets-1) != 8 {
			t.Errorf("%d words for %d packets", len(c.IsReceived), packets)
		}
	}
	one := CaptureClocks{Sent: 3, Received: 3}
	if one.Of(77) != 3 {
		t.Error("of one clock")
	}
}

func TestClocksExtendOverTheirPacketsAndCountThem(t *testing.T) {
	r := &Result{}
	r.Clocks = []trace.Clock{{}, {}}
	x, roles := told([]clock.HostTime{50, -20, 70, 10, 60}, func(i int) bool { return i == 1 || i == 4 })
	x.Granularity = 10
	r.extend(x.Capture, &CaptureClocks{Sent: 0, Received: 1, IsReceived: receivedBits(x, roles)})
	want := []trace.Clock{{First: 10, Last: 70, Events: 3, Granularity: 10}, {First: -20, Last: 60, Events: 2, Granularity: 10}}
	if !slices.Equal(r.Clocks, want) {
		t.Errorf("%+v", r.Clocks)
	}
	y, _ := told([]clock.HostTime{90}, func(int) bool { return false })
	r.extend(y.Capture, &CaptureClocks{})
	if c := r.Clocks[0]; c.First != 10 || c.Last != 90 || c.Events != 4 || c.Granularity != 10 {
		t.Errorf("%+v", c)
	}
}

func TestASegmentIsAcknowledgedByTheFirstPacketThatReachesItsEnd(t *testing.T) {
	sent := func(at clock.HostTime, seq, length uint32, flags uint8) trace.Packet {
		return trace.Packet{Time: at, Seq: seq, Length: length, Flags: flags | trace.ACK, From: trace.Sent}
	}
	came := func(at clock.HostTime, ack uint32, flags uint8) trace.Packet {
		return trace.Packet{Time: at, Ack: ack, Flags: flags, From: trace.Received, Flow: 1}
	}
	m := func(pairs ...clock.HostTime) (list []trace.Message) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, trace.Message{Sent: pairs[i], Received: pairs[i+1]})
		}
		return list
	}
	const ack = trace.ACK
	unknown := sent(3, 100, 50, 0)
	unknown.From = trace.Unknown
	for name, c := range map[string]struct {
		packets []trace.Packet
		want    []trace.Message
	}{
		"one":                         {[]trace.Packet{sent(1, 100, 10, 0), came(5, 110, ack)}, m(1, 5)},
		"not yet":                     {[]trace.Packet{sent(1, 100, 10, 0), came(5, 109, ack), came(6, 110, ack)}, m(1, 6)},
		"the last of several":         {[]trace.Packet{sent(1, 100, 10, 0), sent(2, 110, 10, 0), sent(3, 120, 10, 0), came(5, 120, ack), came(6, 130, ack)}, m(2, 5, 3, 6)},
		"sent again":                  {[]trace.Packet{sent(1, 100, 10, 0), sent(2, 100, 10, 0), came(5, 110, ack)}, m(1, 5)},
		"more sent again":             {[]trace.Packet{sent(1, 100, 10, 0), sent(2, 105, 10, 0), came(5, 110, ack), came(6, 115, ack)}, m(1, 5, 2, 6)},
		"acknowledged again":          {[]trace.Packet{sent(1, 100, 10, 0), came(5, 110, ack), came(6, 110, ack)}, m(1, 5)},
		"a SYN takes a number":        {[]trace.Packet{sent(1, 100, 0, trace.SYN), came(4, 100, ack), came(5, 101, ack)}, m(1, 5)},
		"a FIN takes a number":        {[]trace.Packet{sent(1, 100, 10, trace.FIN), came(4, 110, ack), came(5, 111, ack)}, m(1, 5)},
		"nothing sent":                {[]trace.Packet{sent(1, 100, 0, 0), came(5, 100, ack)}, nil},
		"without ACK":                 {[]trace.Packet{sent(1, 100, 10, 0), came(5, 110, 0), came(6, 110, ack)}, m(1, 6)},
		"a reset":                     {[]trace.Packet{sent(1, 100, 10, 0), came(5, 110, ack|trace.RST), came(6, 110, ack)}, m(1, 6)},
		"before anything was sent":    {[]trace.Packet{came(5, 110, ack), sent(6, 100, 10, 0), came(7, 110, ack)}, m(6, 7)},
		"round the end of the number": {[]trace.Packet{sent(1, 1<<32-5, 10, 0), came(5, 5, ack)}, m(1, 5)},
		"nobody knows the way":        {[]trace.Packet{sent(1, 100, 10, 0), unknown, came(5, 150, ack)}, m(1, 5)},
		"no TCP":                      {[]trace.Packet{{Kind: trace.Datagram, Time: 1, Seq: 100, Length: 10, From: trace.Sent}, came(5, 110, ack)}, nil},
	} {
		x := indexed(c.packets...)
		all := connection{to: len(c.packets)}
		var l link
		if acknowledged(&l, x, &all, &roles{of: map[*index][]int8{x: {0}}}); !slices.Equal(l.joined(), c.want) {
			t.Errorf("%s: %v, want %v", name, l.joined(), c.want)
		}
	}
}

func TestTheCounterOfMessagesIsTheirNumber(t *testing.T) {
	for gap, c := range map[clock.HostTime]struct {
		ab, ba    int
		ambiguous int64
	}{300: {101, 100, 3}, 100_000_000: {102, 102, 0}} {
		w := newWorld(1_000_000)
		now := clock.HostTime(1_000_000_000)
		for i := range int64(100) {
			w.pass(true, protocolTCP, trace.Packet{Time: now, Kind: trace.TCP, Seq: uint32(100 * i), Ack: 5, Length: 100, Flags: trace.ACK}, 20_000)
			w.pass(false, protocolTCP, trace.Packet{Time: now + 30_000, Kind: trace.TCP, Seq: 5, Ack: uint32(100*i + 100), Flags: trace.ACK}, 20_000)
			now += 1_000_000
		}
		twice := trace.Packet{Kind: trace.TCP, Seq: 50_000, Ack: 5, Length: 100, Flags: trace.ACK} // sent twice, and received once
		for _, at := range []clock.HostTime{now, now + gap} {
			p := twice
			p.Time = at
			w.record(false, protocolTCP, addrA, addrB, p)
		}
		twice.Time = now + gap + 20_000
		w.record(true, protocolTCP, addrA, addrB, twice)
		again := trace.Packet{Kind: trace.TCP, Seq: 5, Ack: 99_999, Flags: trace.ACK} // an acknowledgement seen twice at each end
		for _, at := range []clock.HostTime{now + 200_000_000, now + 200_000_000 + gap} {
			p := again
			p.Time = at
			w.pass(false, protocolTCP, p, 20_000)
		}
		// A FIN counts a byte, so the range of data and FIN ends behind the data.
		fin := trace.Packet{Time: now + 500_000_000, Kind: trace.TCP, Seq: 70_000, Ack: 5, Length: 10, Flags: trace.ACK | trace.FIN}
		w.pass(true, protocolTCP, fin, 20_000)
		part := trace.Packet{Time: now + 700_000_000, Kind: trace.TCP, Seq: 70_000, Ack: 5, Length: 10, Flags: trace.ACK}
		w.record(false, protocolTCP, addrA, addrB, part)
		ab, ba, r, warnings := w.match(t, Options{})
		if len(ab) != c.ab || len(ba) != c.ba || r.Tally != (Tally{Messages: int64(c.ab + c.ba), Ambiguous: c.ambiguous}) || len(warnings) != int(min(1, c.ambiguous)) {
			t.Errorf("copies after %d ns: %d and %d messages, %+v, %q", gap, len(ab), len(ba), r.Tally, warnings)
		}
	}
	w := newWorld(0)
	if _, _, r, warnings := w.match(t, Options{}); r.Tally != (Tally{}) || len(warnings) != 0 {
		t.Errorf("of nothing: %+v, %q", r.Tally, warnings)
	}
}

func TestAHostPassesAMessageToItselfFromWhatCameToWhatItSentNext(t *testing.T) {
	x, roles := told([]clock.HostTime{1, 2, 3, 4, 5, 6, 7, 8, 9}, func(i int) bool { return i == 1 || i == 2 || i == 5 || i == 7 })
	x.Packets.At(3).From = trace.Unknown // says nothing, and parts nothing
	back, there := turnarounds(x, roles, nil)
	if want := []trace.Message{{Sent: 3, Received: 5}, {Sent: 6, Received: 7}, {Sent: 8, Received: 9}}; !slices.Equal(back, want) || len(there) != 0 {
		t.Errorf("%v, want %v; %v", back, want, there)
	}
}
