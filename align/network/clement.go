package network

// clement carries the estimates along the lightest paths by the edges' weights, which are residual deviations where the
// estimator has them. The reference is the clock whose distances to all others, by Dijkstra's algorithm, have the
// smallest sum, so a detour over two sure links beats an unsure direct one (Clément and Dagenais 2009, section 10).
func clement(g *graph, chosen int) *Tree {
	return g.lightest(g.weights(), chosen)
}
