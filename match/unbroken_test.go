package match

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// counted is one TCP connection from a to b: a's capture has identifications, b's records none, as old kernel tracers do. Some
// segments are lost behind a's capture and sent again soon, while delays differ by more than that.
type counted struct {
	segments int
	lost     int // of so many segments one is lost and sent again; 0 for none
	missed   int // a's capture misses this packet of a's, counted from 0; -1 for none
	step     uint16
	divided  bool // segments are of up to three parts
}

// everySecond packet is missed, as by a capture of one of two links that share packets by turns.
const everySecond = -2

func (o counted) world() *world {
	w := newWorld(-3_000_000_000)
	now, id, packets := clock.HostTime(1_000_000_000), uint16(64_999), 0
	const part = 1448
	send := func(seq, length uint32) {
		if packets != o.missed && (o.missed != everySecond || packets%2 == 0) {
			w.record(false, protocolTCP, addrA, addrB, trace.Packet{Time: now, Kind: trace.TCP, Seq: seq, Ack: 5, Length: length, ID: id, Flags: trace.ACK})
		}
		packets++
		id += o.step * uint16(max(1, (length+part-1)/part))
	}
	come := func(seq, length uint32, delay int64) {
		at := now + clock.HostTime(delay)
		w.left[at] = now
		w.record(true, protocolTCP, addrA, addrB, trace.Packet{Time: at, Kind: trace.TCP, Seq: seq, Ack: 5, Length: length, Flags: trace.ACK})
	}
	seq := uint32(1000)
	for i := range o.segments {
		now += 200_000
		length := uint32(part)
		if o.divided {
			length *= uint32(i%3 + 1)
		}
		delay := int64(20_000 + i*7919%150_000) // so that delays do not tell copies apart
		send(seq, length)
		if o.lost > 0 && i%o.lost == o.lost/2 {
			now += 40_000
			send(seq, length)
		}
		come(seq, length, delay)
		seq += length
		if i%20 == 0 { // so that the sender's side is known
			w.pass(false, protocolTCP, trace.Packet{Time: now + 190_000, Kind: trace.TCP, Seq: 5, Ack: seq, Flags: trace.ACK, Digest: uint32(i + 1)}, 5_000)
		}
	}
	return w
}

// A kernel tracer records no identifications. In a capture beside it, those of the sender show that no sending is unseen.
func TestIdentificationsWithoutAGapShowThatNoSendingIsUnseen(t *testing.T) {
	const n = 700
	for _, c := range []struct {
		counted
		all bool
	}{
		{counted{lost: 0, missed: -1, step: 1}, true},
		{counted{lost: 35, missed: -1, step: 1}, true},
		{counted{lost: 35, missed: -1, step: 1, divided: true}, true},
		{counted{lost: 35, missed: 300, step: 1}, false},
		{counted{lost: 35, missed: 300, step: 1, divided: true}, false},
		{counted{lost: 35, missed: -1, step: 0}, false}, // no counter
		{counted{lost: 35, missed: -1, step: 2}, true},  // of two connections by turns: a gap would show
		{counted{lost: 35, missed: everySecond, step: 1}, false},
	} {
		t.Run(fmt.Sprintf("%+v", c.counted), func(t *testing.T) {
			c.segments = n
			w := c.world()
			ab, ba, r, _ := w.match(t, Options{})
			w.check(t, ab, ba)
			want := n
			if c.lost > 0 {
				want -= n / c.lost
			}
			if all := len(ab) >= want && r.Tally.Unsure == 0; all != c.all {
				t.Errorf("%d messages of %d segments sent once, %d unsure", len(ab), want, r.Tally.Unsure)
			}
		})
	}
}

// Whichever packets are missed, a run is whole only if they stood before the first or behind the last that is left.
func TestARunOfIdentificationsIsWholeIfNothingBetweenIsMissed(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		size := rapid.Uint32Range(536, 9000).Draw(t, "size of a part")
		id := rapid.Uint16Range(1, 65_535).Draw(t, "first")
		lengths := rapid.SliceOfN(rapid.OneOf(rapid.Just(uint32(0)), rapid.Just(size), rapid.Just(3*size), rapid.Uint32Range(1, 65_000)), 1, 150).Draw(t, "lengths")
		// Both sides of the size are seen: a part that is full, and as many as divided ones need.
		for range minNumbered {
			lengths = append(lengths, size, 2*size)
		}
		packets := make([]trace.Packet, len(lengths))
		for i, length := range lengths {
			packets[i] = trace.Packet{ID: id, Length: length}
			id += uint16(max(1, (length+size-1)/size))
		}
		from := rapid.IntRange(0, len(packets)).Draw(t, "missed from")
		to := rapid.IntRange(from, len(packets)).Draw(t, "missed to")
		left := slices.Concat(packets[:from], packets[to:])
		var u unbroken
		numbers, divided := 0, 0
		for i := range left {
			u.see(&left[i])
			if left[i].ID != 0 || numbers > 0 && left[i-1].ID == 65_535 {
				numbers++
			}
			if i+1 < len(left) && left[i].Length > size {
				divided++
			}
		}
		missed := from > 0 && from < to && to < len(packets)
		if missed && u.whole() {
			t.Fatalf("packets %d to %d of %d are missed", from, to, len(packets))
		}
		if few := numbers < minNumbered || divided > 0 && divided < minNumbered; !missed && !few && !u.whole() && !slices.ContainsFunc(left, func(p trace.Packet) bool { return p.ID == 0 }) {
			t.Fatalf("%+v of %d packets, none of which is missed", u, len(left))
		}
	})
}

func TestPacketsWithoutIdentificationStandBetweenOthers(t *testing.T) {
	for name, c := range map[string]struct {
		ids  []uint16
		want bool
	}{
		"an answer to a SYN":   {[]uint16{0, 7, 8, 9}, true},
		"one within":           {[]uint16{7, 8, 0, 9}, true},
		"the counter itself":   {[]uint16{65_534, 65_535, 0, 1}, true},
		"a gap behind it":      {[]uint16{65_534, 65_535, 1, 2}, false},
		"a counter of another": {[]uint16{7, 8, 900, 9}, false},
		"the same again":       {[]uint16{7, 8, 8, 9}, false},
		"out of order":         {[]uint16{7, 9, 8, 10}, false},
	} {
		var u unbroken
		for _, id := range c.ids {
			u.see(&trace.Packet{ID: id})
		}
		for range minNumbered {
			u.see(&trace.Packet{ID: u.id + 1})
		}
		if u.whole() != c.want {
			t.Errorf("%s: %v", name, u.whole())
		}
	}
	var few unbroken
	for id := range uint16(minNumbered - 1) {
		few.see(&trace.Packet{ID: id + 1})
	}
	if few.whole() {
		t.Error("few packets show a counter")
	}
}
