package live

import (
	"math"
	"slices"

	"meridian/align/online"
	"meridian/clock"
	"meridian/trace"
)

// inquiry finds out which clock of a group was set, after some were doubted. A doubt begins the bounds anew at once; the question
// which clock it was may take the messages of some seconds more.
//
// For each pair of clocks that exchanged messages, the offset by those from before the doubt is held against the offset by those
// after it. The difference says by how much one of the two was set, less the other:
//
//	offset, b less a
//	  |  before ------------.......extrapolated
//	  |                            ^  by[b] - by[a], within an interval
//	  |                            v
//	  |                         --------- after
//	  +----------------|-----|--|---------------> time
//	                 guard  doubt
//
// The clocks that were set are the fewest that explain all intervals. A clock is named if every explanation by so few has it: any
// other one has at least one clock more, all set by amounts that agree at the same time.
type inquiry struct {
	number int
	among  []int // clocks, one of which was set at least
	began  map[int]clock.HostTime
	pairs  []*offsetPair
	merged int                    // further doubts that it is about
	ready  map[int]clock.HostTime // what the clocks showed when all pairs were known; nil before
}

// offsetPair is two clocks before and after a doubt.
type offsetPair struct {
	a, b          int
	before, after *online.Strict
	lastB         clock.HostTime // the latest stamp of b before
	latestB       clock.HostTime // and after
	ab, ba        int            // messages after
	low, high     int64          // by which b was set, less a
	known         bool
}

const (
	// beforeGuard is how long before a doubt messages may be of a clock that was set already, ns, and afterGuard how long after
	// it messages from before may come.
	beforeGuard, afterGuard = 3_000_000_000, 300_000_000
	// maxInquiry is how long an inquiry takes after the last doubt, ns, and readyWait how long after all pairs are known.
	maxInquiry, readyWait = 6_000_000_000, 1_000_000_000
)

// inquire begins an inquiry among the clocks of a group, before their messages are forgotten. The clocks of which one was set at
// least are given. If one of the clocks is asked for already, it is one inquiry, about all that was set: messages from between the doubts
// do not count.
func (t doubts) inquire(g *group, among []int) *inquiry {
	q := &inquiry{began: make(map[int]clock.HostTime)}
	current := make(map[*epoch]bool)
	for _, e := range g.epochs {
		c := t.clocks[e.clock]
		if current[e] = !c.gone && e == c.epochs[len(c.epochs)-1]; current[e] {
			q.began[e.clock] = c.shown
		}
	}
	for _, before := range slices.Clone(t.inquiries) {
		switch {
		case !before.overlaps(q):
		case before.merged < maxMerged:
			before.merge(q, among)
			return before
		default:
			t.answer(before, false)
		}
	}
	q.number, q.among = t.inquired, among
	t.inquired++
	for _, p := range g.pairs {
		if current[p.a] && current[p.b] {
			if x := t.offsetPair(p); x != nil {
				q.pairs = append(q.pairs, x)
			}
		}
	}
	t.inquiries = append(t.inquiries, q)
	return q
}

func (q *inquiry) overlaps(other *inquiry) bool {
	for n := range q.began {
		if _, same := other.began[n]; same {
			return true
		}
	}
	return false
}

// maxMerged is how many doubts an inquiry takes after the first: bounds by messages from before the first get wider.
const maxMerged = 3

// merge begins to listen anew, at another doubt.
func (q *inquiry) merge(other *inquiry, among []int) {
	q.merged++
	q.ready = nil
	q.among = append(slices.Clone(q.among), among...)
	slices.Sort(q.among)
	q.among = slices.Compact(q.among)
	for n, at := range other.began {
		q.began[n] = at
	}
	for _, x := range q.pairs {
		x.after.Reset()
		x.latestB, x.ab, x.ba, x.known = math.MinInt64, 0, 0, false
	}
}

