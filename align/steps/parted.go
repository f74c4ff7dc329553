package steps

import (
	"math"
	"slices"

	"meridian/align/network"
	"meridian/align/quality"
	"meridian/clock"
	"meridian/trace"
)

// Parted is a problem in which each piece of a clock that was set is a clock of its own: the first piece in the place of the
// original clock, the others behind all original clocks. It does not change. Problems come from [Find]: the methods of a zero value,
// and those given a clock that the problem does not have, panic as an index out of range does.
type Parted struct {
	trace.Problem
	Original *trace.Problem
	Outliers int64 // messages left out because they contradict all others

	pairs   []partedPair
	events  []event   // by clock, then by time
	pieces  [][]int   // of each original clock: its pieces in the order of time, nil if it was not set
	clockOf []int     // of each clock: the original one
	leftOut []message // outliers, and messages of which the piece is unknown
	origins []int     // of each channel: the original one
}

// message is a message that was left out, with the pieces that its ends may belong to.
type message struct {
	from, to           int // original clocks
	fromRange, toRange pieceRange
	origin             int // its channel in the original problem
	trace.Message
}

// pieceRange is the first and the last piece of a clock that a stamp may belong to.
type pieceRange struct{ first, last int }

func (r pieceRange) unique() bool { return r.first == r.last }

// part parts a problem at events.
func part(p *trace.Problem, pairs []partedPair, events []event) *Parted {
	t := &Parted{Original: p, pairs: pairs, events: events}
	t.makeClocks()
	t.distribute()
	return t
}

// Pieces returns the clocks of the parted problem that are pieces of an original clock, in the order of time; nil if it was
// not set.
func (t *Parted) Pieces(c int) []int { return t.pieces[c] }

// ClockOf returns the original clock of a clock of the parted problem.
func (t *Parted) ClockOf(k int) int { return t.clockOf[k] }

// Stepped reports whether any clock was set. Otherwise only outliers were left out.
func (t *Parted) Stepped() bool { return len(t.events) > 0 }

// Longest returns the piece of an original clock with the most messages, of equals the first.
func (t *Parted) Longest(c int) int {
	best := c
	for _, k := range t.pieces[c] {
		if t.Clocks[k].Events > t.Clocks[best].Events {
			best = k
		}
	}
	return best
}

// eventsOf returns the events of an original clock in the order of time.
func (t *Parted) eventsOf(c int) []event {
	from := slices.IndexFunc(t.events, func(e event) bool { return e.clock == c })
	if from < 0 {
		return nil
	}
	return t.events[from : from+len(t.pieces[c])-1]
}

// makeClocks makes a clock of every piece. Its host has no name: pieces are not two clocks of one host.
func (t *Parted) makeClocks() {
	p := t.Original
	t.Broadcasts, t.Samples = p.Broadcasts, p.Samples
	t.Clocks = slices.Clone(p.Clocks)
	t.pieces = make([][]int, len(p.Clocks))
	for c := range p.Clocks {
		t.clockOf = append(t.clockOf, c)
	}
	for _, e := range t.events {
		c := e.clock
		if t.pieces[c] == nil {
			t.pieces[c] = []int{c}
			t.Clocks[c].Host = ""
		}
		t.pieces[c] = append(t.pieces[c], len(t.Clocks))
		t.clockOf = append(t.clockOf, c)
		t.Clocks = append(t.Clocks, t.Clocks[c])
	}
	for _, pieces := range t.pieces {
		for _, k := range pieces {
			x := &t.Clocks[k]
			x.First, x.Last, x.Events = math.MaxInt64, math.MinInt64, 0
		}
	}
}

// distribute gives every message to the pieces of its clocks: by its label in a parted pair, then by its stamps, where
// these can be of one piece only. Other messages are left out.
func (t *Parted) distribute() {
	number := make(map[[2]int]int)
	for i := range t.pairs {
		if x := &t.pairs[i]; !x.ignored {
			number[[2]int{x.a, x.b}] = i
		}
	}
	labels := labelsByMessage(t.pairs)
	channels := make(map[[2]int]int)
	for origin, c := range t.Original.Channels {
		i, known := number[[2]int{min(c.From, c.To), max(c.From, c.To)}]
		set := t.pieces[c.From] != nil || t.pieces[c.To] != nil
		if c.From == c.To || !known && !set {
			t.Channels, t.origins = append(t.Channels, c), append(t.origins, origin)
			continue
		}
		next := func() label { return label{} }
		if known {
			next = labels[i].next(c.From > c.To)
		} else {
			i = -1
		}
		clear(channels)
		for _, m := range c.Messages {
			l := next()
			x := message{from: c.From, to: c.To, origin: origin, Message: m}
			x.fromRange = t.rangeOf(c.From, i, l, m.Sent)
			x.toRange = t.rangeOf(c.To, i, l, m.Received)
			if l.outlier() {
				t.Outliers++
				t.leftOut = append(t.leftOut, x)
				continue
			}
			if !x.fromRange.unique() || !x.toRange.unique() {
				t.leftOut = append(t.leftOut, x)
				continue
			}
			key := [2]int{t.piece(c.From, x.fromRange.first), t.piece(c.To, x.toRange.first)}
			n, again := channels[key]
			if !again {
				n = len(t.Channels)
				channels[key] = n
				t.Channels, t.origins = append(t.Channels, trace.Channel{From: key[0], To: key[1]}), append(t.origins, origin)
			}
			t.Channels[n].Messages = append(t.Channels[n].Messages, m)
			t.extend(key[0], m.Sent)
			t.extend(key[1], m.Received)
		}
	}
}

