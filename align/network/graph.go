package network

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"

	"meridian/clock"
)

// graph is the edges in an order of their own, so that nothing depends on the order in which they came.
type graph struct {
	n     int
	edges []Edge
	near  [][]hop // of each clock
}

// hop leads over an edge to a neighbour.
type hop struct {
	to, edge int
}

func newGraph(n int, edges []Edge) (*graph, error) {
	g := &graph{n: n, edges: make([]Edge, 0, len(edges)), near: make([][]hop, n)}
	for i, e := range edges {
		if err := e.check(n); err != nil {
			return nil, fmt.Errorf("network: edge %d between clocks %d and %d: %w", i, e.A, e.B, err)
		}
		if e.A != e.B { // what a clock says of itself says nothing
			g.edges = append(g.edges, e)
		}
	}
	slices.SortStableFunc(g.edges, func(e, f Edge) int {
		return cmp.Or(cmp.Compare(e.A, f.A), cmp.Compare(e.B, f.B), cmp.Compare(e.Weight, f.Weight),
			compareCurves(e.Map.Mid, f.Map.Mid), compareCurves(e.Map.Low, f.Map.Low), compareCurves(e.Map.High, f.Map.High))
	})
	for i, e := range g.edges {
		g.near[e.A] = append(g.near[e.A], hop{to: e.B, edge: i})
		g.near[e.B] = append(g.near[e.B], hop{to: e.A, edge: i})
	}
	return g, nil
}

func (e *Edge) check(n int) error {
	if min(e.A, e.B) < 0 || max(e.A, e.B) >= n {
		return fmt.Errorf("a clock is not one of the %d clocks", n)
	}
	if !(e.Weight >= 0) {
		return fmt.Errorf("weight %g is not 0 or more", e.Weight)
	}
	if err := e.Map.Mid.Check(); err != nil {
		return err
	}
	for _, bound := range []clock.PairCurve{e.Map.Low, e.Map.High} {
		if bound == nil {
			continue
		}
		if err := bound.Check(); err != nil {
			return err
		}
	}
	return nil
}

func compareCurves(c, d clock.PairCurve) int {
	return slices.CompareFunc(c, d, func(k, l clock.PairKnot) int {
		return cmp.Or(cmp.Compare(k.X, l.X), cmp.Compare(k.Y, l.Y))
	})
}

// weights returns the edges' own.
func (g *graph) weights() []float64 {
	w := make([]float64, len(g.edges))
	for i, e := range g.edges {
		w[i] = e.Weight
	}
	return w
}

// unbounded is the width of a bound that is open to one side, ns: any bounded path is better.
const unbounded = 1e15

// widths returns the mean width of every edge's bounds in ns, over nine instants of its estimate's extent.
func (g *graph) widths() []float64 {
	const pieces = 8
	w := make([]float64, len(g.edges))
	for i := range g.edges {
		m := &g.edges[i].Map
		if m.Low == nil || m.High == nil {
			w[i] = unbounded
			continue
		}
		first, last := m.Mid[0].X, m.Mid[len(m.Mid)-1].X
		for k := range int64(pieces + 1) {
			at := clock.Add(first, clock.MulDiv(clock.Sub(last, first), k, pieces, clock.Nearest))
			low, high, _, _ := m.Bounds(at)
			w[i] += max(float64(clock.Sub(high, low)), 0) / (pieces + 1)
		}
	}
	return w
}

// buildTrees builds a tree in every component. Its root is chosen, if that is in the component, and otherwise what reference
// returns. reach lists its clocks, every one after the one over which it is reached.
func (g *graph) buildTrees(chosen int, reference func(members []int) int, reach func(reference int) []step) *Tree {
	t := &Tree{Component: make([]int, g.n), Parent: make([]int, g.n), Maps: make([]clock.Map, g.n), Distance: make([]float64, g.n)}
	for i := range t.Component {
		t.Component[i] = -1
	}
	for first := range g.n {
		if t.Component[first] >= 0 {
			continue
		}
		members := g.collect(t, first)
		if g.lone(first) {
			t.References = append(t.References, first)
			g.attach(t, first, step{clock: first, edge: -1})
			continue
		}
		root := chosen
		if chosen < 0 || t.Component[chosen] != len(t.References) {
			root = reference(members)
		}
		t.References = append(t.References, root)
		for _, s := range reach(root) {
			g.attach(t, root, s)
		}
	}
	return t
}

// lone reports whether a clock has no edges. There may be very many of these, so that they must cost nothing.
func (g *graph) lone(c int) bool { return len(g.near[c]) == 0 }

// collect numbers the component of a clock and returns its members in order.
func (g *graph) collect(t *Tree, first int) []int {
	number := len(t.References)
	t.Component[first] = number
	members := []int{first}
	for i := 0; i < len(members); i++ {
		for _, h := range g.near[members[i]] {
			if t.Component[h.to] < 0 {
				t.Component[h.to] = number
				members = append(members, h.to)
			}
		}
	}
	slices.Sort(members)
	return members
}

