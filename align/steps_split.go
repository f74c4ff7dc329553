package align

import (
	"context"
	"math"
	"slices"

	"meridian/align/bound"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// absurd is the wander, ppb/s, above which a contradiction is no clock's: within ten seconds the rate would change by a
// thousandth.
const absurd = 1e5

// contradictory reports whether the messages of a pair contradict each other under any clock that deserves the name.
func contradictory(p *pair.Problem, epsilon float64) bool {
	return !bound.New(p, bound.Assumption{Wander: absurd, Epsilon: epsilon}).Consistent()
}

// split is a problem in which each piece of a clock that was set is a clock of its own: the first in its place, the others
// behind all clocks.
type split struct {
	trace.Problem
	original *trace.Problem
	broken   []brokenPair
	events   []event
	pieces   [][]int   // of each original clock: its pieces in the order of time, nil if it was not set
	clockOf  []int     // of each clock: the original one
	lost     []message // left out: wrong, or nobody knows of which piece
	wrong    int64     // of these
}

// message is a message that was left out, and the pieces that its ends may belong to.
type message struct {
	from, to         int // original clocks
	fromOver, toOver [2]int
	trace.Message
}

// findSteps looks for clocks that were set and for wrong messages; nil if there are none.
func findSteps(ctx context.Context, p *trace.Problem, epsilon float64, reference int) (*split, error) {
	pairs := pairsOf(p)
	s := &solving{Solution: &Solution{Pairs: pairs}, options: &Options{}, problem: p}
	s.folded.Problem = *p
	problems := s.messagesOf()
	sweeps := make([]*sweep, len(pairs))
	whole := make([]bool, len(pairs)) // they do not contradict each other
	err := s.each(ctx, func(i int) error {
		x := &pairs[i]
		if x.AB == 0 || x.BA == 0 {
			return nil
		}
		if whole[i] = !contradictory(&problems[i], epsilon); !whole[i] {
			sweeps[i] = broken(&problems[i])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var found []brokenPair
	for i, v := range sweeps {
		if v != nil {
			found = append(found, brokenPair{sweep: v, a: pairs[i].A, b: pairs[i].B})
		}
	}
	if found == nil {
		return nil, nil
	}
	against := func(e *event) (n int) {
		for i := range pairs {
			x := &pairs[i]
			if whole[i] && (x.A == e.clock || x.B == e.clock) {
				undone := e.undo(&problems[i], x.A == e.clock)
				n += boolToInt(contradictory(&undone, epsilon))
			}
		}
		return n
	}
	if reference < 0 {
		reference = 0
	}
	return splitAt(p, found, attribute(found, against, reference)), nil
}

// splitAt splits a problem at events.
func splitAt(p *trace.Problem, broken []brokenPair, events []event) *split {
	t := &split{original: p, broken: broken, events: events}
	t.makeClocks()
	t.share(broken)
	return t
}

// undo returns the messages of a pair as they would be had the event's clock not been set, without those that may be of
// either side of it. If they contradict each other then, the clock was not set.
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
				*stamp = clock.Sub(*stamp, e.by)
			}
			moved = append(moved, m)
		}
		return pair.Messages{moved}
	}
	q := *p
	q.AB, q.BA = move(p.AB, first), move(p.BA, !first)
	return q
}

// makeClocks makes a clock of every piece. Its host has no name: pieces are not two clocks of one host.
func (t *split) makeClocks() {
	p := t.original
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

// eventsOf returns the events of a clock in the order of time.
func (t *split) eventsOf(c int) []event {
	from := slices.IndexFunc(t.events, func(e event) bool { return e.clock == c })
	if from < 0 {
		return nil
	}
	return t.events[from : from+len(t.pieces[c])-1]
}

// share gives every message to the pieces of its clocks: by what its pair shows, then by its stamps, where these can
// be of one piece only. Messages of which neither tells are left out.
func (t *split) share(found []brokenPair) {
	p := t.original
	number := make(map[[2]int]int)
	for i := range found {
		if !found[i].mute {
			number[[2]int{found[i].a, found[i].b}] = i
		}
	}
	labels := make([][]int16, len(found)) // by message, as the sweep numbered them
	done := make([][2]int, len(found))    // so many of each direction
	for i := range found {
		labels[i] = make([]int16, len(found[i].points))
		for _, x := range found[i].points {
			labels[i][x.id] = x.piece
			if !x.floor {
				done[i][1]++
			}
		}
	}
	channels := make(map[[2]int]int)
	for _, c := range p.Channels {
		i, broken := number[[2]int{min(c.From, c.To), max(c.From, c.To)}]
		set := t.pieces[c.From] != nil || t.pieces[c.To] != nil
		if c.From == c.To || !broken && !set {
			t.Channels = append(t.Channels, c)
			continue
		}
		clear(channels)
		for _, m := range c.Messages {
			label, direction := int16(0), 0
			if broken {
				if c.From > c.To {
					direction = 1
				}
				label = labels[i][done[i][direction]]
				done[i][direction]++
			}
			x := message{from: c.From, to: c.To, Message: m}
			x.fromOver = t.over(c.From, i, broken, label, m.Sent)
			x.toOver = t.over(c.To, i, broken, label, m.Received)
			if broken && label == wrongPoint {
				t.wrong++
				t.lost = append(t.lost, x)
				continue
			}
			if x.fromOver[0] != x.fromOver[1] || x.toOver[0] != x.toOver[1] {
				t.lost = append(t.lost, x)
				continue
			}
			key := [2]int{t.piece(c.From, x.fromOver[0]), t.piece(c.To, x.toOver[0])}
			n, known := channels[key]
			if !known {
				n = len(t.Channels)
				channels[key] = n
				t.Channels = append(t.Channels, trace.Channel{From: key[0], To: key[1]})
			}
			t.Channels[n].Messages = append(t.Channels[n].Messages, m)
			t.see(key[0], m.Sent)
			t.see(key[1], m.Received)
		}
	}
}

// see widens a piece by a stamp.
func (t *split) see(k int, stamp int64) {
	if t.pieces[t.clockOf[k]] != nil {
		c := &t.Clocks[k]
		c.First, c.Last = min(c.First, stamp), max(c.Last, stamp)
		c.Events++
	}
}

// piece returns the clock that stands for a piece.
func (t *split) piece(c, k int) int {
	if t.pieces[c] == nil {
		return c
	}
	return t.pieces[c][k]
}

// over returns the first and the last piece that a stamp of a clock may belong to.
func (t *split) over(c, number int, broken bool, label int16, stamp int64) [2]int {
	events := t.eventsOf(c)
	lo, hi := 0, len(events)
	for k := range events {
		for _, s := range events[k].seen {
			if !broken || s.pair != number || label == wrongPoint {
				continue
			}
			switch near := -2 - int(label); {
			case label >= 0 && int(label) > s.cut || label < 0 && near > s.cut:
				lo = max(lo, k+1)
			case label >= 0 || near < s.cut:
				hi = min(hi, k)
			}
		}
	}
	if lo >= hi {
		return [2]int{lo, lo}
	}
	from, to := hi, lo
	for k := lo; k <= hi; k++ {
		if (k == 0 || stamp >= events[k-1].begin) && (k == len(events) || stamp <= events[k].before) {
			from, to = min(from, k), max(to, k)
		}
	}
	if from > to {
		return [2]int{lo, hi}
	}
	return [2]int{from, to}
}
