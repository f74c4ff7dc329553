package network

// conductances is a component as a network of conductances, one over the square of an edge's weight: the normal equations
// of least squares over a graph are those of currents in it (the graph's Laplacian).
//
// It is eliminated clock by clock, each replaced by conductances between its neighbours (star to mesh) until the
// reference is left. Written like that, Gaussian elimination only adds and divides positive conductances and loses none of
// their digits, however different they are. What is lost in the currents stays below a millionth of the weight of the
// edge that it moves.
type conductances struct {
	clocks []int // of the component, the reference last
	edges  []branch
	star   [][]float64 // of each clock: the conductances to those after it, when it was eliminated
	sum    []float64   // theirs
	inflow []float64
	y      []float64
}

// branch is an edge between two places in clocks.
type branch struct {
	a, b, edge int
	g          float64 // conductance, 1/ns²
}

// minWeight and maxWeight are what a weight counts for at least and at most, ns.
const minWeight, maxWeight = 1, 1e9

// newConductances returns those of the component of a reference, eliminated.
func newConductances(g *graph, t *Tree, root int) *conductances {
	n := &conductances{}
	row := make([]int, g.n)
	for c, number := range t.Component {
		if number == t.Component[root] && c != root {
			row[c] = len(n.clocks)
			n.clocks = append(n.clocks, c)
		}
	}
	row[root] = len(n.clocks)
	n.clocks = append(n.clocks, root)
	size := len(n.clocks)
	full := make([][]float64, size)
	for i := range full {
		full[i] = make([]float64, size)
	}
	for i, e := range g.edges {
		if t.Component[e.A] != t.Component[root] {
			continue
		}
		w := min(max(e.Weight, minWeight), maxWeight)
		b := branch{a: row[e.A], b: row[e.B], edge: i, g: 1 / (w * w)}
		n.edges = append(n.edges, b)
		full[b.a][b.b] += b.g
		full[b.b][b.a] += b.g
	}
	n.sum = make([]float64, size)
	for i := range size - 1 {
		row := full[i]
		for _, v := range row[i+1:] {
			n.sum[i] += v
		}
		for j := i + 1; j < size; j++ {
			if row[j] == 0 {
				continue
			}
			share := row[j] / n.sum[i]
			other := full[j]
			for k := i + 1; k < size; k++ {
				if k != j {
					other[k] += share * row[k]
				}
			}
		}
	}
	n.star = full
	n.inflow, n.y = make([]float64, size), make([]float64, size)
	return n
}

// solve returns the y of all clocks that make the weighted sum of (y[a] - y[b] - r)² over the edges least, that of the
// reference being 0. The result is valid until the next call.
func (n *conductances) solve(r []float64) []float64 {
	clear(n.inflow)
	for i, e := range n.edges {
		n.inflow[e.a] += e.g * r[i]
		n.inflow[e.b] -= e.g * r[i]
	}
	y, last := n.y, len(n.clocks)-1
	for i := range last {
		if n.inflow[i] == 0 {
			continue
		}
		per := n.inflow[i] / n.sum[i]
		for j := i + 1; j < last; j++ {
			n.inflow[j] += n.star[i][j] * per
		}
	}
	y[last] = 0
	for i := last - 1; i >= 0; i-- {
		v := n.inflow[i]
		for j := i + 1; j < last; j++ {
			v += n.star[i][j] * y[j]
		}
		y[i] = v / n.sum[i]
	}
	return y
}
