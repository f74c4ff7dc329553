package align

import (
	"cmp"
	"slices"
)

// shown is a step as one pair shows it.
type shown struct {
	pair, cut int
}

// event is a clock that was set.
type event struct {
	clock    int
	by, give int64 // forward, and how far that may be off, ns
	seen     []shown
	// The clock's stamps surely before and surely behind it, next to it, and how far its readings may have gone on before
	// it and begun behind it.
	last, first   int64
	before, begin int64
	other         int // the clock that may as well have been set the other way, or -1
}

// brokenPair is a pair whose offset falls into pieces.
type brokenPair struct {
	*sweep
	a, b int
	mute bool // it showed a step that was none, and is no longer asked which message is of which piece
}

// attribute finds out which clocks were set: a clock that was set shows it to all its partners at once, its partners show
// it to it alone. The clock that explains most of what is left comes first. Of two clocks alone their stamps may tell;
// where they do not, it was the one that is not the reference.
func attribute(broken []brokenPair, against func(*event) int, reference int) []event {
	var left []shown
	for i := range broken {
		for k := range broken[i].cuts {
			left = append(left, shown{i, k})
		}
	}
	var events []event
	for len(left) > 0 {
		var best event
		for _, seed := range left {
			e := cluster(broken, left, seed, broken[seed.pair].a)
			f := cluster(broken, left, seed, broken[seed.pair].b)
			switch order := moreLikely(broken, &e, &f, against); {
			case order == 0 && e.clock == reference:
				f.other = e.clock
				e = f
			case order == 0:
				e.other = f.clock
			case order < 0:
				e = f
			}
			if best.seen == nil || moreLikely(broken, &e, &best, against) > 0 {
				best = e
			}
		}
		left = slices.DeleteFunc(left, func(s shown) bool { return slices.Contains(best.seen, s) })
		events = append(events, best)
	}
	// In order of time, which two events that one pair shows tell at once.
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

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// moreLikely compares two events: positive where the first explains more.
func moreLikely(broken []brokenPair, e, f *event, against func(*event) int) int {
	if c := cmp.Compare(len(e.seen), len(f.seen)); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(against(f), against(e)), cmp.Compare(votes(broken, e), votes(broken, f)))
}

// votes counts the pairs whose stamps tell that the event's clock was set, less those whose tell that its partner was.
func votes(broken []brokenPair, e *event) (n int) {
	for _, s := range e.seen {
		b := &broken[s.pair]
		switch side := b.sided(&b.cuts[s.cut]); {
		case side < 0:
		case [2]int{b.a, b.b}[side] == e.clock:
			n++
		default:
			n--
		}
	}
	return n
}

// seenAlone returns the event that a pair shows if the given one of its clocks was set.
func seenAlone(broken []brokenPair, s shown, c int) event {
	b := &broken[s.pair]
	k := &b.cuts[s.cut]
	own := 0
	by, give := k.by()
	if c == b.a {
		by = -by
	} else {
		own = 1
	}
	e := event{clock: c, other: -1, by: by, give: give, seen: []shown{s}, last: k.before[own], first: k.behind[own]}
	elapsed := max(k.behind[1-own]-k.before[1-own], 0)
	elapsed += elapsed/16 + k.margin + 1 // no two clocks differ by more than 5%
	e.before, e.begin = e.last+elapsed, e.first-elapsed
	return e
}

// cluster returns the event of a clock that a seed shows, with all that other pairs show of it: steps by as much at the
// same readings of the clock.
func cluster(broken []brokenPair, left []shown, seed shown, c int) event {
	e := seenAlone(broken, seed, c)
	pairs := []int{seed.pair}
	for _, s := range left {
		b := &broken[s.pair]
		if b.a != c && b.b != c || slices.Contains(pairs, s.pair) {
			continue
		}
		f := seenAlone(broken, s, c)
		far := max(f.by-e.by, e.by-f.by)
		if far > e.give+f.give+f.before-f.last || f.last > e.before || e.last > f.before || f.begin > e.first || e.begin > f.first {
			continue
		}
		pairs = append(pairs, s.pair)
		e.seen = append(e.seen, s)
		if f.give < e.give {
			e.by, e.give = f.by, f.give
		}
		e.last, e.first = max(e.last, f.last), min(e.first, f.first)
		e.before, e.begin = max(min(e.before, f.before), e.last), min(max(e.begin, f.begin), e.first)
	}
	return e
}