// attach composes a clock's map from its parent's.
func (g *graph) attach(t *Tree, root int, s step) {
	t.Distance[s.clock] = s.distance
	if s.edge < 0 {
		t.Parent[s.clock], t.Maps[s.clock] = s.clock, clock.Identity()
		return
	}
	e := &g.edges[s.edge]
	parent, m := e.B, e.Map
	if parent == s.clock {
		parent, m = e.A, m.Inverse()
	}
	t.Parent[s.clock] = parent
	if parent == root {
		t.Maps[s.clock] = clock.ConvertMap[clock.HostTime, clock.TimelineTime](&m)
	} else {
		t.Maps[s.clock] = thinned(clock.ComposeMaps(&m, &t.Maps[parent]), thinning(&m))
	}
}

// thinned returns a map whose bounds are at most so many ns wider on either side, and whose estimate is within a nanosecond, but
// which has few knots: without that they would grow with the square of the length of a path. Maps with few are left as they are.
func thinned(m clock.Map, tolerance int64) clock.Map {
	const few = 128 // knots
	if len(m.Mid) > few {
		m.Mid = m.Mid.Thin(1, clock.Nearest)
	}
	if len(m.Low) > few {
		m.Low = m.Low.Thin(tolerance, clock.Down)
	}
	if len(m.High) > few {
		m.High = m.High.Thin(tolerance, clock.Up)
	}
	return m
}

// maxThinning is the part of the width of bounds by which either bound may be widened to save knots.
const maxThinning = 1.0 / 2500

// thinning returns by how many ns either bound of a map may be widened: at most maxThinning of their least width. Bounds that lead
// over several edges are wider by no more than twice that part, then.
func thinning[X, Y clock.Time](m *clock.MapOf[X, Y]) int64 {
	const least = 2 // ns; rounding to whole ones at every hop costs as much
	if len(m.Low) == 0 || len(m.High) == 0 {
		return least
	}
	width := int64(math.MaxInt64)
	low, high := clock.NewCursor(m.Low), clock.NewCursor(m.High)
	for _, c := range []clock.CurveOf[X, Y]{m.Low, m.High} {
		for _, k := range c {
			width = min(width, clock.Sub(high.At(k.X), low.At(k.X)))
		}
	}
	return max(int64(float64(width)*maxThinning), least)
}

// lightest returns the tree of lightest paths, from the clock nearest to all.
func (g *graph) lightest(weights []float64, chosen int) *Tree {
	reach := func(from int) []step { return g.dijkstra(from, weights, true) }
	return g.buildTrees(chosen, func(members []int) int { return central(g.n, members, reach) }, reach)
}

// central returns the member with the smallest sum of distances to the others; of equals the first.
func central(n int, members []int, reach func(from int) []step) int {
	best, least := members[0], math.Inf(1)
	distance := make([]float64, n)
	for _, m := range members {
		for _, s := range reach(m) {
			distance[s.clock] = s.distance
		}
		sum := 0.0
		for _, o := range members {
			sum += distance[o]
		}
		if sum < least {
			best, least = m, sum
		}
	}
	return best
}

// step is a clock reached over an edge; the edge is -1 at the start.
type step struct {
	clock, edge int
	distance    float64
}

// dijkstra returns the clocks in the order in which they are reached from one, each over the last edge of its lightest
// path and with the path's weight. If they do not add, only the last edge's weight counts: the tree is then the
// spanning tree of least weight (Prim).
func (g *graph) dijkstra(from int, weights []float64, add bool) []step {
	done := make([]bool, g.n)
	var order []step
	queue := &frontier{{clock: from, edge: -1}}
	for queue.Len() > 0 {
		s := heap.Pop(queue).(step)
		if done[s.clock] {
			continue
		}
		done[s.clock] = true
		order = append(order, s)
		for _, h := range g.near[s.clock] {
			if done[h.to] {
				continue
			}
			distance := weights[h.edge]
			if add {
				distance += s.distance
			}
			heap.Push(queue, step{clock: h.to, edge: h.edge, distance: distance})
		}
	}
	return order
}

// frontier is the queue of clocks reached but not yet settled, nearest first; ties go to the lower clock and the lower
// edge.
type frontier []step

func (f frontier) Len() int { return len(f) }
func (f frontier) Less(i, j int) bool {
	if f[i].distance != f[j].distance {
		return f[i].distance < f[j].distance
	}
	if f[i].clock != f[j].clock {
		return f[i].clock < f[j].clock
	}
	return f[i].edge < f[j].edge
}
func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(x any)   { *f = append(*f, x.(step)) }
func (f *frontier) Pop() any {
	old := *f
	last := old[len(old)-1]
	*f = old[:len(old)-1]
	return last
}
