package live

import (
	"slices"

	"meridian/clock"
)

// interval is by how much a clock was set, ns.
type interval struct{ low, high int64 }

func (i interval) empty() bool { return i.low > i.high }

func (i interval) zero() bool { return i.low <= 0 && i.high >= 0 }

func (i interval) meet(j interval) interval { return interval{max(i.low, j.low), min(i.high, j.high)} }

// by returns by how much b was set, if a was not.
func (x *offsetPair) by() interval { return interval{x.low, x.high} }

// narrow reports whether amounts that differ can be told from one another: a clock is named because others would have to have been set by
// amounts that agree.
func (x *offsetPair) narrow() bool {
	return x.high-x.low < max(x.low, -x.low, x.high, -x.high)/2
}

// of returns by how much one of the two clocks was set, if the other was not.
func (x *offsetPair) of(n int) interval {
	if n == x.b {
		return x.by()
	}
	return interval{-x.high, -x.low}
}

func (x *offsetPair) has(n int) bool { return n == x.a || n == x.b }

// complete reports whether all pairs are known that can tell the clocks apart that one message at least speaks against.
func (q *inquiry) complete() bool {
	in := make(map[int]bool)
	for _, n := range q.among {
		in[n] = true
	}
	for _, x := range q.pairs {
		if x.known && !x.by().zero() {
			in[x.a], in[x.b] = true, true
		}
	}
	for _, x := range q.pairs {
		if !x.known && (in[x.a] || in[x.b]) {
			return false
		}
	}
	return true
}

// explains returns by how much clocks were set if they, one or two, are all that were. They explain nothing if a pair contradicts it.
func (q *inquiry) explains(set ...int) (by []interval, ok bool) {
	by = make([]interval, len(set))
	for i := range by {
		by[i] = interval{-1 << 62, 1 << 62}
	}
	var both []*offsetPair
	for _, x := range q.pairs {
		if !x.known {
			continue
		}
		a, b := slices.Index(set, x.a), slices.Index(set, x.b)
		switch {
		case a >= 0 && b >= 0:
			both = append(both, x)
		case a >= 0:
			by[a] = by[a].meet(x.of(x.a))
		case b >= 0:
			by[b] = by[b].meet(x.of(x.b))
		case !x.by().zero():
			return nil, false
		}
	}
	for _, x := range both {
		a, b := slices.Index(set, x.a), slices.Index(set, x.b)
		by[b] = by[b].meet(interval{clock.Add(by[a].low, x.low), clock.Add(by[a].high, x.high)})
		by[a] = by[a].meet(interval{clock.Add(by[b].low, -x.high), clock.Add(by[b].high, -x.low)})
	}
	for _, i := range by {
		if i.empty() || len(set) > 1 && i.zero() { // fewer explain it
			return nil, false
		}
	}
	return by, true
}

// culprits returns the clocks that every one of the smallest explanations has, and those that some of them have, without these.
func (q *inquiry) culprits() (named map[int]interval, others []int) {
	clocks := make([]int, 0, len(q.began))
	for n := range q.began {
		clocks = append(clocks, n)
	}
	slices.Sort(clocks)
	named = make(map[int]interval)
	count, all := make(map[int]int), 0
	note := func(by []interval, set ...int) {
		all++
		for i, n := range set {
			count[n]++
			named[n] = by[i]
		}
	}
	for _, n := range clocks {
		if by, ok := q.explains(n); ok {
			note(by, n)
		}
	}
	if all == 0 {
		for i, n := range clocks {
			for _, k := range clocks[:i] {
				if by, ok := q.explains(k, n); ok {
					note(by, k, n)
				}
			}
		}
	}
	for _, n := range clocks {
		switch {
		case count[n] > 0 && !q.sure(n):
			return nil, nil
		case count[n] < all:
			if delete(named, n); count[n] > 0 {
				others = append(others, n)
			}
		}
	}
	return named, others
}

// sure reports whether the pairs that tell that a clock was set tell amounts from one another: all of them, or two.
func (q *inquiry) sure(n int) bool {
	wide, narrow := 0, 0
	for _, x := range q.pairs {
		switch {
		case !x.known || !x.has(n) || x.by().zero():
		case x.narrow():
			narrow++
		default:
			wide++
		}
	}
	return wide == 0 || narrow > 1
}

// answer says which clock was set, as far as the messages tell. Certain says that nothing else was set while they were sent.
func (t doubts) answer(q *inquiry, certain bool) {
	t.inquiries = slices.DeleteFunc(t.inquiries, func(x *inquiry) bool { return x == q })
	evidence := slices.ContainsFunc(q.pairs, func(x *offsetPair) bool { return x.known && !x.by().zero() })
	named, others := map[int]interval(nil), q.among
	if evidence && certain {
		if named, others = q.culprits(); len(named)+len(others) == 0 {
			others = q.endpoints()
		}
	}
	for n := range t.clocks {
		if i, ok := named[n]; ok {
			t.change(Change{Kind: Named, Clock: n, Other: -1, Component: t.clocks[n].component(), From: q.began[n], To: t.clocks[n].shown,
				By: i.low + (i.high-i.low)/2, Doubt: q.number})
		}
	}
	if len(named) == 0 {
		n := others[0]
		t.change(Change{Kind: Unnamed, Clock: n, Other: -1, Component: t.clocks[n].component(), From: q.began[n], To: t.clocks[n].shown,
			Doubt: q.number, Among: others})
	}
	t.publish()
}

// giveUp answers what is asked for long, though no messages come that tell.
func (t doubts) giveUp() {
	for _, q := range slices.Clone(t.inquiries) {
		passed := 0
		for n, began := range q.began {
			if clock.Sub(t.clocks[n].shown, began) > 2*maxInquiry {
				passed++
			}
		}
		if passed > 1 { // one may have been set
			t.answer(q, true)
		}
	}
}

// endpoints returns the clocks of all pairs that say that one was set.
func (q *inquiry) endpoints() (all []int) {
	for n := range q.began {
		if slices.ContainsFunc(q.pairs, func(x *offsetPair) bool { return x.known && x.has(n) && !x.by().zero() }) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

func (c *hostClock) component() int { return c.epochs[len(c.epochs)-1].component.number }

// Conclude answers which clocks were set, of those that have been doubted, by the messages so far. It is for the end.
func (t *Timeline) Conclude() {
	for _, q := range slices.Clone(t.inquiries) {
		doubts{t}.answer(q, q.ready != nil)
	}
}

// clocksOf returns the clocks of some epochs, in order.
func clocksOf(of map[*epoch]bool) (all []int) {
	for e := range of {
		all = append(all, e.clock)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
