package network

import (
	"cmp"
	"fmt"
	"slices"

	"meridian/clock"
)

// defaultPieces is into how many pieces the extent of the edges' bounds is cut where nothing else is asked for.
const defaultPieces = 512

// tightening is a graph whose bounds are intersected over all paths.
type tightening struct{ *graph }

// Contradiction is a loop of clocks whose bounds cannot all hold: carried round the loop, the greatest reading of a clock comes
// out less than the reading it started from. It is a negative cycle among difference constraints, and proves that the
// assumption of the edges' bounds is wrong.
type Contradiction struct {
	Clocks   []int              // in the order of the loop, which goes back to the first; the lowest clock first
	Timeline clock.TimelineTime // the instant of the component's reference at which it is worst, of those looked at
	By       int64              // ns that are missing: what the loop's bounds together are too narrow
}

func (c Contradiction) String() string {
	return fmt.Sprintf("the bounds around clocks %v are too narrow by %d ns at %d", c.Clocks, c.By, c.Timeline)
}

// Tighten returns the maps of a tree with bounds that intersect what all paths from the reference say; the estimates are
// the tree's. Bounds are nil where no path bounds that side. Errors are those of the edges ([Build]), and a tree whose fields
// do not fit each other, as those of every tree of Build do.
//
// At each instant of the reference the greatest and the least reading of every other clock are shortest paths over the
// edges' bounds: values compose along a path, since no bound decreases. The instants are the corners of the edges'
// bounds, as many as there are to be pieces, and enough between.
//
// Between two instants a straight line through the best readings would not be strict: the best path may change, and a
// greatest reading that turns from one path to another bends upwards. Any one path is strict everywhere, though. So
// between two instants both their best paths hold, each as a straight line moved outwards by what corners of the edges'
// bounds on its way stick out, and the bound is the tighter of the two lines. It is exact at the instants if all corners
// are among them, and strict in any case: it assumes nothing of the clocks, however they run, bend or jump between. It needs
// only that the edges' bounds hold at every instant. Where lines would have to move far, as beside a jump, the piece is cut again,
// at most once for each piece that was asked for, or as often as gives 2^17 readings of all clocks. pieces says how many are asked for
// in each component; nil and 0 stand for 512.
//
// Contradictory bounds are found as loops; a component with one keeps the tree's bounds. The worst instant of each loop
// that was met is returned, the worst loop first; others may be hidden behind it, and fewer ns than a loop has clocks may be lost
// in rounding.
//
// The cost is O(e) for each instant where the best paths stay, O(n e) where all change; O(corners log corners) beside it.
func Tighten(edges []Edge, t *Tree, pieces []int) ([]clock.Map, []Contradiction, error) {
	if err := t.check(); err != nil {
		return nil, nil, fmt.Errorf("network: %w", err)
	}
	g, err := newGraph(len(t.Component), edges)
	if err != nil {
		return nil, nil, err
	}
	maps, contradictions := tightening{g}.tighten(t, pieces)
	return maps, contradictions, nil
}

func (g tightening) tighten(t *Tree, pieces []int) ([]clock.Map, []Contradiction) {
	maps := slices.Clone(t.Maps)
	up, down := newRelaxer(g.graph, clock.Up), newRelaxer(g.graph, clock.Down)
	var all []Contradiction
	members := make([]int, len(t.References)) // of each component
	for _, c := range t.Component {
		members[c]++
	}
	for number, root := range t.References {
		if g.lone(root) {
			continue
		}
		count := defaultPieces
		if number < len(pieces) && pieces[number] > 0 {
			count = pieces[number]
		}
		ts := g.instants(t, number, count)
		if len(ts) == 0 {
			continue
		}
		cuts := max(maxReadings/(members[number]*len(ts)), 1)
		high, low := newSweep(up, root, cuts), newSweep(down, root, cuts)
		high.run(ts)
		if len(high.bad) == 0 { // each loop bounds both ways: one side finds them all but for rounding
			low.run(ts)
		}
		bad := append(high.bad, low.bad...)
		if len(bad) > 0 {
			all = append(all, bad...)
			continue
		}
		for c := range maps {
			if t.Component[c] != number || c == root {
				continue
			}
			// The greatest reading at an instant is the least instant of a reading.
			maps[c].Low = high.curve(c).InverseBound(clock.Down)
			maps[c].High = low.curve(c).InverseBound(clock.Up)
		}
	}
	slices.SortStableFunc(all, func(a, b Contradiction) int {
		return cmp.Or(cmp.Compare(b.By, a.By), slices.Compare(a.Clocks, b.Clocks))
	})
	return maps, all
}

// instants returns where to look in a component, on the timeline; nil if nothing is bounded there.
func (g tightening) instants(t *Tree, number, pieces int) []clock.TimelineTime {
	corners := g.corners(t, number)
	if len(corners) == 0 {
		return nil
	}
	return filled(spaced(corners, pieces), max(int64(pieces)/8, 1))
}

// corners returns where on the timeline the corners of the edges' bounds are in a component, in order.
func (g tightening) corners(t *Tree, number int) []clock.TimelineTime {
	var corners []clock.TimelineTime
	for i := range g.edges {
		e := &g.edges[i]
		if t.Component[e.A] != number {
			continue
		}
		m := &t.Maps[e.A]
		mid := e.Map.Mid
		for _, c := range []clock.PairCurve{e.Map.Low, e.Map.High, {mid[0], mid[len(mid)-1]}} {
			if len(c) == 0 {
				continue
			}
			pull := clock.NewCursor(m.Mid)
			for _, k := range c {
				corners = append(corners, pull.At(k.X))
			}
			// All corners, wherever the bounds let them be, lie between the first instant and the last.
			if low, _, ok, _ := m.Bounds(c[0].X); ok {
				corners = append(corners, low)
			}
			if _, high, _, ok := m.Bounds(c[len(c)-1].X); ok {
				corners = append(corners, high)
			}
		}
	}
	slices.Sort(corners)
	return corners
}

// spaced returns the first and the last of sorted instants and at most so many between, where they are densest the
// most: corners that lie far outside the trace take none from those within.
func spaced(sorted []clock.TimelineTime, count int) []clock.TimelineTime {
	first, last := sorted[0], sorted[len(sorted)-1]
	near := clock.Sub(last, first) >> 24 // corners as close as that count as one
	kept := []clock.TimelineTime{first}
	for _, c := range sorted {
		if clock.Sub(c, kept[len(kept)-1]) > near && clock.Sub(last, c) > near {
			kept = append(kept, c)
		}
	}
	if len(kept) > count {
		for i := range count {
			kept[i] = kept[i*len(kept)/count]
		}
		kept = kept[:count]
	}
	if last > first {
		kept = append(kept, last)
	}
	return kept
}

// filled divides pieces that are longer than a count-th of the whole.
func filled(ts []clock.TimelineTime, count int64) []clock.TimelineTime {
	extent := clock.Sub(ts[len(ts)-1], ts[0])
	out := ts[:1:1]
	for _, to := range ts[1:] {
		from := out[len(out)-1]
		length := clock.Sub(to, from)
		pieces := clock.MulDiv(length, count, extent, clock.Up)
		for i := int64(1); i < pieces; i++ {
			if at := clock.Add(from, clock.MulDiv(length, i, pieces, clock.Nearest)); at > out[len(out)-1] && at < to {
				out = append(out, at)
			}
		}
		out = append(out, to)
	}
	return out
}
