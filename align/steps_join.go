package align

import (
	"cmp"
	"math"
	"slices"

	"meridian/align/pair"
	"meridian/align/quality"
	"meridian/clock"
	"meridian/trace"
)

// join returns the solution of the original problem from that of its pieces.
func (t *split) join(s *solving) *Solution {
	n := len(t.original.Clocks)
	of := *s.Solution
	out := &of
	tree := *s.Tree
	out.Tree = &tree
	out.Wrong = t.wrong
	near := t.nearest(s) // of each clock the piece that hangs nearest to the reference
	tree.Component, tree.Parent = make([]int, n), make([]int, n)
	tree.Maps, tree.Distance = make([]clock.Map, n), make([]float64, n)
	out.Hosts = make([]Host, n)
	if len(t.events) > 0 {
		out.Pieces = make([][]Piece, n)
	}
	for c := range n {
		k := near[c]
		tree.Component[c], tree.Distance[c] = s.Component[k], s.Distance[k]
		tree.Parent[c] = t.clockOf[s.Parent[k]]
		tree.Maps[c], out.Hosts[c] = s.Maps[k], s.Hosts[k]
		if t.pieces[c] == nil {
			continue
		}
		var numbers []int
		for _, k := range t.pieces[c] {
			x := Piece{First: t.Clocks[k].First, Last: t.Clocks[k].Last}
			if s.Component[k] == s.Component[near[c]] {
				x.Map = s.Maps[k]
				numbers = append(numbers, k)
			}
			out.Pieces[c] = append(out.Pieces[c], x)
		}
		tree.Maps[c] = joined(placed(out.Pieces[c]))
		out.Hosts[c] = t.host(s, c, numbers)
		if m := &tree.Maps[c]; m.Low == nil || m.High == nil {
			out.Hosts[c].Bounded, out.Hosts[c].Spread = false, pair.Spread{}
		}
	}
	tree.References = nil
	t.renumber(out)
	for i, c := range tree.Contradictions {
		c.Clocks = slices.Clone(c.Clocks)
		for k := range c.Clocks {
			c.Clocks[k] = t.clockOf[c.Clocks[k]]
		}
		tree.Contradictions = slices.Clone(tree.Contradictions)
		tree.Contradictions[i] = c
	}
	out.Routes = slices.Clone(out.Routes)
	for i := range out.Routes {
		r := &out.Routes[i]
		r.From, r.To = t.clockOf[r.From], t.clockOf[r.To]
	}
	out.Pairs = t.joinPairs(s)
	t.count(s, out)
	t.describe(s, out)
	return out
}

// nearest returns of each clock the piece with the fewest hops to a reference: parents taken from those make no circle.
func (t *split) nearest(s *solving) []int {
	depth := func(k int) (n int) {
		for ; s.Parent[k] != k; k = s.Parent[k] {
			n++
		}
		return n
	}
	// Pieces that share no timeline with the longest count last.
	weight := func(c, k int) [2]int {
		if s.Component[k] != s.Component[t.longest(c)] {
			return [2]int{1, depth(k)}
		}
		return [2]int{0, depth(k)}
	}
	out := make([]int, len(t.original.Clocks))
	for c := range out {
		out[c] = c
		if t.pieces[c] == nil {
			continue
		}
		out[c] = slices.MinFunc(t.pieces[c], func(j, k int) int {
			x, y := weight(c, j), weight(c, k)
			return slices.Compare(x[:], y[:])
		})
	}
	return out
}

// renumber numbers the components of the original clocks from 0 in order of their first clocks.
func (t *split) renumber(out *Solution) {
	known := make(map[int]int)
	for c, old := range out.Component {
		n, again := known[old]
		if !again {
			n = len(out.References)
			known[old] = n
			out.References = append(out.References, -1)
		}
		out.Component[c] = n
		if out.Parent[c] == c && out.References[n] < 0 {
			out.References[n] = c
		}
	}
}

// placed returns the pieces that are on the timeline of most of them.
func placed(pieces []Piece) []Piece {
	return slices.DeleteFunc(slices.Clone(pieces), func(p Piece) bool { return p.Map.Mid == nil })
}

// host returns what is known of a clock that was set: its rate in the longest piece, its errors in each.
func (t *split) host(s *solving, c int, pieces []int) Host {
	h := s.Hosts[pieces[0]]
	events := int64(-1)
	h.Bounded = true
	h.Spread = pair.Spread{Best: math.MaxInt64}
	h.Deviation = nil
	var sum, span float64
	for _, k := range pieces {
		x := &s.Hosts[k]
		if t.Clocks[k].Events > events {
			events = t.Clocks[k].Events
			h.Skew, h.SkewLow, h.SkewHigh, h.Determined, h.Enclosed = x.Skew, x.SkewLow, x.SkewHigh, x.Determined, x.Enclosed
		}
		h.Bounded = h.Bounded && x.Bounded
		length := float64(t.Clocks[k].Last-t.Clocks[k].First) + 1
		h.Spread.Best, h.Spread.Worst = min(h.Spread.Best, x.Spread.Best), max(h.Spread.Worst, x.Spread.Worst)
		sum, span = sum+length*float64(x.Spread.Mean), span+length
		for _, d := range x.Deviation {
			if d.Host >= t.Clocks[k].First && d.Host <= t.Clocks[k].Last && (len(h.Deviation) == 0 || d.Host > h.Deviation[len(h.Deviation)-1].Host) {
				h.Deviation = append(h.Deviation, d)
			}
		}
	}
	if h.Spread.Mean = int64(sum / span); !h.Bounded {
		h.Spread = pair.Spread{}
	}
	return h
}

