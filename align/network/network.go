// Package network carries the estimates of pairs to a time base for any number of clocks.
//
// In go the clocks and an [Edge] for every pair that exchanged messages; out comes a [Tree]: for each component the
// reference, and for each clock the path to it and the map with its bounds. Clocks that exchanged no messages, directly
// or over others, form components of their own; each is aligned within itself.
//
// How the estimates are carried is a strategy, each a file:
//
//	clement          along the lightest paths to the clock that is nearest to all
//	jezequel         along the paths of fewest hops to the centre
//	hofmann-hilgers  the middle of bounds tightened over the whole graph, from the clock that knows the others best
//	duda             the same from the first clock: the full graph with adjusted bounds
//	duda-chain       from neighbour to neighbour, in the order of the clocks
//	least-squares    all edges, each as far as it can be trusted, so that loops close
//
// Along a path maps compose and their bounds with them, rounded outwards, so a bound stays a bound over any number of
// hops (Clément and Dagenais 2009, eq. 9 and 10, for maps instead of sums of offsets). Over the whole graph [Tighten]
// intersects what all paths say. Every result is the same for every order of the edges.
//
// The cost for n clocks and e edges is O(n e log n) for the paths of all clocks, of which the reference is chosen; what
// a strategy adds is said with it.
package network

import (
	"errors"
	"fmt"
	"strings"

	"meridian/clock"
)

// Edge joins two clocks whose maps are known: Map carries A's clock to B's, Weight is its inaccuracy (ns; the mean
// bound or the residual deviation, in one unit over all edges; not negative).
type Edge struct {
	A, B   int
	Map    clock.PairMap
	Weight float64
}

// Tree is the time base.
type Tree struct {
	Component  []int       // of each clock, from 0 in order of the component's first clock
	References []int       // of each component
	Parent     []int       // next clock towards the reference; the reference is its own
	Maps       []clock.Map // each clock to its component's reference
	Distance   []float64   // sum of the strategy's weights (or hops) to the reference
	// Tightened says that the bounds are those of [Tighten] already, which some strategies begin with.
	Tightened bool
	// Contradictions are what a strategy that looks at the whole graph found wrong with the edges' bounds. In the
	// components concerned the bounds are those along the tree.
	Contradictions []Contradiction
}

// check returns an error for a tree on which Tighten cannot rely.
func (t *Tree) check() error {
	if t == nil {
		return errors.New("the tree is nil")
	}
	if len(t.Maps) != len(t.Component) {
		return fmt.Errorf("%d maps for %d clocks", len(t.Maps), len(t.Component))
	}
	for i, c := range t.Component {
		if c < 0 || c >= len(t.References) {
			return fmt.Errorf("clock %d is in component %d of %d", i, c, len(t.References))
		}
		if err := t.Maps[i].Mid.Check(); err != nil {
			return fmt.Errorf("map of clock %d: %w", i, err)
		}
	}
	for c, r := range t.References {
		if r < 0 || r >= len(t.Component) {
			return fmt.Errorf("reference %d of component %d is not one of the %d clocks", r, c, len(t.Component))
		}
	}
	return nil
}

// Reference returns the reference of a clock's component. Like an index, clock must be one of the tree's.
func (t *Tree) Reference(clock int) int { return t.References[t.Component[clock]] }

// strategy builds a time base; chosen is the wanted reference of its component, or -1.
type strategy struct {
	name  string
	build func(g *graph, chosen int) *Tree
}

// strategies lists them; to add one, add a line.
var strategies = []strategy{
	{"clement", clement},
	{"jezequel", jezequel},
	{"hofmann-hilgers", hofmannHilgers},
	{"duda", duda},
	{"duda-chain", dudaChain},
	{"least-squares", leastSquares},
}

// Strategies returns the names of all strategies, the default first.
func Strategies() []string {
	names := make([]string, len(strategies))
	for i, s := range strategies {
		names[i] = s.name
	}
	return names
}

// Build returns the time base of n clocks by one of [Strategies]; "" means the first. chosen is the wanted reference of
// its component, or -1. Errors are an unknown strategy, clocks that do not exist, and edges that are not maps.
func Build(strategy string, n int, edges []Edge, chosen int) (*Tree, error) {
	if n < 0 {
		return nil, fmt.Errorf("network: %d clocks", n)
	}
	if chosen >= n {
		return nil, fmt.Errorf("network: reference %d is not one of the %d clocks", chosen, n)
	}
	if strategy == "" {
		strategy = strategies[0].name
	}
	for _, s := range strategies {
		if s.name == strategy {
			g, err := newGraph(n, edges)
			if err != nil {
				return nil, err
			}
			return s.build(g, max(chosen, -1)), nil
		}
	}
	return nil, fmt.Errorf("network: unknown strategy %q (%s)", strategy, strings.Join(Strategies(), ", "))
}
