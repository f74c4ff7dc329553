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
	// maxInquiry is how long an inquiry takes, ns.
	maxInquiry = 5_000_000_000
)

// inquire begins an inquiry among the clocks of a group, before their messages are forgotten. The clocks of which one was set at
// least are given. What was asked before of the same clocks is answered by what is known.
func (t doubts) inquire(g *group, among []int) int {
	q := &inquiry{number: t.inquired, among: among, began: make(map[int]clock.HostTime)}
	t.inquired++
	current := make(map[*epoch]bool)
	for _, e := range g.epochs {
		c := t.clocks[e.clock]
		if current[e] = !c.gone && e == c.epochs[len(c.epochs)-1]; current[e] {
			q.began[e.clock] = c.shown
		}
	}
	for _, p := range g.pairs {
		if current[p.a] && current[p.b] {
			if x := t.offsetPair(p); x != nil {
				q.pairs = append(q.pairs, x)
			}
		}
	}
	for _, before := range slices.Clone(t.inquiries) {
		for n := range before.began {
			if _, same := q.began[n]; same {
				t.answer(before)
				break
			}
		}
	}
	t.inquiries = append(t.inquiries, q)
	return q.number
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

// hear takes a message that came after a doubt.
func (t doubts) hear(from, to int, m trace.Message) {
	for _, q := range slices.Clone(t.inquiries) {
		a, inA := q.began[from]
		b, inB := q.began[to]
		if !inA || !inB {
			continue
		}
		if clock.Sub(m.Sent, a) > afterGuard && clock.Sub(m.Received, b) > afterGuard {
			for _, x := range q.pairs {
				if x.hear(from, to, m) && q.ready() {
					t.answer(q)
					break
				}
			}
		}
		if min(clock.Sub(m.Sent, a), clock.Sub(m.Received, b)) > maxInquiry {
			t.answer(q)
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
	if x.ab == 0 || x.ba == 0 {
		return false
	}
	x.known = x.compare()
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
