package align

import (
	"context"
	"math"
	"slices"

	"meridian/align/envelope"
	"meridian/align/network"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// Placed is the second stage: every clock on the timeline of its component, with bounds along one path to the reference.
//
// It does not change, and [Placed.Bound] may be called any number of times.
type Placed struct {
	estimated  *Estimated
	tree       *network.Tree
	network    string             // the strategy; "" for methods that place all clocks themselves
	smoothed   []bool             // of each component: its clocks were smoothed all at once; nil where none was
	deviations [][]pair.Deviation // of each clock that was
	routes     []Route            // changes of least delays that were found thereby
}

// Place joins the estimates of pairs to one timeline for each component. Errors are those of the method or the strategy,
// and of ctx.
func (e *Estimated) Place(ctx context.Context) (*Placed, error) {
	if e == nil || e.task == nil {
		return nil, errNoStage
	}
	t := e.task
	p := &Placed{estimated: e}
	var err error
	if t.method.whole != nil {
		if p.tree, err = t.method.whole(t.problem, t.reference, t.options); err != nil {
			return nil, err
		}
		return p, nil
	}
	root, err := e.root()
	if err != nil {
		return nil, err
	}
	p.network = t.strategy()
	name := p.network
	if name == joint {
		name = "" // the tree from which smoothing starts
	}
	if p.tree, err = network.Build(name, len(t.problem.Clocks), e.pairs.edges(), root); err != nil {
		return nil, err
	}
	if p.network == joint {
		p.deviations, p.smoothed = make([][]pair.Deviation, len(t.problem.Clocks)), make([]bool, len(p.tree.References))
		clocks := make([]int, len(p.tree.References)) // of each component
		for _, c := range p.tree.Component {
			clocks[c]++
		}
		for c, n := range clocks {
			if n < minSmoothed {
				continue
			}
			if err := p.smooth(ctx, c); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// Tree returns the timelines of the problem's clocks as this stage knows them. The bounds are those along the tree.
// The tree is read only: all stages share its curves.
func (p *Placed) Tree() *network.Tree { return p.estimated.task.treeOf(p.tree) }

// root returns the clock that is to be the root of its component's tree, -1 for the strategy's own choice. Where that would
// be a piece of a clock that was set, it is the nearest clock that was not: a timeline that follows a piece ends with it.
func (e *Estimated) root() (int, error) {
	t := e.task
	if t.parted == nil || t.reference >= 0 {
		return e.merged.firstOf(t.reference), nil
	}
	tree, err := network.Build("", len(t.problem.Clocks), e.pairs.edges(), -1)
	if err != nil {
		return -1, err
	}
	wasSet := func(c int) bool { return t.parted.Pieces(t.parted.ClockOf(c)) != nil }
	for component, r := range tree.References {
		if !wasSet(r) {
			continue
		}
		best, least := -1, math.Inf(1)
		for c := range tree.Component {
			if tree.Component[c] == component && e.merged.first[c] == c && !wasSet(c) && tree.Distance[c] < least {
				best, least = c, tree.Distance[c]
			}
		}
		if best >= 0 {
			return best, nil
		}
	}
	return -1, nil
}

// minSmoothed is the least number of clocks of a component that is smoothed all at once: of two, their pair says all.
const minSmoothed = 3

// smooth estimates a component's clocks again, all at once. A component is left as it is if a clock is joined by messages one
// way only, since smoothing has nothing to start from.
func (p *Placed) smooth(ctx context.Context, component int) error {
	e, t := p.estimated, p.tree
	number := make(map[int]int) // of the component's clocks in the network
	n := &envelope.Network{}
	for i, c := range t.Component {
		if c != component {
			continue
		}
		if parent := t.Parent[i]; parent != i && e.pairs.between(i, parent).Fit == pair.OneWay {
			return nil
		}
		number[i] = len(n.Clocks)
		n.Clocks = append(n.Clocks, e.merged.Clocks[i])
		n.Start = append(n.Start, clock.ConvertCurve[clock.HostTime, clock.HostTime](t.Maps[i].Mid))
		n.Sigma = append(n.Sigma, e.pairs.sigma(i))
	}
	n.Reference = number[t.References[component]]
	n.Stretches = make([][]envelope.Stretch, len(n.Clocks))
	for i, s := range e.pairs.clockStretches(t, component) {
		n.Stretches[number[i]] = s
	}
	for _, c := range e.merged.Channels {
		from, inside := number[c.From]
		to, both := number[c.To]
		if !inside || !both || c.From == c.To {
			continue
		}
		n.Channels = append(n.Channels, trace.Channel{From: from, To: to, Messages: c.Messages})
		n.Least = append(n.Least, e.pairs.leastDelay(c.From, c.To))
	}
	j, err := envelope.Joint(ctx, n)
	if err != nil || j == nil {
		return err
	}
	clocks := make([]int, len(n.Clocks))
	for i, k := range number {
		clocks[k] = i
		t.Maps[i].Mid = clock.ConvertCurve[clock.HostTime, clock.TimelineTime](j.Curves[k])
		p.deviations[i] = j.Deviation[k]
	}
	for _, r := range j.Routes {
		p.routes = append(p.routes, Route{From: clocks[r.From], To: clocks[r.To], At: r.At, By: r.By})
	}
	p.smoothed[component] = true
	return nil
}

// smoothedWith reports whether a clock was smoothed with all others of its component.
func (p *Placed) smoothedWith(clock int) bool {
	return p.smoothed != nil && p.smoothed[p.tree.Component[clock]]
}

// usualSigma is the wander of a clock of which no pair tells, fractional frequency per square root of a second.
const usualSigma = 1e-9

// sigma returns the wander of a clock from those of its pairs. The variance of a pair is taken as shared by both clocks
// evenly. Of the pairs the lower median counts, since a pair wanders with the worse of its clocks.
func (l pairList) sigma(c int) float64 {
	var found []float64
	for i := range l {
		x := &l[i]
		if (x.A == c || x.B == c) && x.Estimate.Sigma > 0 {
			found = append(found, x.Estimate.Sigma/math.Sqrt2)
		}
	}
	if len(found) == 0 {
		return usualSigma
	}
	slices.Sort(found)
	return found[(len(found)-1)/2]
}