// messageLabels are the labels of a pair's messages in the order in which the channels hold them, those from a to b first.
type messageLabels struct {
	labels []label
	used   [2]int // next label of each direction
}

func labelsByMessage(pairs []partedPair) []messageLabels {
	out := make([]messageLabels, len(pairs))
	for i := range pairs {
		x := &out[i]
		x.labels = make([]label, len(pairs[i].points))
		for _, p := range pairs[i].points {
			x.labels[p.id] = p.label
			if !p.floor {
				x.used[1]++
			}
		}
	}
	return out
}

// next returns a function that returns the labels of one direction one by one.
func (x *messageLabels) next(back bool) func() label {
	used := &x.used[0]
	if back {
		used = &x.used[1]
	}
	return func() label {
		*used++
		return x.labels[*used-1]
	}
}

// extend extends a piece to a stamp.
func (t *Parted) extend(k int, stamp clock.HostTime) {
	if t.pieces[t.clockOf[k]] != nil {
		c := &t.Clocks[k]
		c.First, c.Last = min(c.First, stamp), max(c.Last, stamp)
		c.Events++
	}
}

// piece returns the clock of the parted problem that is piece k of an original clock.
func (t *Parted) piece(c, k int) int {
	if t.pieces[c] == nil {
		return c
	}
	return t.pieces[c][k]
}

// rangeOf returns the pieces that a stamp of an original clock may belong to, given its message's label in a parted pair; the
// pair's number is -1 for a message without label.
func (t *Parted) rangeOf(c, number int, l label, stamp clock.HostTime) pieceRange {
	events := t.eventsOf(c)
	lo, hi := 0, len(events)
	for k := range events {
		for _, s := range events[k].seen {
			if s.pair != number {
				continue
			}
			switch before, behind := l.sideOf(s.cut); {
			case behind:
				lo = max(lo, k+1)
			case before:
				hi = min(hi, k)
			}
		}
	}
	if lo >= hi {
		return pieceRange{lo, lo}
	}
	r := pieceRange{hi, lo}
	for k := lo; k <= hi; k++ {
		if (k == 0 || stamp >= events[k-1].begin) && (k == len(events) || stamp <= events[k].before) {
			r.first, r.last = min(r.first, k), max(r.last, k)
		}
	}
	if r.first > r.last {
		return pieceRange{lo, hi}
	}
	return r
}

// Unconfirmed returns the problem parted at fewer events: without those that the maps of the pieces do not bear out. Between
// pieces of few messages a cut may appear that the aligned pieces show to be none. It returns nil if all are confirmed.
func (t *Parted) Unconfirmed(tree *network.Tree) *Parted {
	var confirmed []event
	for c := range t.pieces {
		for k, e := range t.eventsOf(c) {
			by, tolerance, bounded := t.sizeOf(tree, c, k)
			if !bounded { // then by the estimates, roughly
				tolerance = max(e.by, -e.by) / 4
			}
			if max(by, -by) > tolerance {
				confirmed = append(confirmed, e)
			}
		}
	}
	if len(confirmed) == len(t.events) {
		return nil
	}
	pairs := slices.Clone(t.pairs)
	for _, e := range t.events {
		if !slices.ContainsFunc(confirmed, func(k event) bool { return k.seen[0] == e.seen[0] }) {
			for _, x := range e.seen {
				pairs[x.pair].ignored = true
			}
		}
	}
	return part(t.Original, pairs, confirmed)
}

// sizeOf returns by how much the maps of the pieces say that a clock was set at its event k, and how far that may be off;
// false where nothing bounds that.
func (t *Parted) sizeOf(tree *network.Tree, c, k int) (by, tolerance int64, bounded bool) {
	one, two := t.pieces[c][k], t.pieces[c][k+1]
	if tree.Component[one] != tree.Component[two] {
		return t.eventsOf(c)[k].by, 0, false
	}
	m, n := &tree.Maps[one], &tree.Maps[two]
	from, to := m.At(t.Clocks[one].Last), n.At(t.Clocks[two].First)
	middle := clock.Add(from, clock.Sub(to, from)/2)
	before, behind := m.Inverse(), n.Inverse()
	d, ok := before.Error(middle)
	f, also := behind.Error(middle)
	return clock.Sub(behind.At(middle), before.At(middle)), clock.Add(d, f), ok && also
}

