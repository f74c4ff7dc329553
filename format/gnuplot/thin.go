package gnuplot

import (
	"cmp"
	"slices"

	"meridian/clock"
	"meridian/trace"
)

// thin doubles the quantum until so many slices and ticks remain. With the quantum as it is it makes what came lately as
// thin as the rest.
func (g *Writer) thin(most int) {
	span := clock.Sub(g.last, g.first)
	if g.quantum == 0 {
		g.quantum = max(span>>16, 1)
	}
	for {
		g.kept = 0
		for i := range g.rows {
			w := &g.rows[i]
			w.slices = mergedSlices(w.slices, g.quantum)
			w.ticks = thinnedTicks(w.ticks, g.quantum)
			g.kept += len(w.slices) + len(w.ticks)
		}
		if g.kept <= most || g.quantum > span {
			return
		}
		g.quantum *= 2
	}
}

// mergedSlices makes one of neighbours at the same depth that are shorter than the quantum and nearer than that. It
// has the class of the longest, and remembers how much of it was busy.
func mergedSlices(all []slice, quantum int64) []slice {
	slices.SortFunc(all, func(a, b slice) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	kept := all[:0]
	for _, s := range all {
		if n := len(kept); n > 0 {
			l := &kept[n-1]
			if l.depth == s.depth && clock.Sub(s.start, l.end) < quantum && clock.Sub(s.end, s.start) < quantum && clock.Sub(l.end, l.start) < quantum {
				if s.longest > l.longest {
					l.class, l.longest = s.class, s.longest
				}
				l.end, l.busy = max(l.end, s.end), l.busy+s.busy
				continue
			}
		}
		kept = append(kept, s)
	}
	return kept
}

func thinnedTicks(all []clock.TimelineTime, quantum int64) []clock.TimelineTime {
	kept := all[:0]
	for _, at := range all {
		if n := len(kept); n == 0 || clock.Sub(at, kept[n-1]) >= quantum {
			kept = append(kept, at)
		}
	}
	return kept
}

// end is one end of a message.
type end struct {
	at, low, high clock.TimelineTime
	stream        int
	sends         bool
}

// arrow is a message of which both ends were met.
type arrow struct {
	from, to end
}

func (a *arrow) inverted() bool { return a.to.at < a.from.at }

// ends are the messages of which one end was met, the last 65,536 of them.
type ends struct {
	known map[uint64]end
	ring  []uint64
	next  int
}

const mostEnds = 65_536

func newEnds() ends { return ends{known: make(map[uint64]end)} }

// message draws an arrow when its second end comes.
func (g *Writer) message(r *trace.TimelineEvent) {
	e := end{r.Time, r.Low, r.High, r.Stream, r.Role == trace.Sends}
	other, ok := g.ends.known[r.Flow]
	switch {
	case r.Flow == 0:
		return
	case !ok:
		g.ends.put(r.Flow, e)
		return
	case other.sends == e.sends:
		return
	}
	a := arrow{other, e}
	if e.sends {
		a = arrow{e, other}
	}
	g.messages++
	if a.inverted() {
		g.inverted++
	}
	if g.arrows = append(g.arrows, a); len(g.arrows) > g.mostArrows() {
		g.thinArrows(g.mostArrows() / 2)
	}
}

func (n *ends) put(flow uint64, e end) {
	if len(n.ring) < mostEnds {
		n.ring = append(n.ring, flow)
	} else {
		delete(n.known, n.ring[n.next])
		n.ring[n.next] = flow
		n.next = (n.next + 1) % mostEnds
	}
	n.known[flow] = e
}

// mostArrows is how many are kept: more than some two thousand are a black picture.
func (g *Writer) mostArrows() int { return max(min(g.options.Events/10, 2000), 2) }

// thinArrows keeps one arrow between two rows in a quantum, the most inverted: no aggregate may hide a violation.
func (g *Writer) thinArrows(most int) {
	span := clock.Sub(g.last, g.first)
	if g.pace == 0 {
		g.pace = max(span>>12, 1)
	}
	for {
		type step struct {
			from, to int
			at       int64
		}
		place := make(map[step]int, len(g.arrows))
		kept := g.arrows[:0]
		for _, a := range g.arrows {
			s := step{a.from.stream, a.to.stream, clock.Sub(a.from.at, g.first) / g.pace}
			if i, ok := place[s]; !ok {
				place[s] = len(kept)
				kept = append(kept, a)
			} else if k := &kept[i]; a.inverted() && clock.Sub(a.to.at, a.from.at) < clock.Sub(k.to.at, k.from.at) {
				*k = a
			}
		}
		g.arrows = kept
		if len(kept) <= most || g.pace > span {
			return
		}
		g.pace *= 2
	}
}
