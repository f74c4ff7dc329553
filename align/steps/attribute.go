package steps

import (
	"cmp"
	"slices"

	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// partedPair is a pair of clocks whose offset falls into pieces or whose messages hold outliers.
type partedPair struct {
	*partition
	clocks [2]*trace.Clock
	// other is what the pair shows along the second clock where along either one the other clock turns back; else nil.
	other *partition
	a, b  int
	// undecided says that nothing but the reference tells which of the two clocks was set.
	undecided bool
	// ignored says that it showed a step that its pieces' maps did not confirm: its labels are not used any more.
	ignored bool
}

// chooseAxes chooses which clock of a pair turned back where its messages alone do not tell: the one that did so in most of these pairs,
// and of two clocks alone the one that is not the reference.
func chooseAxes(pairs []partedPair, reference int) {
	for {
		counts := make(map[int]int)
		most := -1
		for i := range pairs {
			if b := &pairs[i]; b.other != nil {
				for _, c := range []int{b.a, b.b} {
					counts[c]++
				}
			}
		}
		for i := range pairs {
			for _, c := range []int{pairs[i].a, pairs[i].b} {
				if n := counts[c]; n > 0 && (most < 0 || n > counts[most] || n == counts[most] && most == reference) {
					most = c
				}
			}
		}
		if most < 0 {
			return
		}
		for i := range pairs {
			b := &pairs[i]
			if b.other == nil || b.a != most && b.b != most {
				continue
			}
			b.undecided = counts[b.a] == counts[b.b]
			if b.a == most { // the axis is the clock that did not turn back
				b.partition = b.other
			}
			b.other = nil
		}
	}
}

// observation is a cut of one pair.
type observation struct {
	pair, cut int
}

// event is the setting of a clock.
type event struct {
	clock         int
	by, tolerance int64 // how far it was set forward, and how far that may be off, ns
	seen          []observation
	// Of the clock's stamps, the last surely before the event and the first surely behind it.
	last, first clock.HostTime
	// How far its readings may have gone on before the event, and from which they may have begun behind it.
	before, begin clock.HostTime
	other         int  // the clock that may as well have been set the other way, or -1
	stoodStill    bool // it was not set back, since it showed no reading twice
}

// attribute returns which clocks were set, in the order of clocks and of time. A clock that was set shows the step to all its
// partners at once, its partners show it to that clock alone. So the clock that explains most of the cuts left is taken
// first. Of two clocks alone their stamps may tell; where they do not, it is the one that is not the reference. against
// counts the pairs without cuts that contradict an event.
func attribute(pairs []partedPair, against func(*event) int, reference int) []event {
	var left []observation
	for i := range pairs {
		for k := range pairs[i].cuts {
			left = append(left, observation{i, k})
		}
	}
	var events []event
	for len(left) > 0 {
		var best event
		for _, seed := range left {
			e := cluster(pairs, left, seed, pairs[seed.pair].a)
			f := cluster(pairs, left, seed, pairs[seed.pair].b)
			switch order := moreLikely(pairs, &e, &f, against); {
			case order == 0 && e.clock == reference:
				f.other = e.clock
				e = f
			case order == 0:
				e.other = f.clock
			case order < 0:
				e = f
			}
			if best.seen == nil || moreLikely(pairs, &e, &best, against) > 0 {
				best = e
			}
		}
		if b := &pairs[best.seen[0].pair]; b.undecided && len(best.seen) == 1 {
			best.other = b.a + b.b - best.clock
		}
		left = slices.DeleteFunc(left, func(s observation) bool { return slices.Contains(best.seen, s) })
		events = append(events, best)
	}
	// Two events that the same pair shows are in the order of its cuts, others in that of their stamps.
	slices.SortStableFunc(events, func(e, f event) int {
		if e.clock == f.clock {
			for _, s := range e.seen {
				for _, t := range f.seen {
					if s.pair == t.pair {
						return cmp.Compare(s.cut, t.cut)
					}
				}
			}
		}
		return cmp.Or(cmp.Compare(e.clock, f.clock), cmp.Compare(e.last, f.last))
	})
	return events
}

// moreLikely compares two events: positive where the first explains more.
func moreLikely(pairs []partedPair, e, f *event, against func(*event) int) int {
	if c := cmp.Compare(len(e.seen), len(f.seen)); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(against(f), against(e)), cmp.Compare(votes(pairs, e), votes(pairs, f)))
}

