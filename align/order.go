package align

import (
	"context"
	"math"
	"slices"

	"meridian/align/causal"
	"meridian/align/network"
	"meridian/align/pair"
	"meridian/align/quality"
	"meridian/clock"
	"meridian/trace"
)

// Ordered is the fourth stage: estimates under which no message arrives before it was sent, as far as messages and bounds
// allow.
//
// It does not change. [Ordered.Solution] says what there is to know of it.
type Ordered struct {
	bounded *Bounded
	tree    *network.Tree
	counts  []quality.Counts // of each channel under the tree's maps; nil if not counted since these changed
}

// Order restores the clock condition by the least change of the estimates. Only the default method does: the published ones
// are left as published.
func (b *Bounded) Order(ctx context.Context) (*Ordered, error) {
	if b == nil || b.placed == nil {
		return nil, errNoStage
	}
	p := b.placed
	o := &Ordered{bounded: b, tree: cloneTree(b.tree)}
	if p.estimated.task.method.name != envelopeMethod || p.network != joint {
		return o, nil
	}
	inverted, err := o.inverted(ctx)
	if err != nil || !slices.Contains(inverted, true) {
		return o, err
	}
	contradict := false
	affected := make([]bool, len(o.tree.References)) // the components with an inverted message
	for i, any := range inverted {
		affected[o.tree.Component[i]] = affected[o.tree.Component[i]] || any
	}
	for c := range affected {
		if !affected[c] {
			continue
		}
		contradict = !o.restoreOrder(c) || contradict
	}
	o.counts = nil
	if contradict {
		return o, o.restoreOneByOne(ctx)
	}
	return o, nil
}

// Tree returns the timelines of the problem's clocks. They are final, unless [Ordered.Reconsider] returns a stage.
// The tree is read only: all stages share its curves.
func (o *Ordered) Tree() *network.Tree {
	tree := o.task().treeOf(o.tree)
	o.task().settle(tree)
	return tree
}

// Reconsider returns the first stage again for a problem with fewer steps, if the aligned pieces show that some steps of
// clocks are none. It returns nil if they confirm all steps, which is the rule.
func (o *Ordered) Reconsider(ctx context.Context) (*Estimated, error) {
	if o == nil || o.bounded == nil {
		return nil, errNoStage
	}
	t := o.task()
	if t.parted == nil {
		return nil, nil
	}
	fewer := t.parted.Unconfirmed(o.tree)
	if fewer == nil {
		return nil, nil
	}
	again := *t
	again.problem = fewer.Original
	if t.reference >= 0 {
		again.reference = t.parted.ClockOf(t.reference)
	}
	e, err := again.part(fewer).estimate(ctx)
	if err != nil || e.contradictory() { // then these steps were needed
		return nil, err
	}
	return e, nil
}

func (o *Ordered) task() *task { return o.bounded.placed.estimated.task }

// restoreOrder changes the estimates of a component so that none of its messages is inverted. It returns false where
// the messages contradict each other under any clocks.
func (o *Ordered) restoreOrder(component int) bool {
	problem, t := o.task().measured(), o.tree
	p := &causal.Problem{Clocks: problem.Clocks, Maps: t.Maps, Fixed: make([]bool, len(t.Maps))}
	for i := range p.Fixed {
		p.Fixed[i] = t.Parent[i] == i
	}
	for _, c := range problem.Channels {
		if t.Component[c.From] == component && t.Component[c.To] == component {
			p.Channels = append(p.Channels, c)
		}
	}
	curves, ok := causal.RestoreOrder(p)
	if !ok {
		return false
	}
	for i := range curves {
		t.Maps[i].Mid = curves[i]
	}
	return true
}

// maxRounds is how often restoreOneByOne goes over the clocks: each is changed by what all others demand, and then demands
// changes of others.
const maxRounds = 6

