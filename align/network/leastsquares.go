package network

import (
	"slices"

	"meridian/clock"
)

// leastSquares lets all edges speak, those off the tree too: at common instants of the timeline it finds the corrections
// y of the tree's estimates that minimise
//
//	sum over the edges of ((y[A] - y[B] - r) / Weight)²
//
// where r is the edge's disagreement with the tree at that instant: what A's clock shows there, carried to B by the edge
// and to the timeline by the tree, less the instant. Loops then close, and independent errors (asymmetric delays among
// them) average out over the paths. A weight counts for at least 1 ns and at most a second.
//
// The estimates are polylines through the instants, with rates of at least half that of the timeline, and are kept inside
// the bounds, which are those of [Tighten]. The tree is that of clement, and gives the reference.
//
// It fails where the errors are not independent: a common asymmetry stays. The cost is O(n³) once and O(n²+e) at each of
// at most some 1000 instants.
func leastSquares(g *graph, chosen int) *Tree {
	t := g.lightest(g.weights(), chosen)
	maps, contradictions := tightening{g}.tighten(t, nil)
	t.Contradictions, t.Tightened = contradictions, true
	for number, root := range t.References {
		if g.lone(root) {
			continue
		}
		ts := g.knots(t, number)
		if len(ts) < 2 {
			ts = tightening{g}.instants(t, number, defaultPieces)
		}
		if len(ts) == 0 {
			continue
		}
		g.correct(t, maps, root, ts)
	}
	t.Maps = maps
	return t
}

// knots returns the instants of a component at which the estimates turn, thinned and filled.
func (g *graph) knots(t *Tree, number int) []clock.TimelineTime {
	const count = 512
	var corners []clock.TimelineTime
	for i := range g.edges {
		if e := &g.edges[i]; t.Component[e.A] == number {
			pull := clock.NewCursor(t.Maps[e.A].Mid)
			for _, k := range e.Map.Mid {
				corners = append(corners, pull.At(k.X))
			}
		}
	}
	if len(corners) == 0 {
		return nil
	}
	slices.Sort(corners)
	// A rounded nanosecond must not turn a short piece: they are a 2000th of the whole at least.
	first, last := corners[0], corners[len(corners)-1]
	least := clock.Sub(last, first)/(2*count) + 1
	kept := []clock.TimelineTime{first}
	for _, c := range corners {
		if clock.Sub(c, kept[len(kept)-1]) >= least && clock.Sub(last, c) >= least {
			kept = append(kept, c)
		}
	}
	if last > first {
		kept = append(kept, last)
	}
	return filled(kept, count/8)
}

// correct gives the clocks of one component new estimates through the instants ts.
func (g *graph) correct(t *Tree, maps []clock.Map, root int, ts []clock.TimelineTime) {
	net := newConductances(g, t, root)
	onClock := make([]clock.InverseCursor, len(net.clocks)) // of each clock, at an instant of the timeline
	onTimeline := make([]clock.Cursor, len(net.clocks))
	for i, c := range net.clocks {
		onClock[i] = clock.NewCursor(t.Maps[c].Mid.Inverse())
		onTimeline[i] = clock.NewCursor(t.Maps[c].Mid)
	}
	over := make([]clock.PairCursor, len(net.edges))
	for i, e := range net.edges {
		over[i] = clock.NewCursor(g.edges[e.edge].Map.Mid)
	}
	curves := make([]clock.Curve, len(net.clocks))
	reading, disagreement := make([]clock.HostTime, len(net.clocks)), make([]float64, len(net.edges))
	for _, at := range ts {
		for i := range reading {
			reading[i] = onClock[i].At(at)
		}
		for i, e := range net.edges {
			there := onTimeline[e.b].At(over[i].At(reading[e.a]))
			disagreement[i] = float64(clock.Sub(there, at))
		}
		for i, y := range net.solve(disagreement) {
			knot := clock.Knot{X: reading[i], Y: clock.Add(at, nearest(y))}
			if n := len(curves[i]); n == 0 || curves[i][n-1].X < knot.X {
				curves[i] = append(curves[i], knot)
			}
		}
	}
	for i, c := range net.clocks {
		if c != root {
			maps[c].Mid = within(rising(curves[i]), &maps[c])
		}
	}
}

// nearest rounds a difference to ns; beyond what int64 holds it is damage, and goes to the limit of time.
func nearest(y float64) int64 {
	if y != y {
		return 0
	}
	y = min(max(y, -float64(clock.Limit)), float64(clock.Limit))
	if y < 0 {
		return int64(y - 0.5)
	}
	return int64(y + 0.5)
}

// rising returns the curve through the same host times, nearest in the sum of squares, whose rate is nowhere below one
// half: neighbours that rise by less share their mean (pool adjacent violators).
func rising(c clock.Curve) clock.Curve {
	type pool struct {
		sum   float64 // of what lies over half the host's time, less that of the first knot
		count int
	}
	first := c[0]
	base := func(i int) clock.TimelineTime { return clock.Add(first.Y, clock.Sub(c[i].X, first.X)/2) }
	var pools []pool
	steady := true
	for i := range c {
		p := pool{float64(clock.Sub(c[i].Y, base(i))), 1}
		for len(pools) > 0 {
			last := pools[len(pools)-1]
			if last.sum/float64(last.count) <= p.sum/float64(p.count) {
				break
			}
			p = pool{p.sum + last.sum, p.count + last.count}
			pools, steady = pools[:len(pools)-1], false
		}
		pools = append(pools, p)
	}
	if steady {
		return c
	}
	i := 0
	for _, p := range pools {
		for range p.count {
			if p.count > 1 {
				c[i].Y = clock.Add(base(i), nearest(p.sum/float64(p.count)))
			}
			i++
		}
	}
	return c
}

// within moves the knots of an estimate between a map's bounds, as far as there are bounds.
func within(c clock.Curve, m *clock.Map) clock.Curve {
	for i := range c {
		low, high, lowOK, highOK := m.Bounds(c[i].X)
		if highOK {
			c[i].Y = min(c[i].Y, high)
		}
		if lowOK {
			c[i].Y = max(c[i].Y, low)
		}
	}
	return c
}
