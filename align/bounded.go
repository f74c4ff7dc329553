package align

import (
	"slices"

	"meridian/align/internal/curves"
	"meridian/align/network"
	"meridian/clock"
	"meridian/trace"
)

// Bounded is the third stage: the bounds of every clock tightened over all paths of the network, and the estimates within
// them, unless the method is a published one: its estimates stay as they are. The timelines follow the wanted reference from here on.
//
// It does not change, and [Bounded.Order] may be called any number of times.
type Bounded struct {
	placed *Placed
	tree   *network.Tree
}

// Bound tightens the bounds over all paths. Loops whose bounds contradict each other prove that clocks wandered by more than
// was assumed; they are the Contradictions of the tree.
func (p *Placed) Bound() (*Bounded, error) {
	if p == nil || p.estimated == nil {
		return nil, errNoStage
	}
	e := p.estimated
	b := &Bounded{placed: p, tree: cloneTree(p.tree)}
	if !e.task.method.linear && e.task.method.whole == nil {
		if err := b.tighten(); err != nil {
			return nil, err
		}
	}
	clocks := e.task.problem.Clocks
	dropCrossed(b.tree, clocks)
	e.merged.estimateSecondClocks(e.task.problem, b.tree)
	if r := e.task.reference; e.merged.firstOf(r) != r {
		rebase(b.tree, r)
		dropCrossed(b.tree, clocks)
	}
	return b, nil
}

// Tree returns the timelines of the problem's clocks as this stage knows them. The bounds are final.
// The tree is read only: all stages share its curves.
func (b *Bounded) Tree() *network.Tree { return b.placed.estimated.task.treeOf(b.tree) }

// cloneTree returns a copy of a tree whose curves are shared, since no stage changes a curve.
func cloneTree(t *network.Tree) *network.Tree {
	of := *t
	of.Component, of.References, of.Parent = slices.Clone(t.Component), slices.Clone(t.References), slices.Clone(t.Parent)
	of.Maps, of.Distance = slices.Clone(t.Maps), slices.Clone(t.Distance)
	return &of
}

// minTightened is the least number of clocks of a component whose bounds are tightened: two have one path, whose bounds are exact.
const minTightened = 3

// tighten intersects the bounds of all paths, and moves the estimates of our own methods into them. What it does to a component
// depends on that component alone.
func (b *Bounded) tighten() error {
	e, t := b.placed.estimated, b.tree
	clocks := e.merged.Clocks
	members := make([]int, len(t.References)) // of each component
	for _, c := range t.Component {
		members[c]++
	}
	edges := slices.DeleteFunc(e.pairs.edges(), func(x network.Edge) bool { return members[t.Component[x.A]] < minTightened })
	if len(edges) > 0 && !t.Tightened {
		maps, contradictions, err := network.Tighten(edges, t, pieces(clocks, t))
		if err != nil {
			return err
		}
		t.Contradictions = contradictions
		for i := range maps {
			t.Maps[i].Low, t.Maps[i].High = maps[i].Low, maps[i].High
		}
	}
	for i := range t.Maps {
		if e.task.method.own && t.Parent[i] != i {
			t.Maps[i].Mid = within(&t.Maps[i], clocks[i].First, clocks[i].Last)
		}
	}
	return nil
}

// pieces returns into how many pieces the time of each component is cut for its bounds over the network: one for each four
// seconds of its longest trace and some more, as far as the number of its clocks allows.
func pieces(clocks []trace.Clock, t *network.Tree) []int {
	spans, members := make([]int64, len(t.References)), make([]int64, len(t.References))
	for i, c := range t.Component {
		spans[c] = max(spans[c], clock.Sub(clocks[i].Last, clocks[i].First))
		members[c]++
	}
	const maxReadings = 1 << 18 // pieces times clocks
	of := make([]int, len(spans))
	for c, span := range spans {
		of[c] = int(min(span/4_000_000_000+64, max(maxReadings/members[c], 128), 4096))
	}
	return of
}

// dropCrossed drops bounds of clocks that contradict each other, and makes estimates functions of time. Both can be
// needed where messages are none: decades apart, or demanding rates that no clock has.
func dropCrossed(t *network.Tree, clocks []trace.Clock) {
	for i := range t.Maps {
		dropCrossedOf(&t.Maps[i], &clocks[i])
	}
}

func dropCrossedOf(m *clock.Map, c *trace.Clock) {
	m.Mid = curves.Rising(m.Mid)
	if !curves.ValidBounds(m) {
		m.Low, m.High = nil, nil
	}
	const instants = 8
	for k := range int64(instants + 1) {
		low, high, lowOK, highOK := m.Bounds(clock.Add(c.First, clock.MulDiv(clock.Sub(c.Last, c.First), k, instants, clock.Nearest)))
		if lowOK && highOK && low > high {
			m.Low, m.High = nil, nil
		}
	}
}
