package network

import (
	"slices"

	"meridian/clock"
)

// hofmannHilgers first tightens the bounds between every two clocks over the whole graph by shortest paths, then chooses
// the reference that reaches all others with the smallest sum of margins, and corrects each clock by the middle of its
// tightened interval (Hofmann and Hilgers 1998; Poirier 2010, section 2.2.3). The paper knows offsets alone, one interval
// per pair; here the intervals are curves, and the sum is that at a few instants of the trace.
//
// The middle keeps the order of all messages that the bounds were made of. Where nothing bounds a clock on one side, its
// estimate is the one along the path of narrowest bounds. The cost is that of [Tighten] from every clock at nine
// instants, O(n e) for each, and once at all.
func hofmannHilgers(g *graph, chosen int) *Tree {
	widths := g.widths()
	t := g.lightest(widths, chosen)
	up, down := newRelaxer(g, clock.Up), newRelaxer(g, clock.Down)
	again := false
	roots := make([]int, len(t.References))
	for number, root := range t.References {
		roots[number] = root
		if root != chosen && !g.lone(root) {
			roots[number] = g.surest(t, number, up, down)
			again = again || roots[number] != root
		}
	}
	if again {
		t = g.buildTrees(chosen, func(members []int) int { return roots[t.Component[members[0]]] },
			func(from int) []step { return g.dijkstra(from, widths, true) })
	}
	return g.halve(t)
}

// surest returns the member of a component with the smallest sum of margins to the others, and the component's reference
// where the bounds contradict each other.
func (g *graph) surest(t *Tree, number int, up, down *relaxer) int {
	const samples = 9
	ts := tightening{g}.corners(t, number)
	if n := len(ts); n > 1 {
		ts = filled(slices.Compact([]clock.TimelineTime{ts[0], ts[n-1]}), samples-1)
	}
	best, least := t.References[number], 0.0
	found := false
	for m, c := range t.Component {
		if c != number {
			continue
		}
		// The instants of the timeline, as this clock showed them.
		shown := clock.NewCursor(t.Maps[m].Mid.Inverse())
		up.start(m)
		down.start(m)
		sum := 0.0
		for _, at := range ts {
			reading := shown.At(at)
			if up.relax(reading) != nil || down.relax(reading) != nil {
				return t.References[number]
			}
			for o, c := range t.Component {
				switch {
				case c != number:
				case !up.reached[o] || !down.reached[o]:
					sum += unbounded
				default:
					sum += float64(clock.Sub(up.value[o], down.value[o]))
				}
			}
		}
		if !found || sum < least {
			best, least, found = m, sum, true
		}
	}
	return best
}

// halve tightens the bounds of a tree and takes the middle between them for the estimate, where there are both. Where there is
// one, the estimate is moved to it where it is beyond.
func (g *graph) halve(t *Tree) *Tree {
	maps, contradictions := tightening{g}.tighten(t, nil)
	t.Contradictions, t.Tightened = contradictions, true
	for i := range maps {
		m := &maps[i]
		switch {
		case m.Low != nil && m.High != nil:
			m.Mid = middle(m.Low, m.High)
		case m.Low != nil:
			m.Mid = joined(m.Mid, m.Low, func(mid, low clock.TimelineTime) clock.TimelineTime { return max(mid, low) })
		case m.High != nil:
			m.Mid = joined(m.Mid, m.High, func(mid, high clock.TimelineTime) clock.TimelineTime { return min(mid, high) })
		}
		t.Maps[i] = *m
	}
	return t
}

// middle returns the curve halfway between two.
func middle[Y clock.Time](low, high clock.CurveOf[clock.HostTime, Y]) clock.CurveOf[clock.HostTime, Y] {
	return joined(low, high, half)
}

// joined returns the curve with what becomes of the values of two where either has a knot.
func joined[Y clock.Time](low, high clock.CurveOf[clock.HostTime, Y], value func(low, high Y) Y) clock.CurveOf[clock.HostTime, Y] {
	if len(low) == 1 && len(high) == 1 {
		at := low[0].X
		return clock.CurveOf[clock.HostTime, Y]{{X: at, Y: value(low[0].Y, high.At(at, clock.Nearest))}}
	}
	mid := make(clock.CurveOf[clock.HostTime, Y], 0, len(low)+len(high))
	l, h := clock.NewCursor(low), clock.NewCursor(high)
	for i, j := 0, 0; i < len(low) || j < len(high); {
		var at clock.HostTime
		if j == len(high) || i < len(low) && low[i].X <= high[j].X {
			at = low[i].X
		} else {
			at = high[j].X
		}
		for i < len(low) && low[i].X == at {
			i++
		}
		for j < len(high) && high[j].X == at {
			j++
		}
		mid = append(mid, clock.KnotOf[clock.HostTime, Y]{X: at, Y: value(l.At(at), h.At(at))})
	}
	return mid
}

// half returns the middle of two instants, rounded down.
func half[T clock.Time](low, high T) T { return low>>1 + high>>1 + low&high&1 }