// CountLeftOut counts the messages that were left out under the maps of the pieces: outliers are part of the quality too.
func (t *Parted) CountLeftOut(tree *network.Tree) quality.Counts {
	total := quality.Counts{Quickest: math.MaxInt64}
	for i := range t.leftOut {
		c := likeliestChannel(t, tree, &t.leftOut[i])
		if tree.Component[c.From] == tree.Component[c.To] {
			total.Add(quality.Channel(&c, t.Clocks, tree.Maps, 0))
		}
	}
	return total
}

// likeliestChannel returns a channel between the likeliest pieces of a message that was left out, with this message alone.
func likeliestChannel(t *Parted, tree *network.Tree, x *message) trace.Channel {
	return trace.Channel{
		From:     likeliest(t, tree, end{x.from, x.fromRange, x.Sent}, end{x.to, x.toRange, x.Received}),
		To:       likeliest(t, tree, end{x.to, x.toRange, x.Received}, end{x.from, x.fromRange, x.Sent}),
		Messages: []trace.Message{x.Message},
	}
}

// All returns the channels of the pieces, and behind these those of the messages that were left out: each between its
// likeliest pieces under the maps of the pieces, those first whose pieces share a component, as CountLeftOut counts them. The
// first sure channels hold messages whose pieces are known, the first counted ones those that can be measured. Origins are the
// channels of the original problem.
func (t *Parted) All(tree *network.Tree) (channels []trace.Channel, origins []int, sure, counted int) {
	channels, origins = slices.Clone(t.Channels), slices.Clone(t.origins)
	for _, together := range []bool{true, false} {
		number := make(map[[3]int]int)
		for i := range t.leftOut {
			c := likeliestChannel(t, tree, &t.leftOut[i])
			if (tree.Component[c.From] == tree.Component[c.To]) != together {
				continue
			}
			key := [3]int{c.From, c.To, t.leftOut[i].origin}
			n, known := number[key]
			if !known {
				n = len(channels)
				number[key] = n
				channels, origins = append(channels, trace.Channel{From: c.From, To: c.To}), append(origins, t.leftOut[i].origin)
			}
			channels[n].Messages = append(channels[n].Messages, c.Messages[0])
		}
		if together {
			counted = len(channels)
		}
	}
	return channels, origins, len(t.Channels), counted
}

// end is one end of a message that was left out.
type end struct {
	clock  int
	pieces pieceRange
	stamp  clock.HostTime
}

// likeliest returns the piece that a stamp most likely belongs to: the one that puts it nearest to the message's other end.
func likeliest(t *Parted, tree *network.Tree, own, other end) int {
	best, least := t.piece(own.clock, own.pieces.first), int64(math.MaxInt64)
	for k := own.pieces.first; k <= own.pieces.last; k++ {
		for l := other.pieces.first; l <= other.pieces.last; l++ {
			i, j := t.piece(own.clock, k), t.piece(other.clock, l)
			if d := clock.Sub(tree.Maps[i].At(own.stamp), tree.Maps[j].At(other.stamp)); tree.Component[i] == tree.Component[j] && max(d, -d) < least {
				best, least = i, max(d, -d)
			}
		}
	}
	return best
}

// day is a day of UTC, ns.
const day = 86_400_000_000_000

// Steps returns the steps of all clocks, by clock, then by time. The maps of the pieces know their sizes better than the
// messages next to the cuts.
func (t *Parted) Steps(tree *network.Tree) (steps []Step) {
	for c := range t.pieces {
		for k, e := range t.eventsOf(c) {
			x := Step{Clock: c, At: e.before, By: e.by, Other: e.other, StoodStill: e.stoodStill}
			tolerance := e.tolerance
			one, two := t.pieces[c][k], t.pieces[c][k+1]
			by, within, bounded := t.sizeOf(tree, c, k)
			if bounded {
				tolerance = min(tolerance, within)
			}
			if tree.Component[one] == tree.Component[two] {
				back := tree.Maps[one].Mid.Inverse()
				x.By = by
				x.At = max(back.At(tree.Maps[two].At(t.Clocks[two].First), clock.Nearest), t.Clocks[one].Last)
			}
			if x.StoodStill {
				x.At = t.Clocks[two].First
			}
			x.Between = max(clock.Sub(x.At, t.Clocks[one].Last), 0)
			x.Leap = leapSecond(&x, tolerance)
			steps = append(steps, x)
		}
	}
	return steps
}

// leapSecond reports whether a step is a leap second: of one second, within the tolerance of its size, and around a midnight
// of UTC. Before it a second is inserted (the clock is set back) or removed. Systems differ by up to a second in the instant
// at which they do it.
func leapSecond(x *Step, tolerance int64) bool {
	const second = 1_000_000_000
	if off := max(x.By, -x.By) - second; max(off, -off) > max(tolerance, second/1000) || max(off, -off) > second/10 {
		return false
	}
	from, to := clock.Add(x.At, -clock.Add(x.Between, second)), clock.Add(x.At, second)
	rest := ((int64(from) % day) + day) % day
	return rest == 0 || clock.Sub(to, from) >= day-rest
}
