// Package network carries the estimates of pairs to a time base for any number of clocks.
//
// In go the clocks and an [Edge] for every pair that exchanged messages; out comes a [Tree]: for each component the
// reference, and for each clock the path to it and the composed map with its bounds.
//
// The reference is the clock whose distances to all others, by Dijkstra's algorithm over the edges' weights, have the
// smallest sum (Clément and Dagenais 2009, section 10), unless one is chosen. A clock reaches the reference over the
// lightest path, so a detour over two sure links beats an unsure direct one. Maps compose along the path and their
// bounds with them, rounded outwards, so a bound stays a bound over any number of hops. Clocks that exchanged no
// messages, directly or over others, form components of their own; each is aligned within itself.
//
// The cost is O(n e log n) for n clocks and e edges.
package network

import (
	"container/heap"
	"fmt"
	"math"

	"meridian/clock"
)

// Edge joins two clocks whose maps are known: Map carries A's clock to B's, Weight is its inaccuracy (ns; the mean
// bound or the residual deviation, in one unit over all edges).
type Edge struct {
	A, B   int
	Map    clock.Map
	Weight float64
}

// Tree is the time base.
type Tree struct {
	Component  []int       // of each clock, from 0 in order of the component's first clock
	References []int       // of each component
	Parent     []int       // next clock towards the reference; the reference is its own
	Maps       []clock.Map // each clock to its component's reference
	Distance   []float64   // sum of weights to the reference
}

// Build returns the time base of n clocks. chosen is the wanted reference of its component, or -1.
func Build(n int, edges []Edge, chosen int) (*Tree, error) {
	if chosen >= n {
		return nil, fmt.Errorf("network: reference %d of %d clocks", chosen, n)
	}
	neighbours := make([][]hop, n)
	for i := range edges {
		e := &edges[i]
		neighbours[e.A] = append(neighbours[e.A], hop{to: e.B, edge: e})
		neighbours[e.B] = append(neighbours[e.B], hop{to: e.A, edge: e})
	}
	t := &Tree{Component: make([]int, n), Parent: make([]int, n), Maps: make([]clock.Map, n), Distance: make([]float64, n)}
	for i := range t.Component {
		t.Component[i] = -1
	}
	for first := range n {
		if t.Component[first] >= 0 {
			continue
		}
		members := t.collect(first, neighbours)
		reference := chosen
		if chosen < 0 || t.Component[chosen] != len(t.References) {
			reference = central(members, neighbours)
		}
		t.References = append(t.References, reference)
		t.hang(reference, neighbours)
	}
	return t, nil
}

type hop struct {
	to   int
	edge *Edge
}

// collect numbers the component of a clock and returns its members.
func (t *Tree) collect(first int, neighbours [][]hop) []int {
	number := len(t.References)
	t.Component[first] = number
	members := []int{first}
	for i := 0; i < len(members); i++ {
		for _, h := range neighbours[members[i]] {
			if t.Component[h.to] < 0 {
				t.Component[h.to] = number
				members = append(members, h.to)
			}
		}
	}
	return members
}

// central returns the member with the smallest sum of distances to the others; of equals the first.
func central(members []int, neighbours [][]hop) int {
	best, least := members[0], math.Inf(1)
	for _, m := range members {
		distance, _ := dijkstra(m, neighbours)
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

// hang composes the maps of all clocks of the reference's component, nearest first.
func (t *Tree) hang(reference int, neighbours [][]hop) {
	distance, order := dijkstra(reference, neighbours)
	for _, step := range order {
		t.Distance[step.clock] = distance[step.clock]
		if step.edge == nil {
			t.Parent[step.clock], t.Maps[step.clock] = step.clock, clock.Identity()
			continue
		}
		parent, m := step.edge.B, step.edge.Map
		if parent == step.clock {
			parent, m = step.edge.A, m.Inverse()
		}
		t.Parent[step.clock] = parent
		if parent != reference {
			m = m.Then(&t.Maps[parent])
		}
		t.Maps[step.clock] = m
	}
}

// step is a clock reached over an edge; the edge is nil at the start.
type step struct {
	clock    int
	distance float64
	edge     *Edge
}

// dijkstra returns the distances from a clock (infinite where there is no path) and the clocks in the order in which
// they are reached, each over the last edge of its lightest path.
func dijkstra(from int, neighbours [][]hop) ([]float64, []step) {
	distance := make([]float64, len(neighbours))
	for i := range distance {
		distance[i] = math.Inf(1)
	}
	done := make([]bool, len(neighbours))
	var order []step
	queue := &frontier{{clock: from}}
	for queue.Len() > 0 {
		s := heap.Pop(queue).(step)
		if done[s.clock] {
			continue
		}
		done[s.clock], distance[s.clock] = true, s.distance
		order = append(order, s)
		for _, h := range neighbours[s.clock] {
			if !done[h.to] {
				heap.Push(queue, step{clock: h.to, distance: s.distance + h.edge.Weight, edge: h.edge})
			}
		}
	}
	return distance, order
}

// frontier is the queue of clocks reached but not yet settled, nearest first; ties go to the lower clock, so that the
// result does not depend on the order of the edges.
type frontier []step

func (f frontier) Len() int { return len(f) }
func (f frontier) Less(i, j int) bool {
	if f[i].distance != f[j].distance {
		return f[i].distance < f[j].distance
	}
	return f[i].clock < f[j].clock
}
func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(x any)   { *f = append(*f, x.(step)) }
func (f *frontier) Pop() any {
	old := *f
	last := old[len(old)-1]
	*f = old[:len(old)-1]
	return last
}
