package network

// duda is the full graph with adjusted bounds (Duda et al. 1987; Poirier 2010, section 2.2.3): the direct bounds of every
// pair are intersected with those over other clocks, and each clock is corrected by the middle of what is left between
// it and the reference, so that the order of messages holds between any two clocks and not only with the reference.
// Of all pairs only those with the reference are asked for, and theirs are the shortest paths from it ([Tighten]).
//
// The reference is the component's first clock: the paper leaves it open. The graph need not be full; a clock without an
// edge to the reference is bounded over others alone. Where nothing bounds it on one side, its estimate is the one along
// the path of narrowest bounds.
func duda(g *graph, chosen int) *Tree {
	widths := g.widths()
	return g.halve(g.buildTrees(chosen, func(members []int) int { return members[0] },
		func(from int) []step { return g.dijkstra(from, widths, true) }))
}
