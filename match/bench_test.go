package match

import (
	"context"
	"testing"

	"meridian/trace"
)

func BenchmarkMatchOfHalfAMillionPackets(b *testing.B) {
	w := newWorld(2_000_000_000)
	talk(w, 0, false)
	const copies = 40 // of a conversation of 12,000 packets, each between other ports
	one := *w
	for n := range copies {
		for _, c := range []*trace.Capture{one.a, one.b} {
			f := c.Flows[0]
			f.High.Port += uint16(n + 1)
			c.Flows = append(c.Flows, f)
			for i := range 6000 {
				p := *c.Packets.At(i)
				p.Flow += uint32(2 * (n + 1))
				*c.Packets.Append() = p
			}
		}
	}
	for b.Loop() {
		var log trace.Warnings
		if _, err := Match(context.Background(), []*trace.Capture{w.a, w.b}, Options{}, &log); err != nil {
			b.Fatal(err)
		}
	}
}
