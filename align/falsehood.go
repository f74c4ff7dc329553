package align

import (
	"cmp"
	"context"
	"slices"

	"meridian/align/bound"
	"meridian/align/network"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// FalseMessage is a message that contradicts all others between its clocks: its timestamps or its match are wrong. It
// is left out.
type FalseMessage struct {
	From, To int // clocks
	trace.Message
	// Outermost says that no message before it, or none behind it, shows that no clock was set there.
	Outermost bool
}

// tolerance returns how many messages between two clocks of the task's problem may be false.
func (t *task) tolerance(a, b int) bound.Tolerance {
	tolerance := bound.DefaultTolerance
	if t.options.Tolerance != nil {
		tolerance = *t.options.Tolerance
	}
	tolerance.Found = nil
	a, b = t.original(a), t.original(b)
	for _, m := range t.found {
		switch {
		case m.From == a && m.To == b:
			tolerance.Found = append(tolerance.Found, m.Sent)
		case m.From == b && m.To == a:
			tolerance.Found = append(tolerance.Found, m.Received)
		}
	}
	slices.Sort(tolerance.Found)
	return tolerance
}

// original returns the clock of the problem as given to which piece c belongs.
func (t *task) original(c int) int {
	if t.parted != nil {
		return t.parted.ClockOf(c)
	}
	return c
}

// judge finds where the clocks of all pairs bend, and the messages that contradict all others.
func (x *estimator) judge(ctx context.Context) (found []FalseMessage, err error) {
	judged := make([][]bound.FalseMessage, len(x.pairs))
	err = x.each(ctx, func(i int) error {
		judged[i] = x.judgePair(i)
		return nil
	})
	for i, messages := range judged {
		p := &x.pairs[i]
		for _, m := range messages {
			f := FalseMessage{From: p.A, To: p.B, Message: m.Message, Outermost: m.Outermost}
			if !m.FromA {
				f.From, f.To = p.B, p.A
			}
			found = append(found, f)
		}
	}
	return found, err
}

// maxJudgements is how often messages are left out before the rest is believed: without some, others can show.
const maxJudgements = 3

// judgePair finds where a pair departs from the assumption, and which of its messages contradict all others.
func (x *estimator) judgePair(i int) []bound.FalseMessage {
	p, t := &x.pairs[i], x.task
	if t.method.linear || t.options.NoAdapt || x.merged.secondOf(p) != nil {
		return nil
	}
	tolerance := t.tolerance(p.A, p.B)
	// Messages of free clocks and of second clocks have other timestamps here than in the problem from which they would
	// be left out.
	believed := tolerance.None() || t.parted != nil || t.free != nil || x.merged.rewritten(p)
	if believed || t.rounds == maxJudgements {
		p.Stretches = bound.Bends(&x.problems[i], x.assumed)
		return nil
	}
	var found []bound.FalseMessage
	p.Stretches, found = bound.Judge(&x.problems[i], x.assumed)
	return found
}

// without returns the task of the same problem without some messages.
func (t *task) without(found []FalseMessage) *task {
	of, p := *t, *t.problem
	of.found = append(slices.Clone(t.found), found...)
	of.rounds++
	of.problem = &p
	drop := make(map[FalseMessage]int)
	for _, m := range found {
		m.Outermost = false
		drop[m]++
	}
	p.Channels = slices.Clone(p.Channels)
	for i := range p.Channels {
		c := &p.Channels[i]
		if !slices.ContainsFunc(found, func(m FalseMessage) bool { return m.From == c.From && m.To == c.To }) {
			continue
		}
		kept := make([]trace.Message, 0, len(c.Messages))
		for _, m := range c.Messages {
			key := FalseMessage{From: c.From, To: c.To, Message: m}
			if drop[key] > 0 {
				drop[key]--
				continue
			}
			kept = append(kept, m)
		}
		c.Messages = kept
	}
	return &of
}

// Tolerated says how many messages of one direction may be false without the bounds being wrong: in each block of so
// many consecutive ones.
type Tolerated struct{ False, Of int }

// setTolerated says how many messages of the pair may be false each way.
func (x *Pair) setTolerated(t *bound.Tolerance) {
	of := func(messages int64) Tolerated {
		return Tolerated{False: t.Allowed(int(messages)), Of: int(min(messages, bound.BlockSize))}
	}
	x.ToleratedAB, x.ToleratedBA = of(x.AB), of(x.BA)
	x.False = int64(len(t.Found))
}

// believing returns the maps of all clocks with the bounds that hold if every message is true that was not left out.
// They have no bounds where that is not known. It takes the tree of the second stage.
func (b *Bounded) believing() ([]clock.Map, error) {
	e := b.placed.estimated
	tree := cloneTree(b.placed.tree)
	done := make([]bool, len(tree.Maps))
	var along func(i int)
	along = func(i int) {
		parent := tree.Parent[i]
		if done[i] || parent == i {
			return
		}
		done[i] = true
		along(parent)
		m := &tree.Maps[i]
		m.Low, m.High = nil, nil
		x, found := e.pairs.index(i, parent)
		if !found {
			return
		}
		step := e.pairs[x].believing()
		if i > parent {
			step = step.Inverse()
		}
		whole := clock.ComposeMaps(&step, &tree.Maps[parent])
		m.Low, m.High = whole.Low, whole.High
	}
	for i := range tree.Maps {
		along(i)
	}
	members := make([]int, len(tree.References)) // of each component
	for _, c := range tree.Component {
		members[c]++
	}
	var edges []network.Edge
	for i := range e.pairs {
		if x := &e.pairs[i]; members[tree.Component[x.A]] >= minTightened && x.Estimate.Fit != pair.Absent {
			edges = append(edges, network.Edge{A: x.A, B: x.B, Map: x.believing(), Weight: unboundedWeight})
		}
	}
	if len(edges) == 0 {
		return tree.Maps, nil
	}
	maps, _, err := network.Tighten(edges, tree, pieces(e.merged.Clocks, tree))
	if err != nil {
		return nil, err
	}
	for i := range maps {
		tree.Maps[i].Low, tree.Maps[i].High = maps[i].Low, maps[i].High
	}
	return tree.Maps, nil
}

// believing returns the pair's map with the bounds that hold if all its messages are true.
func (x *Pair) believing() clock.PairMap {
	m := x.Estimate.Map
	m.Low, m.High = x.Believing.Low, x.Believing.High
	return m
}

// compareFalse orders messages by their clocks, then by time.
func compareFalse(a, b FalseMessage) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Received, b.Received))
}
