package live

import (
	"meridian/clock"
)

// division gives the messages of clocks that were set to what they are between steps.
type division struct{ *Timeline }

// divide begins new epochs where a round found clocks that were set, and gives the messages to them. It reports whether there
// were any.
func (t division) divide(s *solution) bool {
	d := s.Divided
	if d == nil {
		return false
	}
	extents := make([]extent, len(d.Clocks))
	for _, c := range d.Channels[:d.Sure] {
		for _, m := range c.Messages {
			extents[c.From].add(m.Sent)
			extents[c.To].add(m.Received)
		}
	}
	pieces := make([][]int, len(s.epochs))
	for k, i := range d.ClockOf {
		if extents[k].n > 0 {
			pieces[i] = append(pieces[i], k)
		}
	}
	of := make([]*epoch, len(d.Clocks))
	divided := false
	for i, e := range s.epochs {
		for _, k := range pieces[i] {
			of[k] = e
		}
		if len(pieces[i]) > 1 {
			t.part(s, i, pieces[i], extents, of)
			divided = true
		}
	}
	if !divided {
		return false
	}
	var since []meanwhile
	for _, p := range s.pairs {
		since = append(since, p.meanwhile...)
		delete(t.pairs, [2]int{p.a.number, p.b.number})
	}
	for _, c := range d.Channels[:d.Sure] {
		x, y := of[c.From], of[c.To]
		if x == nil || y == nil || x == y {
			continue
		}
		p := pairOf(t.Timeline, x, y)
		for _, m := range c.Messages {
			p.add(t.Timeline, x, m)
		}
	}
	for _, m := range since { // the round did not know of them
		x, y := t.epochAt(t.clocks[m.from], m.Sent), t.epochAt(t.clocks[m.to], m.Received)
		p := pairOf(t.Timeline, x, y)
		p.add(t.Timeline, x, m.Message)
		p.note(m)
	}
	return true
}

// extent is the stamps of a piece.
type extent struct {
	first, last clock.HostTime
	n           int
}

func (x *extent) add(at clock.HostTime) {
	if x.n == 0 {
		x.first, x.last = at, at
	}
	x.first, x.last = min(x.first, at), max(x.last, at)
	x.n++
}

// part makes epochs of the pieces of an epoch. The first piece stays the old one.
func (t division) part(s *solution, i int, pieces []int, extents []extent, of []*epoch) {
	e := s.epochs[i]
	c := t.clocks[e.clock]
	current := c.epochs[len(c.epochs)-1] == e
	var by []int64
	for _, x := range s.Steps {
		if x.Clock == i {
			by = append(by, x.By)
		}
	}
	shown := e.seen
	at := 0
	for at < len(c.epochs)-1 && c.epochs[at] != e {
		at++
	}
	rest := append([]*epoch(nil), c.epochs[at+1:]...)
	c.epochs = c.epochs[:at+1]
	before, ended := e, e.ended
	for n, k := range pieces {
		if n == 0 {
			e.seen = extents[k].last
			continue
		}
		next := t.begin(e.clock)
		next.ended = ended
		x := &stepSeen{before: before, last: before.seen, first: extents[k].first}
		if n-1 < len(by) {
			x.by = by[n-1]
		}
		before.ended, before.successor = true, next
		next.step, next.first, next.seen = x, extents[k].first, extents[k].last
		next.earliest = min(x.first, max(clock.Add(x.last, x.by), x.last+1))
		if x.by < 0 {
			next.earliest = min(x.first, clock.Add(x.last, x.by))
		}
		next.open().First = next.earliest
		t.change(Change{Kind: Stepped, Clock: e.clock, Other: -1, Component: e.component.number, From: x.last,
			To: shown, By: x.by})
		before.cut(before.seen)
		before.open().Last = max(before.seen, x.first-1)
		of[k] = next
		before = next
	}
	if current && c.any {
		before.see(c.shown)
		if before.step.by < 0 && clock.Sub(c.shown, before.step.last) > 0 { // a straggler of the old epoch
			before.seen = extents[pieces[len(pieces)-1]].last
		}
	}
	c.epochs = append(c.epochs, rest...)
}
