package index

import (
	"cmp"
	"container/heap"
	"slices"

	"meridian/clock"
)

// Verdict says what the stamps make of a message. The worse, the larger.
type Verdict uint8

const (
	InOrder     Verdict = iota
	WithinStep          // received before it was sent, by no more than the step of the stamps
	TooFast             // faster than the least delay
	Undecidable         // received before it was sent, but within the bounds of the clocks
	Certain             // received before it was sent, beyond the bounds
)

// end is one end of a message.
type end struct {
	event         int64
	time          int64 // since the origin; before it too, where events came late
	recorded      int64 // the stamp, ns since 1970
	below, above  int64 // bounds, the step of the stamp included
	step          int64 // of the stamps of its clock
	row           int32
	host          int32
	clock         int32
	bounded, sent bool
	stamped       bool // recorded is known
}

// pairs matches the two ends of messages, in either order.
type pairs struct {
	waiting map[uint64]end
	most    int      // of these
	queue   []waiter // in the order in which they came, those that were met among them
	from    int
	links   map[[2]int32]*link
	last    *link // messages come in trains
	order   []*link
	delays  map[[2]int32]*histogram
	worst   worst
	counts  [5]int64
	raw     rawInversions
}

type waiter struct {
	flow  uint64
	event int64
}

// link holds the messages from one row to another.
type link struct {
	from, to int32
	lane     *lane
}

const (
	// mostEnds bounds the ends that wait for their partners; beyond it the oldest are dropped.
	mostEnds = 1 << 19
	// mostLinks is how many pairs of rows are told apart; messages of others go between the first rows of their hosts.
	mostLinks = 1 << 16
	// mostListed is how many violations are listed.
	mostListed = 10_000
)

func newPairs() pairs {
	return pairs{most: mostEnds, waiting: make(map[uint64]end), links: make(map[[2]int32]*link), delays: make(map[[2]int32]*histogram)}
}

// meet takes an end in. If its other waited, the message goes onto its link.
func (s *sorter) meet(flow uint64, e end) error {
	p := &s.pairs
	other, ok := p.waiting[flow]
	if ok && other.sent != e.sent {
		delete(p.waiting, flow)
		if e.sent {
			return s.message(&e, &other)
		}
		return s.message(&other, &e)
	}
	if ok {
		s.lost.ends++ // a duplicate end: the earlier one stays unmatched
	} else if len(p.waiting) >= p.most {
		s.giveUp()
	}
	p.waiting[flow] = e
	p.queue = append(p.queue, waiter{flow, e.event})
	if p.from > 1024 && p.from > len(p.queue)/2 {
		p.queue = p.queue[:copy(p.queue, p.queue[p.from:])]
		p.from = 0
	}
	if len(p.queue) > 2*len(p.waiting)+1024 {
		p.queue = slices.DeleteFunc(p.queue[p.from:], func(w waiter) bool {
			x, ok := p.waiting[w.flow]
			return !ok || x.event != w.event
		})
		p.from = 0
	}
	return nil
}

// giveUp forgets the end that has waited longest.
func (s *sorter) giveUp() {
	p := &s.pairs
	for p.from < len(p.queue) {
		w := p.queue[p.from]
		p.from++
		if x, ok := p.waiting[w.flow]; ok && x.event == w.event {
			delete(p.waiting, w.flow)
			s.lost.ends++
			return
		}
	}
}

// message adds a message with both ends known.
func (x *sorter) message(s, r *end) error {
	p := &x.pairs
	l, err := x.link(s, r)
	if err != nil {
		return err
	}
	delay := clock.Sub(r.time, s.time)
	low, high, known := interval(s, r, delay)
	v := x.judge(s, r, delay, high, known)
	p.counts[v]++
	key := [2]int32{s.host, r.host}
	h := p.delays[key]
	if h == nil {
		h = &histogram{}
		p.delays[key] = h
	}
	h.add(delay)
	if v != InOrder {
		p.worst.add(violation{verdict: v, sent: s.time, delay: delay, low: low, high: high, known: known, from: s.event, to: r.event,
			link: l, depth: x.depth(v, delay)}, mostListed)
	}
	p.raw.add(s, r, l)
	it := item{at: min(max(s.time, 0), far), to: min(max(r.time, 0), far), event: s.event, other: r.event, flags: uint8(v)}
	x.trees.changed(min(it.at, it.to))
	return x.trees.add(l.lane, it)
}