// votes counts the pairs whose stamps tell that the event's clock was set, less those whose stamps tell that its partner was.
func votes(pairs []partedPair, e *event) (n int) {
	for _, s := range e.seen {
		b := &pairs[s.pair]
		switch which := b.setClock(&b.cuts[s.cut]); {
		case which < 0:
		case [2]int{b.a, b.b}[which] == e.clock:
			n++
		default:
			n--
		}
	}
	return n
}

// setClock returns which clock of a pair was set at a cut, 0 or 1, or -1 if nothing tells. A clock that seems to have
// been set forward, and stamped events at readings that it then would not have shown, was not: the other one stood
// still, as that of a suspended machine does.
func (b *partedPair) setClock(c *cut) int {
	which := b.steppedClock(c)
	if by, _ := c.by(); which < 0 || (by > 0) != (which == 1) {
		return which
	}
	if x := b.clocks[which]; x.Activity != nil && x.Activity.Between(clock.Add(c.before[which], c.margin), clock.Add(c.behind[which], -c.margin)) {
		return 1 - which
	}
	return which
}

// eventOf returns the event that a cut shows if clock c of its pair was set.
func eventOf(pairs []partedPair, s observation, c int) event {
	b := &pairs[s.pair]
	k := &b.cuts[s.cut]
	own := 0
	by, tolerance := k.by()
	if c == b.a {
		by = -by
	} else {
		own = 1
	}
	e := event{clock: c, other: -1, by: by, tolerance: tolerance, seen: []observation{s}, last: k.before[own], first: k.behind[own]}
	// The other clock tells how long the step may have taken place after the last stamp; no two clocks differ by more
	// than 5%.
	elapsed := max(clock.Sub(k.behind[1-own], k.before[1-own]), 0)
	elapsed += elapsed/16 + k.margin + 1
	e.before, e.begin = clock.Add(e.last, elapsed), clock.Add(e.first, -elapsed)
	if x := b.clocks[own]; e.by < 0 && e.last < e.first && x.Activity != nil && !x.Activity.RanBack(-e.by/2) {
		e.stoodStill = true
		e.before, e.begin = min(e.before, e.first), max(e.begin, e.last)
	}
	return e
}

// cluster returns the event of clock c that a seed shows, with the cuts by which other pairs show the same event: steps of
// the same size at the same readings of the clock.
func cluster(pairs []partedPair, left []observation, seed observation, c int) event {
	e := eventOf(pairs, seed, c)
	used := []int{seed.pair}
	for _, s := range left {
		b := &pairs[s.pair]
		if b.a != c && b.b != c || slices.Contains(used, s.pair) {
			continue
		}
		f := eventOf(pairs, s, c)
		difference := max(f.by-e.by, e.by-f.by)
		if difference > e.tolerance+f.tolerance+clock.Sub(f.before, f.last) || f.last > e.before || e.last > f.before || f.begin > e.first || e.begin > f.first {
			continue
		}
		used = append(used, s.pair)
		e.seen = append(e.seen, s)
		if f.tolerance < e.tolerance {
			e.by, e.tolerance = f.by, f.tolerance
		}
		e.last, e.first = max(e.last, f.last), min(e.first, f.first)
		e.before, e.begin = max(min(e.before, f.before), e.last), min(max(e.begin, f.begin), e.first)
	}
	return e
}

// undo returns the messages of a pair as they would be if the event's clock had not been set, without those that may lie on
// either side of the event. first says that the clock is the first of the pair. If these messages contradict each other and
// the true ones do not, the clock was not set.
func (e *event) undo(p *pair.Problem, first bool) pair.Problem {
	move := func(messages pair.Messages, sender bool) pair.Messages {
		var moved []trace.Message
		for m := range messages.All() {
			stamp := &m.Received
			if sender {
				stamp = &m.Sent
			}
			before, behind := *stamp <= e.before, *stamp >= e.begin
			if before == behind {
				continue
			}
			if behind {
				*stamp = clock.Add(*stamp, -e.by)
			}
			moved = append(moved, m)
		}
		return pair.Messages{moved}
	}
	q := *p
	q.AB, q.BA = move(p.AB, first), move(p.BA, !first)
	return q
}