// joinPairs returns the pairs of the original clocks. Of a clock that was set the estimate is that of the piece with the
// most messages, unless others contradict each other.
func (t *split) joinPairs(s *solving) []Pair {
	pairs := pairsOf(t.original)
	longest := make([]int64, len(pairs))
	contradicted := func(e *pair.Estimate) bool { return e.Fit == pair.Fallback && e.Map.Low == nil }
	for i := range s.Pairs {
		x := &s.Pairs[i]
		a, b := t.clockOf[x.A], t.clockOf[x.B]
		n, found := slices.BinarySearchFunc(pairs, Pair{A: min(a, b), B: max(a, b)}, func(p, q Pair) int {
			return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B))
		})
		if !found {
			continue
		}
		p := &pairs[n]
		e := x.Estimate
		if a > b {
			e = turned(e)
		}
		if x.Both && (!p.Both || x.RoundTrip < p.RoundTrip) {
			p.Both, p.RoundTrip = true, x.RoundTrip
		}
		p.Least = x.Least
		if weight := x.AB + x.BA; longest[n] == 0 || !contradicted(&p.Estimate) && (contradicted(&e) || weight > longest[n]) {
			longest[n], p.Estimate = weight, e
		}
	}
	return pairs
}

// turned is an estimate of b against a as one of a against b.
func turned(e pair.Estimate) pair.Estimate {
	ends := func(m clock.Map, at int64) int64 {
		if m.Mid == nil {
			return at
		}
		return m.At(at)
	}
	e.First, e.Last = ends(e.Map, e.First), ends(e.Map, e.Last)
	turn := func(ppm float64) float64 { return (1/(1+ppm/1e6) - 1) * 1e6 }
	e.Skew, e.SkewLow, e.SkewHigh = turn(e.Skew), turn(e.SkewHigh), turn(e.SkewLow)
	m := e.Map
	if m.Mid != nil {
		e.Map = m.Inverse()
	}
	if e.Deviation != nil {
		e.Deviation = slices.Clone(e.Deviation)
		for i := range e.Deviation {
			e.Deviation[i].Host = ends(m, e.Deviation[i].Host)
		}
	}
	return e
}

// count adds the messages that were left out to the quality: those that are wrong count as what they are.
func (t *split) count(s *solving, out *Solution) {
	for _, x := range t.lost {
		c := trace.Channel{Messages: []trace.Message{x.Message}}
		c.From = t.placeOf(s, x.from, x.fromOver, x.to, x.toOver, x.Sent, x.Received)
		c.To = t.placeOf(s, x.to, x.toOver, x.from, x.fromOver, x.Received, x.Sent)
		if s.Component[c.From] == s.Component[c.To] {
			out.Quality.Add(quality.Channel(&c, t.Clocks, s.Maps, 0))
		}
	}
}

// placeOf returns the piece of a clock that a stamp is most likely of: that which puts it nearest to the other end.
func (t *split) placeOf(s *solving, c int, over [2]int, other int, otherOver [2]int, stamp, otherStamp int64) int {
	best, least := t.piece(c, over[0]), int64(math.MaxInt64)
	for k := over[0]; k <= over[1]; k++ {
		for l := otherOver[0]; l <= otherOver[1]; l++ {
			i, j := t.piece(c, k), t.piece(other, l)
			if d := clock.Sub(s.Maps[i].At(stamp), s.Maps[j].At(otherStamp)); s.Component[i] == s.Component[j] && max(d, -d) < least {
				best, least = i, max(d, -d)
			}
		}
	}
	return best
}

// day is a day of UTC, ns.
const day = 86_400_000_000_000

// describe tells the steps, of which the maps of the pieces know the size better than the messages next to them.
func (t *split) describe(s *solving, out *Solution) {
	for c := range t.pieces {
		for k, e := range t.eventsOf(c) {
			x := Step{Clock: c, At: e.before, By: e.by, Other: e.other}
			give := e.give
			one, two := t.pieces[c][k], t.pieces[c][k+1]
			by, within, bounded := t.sizeOf(s, c, k)
			if bounded {
				give = min(give, within)
			}
			if s.Component[one] == s.Component[two] {
				back := s.Maps[one].Mid.Inverse()
				x.By = by
				x.At = max(back.At(s.Maps[two].At(t.Clocks[two].First), clock.Nearest), t.Clocks[one].Last)
			}
			x.Between = max(clock.Sub(x.At, t.Clocks[one].Last), 0)
			x.Leap = leap(&x, give)
			out.Steps = append(out.Steps, x)
		}
	}
}

// leap reports whether a step is a leap second: of one second within what is known of its size, and around the midnight of
// UTC before which a second is inserted (the clock is set back) or left out. Systems differ by up to a second in the
// instant at which they do it.
func leap(x *Step, give int64) bool {
	const second = 1_000_000_000
	if off := max(x.By, -x.By) - second; max(off, -off) > max(give, second/1000) || max(off, -off) > second/10 {
		return false
	}
	from, to := clock.Sub(x.At, clock.Add(x.Between, second)), clock.Add(x.At, second)
	rest := ((from % day) + day) % day
	return rest == 0 || clock.Sub(to, from) >= day-rest
}
