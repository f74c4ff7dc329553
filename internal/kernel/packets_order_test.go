package kernel

import (
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

func TestPacketsComeInTheOrderOfTheirTimesWhateverWasWrittenLate(t *testing.T) {
	a, b := endpoints()
	testseed.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "events")
		late := rapid.Int64Range(0, 100).Draw(t, "late") // as many packets as an event is late at most
		var z script
		z.cpus(1)
		for i := range clock.HostTime(n) {
			at := i + clock.HostTime(rapid.Int64Range(-late, late).Draw(t, "by")/2)
			g := segment{from: a, to: b, seq: uint32(i), ack: uint32(1_000_000 + at), flags: trace.ACK}
			z.add(at, 0, "net_dev_queue", g.nested()...)
		}
		c, _ := capture(t, &z)
		if c.Packets.Len() != n {
			t.Fatalf("%d packets of %d", c.Packets.Len(), n)
		}
		for i := range n {
			p := c.Packets.At(i)
			if p.Ack != uint32(1_000_000+p.Time) {
				t.Fatalf("packet %d at %d is another's: %+v", i, p.Time, *p)
			}
			if i == 0 {
				continue
			}
			before := c.Packets.At(i - 1)
			if before.Time > p.Time || before.Time == p.Time && before.Seq > p.Seq {
				t.Fatalf("packet %d at %d, written %d, comes after one at %d, written %d", i, p.Time, p.Seq, before.Time, before.Seq)
			}
		}
	})
}

func TestArrivalThatIsDecodedLateStandsWhereItCameIn(t *testing.T) {
	a, b := endpoints()
	there, back := segment{from: a, to: b, seq: 5, flags: trace.ACK, bytes: 9}, segment{from: b, to: a, seq: 7, flags: trace.ACK, bytes: 9}
	var z script
	z.cpus(2)
	z.add(1000, 0, "dev_receive", u("skb", 77), u("protocol", 8))
	z.add(2000, 1, "dev_xmit_extended", append([]field{u("network_protocol", 0x800), u("transport_protocol", 6)}, back.flat(78)...)...)
	z.add(3000, 0, "tcpv4_rcv_extended", there.flat(77)...)
	c, warnings := capture(t, &z)
	if c.Packets.Len() != 2 || len(warnings) != 0 || c.Packets.At(0).Seq != 5 || c.Packets.At(0).Time != 1000 || c.Packets.At(1).Seq != 7 {
		t.Errorf("%d packets, %q", c.Packets.Len(), warnings)
	}
}
