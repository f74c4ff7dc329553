package match

import (
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// probed is a connection in which b keeps asking whether a lives: the captures have n answers of a with the same identifications, and
// of b's probes one at each end. a's capture missed the second, b's the first.
func probed(n int, bytes uint32, rewrite func(id uint16) uint16) *world {
	w := newWorld(3_000_000_000)
	record := func(atB, fromA bool, at clock.HostTime, p trace.Packet) {
		from, to := addrB, addrA
		if fromA {
			from, to = addrA, addrB
		}
		p.Time, p.Kind, p.From, p.Flags = at, trace.TCP, trace.Sent, trace.ACK
		if atB == fromA {
			p.From, p.ID = trace.Received, rewrite(p.ID)
		}
		w.record(atB, protocolTCP, from, to, p)
	}
	now := clock.HostTime(1_000_000_000)
	for i := range n {
		answer := trace.Packet{Seq: 500 + uint32(i), Ack: 101, Length: 1, ID: uint16(30 + i)}
		record(false, true, now, answer)
		w.left[now+50_000] = now
		record(true, true, now+50_000, answer)
		now += 1_000_000
	}
	probe := trace.Packet{Seq: 100, Ack: 500, Length: bytes, Digest: 5, ID: 7}
	record(false, false, now, probe)
	w.left[-now] = now - 50_000
	probe.ID = 8
	record(true, false, now+250_000, probe)
	return w
}

func TestProbesWithOtherIdentificationsAreNotTheSameWhereTheConnectionKeepsThem(t *testing.T) {
	for _, bytes := range []uint32{0, 1} {
		w := probed(3, bytes, func(id uint16) uint16 { return id })
		ab, ba, _, _ := w.match(t, Options{})
		w.check(t, ab, ba)
		if len(ab) != 3 || len(ba) != 0 {
			t.Errorf("probes of %d bytes: %d and %d messages, want 3 and 0", bytes, len(ab), len(ba))
		}
	}
}

func TestPacketsWithOtherIdentificationsAreTheSameWhereTheNetworkRewritesThem(t *testing.T) {
	for _, n := range []int{1, 2, 20} {
		w := newWorld(3_000_000_000)
		now := clock.HostTime(1_000_000_000)
		for i := range n {
			for _, fromA := range []bool{true, false} {
				at := now + 50_000
				p := trace.Packet{Time: now, Kind: trace.TCP, Flags: trace.ACK, Seq: 500 + 2*uint32(i), Ack: 500 + 2*uint32(i), Length: 2, ID: uint16(30 + i), From: trace.Sent}
				from, to := addrA, addrB
				w.left[at] = now
				if !fromA {
					from, to = addrB, addrA
					w.left[-at] = now
				}
				w.record(!fromA, protocolTCP, from, to, p)
				p.Time, p.ID, p.From = at, uint16(60_000-2*i), trace.Received
				w.record(fromA, protocolTCP, from, to, p)
				now += 1_000_000
			}
		}
		ab, ba, _, _ := w.match(t, Options{})
		w.check(t, ab, ba)
		if len(ab) != n || len(ba) != n {
			t.Errorf("%d and %d messages, want %d each", len(ab), len(ba), n)
		}
	}
}

func TestOneWayThatRewritesIdentificationsShowsItByThreePackets(t *testing.T) {
	for _, c := range []struct {
		way, back idVotes
		want      bool
	}{
		{idVotes{1, 0}, idVotes{0, 9}, true},
		{idVotes{1, 1}, idVotes{}, true}, // one of a sending that was missed
		{idVotes{1, 2}, idVotes{9, 0}, false},
		{idVotes{0, 2}, idVotes{9, 0}, true},
		{idVotes{0, 3}, idVotes{9, 0}, false},
		{idVotes{0, 1}, idVotes{0, 1}, false},
		{idVotes{0, 0}, idVotes{1, 0}, true},
	} {
		if got := c.way.kept() || c.way.few() && c.back.kept(); got != c.want {
			t.Errorf("%+v, and %+v the other way: kept %v", c.way, c.back, got)
		}
	}
}
