package match

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testneed"
	"meridian/internal/testseed"
	"meridian/trace"
)

func unaddressedCapture(host string, packets []trace.Packet) *trace.Capture {
	c := &trace.Capture{Host: host, File: host, Granularity: 1}
	for _, p := range packets {
		p.Kind, p.Flow = trace.Unaddressed, trace.NoFlow
		*c.Packets.Append() = p
	}
	return c
}

// unaddressedMessages matches captures and returns the messages from the first to the second host.
func unaddressedMessages(t interface{ Fatal(...any) }, captures ...*trace.Capture) ([]trace.Message, *Result) {
	var w trace.Warnings
	r, err := Match(context.Background(), captures, Options{}, &w)
	if err != nil {
		t.Fatal(err)
	}
	var found []trace.Message
	for _, c := range r.Channels {
		if r.Clocks[c.From].Host == captures[0].Host && r.Clocks[c.To].Host == captures[1].Host {
			found = append(found, c.Messages...)
		}
	}
	return found, r
}

// drawUnaddressed draws packets with so few values that many are equal. Their sockets send ever later bytes.
func drawUnaddressed(t *rapid.T, label string) []trace.Packet {
	var packets []trace.Packet
	now, seq := int64(0), uint32(0)
	for range rapid.IntRange(0, 14).Draw(t, label) {
		now += rapid.SampledFrom([]int64{1, repeatWithin, repeatWithin + 1, 1_000_000_000}).Draw(t, "pause")
		seq += rapid.SampledFrom([]uint32{0, 0, 1}).Draw(t, "seq")
		packets = append(packets, trace.Packet{
			Time: clock.HostTime(now), Seq: seq, Ack: rapid.Uint32Range(0, 2).Draw(t, "ack"),
			Flags:  rapid.SampledFrom([]uint8{trace.ACK, trace.ACK | trace.PSH, trace.SYN | trace.ACK}).Draw(t, "flags"),
			Digest: rapid.Uint32Range(1, 2).Draw(t, "window")<<16 | rapid.Uint32Range(1, 3).Draw(t, "checksum"),
			From:   rapid.SampledFrom([]trace.Direction{trace.Sent, trace.Received}).Draw(t, "from"),
		})
	}
	return packets
}

// sameAt is the definition of the levels, field by field.
func sameAt(level int, p, q *trace.Packet) bool {
	if p.Seq != q.Seq || p.Ack != q.Ack || p.Digest>>16 != q.Digest>>16 {
		return false
	}
	switch level {
	case exact:
		return p.Flags == q.Flags && p.Digest == q.Digest
	case unchecked:
		return p.Flags == q.Flags && p.Ack != 0
	}
	const kept = trace.SYN | trace.ACK | trace.RST
	return p.Flags&kept == q.Flags&kept && p.Ack != 0
}

// bruteForce compares every packet with every other.
func bruteForce(a, b []trace.Packet) (found []trace.Message) {
	used, got := make([]bool, len(a)), make([]bool, len(b))
	for level := range levels {
		for j := range b {
			if b[j].From != trace.Received || got[j] {
				continue
			}
			sendings, receptions := []int{}, 0
			for i := range a {
				if a[i].From == trace.Sent && sameAt(level, &a[i], &b[j]) {
					sendings = append(sendings, i)
				}
			}
			for k := range b {
				if b[k].From == trace.Received && sameAt(level, &b[k], &b[j]) {
					receptions++
				}
			}
			if receptions != 1 || len(sendings) == 0 || used[sendings[0]] {
				continue
			}
			if a[sendings[len(sendings)-1]].Time-a[sendings[0]].Time <= repeatWithin {
				used[sendings[0]], got[j] = true, true
				found = append(found, trace.Message{Sent: a[sendings[0]].Time, Received: b[j].Time})
			}
		}
	}
	return found
}

func sorted(m []trace.Message) []trace.Message {
	m = slices.Clone(m)
	slices.SortFunc(m, func(a, b trace.Message) int { return int(a.Received - b.Received) })
	return m
}