// restoreOneByOne changes one clock after the other, all others fixed. Where messages contradict each other this restores
// the order of those that it can.
func (o *Ordered) restoreOneByOne(ctx context.Context) error {
	for range maxRounds {
		inverted, err := o.inverted(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(inverted, true) {
			return nil
		}
		o.counts = nil
		for i, any := range inverted {
			if any && o.tree.Parent[i] != i {
				o.restoreClock(i)
			}
		}
	}
	return nil
}

// inverted reports for each clock whether a message that it sent or received is inverted by more than granularity; where
// stamps are of 1 ns, at all.
func (o *Ordered) inverted(ctx context.Context) ([]bool, error) {
	problem := o.task().measured()
	var err error
	if o.counts, err = o.bounded.placed.estimated.count(ctx, o.tree); err != nil {
		return nil, err
	}
	inverted := make([]bool, len(problem.Clocks))
	for i, n := range o.counts {
		c := &problem.Channels[i]
		if n.BeyondGranularity > 0 || n.Inversions > 0 && problem.Clocks[c.To].Granularity <= 1 {
			inverted[c.From], inverted[c.To] = true, true
		}
	}
	return inverted, nil
}

// restoreClock changes the estimate of one clock so that none of its messages is inverted under the others' maps: a problem
// of two clocks, one of which is the timeline. Stamps of 1 ns are at first taken as exact, which noise can contradict.
func (o *Ordered) restoreClock(i int) {
	for _, fine := range []int64{0, 1} {
		// The second clock of the problem is the timeline.
		estimate := clock.ConvertCurve[clock.HostTime, clock.HostTime](o.tree.Maps[i].Mid)
		if mid, ok := pair.RestoreOrder(o.againstTimeline(i, fine), estimate); ok {
			o.tree.Maps[i].Mid = clock.ConvertCurve[clock.HostTime, clock.TimelineTime](mid)
			return
		}
	}
}

// againstTimeline returns the problem of a clock and the timeline. The tolerance of a stamp (fine for stamps of 1 ns) is put
// on the timeline's side, where package quality counts it: on the clock's own side the change of its rate would stretch it.
func (o *Ordered) againstTimeline(i int, fine int64) *pair.Problem {
	problem := o.task().measured()
	p := &pair.Problem{A: problem.Clocks[i], B: trace.Clock{Granularity: 1}}
	p.A.Granularity = 1
	for _, c := range problem.Channels {
		if (c.From == i) == (c.To == i) {
			continue
		}
		other := c.To
		if c.To == i {
			other = c.From
		}
		step := problem.Clocks[c.To].Granularity
		if step <= 1 {
			step = fine
		}
		u := clock.NewCursor(o.tree.Maps[other].Mid)
		moved := make([]trace.Message, len(c.Messages))
		for k, m := range c.Messages {
			// The other host's clock is the timeline here. Package pair adds a nanosecond of its own to each receiver's stamp.
			if c.From == i {
				m.Received = clock.HostTime(clock.Add(u.At(m.Received), step-1))
			} else {
				m.Received, m.Sent = m.Received-1, clock.HostTime(clock.Add(u.At(m.Sent), -step))
			}
			moved[k] = m
		}
		if c.From == i {
			p.AB = append(p.AB, moved)
		} else {
			p.BA = append(p.BA, moved)
		}
	}
	return p
}

// count counts inversions and finds the quickest delays, channel by channel, under the maps of a tree.
func (e *Estimated) count(ctx context.Context, t *network.Tree) ([]quality.Counts, error) {
	p := e.task.measured()
	counts := make([]quality.Counts, len(p.Channels))
	err := eachOf(ctx, len(p.Channels), func(i int) error {
		c := &p.Channels[i]
		if t.Component[c.From] != t.Component[c.To] { // instants of two timelines have no order
			counts[i].Quickest = math.MaxInt64
			return nil
		}
		counts[i] = quality.Channel(c, p.Clocks, t.Maps, e.pairs.leastDelay(e.merged.first[c.From], e.merged.first[c.To]))
		return nil
	})
	return counts, err
}
