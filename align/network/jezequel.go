package network

// jezequel carries the estimates along the paths of fewest hops: every edge has length one, whatever it is worth. The
// reference is the centre, the clock with the smallest sum of hops to all others (Jézéquel 1989, Jézéquel and Jard 1996;
// Poirier 2010, section 2.2.3). The paper leaves the root open where no clock is an outer reference.
//
// It needs no estimate of the edges' worth, and fails where they differ: one bad direct link is taken before two good
// ones.
func jezequel(g *graph, chosen int) *Tree {
	hops := make([]float64, len(g.edges))
	for i := range hops {
		hops[i] = 1
	}
	return g.lightest(hops, chosen)
}
