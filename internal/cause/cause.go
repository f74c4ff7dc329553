// Package cause answers why requests took as long as they did. In go the slices and messages of a timeline, with the
// bounds of its clocks; out come requests, each with what of it was spent at the client, at the server and on the way,
// and the critical path of one: contiguous pieces, whose lengths add up to the request's to the nanosecond.
//
//	client  |--- request -----------------------------|     total: one clock, exact
//	              \ there               back /
//	server         |---- server ------------|               server: one clock, exact
//	                                                        there + back = network: exact; each alone: within bounds
//
// The walk along a path goes back from the request's end. What was last is only asked of instants of one host, so bounds
// never change the path. A message joins two hosts by its identity. Only how the network's time divides between the two
// ways depends on the clocks: with theta = error of clock B less error of clock A, a message from A to B took d + theta
// and the one back d' - theta.
//
// Blame (blame.go) names what took longest, by total and by what is beyond like requests. A name stands alone only where
// no theta within the bounds makes another item the largest.
//
// Cost: a list of n requests takes O(n log n) and 150 bytes each; a path, O(pieces) queries of slices.
package cause

// Message went from one row to another. Instants are ns on the timeline, by the estimate.
type Message struct {
	From, To                 int // rows
	Sent, Received           int64
	SentEvent, ReceivedEvent int64
	Conversation             int32 // that it is a part of, such as a TCP connection; 0 where not known
	// On are the rows on which its ends lie, and 1 more; 0 is From or To, which stand for all rows of packets of their hosts.
	On [2]int32
}

// rows returns on which rows a message's ends lie.
func (x *Message) rows() (from, to int) {
	from, to = x.From, x.To
	if x.On[0] > 0 {
		from = int(x.On[0]) - 1
	}
	if x.On[1] > 0 {
		to = int(x.On[1]) - 1
	}
	return from, to
}

// Slice is a stretch of work, or a state, on a row. Of two that overlap the deeper one says more.
type Slice struct {
	Begin, End int64
	Row, Depth int
	Class      int
	Event      int64 // that begins it
	Last       int64 // that ends it; -1 where none was recorded
}

// Span names a slice in a distributed trace, by numbers that are unlikely to collide.
type Span struct{ Trace, ID, Parent uint64 }

// Bounds is how far an instant of the timeline may be from the truth: it truly was from at-Below to at+Above.
type Bounds struct {
	Below, Above int64
	Known        bool
}

// Model is what is known of a timeline.
type Model struct {
	Hosts    []int // of each row
	Messages []Message
	// Ends are the slices that a message begins or ends. Spans are those of them that have a name in a trace, and others.
	Ends  []Slice
	Spans Spans
	// Found are the requests that were found already, in connections. Messages with a conversation above 0 are theirs.
	Found []Request
	// Texts are names and states of requests, by number; the first is empty.
	Texts []string
	// Inner are the slices with a name in a trace that no message begins or ends: work within a process.
	Inner []Slice
	// Slices returns what is on a row in [from, to), in any order.
	Slices func(row int, from, to int64) []Slice
	// Bounds returns those of an instant of a row.
	Bounds func(row int, at int64) Bounds
	// MinDelay is the least delay of a message, ns.
	MinDelay int64
}

// Interval is from Low to High, each where it is known.
type Interval struct {
	Low, High       int64
	HasLow, HasHigh bool
	Impossible      bool // the bounds contradict the message: Low and High are what they say
}

// cut returns an interval that is not below the least.
func (i Interval) cut(least int64) Interval {
	switch {
	case i.Impossible:
	case i.HasHigh && i.High < least:
		i.Impossible = true
	case !i.HasLow || i.Low < least:
		i.Low, i.HasLow = least, true
	}
	return i
}

// theta returns how much longer than the estimate a message from one instant to another may have taken.
func (m *Model) theta(from int, sent int64, to int, received int64) Interval {
	if m.Hosts[from] == m.Hosts[to] { // one clock
		return Interval{HasLow: true, HasHigh: true}
	}
	if m.Bounds == nil {
		return Interval{}
	}
	a, b := m.Bounds(from, sent), m.Bounds(to, received)
	if !a.Known || !b.Known {
		return Interval{}
	}
	return Interval{Low: -b.Below - a.Above, High: b.Above + a.Below, HasLow: true, HasHigh: true}
}

// Delay returns between which lengths a message of a path took, by the bounds of both clocks; beyond what anything takes where these
// are not known.
func (m *Model) Delay(x *Piece) (low, high int64) {
	d, t := x.Length(), m.theta(x.From, x.Begin, x.Row, x.End)
	if !t.HasLow || !t.HasHigh {
		return min(d, m.MinDelay), unlimited
	}
	return max(d+t.Low, min(d, m.MinDelay)), d + t.High
}

// ways returns the intervals of the two ways of an exchange whose sum is known.
func (m *Model) ways(there, back Message) (x, y Interval) {
	one := func(w Message) Interval {
		d, t := w.Received-w.Sent, m.theta(w.From, w.Sent, w.To, w.Received)
		return Interval{Low: d + t.Low, High: d + t.High, HasLow: t.HasLow, HasHigh: t.HasHigh}
	}
	sum := there.Received - there.Sent + back.Received - back.Sent
	x, y = one(there), one(back)
	// What one way did not take the other did.
	x, y = within(x, y, sum, m.MinDelay), within(y, x, sum, m.MinDelay)
	return x, y
}

// within cuts one way by what is known of the other, and by the least delay of both.
func within(x, other Interval, sum, least int64) Interval {
	if other.HasHigh && (!x.HasLow || x.Low < sum-other.High) {
		x.Low, x.HasLow = sum-other.High, true
	}
	high := sum - least
	if other.HasLow {
		high = min(high, sum-other.Low)
	}
	if !x.HasHigh || x.High > high {
		x.High, x.HasHigh = high, true
	}
	return x.cut(least)
}
