// Package steps finds clocks that were set during their trace, and parts the problem so that each piece of such a clock is
// a clock of its own.
//
// In goes a [trace.Problem] some of whose messages contradict each other under any clock. Out comes a [Parted] problem,
// which has no such contradiction. It is aligned like any other; from its maps Parted makes one map for each original clock
// ([Join]) and says at which readings each clock was set, and by how much ([Parted.Steps]).
//
// A clock is set by settimeofday, by an NTP client, for a leap second, or when a virtual machine resumes. Let x be the
// offset of two clocks, b - a. Each message bounds x from above (a to b) or from below (b to a). Where b was set, no
// continuous curve satisfies both:
//
//	x = b - a
//	  ^              o o  o o       o  floor: a message from b to a, x is at least this
//	  |              ---------  x   c  ceiling: a message from a to b, x is at most this
//	  |  c c  c
//	  | -------- x
//	  |  o o o   ^
//	  +----------|--------------> a
//	             cut: the floors behind it lie above the ceilings before it
//
// The stages:
//
//	series      the messages of two clocks as points, in the order of one clock's stamps       series.go
//	search      segments of the series between which the offset steps                          search.go, outliers.go
//	partition   of every message: the piece it belongs to ([label]), and the size of each cut  label.go
//	attribute   which of the two clocks was set, from what all its partners show               attribute.go
//	part        a problem with a clock for every piece                                         parted.go
//	join        the maps of the pieces as one, and the steps                                   join.go, curve.go
//
// A message that contradicts all others is an outlier; fewer than four of them make no piece. Outliers are left out of the
// parted problem and counted.
//
// Limits. A step is found if it moves the offset by more than the messages before and behind it leave open, which is about
// a round trip, plus a thousandth of the silence around it. The step of a clock without any partner that exchanges messages
// with it both ways is not found. If two clocks exchange messages with each other alone and both were set back, no stamp
// tells the order of messages around the steps; these count as outliers.
//
// The cost is a sort of the messages of each contradictory pair and some ten passes over them.
package steps

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"meridian/align/bound"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// Step is one setting of a clock.
type Step struct {
	Clock   int            // index among the clocks of the problem
	At      clock.HostTime // the clock's last reading before it was set, ns
	By      int64          // how far it was set forward, ns; negative for back
	Between int64          // ns before At in which the step may have been as well: no message was stamped there
	Leap    bool           // it was a leap second: by one second, at midnight UTC
	// StoodStill says that the clock, which By has set back, showed no reading twice: it stood still for so long, as
	// that of a suspended machine does.
	StoodStill bool
	// Other is the clock that would explain the messages as well if it was set the other way; -1 where the messages tell
	// the two apart.
	Other int
}

// Piece is the time between two steps of a clock.
type Piece struct {
	First, Last clock.HostTime // the extent of its messages' stamps, ns of the clock
	StoodStill  bool           // behind the piece the clock stood still: the next one has none of its readings
	Map         clock.Map      // for stamps of this piece only; its curves are nil if the piece is in another component
}

// Pair is the messages of two clocks, A the lower index.
type Pair struct {
	A, B     int
	Messages pair.Problem
	// Bent says that the messages show a bend of the clocks that no wander of theirs explains. A small step contradicts
	// the messages around it alone, and a bend over seconds would explain it too.
	Bent bool
}

// StoodStill reports whether an original clock stood still behind a piece of it.
func StoodStill(t *Parted, c, k int) bool {
	events := t.eventsOf(c)
	return k < len(events) && events[k].stoodStill
}

// maxClockWander is the greatest change of rate, ppb/s, that is taken for a clock's own: within ten seconds the rate would
// change by a thousandth. Messages that contradict each other even under this wander mean a step, a slew or an outlier.
const maxClockWander = 1e5

// Contradictory reports whether a wander that the messages demand, ppb/s, is more than any clock has that nobody slews or sets.
func Contradictory(wander float64) bool { return wander > maxClockWander }

// contradictory reports whether the messages of a pair contradict each other under any clocks.
func contradictory(p *pair.Problem, epsilon float64) bool {
	return !bound.New(p, bound.Assumption{Wander: maxClockWander, Epsilon: epsilon}).Consistent()
}

// Find looks for steps and outliers in a problem. pairs are all pairs of its clocks that exchanged messages, epsilon is
// that of the assumption of the bounds (ns), and reference is the clock that the timeline should follow, -1 for any: of two
// clocks either of which may have been set, the reference is taken not to have been. Find returns nil if there are
// neither steps nor outliers.
//
// Errors are a nil problem, a pair or a reference that is not among its clocks, an epsilon that no assumption can have, and
// those of ctx. The messages must be valid as [pair.Problem] says.
func Find(ctx context.Context, p *trace.Problem, pairs []Pair, epsilon float64, reference int) (*Parted, error) {
	if err := checkFind(p, pairs, epsilon, reference); err != nil {
		return nil, fmt.Errorf("steps: %w", err)
	}
	partitions, others := make([]*partition, len(pairs)), make([]*partition, len(pairs))
	consistent := make([]bool, len(pairs))
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range pairs {
		group.Go(func() error {
			x := &pairs[i]
			if err := inner.Err(); err != nil || x.Messages.AB.Len() == 0 || x.Messages.BA.Len() == 0 {
				return err
			}
			consistent[i] = !contradictory(&x.Messages, epsilon)
			if !consistent[i] {
				partitions[i], others[i] = partitionOf(&x.Messages)
			}
			if x.Bent && (partitions[i] == nil || len(partitions[i].cuts) == 0) {
				if v := smallStep(&x.Messages); v != nil {
					partitions[i], others[i] = v, nil
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var found []partedPair
	for i, v := range partitions {
		if v != nil {
			x := &pairs[i]
			found = append(found, partedPair{partition: v, other: others[i], a: x.A, b: x.B, clocks: [2]*trace.Clock{&p.Clocks[x.A], &p.Clocks[x.B]}})
		}
	}
	chooseAxes(found, max(reference, 0))
	if found == nil {
		return nil, nil
	}
	against := func(e *event) (n int) {
		for i := range pairs {
			x := &pairs[i]
			if !consistent[i] || x.A != e.clock && x.B != e.clock {
				continue
			}
			if undone := e.undo(&x.Messages, x.A == e.clock); contradictory(&undone, epsilon) {
				n++
			}
		}
		return n
	}
	return part(p, found, attribute(found, against, max(reference, 0))), nil
}

func checkFind(p *trace.Problem, pairs []Pair, epsilon float64, reference int) error {
	if p == nil {
		return errors.New("the problem is nil")
	}
	if reference >= len(p.Clocks) {
		return fmt.Errorf("reference %d is not one of the %d clocks", reference, len(p.Clocks))
	}
	for i := range pairs {
		if a, b := pairs[i].A, pairs[i].B; a < 0 || a >= b || b >= len(p.Clocks) {
			return fmt.Errorf("pair %d of clocks %d and %d: not two of the %d clocks in ascending order", i, a, b, len(p.Clocks))
		}
	}
	for i, c := range p.Channels {
		if min(c.From, c.To) < 0 || max(c.From, c.To) >= len(p.Clocks) {
			return fmt.Errorf("channel %d from clock %d to %d: not two of the %d clocks", i, c.From, c.To, len(p.Clocks))
		}
	}
	return bound.Assumption{Epsilon: epsilon}.Check()
}