// offsetPair returns a pair by its messages from before a doubt, nil where they do not bound the offset.
func (t doubts) offsetPair(p *pairState) *offsetPair {
	whole := *p.edge
	x := &offsetPair{a: p.a.clock, b: p.b.clock, before: &whole, lastB: math.MinInt64, latestB: math.MinInt64}
	x.before.Reset()
	lastA, lastB := t.surely(p.a), t.surely(p.b)
	for _, m := range p.ab.messages(perPart) {
		if m.Sent <= lastA && m.Received <= lastB {
			x.before.AB(m)
			x.lastB = max(x.lastB, m.Received)
		}
	}
	for _, m := range p.ba.messages(perPart) {
		if m.Received <= lastA && m.Sent <= lastB {
			x.before.BA(m)
			x.lastB = max(x.lastB, m.Sent)
		}
	}
	if _, _, ok := offsetAt(x.before, 0); !ok {
		return nil
	}
	after := whole
	x.after = &after
	x.after.Reset()
	return x
}

// surely returns the last reading of an epoch that is surely from before a doubt that begins now.
func (t doubts) surely(e *epoch) clock.HostTime {
	at := t.clocks[e.clock].shown
	if clock.Sub(e.seen, at) > afterGuard { // set back
		at = e.seen
	}
	return clock.Add(at, -beforeGuard)
}

// offsetAt returns the offset, b less a, some time after the last message.
func offsetAt(s *online.Strict, later int64) (low, high int64, ok bool) {
	at, any := s.Last()
	if !any {
		return 0, 0, false
	}
	at = clock.Add(at, later)
	l, h, lowOK, highOK, ok := s.At(at)
	return clock.Sub(l, at), clock.Sub(h, at), ok && lowOK && highOK
}

// hear takes a message that came after a doubt. An answer waits for some time after all pairs are known: another clock may have been set
// meanwhile, which is another doubt.
func (t doubts) hear(from, to int, m trace.Message) {
	for _, q := range slices.Clone(t.inquiries) {
		a, inA := q.began[from]
		b, inB := q.began[to]
		if !inA || !inB {
			continue
		}
		if clock.Sub(m.Sent, a) > afterGuard && clock.Sub(m.Received, b) > afterGuard {
			for _, x := range q.pairs {
				if x.hear(from, to, m) {
					break
				}
			}
		}
		late := min(clock.Sub(m.Sent, a), clock.Sub(m.Received, b)) > maxInquiry
		switch {
		case late:
			t.answer(q, true)
		case !q.complete():
			q.ready = nil
		case q.ready == nil:
			q.ready = make(map[int]clock.HostTime)
			for n := range q.began {
				q.ready[n] = t.clocks[n].shown
			}
		case min(clock.Sub(m.Sent, q.ready[from]), clock.Sub(m.Received, q.ready[to])) > readyWait:
			t.answer(q, true)
		}
	}
}

func (x *offsetPair) hear(from, to int, m trace.Message) bool {
	switch {
	case from == x.a && to == x.b:
		x.after.AB(m)
		x.latestB = max(x.latestB, m.Received)
		x.ab++
	case from == x.b && to == x.a:
		x.after.BA(m)
		x.latestB = max(x.latestB, m.Sent)
		x.ba++
	default:
		return false
	}
	x.known = x.ab > 0 && x.ba > 0 && x.compare()
	return true
}

// compare holds the offset after against the one before.
func (x *offsetPair) compare() bool {
	low, high, ok := offsetAt(x.after, 0)
	if !ok {
		return false
	}
	// The time between by the clock that was set is wrong by as much as it was set. The rate times that is in the slack.
	before, _ := x.before.Last()
	after, _ := x.after.Last()
	wasLow, wasHigh, ok := offsetAt(x.before, max(clock.Sub(after, before), clock.Sub(x.latestB, x.lastB), 0))
	if !ok {
		return false
	}
	x.low, x.high = clock.Sub(clock.HostTime(low), clock.HostTime(wasHigh)), clock.Sub(clock.HostTime(high), clock.HostTime(wasLow))
	slack := max(x.low, -x.low, x.high, -x.high) / 1000
	x.low, x.high = clock.Add(x.low, -slack), clock.Add(x.high, slack)
	return true
}
