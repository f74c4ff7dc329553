package match

import (
	"cmp"
	"context"
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
// One clock makes no step back, but for packets out of order, of which a few prove nothing. So there are two clocks
// only if most of one kind of these turns run back, and if the offset that they leave is steady (clockJudgement). The
// two are aligned like those of two hosts, from the messages that the host passes to itself: a packet received is
// stamped before the next one is sent; and what acknowledges a byte is received after the byte was sent.

const (
	// window is over how many packets the offset is judged: not long enough for skew to blur it.
	window = 1024
	// minClockOffset is the least offset that is taken for two clocks, ns: disorder among the queues of one adapter
	// stays below.
	minClockOffset = 1_000_000
	// minTurns is the least number of turns of a kind in a window that tell its offset.
	minTurns = 4
)

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

// turnaroundWindow collects the turns of some packets that follow each other in a file. The zero value is ready.
type turnaroundWindow struct {
	onward, backward []int64 // steps from a packet sent to one received, and from one received to one sent, ns
	last             clock.HostTime
	lastSent, any    bool
}

// add takes the next packet.
func (v *turnaroundWindow) add(t clock.HostTime, sent bool) {
	if v.any && v.lastSent != sent {
		if step := int64(t - v.last); v.lastSent {
			v.onward = append(v.onward, step)
		} else {
			v.backward = append(v.backward, step)
		}
	}
	v.last, v.lastSent, v.any = t, sent, true
}

// clockJudgement counts the turns of a capture, window by window. The zero value is ready.
type clockJudgement struct {
	turns, back [2]int   // of each kind, onward and backward: all, and those that run back
	low         [2]int64 // of each kind: the lower tenth of the last window that had enough
	least       [2]int64 // and the least but for those that may be false
	windows     int      // that had enough turns of both kinds
	steady      int      // of them those in which both kinds agree on an offset, that of the window before
}

// add takes the turns of a window, which is empty afterwards.
func (j *clockJudgement) add(v *turnaroundWindow) {
	back := 0
	for kind, steps := range [2][]int64{v.onward, v.backward} {
		j.turns[kind] += len(steps)
		for _, step := range steps {
			if step < -minClockOffset {
				j.back[kind]++
				back++
			}
		}
	}
	var low, least [2]int64
	if back > 0 { // else a tenth of both kinds is no less than any clock allows
		slices.Sort(v.onward)
		slices.Sort(v.backward)
		for kind, steps := range [2][]int64{v.onward, v.backward} {
			if len(steps) > 0 {
				low[kind], least[kind] = steps[len(steps)/10], steps[max(min(1, len(steps)-1), len(steps)/32)]
			}
		}
	}
	enough := min(len(v.onward), len(v.backward)) >= minTurns
	v.onward, v.backward = v.onward[:0], v.backward[:0]
	switch {
	case enough:
		if j.agrees(low) {
			j.steady++
		}
		j.windows++
		j.low, j.least = low, least
	case j.windows == 0: // of few packets
		j.low, j.least = low, least
	}
}

// agrees reports whether the lower tenths of a window's turns show the offset of the window before: one kind runs back
// by the offset, the other forward, and both by about as much.
func (j *clockJudgement) agrees(low [2]int64) bool {
	down, up := low[0], low[1]
	if down > up {
		down, up = up, down
	}
	if down >= -minClockOffset || up < -down/2 {
		return false
	}
	if j.windows == 0 {
		return true
	}
	before := min(j.low[0], j.low[1])
	return max(down-before, before-down) <= -down/4+minClockOffset && (low[0] < low[1]) == (j.low[0] < j.low[1])
}

// clockCount is what a capture shows of the number of its clocks.
type clockCount int

const (
	oneClock clockCount = iota
	twoClocksFound
	clocksUnknown // most turns of one kind run back, but they are too few, or show no steady offset
)

// minUnanimous is how many turns of a kind show a second clock if all of them run back. One late timestamp makes one
// turn run back.
const minUnanimous = 3

// count returns the number of clocks that stamped the capture. There are two if most turns of one kind run back, which
// packets out of order cannot have done, and if the offset is steady.
func (j *clockJudgement) count() clockCount {
	kind := 0
	if j.back[1]*j.turns[0] > j.back[0]*j.turns[1] {
		kind = 1
	}
	back, all := j.back[kind], j.turns[kind]
	steady := 10*j.steady >= 9*j.windows
	if j.windows == 0 {
		steady = j.turns[1-kind] == 0 || (&clockJudgement{}).agrees(j.low)
	}
	switch {
	case 2*back <= all:
		return oneClock
	case steady && (refuted(back, all) || back == all && back >= minUnanimous):
		return twoClocksFound
	}
	return clocksUnknown
}

// offset returns the interval in which the offset of the received packets' clock lies if a few turns of the last window
// are false: one of up to 64 of a kind, one in 32 of more. A tenth, as elsewhere, would leave it so wide that it hides
// round trips. It says nothing of a capture without turns of both kinds.
func (j *clockJudgement) offset() span {
	if j.turns[0] == 0 || j.turns[1] == 0 {
		return span{}
	}
	return span{min(-j.least[1], j.least[0]), max(-j.least[1], j.least[0])}
}

// twoClocks reports whether a capture's sent and received packets were stamped by two clocks.
func twoClocks(x *index, roles *roles) bool {
	var turns turnaroundWindow
	var judgement clockJudgement
	n := 0
	for chunk := range x.Packets.Chunks() {
		for i := range chunk {
			p := &chunk[i]
			if n++; n%window == 0 {
				judgement.add(&turns)
			}
			if sent, known := roles.sent(x, p); known {
				turns.add(p.Time, sent)
			}
		}
	}
	judgement.add(&turns)
	return judgement.count() == twoClocksFound
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