func (x *sorter) link(s, r *end) (*link, error) {
	p := &x.pairs
	key := [2]int32{s.row, r.row}
	if p.last != nil && p.last.from == key[0] && p.last.to == key[1] {
		return p.last, nil
	}
	l := p.links[key]
	if l == nil && len(p.links) >= mostLinks {
		x.lost.folded++
		key = [2]int32{x.first[s.host], x.first[r.host]}
		l = p.links[key]
	}
	if l == nil {
		l = &link{from: key[0], to: key[1], lane: x.trees.newLane(messages, -1, len(p.order))}
		p.links[key] = l
		p.order = append(p.order, l)
	}
	p.last = l
	return l, nil
}

// interval returns the interval of a message's delay. On one clock it is what the stamps say, up to their step.
func interval(s, r *end, delay int64) (low, high int64, known bool) {
	if s.sameClock(r) {
		return clock.Sub(delay, r.step-1), clock.Add(delay, r.step-1), true
	}
	if !s.bounded || !r.bounded {
		return 0, 0, false
	}
	return clock.Sub(clock.Sub(delay, r.below), s.above), clock.Add(clock.Add(delay, r.above), s.below), true
}

func (e *end) sameClock(o *end) bool { return e.host == o.host && e.clock == o.clock }

// judge says what a message's stamps make of it. The receiver's stamp t means an instant of [t, t+step): it may look early
// by the step, and by what the maps' rounding adds.
func (x *sorter) judge(s, r *end, delay, high int64, known bool) Verdict {
	switch {
	case delay >= 0 && delay >= x.minDelay:
		return InOrder
	case delay >= 0:
		return TooFast
	case clock.Add(delay, clock.Add(r.step, 1)) >= 0:
		return WithinStep
	case known && high < 0:
		return Certain
	}
	return Undecidable
}

// depth is by how much a message is out of order.
func (x *sorter) depth(v Verdict, delay int64) int64 {
	if v == TooFast {
		return x.minDelay - delay
	}
	return clock.Sub(0, delay)
}

type violation struct {
	verdict   Verdict
	known     bool
	depth     int64
	sent      int64
	delay     int64
	low, high int64
	from, to  int64
	link      *link
}

// worst is a heap of the worst violations, the least of them on top.
type worst []violation

func (a *violation) less(o *violation) bool {
	return cmp.Or(cmp.Compare(a.verdict, o.verdict), cmp.Compare(a.depth, o.depth), cmp.Compare(o.from, a.from)) < 0
}

func (w worst) Len() int           { return len(w) }
func (w worst) Less(i, j int) bool { return w[i].less(&w[j]) }
func (w worst) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *worst) Push(x any)        { *w = append(*w, x.(violation)) }
func (w *worst) Pop() any {
	n := len(*w) - 1
	x := (*w)[n]
	*w = (*w)[:n]
	return x
}

// add takes a violation in, of which at most so many are held.
func (w *worst) add(v violation, most int) {
	switch {
	case len(*w) < most:
		heap.Push(w, v)
	case (*w)[0].less(&v):
		(*w)[0] = v
		heap.Fix(w, 0)
	}
}

// list returns them in order of time.
func (p *pairs) list(number func(*link) int) *Violations {
	v := p.worst.list(p.counts, number)
	v.Raw = p.raw.list(number)
	return v
}

func (w worst) list(counts [5]int64, number func(*link) int) *Violations {
	v := &Violations{Counts: counts, List: []Violation{}}
	slices.SortFunc(w, func(a, b violation) int {
		return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	for i := range w {
		x := &w[i]
		y := Violation{Verdict: x.verdict, Sent: x.sent, Delay: x.delay, From: x.from, To: x.to, Link: number(x.link)}
		if x.known {
			y.Low, y.High = &x.low, &x.high
		}
		v.List = append(v.List, y)
	}
	return v
}