func TestPacketsWithoutAddressesAreMatchedWhereBothHostsSawThemOnce(t *testing.T) {
	matched := 0
	check := func(t *rapid.T) {
		a, b := drawUnaddressed(t, "a"), drawUnaddressed(t, "b")
		found, _ := unaddressedMessages(t, unaddressedCapture("a", a), unaddressedCapture("b", b), unaddressedCapture("c", nil))
		want := bruteForce(a, b)
		matched += len(want)
		if !slices.Equal(sorted(found), sorted(want)) {
			t.Fatalf("%v, want %v", found, want)
		}
	}
	for range 5 { // few cases have a message, and few of them may be asked for
		testseed.Check(t, check)
	}
	if matched == 0 {
		t.Error("nothing was there to be matched")
	}
}

// unaddressedWire sends what one socket of a has to say to b and notes when what arrives had left.
type unaddressedWire struct {
	t          *rapid.T
	now        int64
	sent, came []trace.Packet
	left       map[int64]int64
	first, ack uint32
	full       bool // the sender computes checksums itself, and sends no super-segments
}

// send sends bytes [start, end), in pieces some of which are lost and some put together.
func (w *unaddressedWire) send(start, end uint32) {
	flags := uint8(trace.ACK)
	if end > start {
		flags |= trace.PSH
	}
	w.now += rapid.Int64Range(1, 30_000_000).Draw(w.t, "pause")
	p := trace.Packet{Time: clock.HostTime(w.now), Seq: w.first + start, Ack: w.ack, Flags: flags, Digest: 500<<16 | uint32(uint16(end-start)), TSVal: 1, From: trace.Sent}
	if w.full {
		p.Digest = 500<<16 | uint32(mix(uint64(w.now/1_000_000), uint64(start))&0xffff)
	}
	w.sent = append(w.sent, p)
	arrives := w.now
	for at := start; ; {
		next := min(at+rapid.Uint32Range(1, 3).Draw(w.t, "pieces")*1000, end)
		if w.full {
			next = end
		}
		if rapid.IntRange(0, 3).Draw(w.t, "lost") > 0 {
			arrives += rapid.Int64Range(1000, 40_000).Draw(w.t, "delay")
			q := p
			q.Time, q.Seq, q.From = clock.HostTime(arrives), w.first+at, trace.Received
			if next < end {
				q.Flags &^= trace.PSH
			}
			if !w.full {
				q.Digest = 500<<16 | rapid.Uint32Range(0, 0xffff).Draw(w.t, "checksum")
			}
			w.left[arrives] = w.now
			w.came = append(w.came, q)
		}
		if at = next; at >= end {
			break
		}
	}
	w.now = arrives
}

func TestNoMessageIsWrongWithoutAddressesEither(t *testing.T) {
	matched := 0
	testseed.Check(t, func(t *rapid.T) {
		w := &unaddressedWire{t: t, left: make(map[int64]int64), ack: 77, full: rapid.Bool().Draw(t, "full"),
			first: rapid.SampledFrom([]uint32{1, math.MaxUint32 - 20_000}).Draw(t, "first")}
		sent, last := uint32(0), uint32(0)
		for range rapid.IntRange(1, 25).Draw(t, "packets") {
			w.ack += rapid.SampledFrom([]uint32{0, 0, 100}).Draw(t, "ack")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0: // again, from anywhere that is not within the last segment
				start := 1000 * rapid.Uint32Range(0, last/1000).Draw(t, "again from")
				w.send(start, min(start+1000*rapid.Uint32Range(1, 20).Draw(t, "again"), sent))
			case 1:
				w.send(sent, sent)
				last = sent
			default:
				last = sent
				sent += 1000 * rapid.Uint32Range(1, 20).Draw(t, "bytes")
				w.send(last, sent)
			}
		}
		const ahead = 5_000_000_000
		for i := range w.came {
			w.came[i].Time += ahead
		}
		found, _ := unaddressedMessages(t, unaddressedCapture("a", w.sent), unaddressedCapture("b", w.came))
		matched += len(found)
		for _, m := range found {
			if left := w.left[int64(m.Received-ahead)]; m.Sent > clock.HostTime(left) {
				t.Fatalf("received at %d, which left at %d, matched with what was sent at %d", m.Received-ahead, left, m.Sent)
			}
		}
	})
	if matched < testneed.Cases(100) {
		t.Errorf("only %d messages", matched)
	}
}

