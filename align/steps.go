package align

import (
	"context"
	"math"
	"slices"

	"meridian/align/network"
	"meridian/align/pair"
	"meridian/clock"
)

// A clock that was set in the midst of its trace (by settimeofday, by NTP, for a leap second, at the resumption of a
// virtual machine) makes the messages with it contradict each other under any clock. Where they do,
//
//	every such pair is swept for steps of its offset      steps_sweep.go, steps_wrong.go, steps_label.go
//	each step is laid to one clock                        steps_attribute.go
//	that clock becomes several, one for each piece        steps_split.go
//	the pieces are aligned like any clocks, then joined   steps_join.go
//
// so every method and strategy has the benefit. Messages that contradict all others and are too few for a piece are wrong
// and are left out. A problem without contradictions is not touched and pays nothing; one with some is solved twice.
//
// A step is found if it moves the offset by more than the messages before and behind leave it, which is about a round
// trip, and a thousandth of the silence around it. One of a clock that has no partner with messages both ways is not. Of
// two clocks with messages to each other alone that were both set back neither has an order of its own, and messages
// around the steps are left out as wrong.

// Step is a clock that was set.
type Step struct {
	Clock   int
	At      int64 // its reading, ns, after which it was set
	By      int64 // forward, ns
	Between int64 // ns before At that may as well have been the instant: between two messages nobody saw it
	// Leap says that it was a leap second: by one second, at midnight UTC.
	Leap bool
	// Other is the clock that, set the other way, would explain the messages as well; -1 where they tell the two apart.
	Other int
}

// Piece is a stretch of time in which a clock was not set.
type Piece struct {
	First, Last int64     // extent of its messages' stamps, ns of the clock
	Map         clock.Map // good for no other stamps
}

// broken reports whether messages of some pair contradict each other as no clock can make them.
func (s *solving) broken() bool {
	if s.method.whole != nil {
		return false
	}
	if s.LeastWander > absurd {
		return true
	}
	for i := range s.Pairs {
		if e := &s.Pairs[i].Estimate; e.Fit == pair.Fallback && (s.method.linear || e.Map.Low == nil) {
			return true
		}
	}
	return false
}

// solve aligns the pieces and joins them. A chosen reference that was set is followed in its longest piece. Between pieces
// of a few messages a step may be seen that better ones, once they are aligned, do not bear out: it is taken back.
func (t *split) solve(ctx context.Context, o *Options, m *method, reference int) (*Solution, error) {
	s, err := t.solvePieces(ctx, o, m, reference)
	if err != nil {
		return nil, err
	}
	for {
		kept := t.proven(s)
		if len(kept) == len(t.events) {
			return t.join(s), nil
		}
		broken := slices.Clone(t.broken)
		for _, e := range t.events {
			if !slices.ContainsFunc(kept, func(k event) bool { return k.seen[0] == e.seen[0] }) {
				for _, x := range e.seen {
					broken[x.pair].mute = true
				}
			}
		}
		fewer := splitAt(t.original, broken, kept)
		again, err := fewer.solvePieces(ctx, o, m, reference)
		if err != nil {
			return nil, err
		}
		if again.broken() {
			return t.join(s), nil
		}
		t, s = fewer, again
	}
}

func (t *split) solvePieces(ctx context.Context, o *Options, m *method, reference int) (*solving, error) {
	if reference >= 0 {
		reference = t.longest(reference)
	}
	return solve(ctx, &t.Problem, o, m, reference, t)
}

// proven returns the events without those of which the maps of the pieces say that they may be none.
func (t *split) proven(s *solving) []event {
	var kept []event
	for c := range t.pieces {
		for k, e := range t.eventsOf(c) {
			by, give, bounded := t.sizeOf(s, c, k)
			if !bounded { // then by the estimates, roughly
				give = max(e.by, -e.by) / 4
			}
			if max(by, -by) > give {
				kept = append(kept, e)
			}
		}
	}
	return kept
}

// sizeOf returns by how much the maps of the pieces say that a clock was set between one and the next, and how far that
// may be off; false where nothing bounds that.
func (t *split) sizeOf(s *solving, c, k int) (by, give int64, bounded bool) {
	one, two := t.pieces[c][k], t.pieces[c][k+1]
	if s.Component[one] != s.Component[two] {
		return t.eventsOf(c)[k].by, 0, false
	}
	m, n := &s.Maps[one], &s.Maps[two]
	from, to := m.At(t.Clocks[one].Last), n.At(t.Clocks[two].First)
	middle := from + clock.Sub(to, from)/2
	back, forth := m.Inverse(), n.Inverse()
	d, ok := back.Error(middle)
	f, alike := forth.Error(middle)
	return clock.Sub(forth.At(middle), back.At(middle)), clock.Add(d, f), ok && alike
}

// longest returns the piece of a clock with the most messages, of equals the first.
func (t *split) longest(c int) int {
	best := c
	for _, k := range t.pieces[c] {
		if t.Clocks[k].Events > t.Clocks[best].Events {
			best = k
		}
	}
	return best
}

// unset returns the clock to be the reference in place of a piece: of those that were not set the nearest to it. It is -1
// where the reference is none or has no such clock about it.
func (s *solving) unset(t *split) (int, error) {
	tree, err := network.Build("", len(s.Clocks), s.edges(), -1)
	if err != nil {
		return -1, err
	}
	for component, r := range tree.References {
		if t.pieces[t.clockOf[r]] == nil {
			continue
		}
		best, least := -1, math.Inf(1)
		for c := range tree.Component {
			if tree.Component[c] == component && s.first[c] == c && t.pieces[t.clockOf[c]] == nil && tree.Distance[c] < least {
				best, least = c, tree.Distance[c]
			}
		}
		if best >= 0 {
			return best, nil
		}
	}
	return -1, nil
}
