package match

import (
	"cmp"
	"context"
	"math"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// A capture may hold stamps of two clocks: the adapter stamps what it receives, the system what it sends, and the two
// may be tens of seconds apart (the leap seconds between TAI and UTC). In the file the packets stand in the order of
// their capture, so the offset shows wherever sent and received alternate:
//
//	sent, then received:  received - sent >= offset
//	received, then sent:  sent - received >= -offset
//
// If the interval that this leaves excludes zero, window after window, there are two clocks. They are aligned like those
// of two hosts, from the messages that the host passes to itself: a packet received is stamped before the next one is
// sent; and what acknowledges a byte is received after the byte was sent.

// window is over how many packets the offset is judged: not long enough for skew to blur it.
const window = 1024

// stamp names the clocks and gives the messages to them.
func (r *Result) stamp(ctx context.Context, indexes []*index, h hosts, roles *roles, links []*link, m trace.Memory) error {
	split := make([][]uint64, len(indexes))
	if err := inParallel(ctx, len(indexes), func(i int) error {
		if twoClocks(indexes[i], roles) {
			split[i] = receivedBits(indexes[i], roles)
		}
		return nil
	}); err != nil {
		return err
	}
	second := make([]int, len(h.names)) // each host's clock of received packets
	for i, name := range h.names {
		r.Clocks = append(r.Clocks, trace.Clock{Name: name, Host: name})
		second[i] = i
	}
	number := make(map[*index]int)
	for i, x := range indexes {
		number[x] = i
		if split[i] != nil && second[x.host] == x.host {
			second[x.host] = len(r.Clocks)
			r.Clocks = append(r.Clocks, trace.Clock{Name: x.Host + "/rx", Host: x.Host})
		}
		c := CaptureClocks{Sent: x.host, Received: x.host, IsReceived: split[i]}
		if split[i] != nil {
			c.Received = second[x.host]
		}
		r.Captures = append(r.Captures, c)
		r.extend(x.Capture, &c)
	}
	slices.SortStableFunc(links, func(l, m *link) int {
		return cmp.Or(cmp.Compare(number[l.from], number[m.from]), cmp.Compare(number[l.to], number[m.to]))
	})
	for _, l := range links {
		from, to := r.Captures[number[l.from]].Sent, r.Captures[number[l.to]].Received
		for _, block := range l.blocks() {
			r.Channels = append(r.Channels, trace.Channel{From: from, To: to, Messages: block})
		}
	}
	for i, x := range indexes {
		if split[i] != nil {
			c := r.Captures[i]
			back, there := turnarounds(x, roles, m)
			r.Channels = append(r.Channels,
				trace.Channel{From: c.Received, To: c.Sent, Messages: back},
				trace.Channel{From: c.Sent, To: c.Received, Messages: there})
		}
	}
	return nil
}

// extend widens the clocks' extents over a capture's packets.
func (r *Result) extend(capture *trace.Capture, clocks *CaptureClocks) {
	n := 0
	for chunk := range capture.Packets.Chunks() {
		for i := range chunk {
			c := &r.Clocks[clocks.Of(n)]
			t := chunk[i].Time
			if c.Events == 0 {
				c.First, c.Last = t, t
			}
			c.First, c.Last = min(c.First, t), max(c.Last, t)
			c.Events++
			n++
		}
	}
	for _, i := range []int{clocks.Sent, clocks.Received} {
		r.Clocks[i].Granularity = max(r.Clocks[i].Granularity, capture.Granularity, 1)
	}
}

// twoClocks reports whether a capture's sent and received packets were stamped by two clocks: in nine of ten windows in
// which both occur, zero is no possible offset.
func twoClocks(x *index, roles *roles) bool {
	windows, excluded := 0, 0
	n, after, before := 0, int64(math.MaxInt64), int64(math.MaxInt64)
	var last *trace.Packet
	var lastSent bool
	for chunk := range x.Packets.Chunks() {
		for i := range chunk {
			p := &chunk[i]
			if n++; n%window == 0 {
				w, e := judge(after, before)
				windows, excluded = windows+w, excluded+e
				after, before = math.MaxInt64, math.MaxInt64
			}
			sent, known := roles.sent(x, p)
			if !known {
				continue
			}
			if last != nil && lastSent != sent {
				if lastSent {
					after = min(after, int64(p.Time-last.Time))
				} else {
					before = min(before, int64(p.Time-last.Time))
				}
			}
			last, lastSent = p, sent
		}
	}
	w, e := judge(after, before)
	windows, excluded = windows+w, excluded+e
	return windows > 0 && 10*excluded >= 9*windows
}

// judge returns one window, if both directions occurred, and whether it excludes that one clock stamped both. One
// direction's steps run back and the other's do not; where both do, stamps went backwards, and that is not two clocks.
func judge(after, before int64) (windows, excluded int) {
	if after == math.MaxInt64 || before == math.MaxInt64 {
		return 0, 0
	}
	if (after < -minClockOffset && before > minClockOffset) || (before < -minClockOffset && after > minClockOffset) {
		return 1, 1
	}
	return 1, 0
}

// receivedBits marks the packets stamped by the clock of received ones. What nothing tells of is taken to have come in:
// a host knows what it sends itself.
func receivedBits(x *index, roles *roles) []uint64 {
	bits := make([]uint64, (x.Packets.Len()+63)/64)
	n := 0
	for chunk := range x.Packets.Chunks() {
		for i := range chunk {
			if sent, known := roles.sent(x, &chunk[i]); !sent || !known {
				bits[n>>6] |= 1 << (n & 63)
			}
			n++
		}
	}
	return bits
}

// turnarounds returns the messages between the two clocks of one capture: back, from received to sent, and there.
func turnarounds(x *index, roles *roles, m trace.Memory) (back, there []trace.Message) {
	backward, onward := &link{memory: m}, &link{memory: m}
	var last *trace.Packet
	lastSent := false
	for n := range x.Packets.Len() {
		p := x.Packets.At(n)
		sent, known := roles.sent(x, p)
		if !known {
			continue
		}
		if last != nil && !lastSent && sent {
			backward.add(trace.Message{Sent: last.Time, Received: p.Time})
		}
		last, lastSent = p, sent
	}
	for i := range x.connections {
		acknowledged(onward, x, &x.connections[i], roles)
	}
	return backward.joined(), onward.joined()
}

// acknowledged adds a message from each segment sent to the first packet received that acknowledges its end. Bytes
// sent again count from their first sending.
func acknowledged(to *link, x *index, c *connection, roles *roles) {
	type sending struct {
		end  int64
		time clock.HostTime
	}
	var waiting []sending
	var numbers, acks unwrap
	for _, n := range x.members(c) {
		p := x.at(n)
		sent, known := roles.sent(x, p)
		if !known || p.Kind != trace.TCP || p.Flags&trace.RST != 0 {
			continue
		}
		if sent {
			start := numbers.at(p.Seq)
			if !acks.started {
				acks = numbers
			}
			end := start + int64(p.Length)
			if p.Flags&(trace.SYN|trace.FIN) != 0 {
				end++
			}
			if end > start && (len(waiting) == 0 || end > waiting[len(waiting)-1].end) {
				waiting = append(waiting, sending{end, p.Time})
			}
			continue
		}
		if p.Flags&trace.ACK == 0 || !acks.started {
			continue
		}
		ack := acks.at(p.Ack)
		done := 0
		for done < len(waiting) && waiting[done].end <= ack {
			done++
		}
		if done > 0 {
			to.add(trace.Message{Sent: waiting[done-1].time, Received: p.Time})
			waiting = waiting[done:]
		}
	}
}
