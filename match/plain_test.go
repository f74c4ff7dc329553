package match

import (
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// forget takes TCP's options from a capture's packets, as a kernel tracer that records none, and says which way they went.
func forget(c *trace.Capture, own trace.Endpoint) {
	for i := range c.Packets.Len() {
		p := c.Packets.At(i)
		p.TSVal = 0
		if p.Digest != 0 {
			p.Digest = 1
		}
		from, _ := c.Flows[p.Flow>>1].Ends(int(p.Flow & 1))
		p.From = trace.Received
		if from.Addr == own.Addr {
			p.From = trace.Sent
		}
	}
}

func TestNoMessageIsWrongWhereOneCaptureHasNoOptions(t *testing.T) {
	matched := 0
	testseed.Check(t, func(t *rapid.T) {
		s := drawStream(t, 100)
		c, own := s.a, addrA
		if rapid.Bool().Draw(t, "the receiver's") {
			c, own = s.b, addrB
		}
		forget(c, own)
		if rapid.Bool().Draw(t, "nor windows") {
			for i := range c.Packets.Len() {
				c.Packets.At(i).Digest = 0
			}
		}
		ab, ba, _, _ := s.match(&testing.T{}, Options{})
		matched += min(len(ab), len(ba))
		s.check(t, ab, ba)
	})
	if matched == 0 {
		t.Error("no stream was matched both ways")
	}
}

func TestAcknowledgementsAreMatchedWhereOneCaptureHasNoOptions(t *testing.T) {
	for _, side := range []string{"a", "b"} {
		w := newWorld(-3_000_000_000)
		for i := range int64(40) { // without SYNs, from the middle of a connection
			now := clock.HostTime(1_000_000_000 + i*1_000_000)
			w.pass(true, protocolTCP, trace.Packet{Time: now, Kind: trace.TCP, Seq: uint32(100 * i), Ack: 5, Length: 100, TSVal: uint32(i + 7), Flags: trace.ACK}, 20_000)
			w.pass(false, protocolTCP, trace.Packet{Time: now + 50_000, Kind: trace.TCP, Seq: 5, Ack: uint32(100 * (i + 1)), TSVal: uint32(i + 900), Digest: uint32(i + 1), Flags: trace.ACK}, 20_000)
		}
		if side == "a" {
			forget(w.a, addrA)
		} else {
			forget(w.b, addrB)
		}
		ab, ba, r, _ := w.match(t, Options{})
		if len(ab) != 40 || len(ba) != 40 || !r.Captures[0].Met || !r.Captures[1].Met {
			t.Errorf("%s without options: %d and %d messages, want 40 each; %+v", side, len(ab), len(ba), r.Captures)
		}
		w.check(t, ab, ba)
	}
}

func TestAcknowledgementsAreMatchedWhereOneCaptureHasNoWindows(t *testing.T) {
	for _, side := range []string{"a", "b"} {
		w := newWorld(-3_000_000_000)
		for i := range int64(40) {
			now := clock.HostTime(1_000_000_000 + i*1_000_000)
			w.pass(true, protocolTCP, trace.Packet{Time: now, Kind: trace.TCP, Seq: uint32(100 * i), Ack: 5, Length: 100, Flags: trace.ACK | trace.PSH}, 20_000)
			w.pass(false, protocolTCP, trace.Packet{Time: now + 50_000, Kind: trace.TCP, Seq: 5, Ack: uint32(100 * (i + 1)), Digest: uint32(i + 1), Flags: trace.ACK}, 20_000)
		}
		c := w.a
		if side == "b" {
			c = w.b
		}
		for i := range c.Packets.Len() {
			c.Packets.At(i).Digest, c.Packets.At(i).Flags = 0, trace.ACK // nor PSH
		}
		ab, ba, _, _ := w.match(t, Options{})
		if len(ab) != 40 || len(ba) != 40 {
			t.Errorf("%s without windows: %d and %d messages, want 40 each", side, len(ab), len(ba))
		}
		w.check(t, ab, ba)
	}
}

func TestDatagramsAreMatchedWhereOneCaptureHasNoContent(t *testing.T) {
	w := newWorld(70_000_000)
	for i := range int64(20) {
		w.pass(i%2 == 0, protocolUDP, trace.Packet{Time: clock.HostTime(1_000_000 * i), Kind: trace.Datagram, Length: 50, ID: uint16(i + 1), Digest: uint32(i + 5)}, 20_000)
	}
	forget(w.b, addrB)
	for i := range w.b.Packets.Len() {
		w.b.Packets.At(i).Digest = 0
	}
	ab, ba, r, _ := w.match(t, Options{})
	if len(ab) != 10 || len(ba) != 10 || !r.Captures[0].Met {
		t.Errorf("%d and %d messages, want 10 each; %+v", len(ab), len(ba), r.Captures)
	}
}
