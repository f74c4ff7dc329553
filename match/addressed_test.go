package match

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// dialogue plays TCP between host a, whose tracer records no addresses, and host b, which is captured with them. Segments
// are lost, sent again in part or whole, and arrive in parts. Both clocks show true time.
type dialogue struct {
	a, b *trace.Capture
	now  clock.HostTime
	next [2]uint32 // of each side: the first byte not sent yet
	says bool      // the capture says which way packets went
}

func newDialogue(says bool) *dialogue {
	b := &trace.Capture{Host: "b", File: "b", Granularity: 1}
	b.Flows = []trace.Flow{{Low: trace.Endpoint{Addr: netip.MustParseAddr("10.0.0.1"), Port: 4000}, High: trace.Endpoint{Addr: netip.MustParseAddr("10.0.0.2"), Port: 80}, Protocol: protocolTCP}}
	return &dialogue{a: unaddressedCapture("a", nil), b: b, now: 1_000_000, next: [2]uint32{1 << 31, 1<<32 - 3000}, says: says}
}

// see notes a packet of bytes [seq, seq+length) that side sent, at side a or b.
func (d *dialogue) see(at, side int, seq, length uint32) {
	way := trace.Received
	if at == side {
		way = trace.Sent
	}
	flags := uint8(trace.ACK)
	if length > 0 {
		flags |= trace.PSH
	}
	p := trace.Packet{Time: d.now, Seq: seq, Ack: d.next[1-side], Flags: flags, From: way}
	if at == 0 {
		p.Kind, p.Flow, p.TSVal, p.Digest = trace.Unaddressed, trace.NoFlow, 9, 500<<16|seq&0xffff
		*d.a.Packets.Append() = p
		return
	}
	p.Kind, p.Flow, p.Length, p.TSVal = trace.TCP, uint32(side), length, uint32(int64(d.now)/1_000_000)
	if !d.says {
		p.From = trace.Unknown
	}
	*d.b.Packets.Append() = p
}

// send sends bytes [seq, seq+length) from a side; they arrive in parts, some of which are lost.
func (d *dialogue) send(t *rapid.T, side int, seq, length uint32, lossy bool) {
	d.now += clock.HostTime(rapid.Int64Range(1, 50_000_000).Draw(t, "pause"))
	d.see(side, side, seq, length)
	parts := uint32(rapid.IntRange(1, 3).Draw(t, "parts"))
	if length < 3 {
		parts = 1
	}
	for i := range parts {
		from, to := length*i/parts, length*(i+1)/parts
		if lossy && rapid.IntRange(0, 3).Draw(t, "lost") == 0 {
			continue
		}
		d.now += clock.HostTime(rapid.Int64Range(1, 300_000).Draw(t, "delay"))
		d.see(1-side, side, seq+from, to-from)
	}
}

func (d *dialogue) match(t interface{ Fatal(...any) }) (there, back []trace.Message, r *Result) {
	there, r = unaddressedMessages(t, d.a, d.b)
	for _, c := range r.Channels {
		if r.Clocks[c.From].Host == "b" {
			back = append(back, c.Messages...)
		}
	}
	return there, back, r
}

func TestNoMessageBesideACaptureIsReceivedBeforeItWasSent(t *testing.T) {
	found := 0
	testseed.Check(t, func(t *rapid.T) {
		d := newDialogue(rapid.Bool().Draw(t, "directions are known"))
		mostly := rapid.IntRange(0, 1).Draw(t, "who says most")
		var sent [2][][2]uint32
		for range rapid.IntRange(1, 25).Draw(t, "segments") {
			side := rapid.SampledFrom([]int{0, 0, 0, 0, 1}).Draw(t, "side") ^ mostly
			if n := len(sent[side]); n > 1 && rapid.IntRange(0, 3).Draw(t, "again") == 0 {
				// Never the last one: where only a part of that arrived, nothing shows on a's side that it was sent before.
				s := sent[side][rapid.IntRange(0, n-2).Draw(t, "which")]
				skip := rapid.SampledFrom([]uint32{0, 1, s[1] / 2, s[1] / 3}).Draw(t, "skip") % max(1, s[1])
				d.send(t, side, s[0]+skip, s[1]-skip, true)
				continue
			}
			s := [2]uint32{d.next[side], rapid.SampledFrom([]uint32{0, 1, 900, 1448}).Draw(t, "length")}
			sent[side] = append(sent[side], s)
			d.next[side] += s[1]
			d.send(t, side, s[0], s[1], true)
		}
		there, back, _ := d.match(t)
		found += len(there) + len(back)
		for _, m := range slices.Concat(there, back) {
			if m.Received < m.Sent {
				t.Fatalf("received %d ns before it was sent", int64(m.Sent-m.Received))
			}
		}
	})
	if found == 0 {
		t.Error("nothing was found")
	}
}

func TestEverySegmentBesideACaptureIsAMessage(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		d := newDialogue(rapid.Bool().Draw(t, "directions are known"))
		want := [2]int{}
		for range rapid.IntRange(1, 25).Draw(t, "segments") {
			side := rapid.IntRange(0, 1).Draw(t, "side")
			from := d.next[side]
			d.next[side] += 1448
			d.send(t, side, from, 1448, false)
			want[side]++
		}
		there, back, r := d.match(t)
		if len(there) != want[0] || len(back) != want[1] || !r.Captures[0].Met || !r.Captures[1].Met {
			t.Fatalf("%d messages there and %d back, not %v", len(there), len(back), want)
		}
	})
}

func TestPartSentAgainBesideACaptureIsNoSending(t *testing.T) {
	for side := range 2 {
		for _, says := range []bool{false, true} {
			d := newDialogue(says)
			seq := d.next[side]
			d.next[side] += 2000
			step := func(at int, from, length uint32) {
				d.now += 1000
				d.see(at, side, from, length)
			}
			step(side, seq, 1000)        // a whole segment,
			step(1-side, seq, 500)       // which arrives
			step(1-side, seq+500, 500)   // in two parts;
			step(side, seq+1000, 1000)   // another one
			step(1-side, seq+1000, 1000) // that arrives,
			step(side, seq+500, 500)     // and the first one's second part again, which is lost
			there, back, _ := d.match(t)
			if n := len(there) + len(back); n != 2 {
				t.Errorf("sent by side %d: %d messages, not 2: %v %v", side, n, there, back)
			}
		}
	}
}

func TestAcknowledgementBeforeTheAnswerIsToldFromItBesideACapture(t *testing.T) {
	for side := range 2 {
		d := newDialogue(true)
		for range 20 {
			from := d.next[side]
			for _, length := range []uint32{0, 800} {
				for _, at := range []int{side, 1 - side} {
					d.now += 30_000_000
					d.see(at, side, from, length)
				}
			}
			d.next[side] += 800
		}
		if there, back, _ := d.match(t); len(there)+len(back) != 40 {
			t.Errorf("sent by side %d: %d messages there and %d back, not 40", side, len(there), len(back))
		}
	}
}
