package match

import (
	"context"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

func TestSYNThatStandsBehindItsAnswerBeginsNothing(t *testing.T) {
	for _, ack := range []uint32{0, 77} { // the answer's acknowledgement: of this SYN, or of another
		w := newWorld(-9_000_000_000)
		now := clock.HostTime(1_000_000_000)
		pass := func(fromA bool, p trace.Packet) {
			p.Time, p.Kind = now, trace.TCP
			now = w.pass(fromA, protocolTCP, p, 20_000) + 3_000
		}
		pass(true, trace.Packet{Seq: 100, Flags: trace.SYN, Digest: 1})
		pass(false, trace.Packet{Seq: 900, Ack: 101 + ack, Flags: trace.SYN | trace.ACK, Digest: 2})
		for i := range uint32(10) {
			pass(true, trace.Packet{Seq: 101 + 10*i, Ack: 901 + 10*i, Length: 10, Flags: trace.ACK})
			pass(false, trace.Packet{Seq: 901 + 10*i, Ack: 111 + 10*i, Length: 10, Flags: trace.ACK})
		}
		w.sorted()
		first, second := w.b.Packets.At(0), w.b.Packets.At(1)
		*first, *second = *second, *first
		r, err := Match(context.Background(), []*trace.Capture{w.a, w.b}, Options{}, &trace.Warnings{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, c := range r.Channels {
			n += len(c.Messages)
		}
		if lives := len(newIndex(w.b, 0, nil).connections); ack == 0 && (n != 22 || lives != 1) || ack != 0 && lives != 2 {
			t.Errorf("%d messages, %d connections", n, lives)
		}
	}
}
