package match

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// stream simulates one TCP connection from a to b: super-segments that the network divides, packets lost, repeated and
// delayed, retransmissions cut anew, a receiver that puts segments together, acknowledgements back.
type stream struct {
	*world
	t         *rapid.T
	now       clock.HostTime
	first     uint32 // sequence number before the first byte
	ack       uint32
	stamps    bool // timestamp option
	loss      int  // per cent
	captured  int  // per cent of the sender's packets that its capture has
	coalesce  bool
	waiting   *arrival
	delivered int64
}

type arrival struct {
	start, end int64
	time, left clock.HostTime
	stamp      uint32
}

func (s *stream) seq(at int64) uint32 { return s.first + uint32(at) }

func (s *stream) stamp() uint32 {
	if !s.stamps {
		return 0
	}
	return uint32(int64(s.now)/1_000_000) + 7
}

// send transmits bytes [start, end) in one segment, which the network divides.
func (s *stream) send(start, end int64) {
	p := trace.Packet{Time: s.now, Kind: trace.TCP, Seq: s.seq(start), Ack: s.ack, TSVal: s.stamp(), Length: uint32(end - start), Flags: trace.ACK}
	if rapid.IntRange(0, 99).Draw(s.t, "captured") < s.captured {
		s.record(false, protocolTCP, addrA, addrB, p)
	}
	arrives := s.now
	for at := start; at < end; at += 1448 {
		if rapid.IntRange(0, 99).Draw(s.t, "lost") < s.loss {
			continue
		}
		arrives += clock.HostTime(rapid.Int64Range(1_000, 40_000).Draw(s.t, "delay"))
		s.arrive(arrival{start: at, end: min(at+1448, end), time: arrives, left: s.now, stamp: p.TSVal})
	}
	s.flush()
	s.now = arrives + clock.HostTime(rapid.Int64Range(1, 3_000_000).Draw(s.t, "pause"))
	if s.captured < 100 {
		s.now += 1_000_000 // what is sent again within one tick of the timestamps cannot be told from the first
	}
}

// arrive records what comes to b, put together with its neighbour where the receiver does so.
func (s *stream) arrive(x arrival) {
	if w := s.waiting; w != nil && s.coalesce && w.end == x.start && w.stamp == x.stamp && w.end-w.start < 40_000 {
		w.end, w.time = x.end, x.time
		return
	}
	s.flush()
	s.waiting = &x
}

func (s *stream) flush() {
	w := s.waiting
	if w == nil {
		return
	}
	s.waiting = nil
	s.record(true, protocolTCP, addrA, addrB, trace.Packet{
		Time: w.time, Kind: trace.TCP, Seq: s.seq(w.start), Ack: s.ack, TSVal: w.stamp, Length: uint32(w.end - w.start), Flags: trace.ACK,
	})
	s.left[w.time] = w.left
	s.delivered = max(s.delivered, w.end)
	s.pass(false, protocolTCP, trace.Packet{
		Time: w.time + 500, Kind: trace.TCP, Seq: s.ack, Ack: s.seq(w.end), Flags: trace.ACK, Digest: uint32(w.time),
	}, rapid.Int64Range(1_000, 40_000).Draw(s.t, "back"))
}

func drawStream(t *rapid.T, captured int) *stream {
	s := &stream{
		world:    newWorld(rapid.Int64Range(-5_000_000_000, 5_000_000_000).Draw(t, "offset")),
		t:        t,
		now:      1_000_000_000,
		first:    rapid.SampledFrom([]uint32{7, math.MaxUint32 - 9_000, 1 << 31}).Draw(t, "first"),
		ack:      99,
		stamps:   captured < 100 || rapid.Bool().Draw(t, "timestamps"),
		loss:     rapid.SampledFrom([]int{0, 5, 30}).Draw(t, "loss"),
		captured: captured,
		coalesce: rapid.Bool().Draw(t, "coalesce"),
	}
	sent := int64(0)
	for range rapid.IntRange(1, 25).Draw(t, "segments") {
		if sent > 0 && rapid.IntRange(0, 3).Draw(t, "what") == 0 {
			start := rapid.Int64Range(max(0, sent-60_000), sent-1).Draw(t, "again from")
			s.send(start, rapid.Int64Range(start+1, min(sent, start+60_000)).Draw(t, "again to"))
			continue
		}
		end := sent + rapid.SampledFrom([]int64{1, 700, 1448, 20_000, 65_000}).Draw(t, "bytes")
		s.send(sent, end)
		sent = end
	}
	return s
}

func TestNoMessageIsWrongWhateverIsDividedLostOrSentAgain(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		s := drawStream(t, 100)
		ab, ba, _, _ := s.match(&testing.T{}, Options{})
		s.check(t, ab, ba)
	})
}

func TestTimestampsKeepMessagesRightWhereTheCaptureMissedPackets(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		s := drawStream(t, 70)
		ab, ba, _, _ := s.match(&testing.T{}, Options{})
		s.check(t, ab, ba)
	})
}

