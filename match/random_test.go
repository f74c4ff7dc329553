package match

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// Packets from a file may say anything: numbers that jump, flags that contradict each other, stamps in any order.
func TestWhateverPacketsSayMatchingEndsAndNamesClocksOnly(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		w := newWorld(0)
		few := func(name string, values ...uint32) uint32 { return rapid.SampledFrom(values).Draw(t, name) }
		for range rapid.IntRange(0, 80).Draw(t, "packets") {
			p := trace.Packet{
				Time: clock.HostTime(rapid.SampledFrom([]int64{0, 1, 1000, 1 << 40, -1 << 61, 1<<62 - 1, 37_000_000_000}).Draw(t, "time")),
				Seq:  few("seq", 0, 1, 1000, 1<<31, math.MaxUint32), Ack: few("ack", 0, 1, 1000, 1<<31),
				TSVal: few("stamp", 0, 5), Length: few("length", 0, 1, 1000, math.MaxUint32), Digest: few("digest", 0, 7),
				ID: uint16(few("id", 0, 9)), Flags: uint8(rapid.IntRange(0, 63).Draw(t, "flags")),
				Kind: trace.Kind(rapid.IntRange(0, 2).Draw(t, "kind")), From: trace.Direction(rapid.IntRange(0, 3).Draw(t, "direction")),
				TTL: uint8(few("ttl", 0, 63, 64)),
			}
			from, to := addrA, addrB
			if rapid.Bool().Draw(t, "back") {
				from, to = to, from
			}
			to.Port += uint16(few("port", 0, 1))
			w.record(rapid.Bool().Draw(t, "at b"), uint8(few("protocol", 6, 17, 1)), from, to, p)
		}
		var log trace.Warnings
		r, err := Match(context.Background(), []*trace.Capture{w.a, w.b}, Options{}, &log)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Channels {
			if c.From == c.To || c.From >= len(r.Clocks) || c.To >= len(r.Clocks) {
				t.Fatalf("messages from clock %d to %d of %d", c.From, c.To, len(r.Clocks))
			}
		}
	})
}
