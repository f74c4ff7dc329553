package match

import (
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// asked records questions that b's capture has twice and a's once, 4 ms apart, as a mirror port does; and so do questions that are sent
// again and whose first sending a's capture missed.
func asked(questions int) *world {
	w := newWorld(3_000_000_000)
	now := clock.HostTime(1_000_000_000)
	for i := range questions {
		p := trace.Packet{Kind: trace.Datagram, Length: 30, Digest: uint32(i + 1), From: trace.Sent}
		p.Time = now
		w.record(false, protocolUDP, addrA, addrB, p)
		p.From = trace.Received
		for _, after := range []clock.HostTime{50_000, 4_050_000} {
			p.Time = now + after
			w.left[p.Time] = now
			w.record(true, protocolUDP, addrA, addrB, p)
		}
		p = trace.Packet{Kind: trace.Datagram, Length: 60, Digest: uint32(i + 1000), From: trace.Sent, Time: now + 5_000_000}
		w.pass(false, protocolUDP, p, 50_000)
		now += 20_000_000
	}
	return w
}

func TestAFewQuestionsReceivedTwiceShowNoMirrorPort(t *testing.T) {
	for _, c := range []struct{ questions, want int }{{1, 0}, {3, 0}, {minUnit - 1, 0}, {minUnit, minUnit}, {30, 30}} {
		w := asked(c.questions)
		ab, ba, _, _ := w.match(t, Options{})
		w.check(t, ab, ba)
		if len(ab) != c.want {
			t.Errorf("%d questions received twice: %d messages, want %d", c.questions, len(ab), c.want)
		}
	}
}

// A mirror port repeats packets of all kinds.
func TestAKindOfFewPacketsHasAsManyCopiesAsAllOthers(t *testing.T) {
	var few census
	few.add(1, 2)
	for usual, want := range map[unit]unit{{1, 1}: {1, 1}, {1, 2}: {1, 2}, {2, 2}: {2, 2}} {
		if got := few.unitOr(usual); got != want {
			t.Errorf("usually %+v: %+v, want %+v", usual, got, want)
		}
	}
}
