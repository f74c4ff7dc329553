package match

import (
	"net/netip"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// An opening of host a towards b: the SYN is sent at 100 and received at 1100, the answer sent at 1200 and received at 300.
func openingCaptures(addressed bool, more ...trace.Packet) (a, b *trace.Capture) {
	syn := func(at clock.HostTime, from trace.Direction, checksum uint32) trace.Packet {
		return trace.Packet{Time: at, Seq: 7000, Flags: trace.SYN, From: from, Digest: 500<<16 | checksum}
	}
	answer := func(at clock.HostTime, from trace.Direction) trace.Packet {
		return trace.Packet{Time: at, Seq: 9000, Ack: 7001, Flags: trace.SYN | trace.ACK, From: from, Digest: 400<<16 | 77}
	}
	// The sender's checksum is not yet the one that travels.
	a = unaddressedCapture("a", append([]trace.Packet{syn(100, trace.Sent, 1), answer(300, trace.Received)}, more...))
	packets := []trace.Packet{syn(1100, trace.Received, 2), answer(1200, trace.Sent)}
	if !addressed {
		return a, unaddressedCapture("b", packets)
	}
	b = &trace.Capture{Host: "b", File: "b", Granularity: 1}
	b.Flows = []trace.Flow{{Low: trace.Endpoint{Addr: netip.MustParseAddr("10.0.0.1"), Port: 4000}, High: trace.Endpoint{Addr: netip.MustParseAddr("10.0.0.2"), Port: 80}, Protocol: protocolTCP}}
	for i, p := range packets {
		p.Kind, p.Flow, p.From, p.Digest = trace.TCP, uint32(i), trace.Unknown, 0
		*b.Packets.Append() = p
	}
	return a, b
}

func TestASYNWhoseAnswerWasMatchedIsAMessage(t *testing.T) {
	for _, addressed := range []bool{false, true} {
		a, b := openingCaptures(addressed)
		there, r := unaddressedMessages(t, a, b)
		back, _ := unaddressedMessages(t, b, a)
		if want := []trace.Message{{Sent: 100, Received: 1100}}; !slices.Equal(there, want) || r.Tally.Messages != 2 {
			t.Errorf("addressed %v: %v, want %v; %+v", addressed, there, want, r.Tally)
		}
		if want := []trace.Message{{Sent: 1200, Received: 300}}; !slices.Equal(back, want) {
			t.Errorf("addressed %v: %v back, want %v", addressed, back, want)
		}
	}
}

func TestASYNThatCouldBeAnotherIsNoMessage(t *testing.T) {
	late := clock.HostTime(300 + maxOpening)
	for name, more := range map[string]trace.Packet{
		"sent again":                 {Time: 200, Seq: 7000, Flags: trace.SYN, From: trace.Sent, Digest: 500<<16 | 3},
		"another of the same number": {Time: late, Seq: 7000, Flags: trace.SYN, From: trace.Sent, Digest: 600<<16 | 4},
	} {
		for _, addressed := range []bool{false, true} {
			a, b := openingCaptures(addressed, more)
			if there, _ := unaddressedMessages(t, a, b); len(there) != 0 {
				t.Errorf("%s, addressed %v: %v", name, addressed, there)
			}
		}
	}
	for _, addressed := range []bool{false, true} { // and one that the answer came before, or much after
		for _, at := range []clock.HostTime{301, 300 - clock.HostTime(maxOpening) - 1} {
			a, b := openingCaptures(addressed)
			a.Packets.At(0).Time = at
			if there, _ := unaddressedMessages(t, a, b); len(there) != 0 {
				t.Errorf("sent at %d, addressed %v: %v", at, addressed, there)
			}
		}
	}
}
