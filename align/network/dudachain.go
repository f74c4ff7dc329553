package network

// dudaChain carries the estimates from neighbour to neighbour in the order of the clocks, beginning at the component's
// first: the ring or chain of Duda et al. 1987 (Poirier 2010, section 2.2.3), in which the margin grows with every clock.
// Where two neighbours exchanged no messages, the next clock is the one nearest in number to one that is done.
func dudaChain(g *graph, chosen int) *Tree {
	apart := make([]float64, len(g.edges))
	for i, e := range g.edges {
		apart[i] = float64(max(e.A-e.B, e.B-e.A))
	}
	t := g.buildTrees(chosen, func(members []int) int { return members[0] },
		func(from int) []step { return g.accumulated(g.dijkstra(from, apart, false)) })
	return t
}

// accumulated returns the steps of a spanning tree with the sums of the edges' weights to the root for distances.
func (g *graph) accumulated(steps []step) []step {
	distance := make([]float64, g.n)
	for i := range steps {
		s := &steps[i]
		s.distance = 0
		if s.edge >= 0 {
			e := &g.edges[s.edge]
			s.distance = distance[e.A+e.B-s.clock] + e.Weight
		}
		distance[s.clock] = s.distance
	}
	return steps
}