// What is sent again may reach over the last segment, of which a part sent again once more then has the numbers.
func TestWhatBeginsAtTheLastSegmentBehindWhatWasSentAgainIsNotUsed(t *testing.T) {
	sent := func(at int64, seq, ack uint32) trace.Packet {
		return trace.Packet{Time: clock.HostTime(at), Seq: seq, Ack: ack, Flags: trace.ACK | trace.PSH, Digest: 5<<16 | 7, TSVal: 3, From: trace.Sent}
	}
	a := []trace.Packet{sent(1, 1, 77), sent(2, 4001, 77), sent(6, 1, 177), sent(1007, 4001, 177), sent(2000, 5001, 177)}
	b := []trace.Packet{sent(1006, 4001, 177), sent(2500, 5001, 177)} // the end of the third, and what is new
	for i := range b {
		b[i].From = trace.Received
	}
	found, _ := unaddressedMessages(t, unaddressedCapture("a", a), unaddressedCapture("b", b))
	if want := []trace.Message{{Sent: 2000, Received: 2500}}; !slices.Equal(found, want) {
		t.Errorf("%v, want %v", found, want)
	}
}

func TestConversationWithoutAddressesIsMatchedBothWaysAndHostsHaveMet(t *testing.T) {
	var a, b []trace.Packet
	for i := range int64(50) {
		now := 1_000_000 * i
		request := trace.Packet{Time: clock.HostTime(now), Seq: uint32(100 * i), Ack: uint32(1 + 300*i), Flags: trace.ACK | trace.PSH, Digest: 5<<16 | 7, TSVal: 3, From: trace.Sent}
		reply := trace.Packet{Time: clock.HostTime(now + 300_000), Seq: uint32(1 + 300*i), Ack: uint32(100 + 100*i), Flags: trace.ACK | trace.PSH, Digest: 6<<16 | 9, TSVal: 4, From: trace.Sent}
		a, b = append(a, request), append(b, request)
		b[len(b)-1].Time, b[len(b)-1].From, b[len(b)-1].Digest = clock.HostTime(now+100_000), trace.Received, 5<<16|1234
		a, b = append(a, reply), append(b, reply)
		a[len(a)-1].Time, a[len(a)-1].From = clock.HostTime(now+400_000), trace.Received
	}
	ab, r := unaddressedMessages(t, unaddressedCapture("a", a), unaddressedCapture("b", b))
	if len(ab) != 50 || r.Tally.Messages != 100 || r.Tally.Ambiguous != 0 || len(r.Clocks) != 2 {
		t.Errorf("%d messages there, %+v, %d clocks", len(ab), r.Tally, len(r.Clocks))
	}
	for i, c := range r.Captures {
		if !c.Met {
			t.Errorf("capture %d met nobody", i)
		}
	}
	if _, r := unaddressedMessages(t, unaddressedCapture("a", a), unaddressedCapture("a", b)); r.Tally.Messages != 0 {
		t.Errorf("%d messages within one host", r.Tally.Messages)
	}
}

func TestFirstSynWithoutAddressesSaysTooLittle(t *testing.T) {
	syn := trace.Packet{Time: 5, Seq: 9, Flags: trace.SYN, Digest: 5<<16 | 7, From: trace.Sent}
	got := syn
	got.Time, got.From, got.Digest = 9, trace.Received, 5<<16|8
	if m, _ := unaddressedMessages(t, unaddressedCapture("a", []trace.Packet{syn}), unaddressedCapture("b", []trace.Packet{got})); len(m) != 0 {
		t.Errorf("%v", m)
	}
}