func TestSuperSegmentConstrainsEveryRangeItCovers(t *testing.T) {
	w := newWorld(-3_000_000_000)
	now := clock.HostTime(1_000_000_000)
	w.record(false, protocolTCP, addrA, addrB, trace.Packet{Time: now, Kind: trace.TCP, Seq: math.MaxUint32 - 1000, Ack: 5, Length: 65_160, Flags: trace.ACK})
	for i := range int64(45) {
		at := now + 10_000 + clock.HostTime(i*1_000)
		w.record(true, protocolTCP, addrA, addrB, trace.Packet{Time: at, Kind: trace.TCP, Seq: uint32(math.MaxUint32 - 1000 + i*1448), Ack: 5, Length: 1448, Flags: trace.ACK})
		w.left[at] = now
		w.pass(false, protocolTCP, trace.Packet{Time: at + 100, Kind: trace.TCP, Seq: 5, Ack: uint32(i), Flags: trace.ACK}, 9_000)
	}
	ab, ba, _, _ := w.match(t, Options{})
	if len(ab) != 45 || len(ba) != 45 {
		t.Fatalf("%d and %d messages, want 45 ranges and 45 acknowledgements", len(ab), len(ba))
	}
	w.check(t, ab, ba)
}

func TestByteReceivedTwiceOrSentTwiceMakesNoMessage(t *testing.T) {
	data := trace.Packet{Kind: trace.TCP, Seq: 100, Ack: 5, Length: 1000, Flags: trace.ACK}
	again := func(fromSender, atReceiver bool) int {
		w := newWorld(0)
		p := data
		p.Time = 1_000_000_000
		w.pass(true, protocolTCP, p, 20_000)
		for i := range int64(4) { // other traffic, to tell who sends
			w.pass(i%2 == 0, protocolTCP, trace.Packet{Time: clock.HostTime(2_000_000_000 + i*50_000), Kind: trace.TCP, Seq: uint32(i), Ack: 77, Flags: trace.ACK}, 20_000)
		}
		p.Time = 1_200_000_000
		if fromSender {
			w.record(false, protocolTCP, addrA, addrB, p)
		}
		p.Time += 20_000
		if atReceiver {
			w.record(true, protocolTCP, addrA, addrB, p)
		}
		ab, _, _, _ := w.match(t, Options{})
		return len(ab) - 2 // the acknowledgements
	}
	if n := again(false, false); n != 1 {
		t.Errorf("%d messages of a segment sent once", n)
	}
	for _, c := range [][2]bool{{true, false}, {false, true}, {true, true}} {
		if n := again(c[0], c[1]); n != 0 {
			t.Errorf("sent again %v, received again %v: %d messages", c[0], c[1], n)
		}
	}
}

func TestConnectionsThatReusePortsAreToldApart(t *testing.T) {
	w := newWorld(40_000_000_000)
	for life := range int64(3) {
		now := clock.HostTime(1_000_000_000 + life*60_000_000_000)
		isn := uint32(1000 + life*7)
		w.pass(true, protocolTCP, trace.Packet{Time: now, Kind: trace.TCP, Seq: isn, Flags: trace.SYN}, 30_000)
		w.pass(false, protocolTCP, trace.Packet{Time: now + 40_000, Kind: trace.TCP, Seq: 9, Ack: isn + 1, Flags: trace.SYN | trace.ACK}, 30_000)
		// The same bytes by number in each life.
		w.pass(true, protocolTCP, trace.Packet{Time: now + 80_000, Kind: trace.TCP, Seq: 5000, Ack: 10, Length: 100, Flags: trace.ACK}, 30_000)
		w.pass(true, protocolTCP, trace.Packet{Time: now + 90_000, Kind: trace.TCP, Seq: 5100, Ack: 10, Flags: trace.FIN | trace.ACK}, 30_000)
	}
	ab, ba, _, _ := w.match(t, Options{})
	if len(ab) != 9 || len(ba) != 3 {
		t.Errorf("%d and %d messages, want SYN, data and FIN of three lives there, and three SYNs back", len(ab), len(ba))
	}
	w.check(t, ab, ba)
}

func TestCapturesThatBeganRoundsOfSequenceNumbersApartMeanTheSameBytes(t *testing.T) {
	w := newWorld(1_000_000)
	now, at := clock.HostTime(1_000_000_000), int64(0)
	for i := range 400 {
		p := trace.Packet{Time: now, Kind: trace.TCP, Seq: uint32(at), Ack: 5, TSVal: uint32(int64(now) / 1_000_000), Length: 30_000_000, Flags: trace.ACK}
		if i < 200 { // b began to capture late, more than 2^32 bytes after a
			w.record(false, protocolTCP, addrA, addrB, p)
		} else {
			w.pass(true, protocolTCP, p, 20_000)
			w.pass(false, protocolTCP, trace.Packet{Time: now + 30_000, Kind: trace.TCP, Seq: 5, Ack: uint32(at), TSVal: uint32(int64(now) / 1_000_000), Flags: trace.ACK}, 20_000)
		}
		at += 30_000_000
		now += 2_000_000
	}
	ab, ba, _, _ := w.match(t, Options{})
	if len(ab) != 200 || len(ba) != 200 {
		t.Errorf("%d and %d messages, want 200 each", len(ab), len(ba))
	}
	w.check(t, ab, ba)
}

func TestSegmentsThatCameLateAreSortedStably(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		var h half
		for i := range rapid.IntRange(0, 60).Draw(t, "segments") {
			h.segments = append(h.segments, segment{start: rapid.Int64Range(-3, 9).Draw(t, "start"), bytes: rapid.Uint32Range(1, 3).Draw(t, "bytes"), time: clock.HostTime(i)})
		}
		want := slices.Clone(h.segments)
		slices.SortStableFunc(want, func(s, t segment) int { return cmp.Or(cmp.Compare(s.start, t.start), cmp.Compare(s.bytes, t.bytes)) })
		if h.orderLate(); !slices.Equal(h.segments, want) {
			t.Fatalf("%v, want %v", h.segments, want)
		}
	})
}
