package align

import (
	"math"
	"slices"

	"meridian/align/network"
	"meridian/align/pair"
	"meridian/align/steps"
	"meridian/clock"
)

// Step is a setting of a clock during its trace.
type Step = steps.Step

// Piece is the time between two steps of a clock.
type Piece = steps.Piece

// Runs returns a map for each part of a clock's trace in which its stamps do not run back, in the order of time: one for a
// clock that was never set back. Like an index, c must be one of the clocks of the problem. A reader of a trace in recorded
// order can thereby tell readings that were shown twice apart: it takes the next map wherever the stamps run back.
func (s *Solution) Runs(c int) []clock.Map {
	if s.Pieces == nil || s.Pieces[c] == nil {
		return s.Maps[c : c+1]
	}
	var runs []clock.Map
	from := 0
	for i, n := 0, 0; i < len(s.Steps); i++ {
		if s.Steps[i].Clock != c {
			continue
		}
		n++
		if s.Steps[i].By < 0 && !s.Steps[i].StoodStill {
			runs, from = append(runs, steps.Join(s.Pieces[c][from:n])), n
		}
	}
	return append(runs, steps.Join(s.Pieces[c][from:]))
}

// treeOf returns the timelines of the original clocks.
func (t *task) treeOf(tree *network.Tree) *network.Tree {
	if t.parted != nil {
		tree = joinTree(t.parted, tree)
	}
	if t.free != nil {
		return t.free.tree(tree)
	}
	return cloneTree(tree)
}

// piecesOf returns the pieces of an original clock, with maps for those in the component of its nearest piece; nil if it was
// not set.
func piecesOf(t *steps.Parted, tree *network.Tree, c, nearest int) []Piece {
	var pieces []Piece
	for i, k := range t.Pieces(c) {
		x := Piece{First: t.Clocks[k].First, Last: t.Clocks[k].Last, StoodStill: steps.StoodStill(t, c, i)}
		if tree.Component[k] == tree.Component[nearest] {
			x.Map = tree.Maps[k]
		}
		pieces = append(pieces, x)
	}
	return pieces
}

// joinTree returns the tree of the original clocks from that of the pieces.
func joinTree(t *steps.Parted, tree *network.Tree) *network.Tree {
	n := len(t.Original.Clocks)
	out := *tree
	out.Component, out.Parent = make([]int, n), make([]int, n)
	out.Maps, out.Distance = make([]clock.Map, n), make([]float64, n)
	for c, k := range nearestPieces(t, tree) {
		out.Component[c], out.Distance[c] = tree.Component[k], tree.Distance[k]
		out.Parent[c] = t.ClockOf(tree.Parent[k])
		out.Maps[c] = tree.Maps[k]
		if t.Pieces(c) != nil {
			out.Maps[c] = steps.Join(piecesOf(t, tree, c, k))
		}
	}
	out.References = nil
	renumber(&out)
	out.Contradictions = slices.Clone(tree.Contradictions)
	for i := range out.Contradictions {
		x := &out.Contradictions[i]
		x.Clocks = slices.Clone(x.Clocks)
		for k := range x.Clocks {
			x.Clocks[k] = t.ClockOf(x.Clocks[k])
		}
	}
	return &out
}

// renumber numbers the components from 0 in the order of their first clocks, and finds their references.
func renumber(t *network.Tree) {
	known := make(map[int]int)
	for c, old := range t.Component {
		n, again := known[old]
		if !again {
			n = len(t.References)
			known[old] = n
			t.References = append(t.References, -1)
		}
		t.Component[c] = n
		if t.Parent[c] == c && t.References[n] < 0 {
			t.References[n] = c
		}
	}
}

// nearestPieces returns of each original clock the piece with the fewest hops to a reference: parents taken from these make
// no circle. Pieces that share no timeline with the longest one are taken last.
func nearestPieces(t *steps.Parted, tree *network.Tree) []int {
	weight := func(c, k int) [2]int {
		depth := 0
		for i := k; tree.Parent[i] != i; i = tree.Parent[i] {
			depth++
		}
		if tree.Component[k] != tree.Component[t.Longest(c)] {
			return [2]int{1, depth}
		}
		return [2]int{0, depth}
	}
	out := make([]int, len(t.Original.Clocks))
	for c := range out {
		out[c] = c
		if pieces := t.Pieces(c); pieces != nil {
			out[c] = slices.MinFunc(pieces, func(j, k int) int {
				x, y := weight(c, j), weight(c, k)
				return slices.Compare(x[:], y[:])
			})
		}
	}
	return out
}

// join returns the solution of the original problem from that of the parted one.
func join(t *steps.Parted, s *Solution) *Solution {
	out := *s
	out.Tree = joinTree(t, s.Tree)
	out.Outliers = t.Outliers
	n := len(t.Original.Clocks)
	out.Hosts = make([]Host, n)
	if t.Stepped() {
		out.Pieces = make([][]Piece, n)
		out.Divided = divided(t, s)
	}
	out.Believing = make([]clock.Map, n)
	believing := cloneTree(s.Tree)
	believing.Maps = s.Believing
	for c, k := range nearestPieces(t, s.Tree) {
		out.Believing[c] = s.Believing[k]
		if out.Hosts[c] = s.Hosts[k]; t.Pieces(c) == nil {
			continue
		}
		out.Believing[c] = steps.Join(piecesOf(t, believing, c, k))
		out.Pieces[c] = piecesOf(t, s.Tree, c, k)
		out.Hosts[c] = joinHost(t, s, c, k)
		if m := &out.Maps[c]; m.Low == nil || m.High == nil {
			out.Hosts[c].Bounded, out.Hosts[c].Spread = false, pair.Spread{}
		}
	}
	out.Routes = slices.Clone(s.Routes)
	for i := range out.Routes {
		r := &out.Routes[i]
		r.From, r.To = t.ClockOf(r.From), t.ClockOf(r.To)
	}
	out.Pairs = joinPairs(t, s.Pairs)
	out.Quality.Add(t.CountLeftOut(s.Tree))
	out.Steps = t.Steps(s.Tree)
	return &out
}

// joinHost returns what is known of a clock that was set, of the pieces in the component of the nearest one: the rate of the
// longest piece, and the errors of each.
func joinHost(t *steps.Parted, s *Solution, c, nearest int) Host {
	var h Host
	events := int64(-1)
	h.Bounded = true
	h.Spread = pair.Spread{Best: math.MaxInt64}
	var sum, span float64
	for _, k := range t.Pieces(c) {
		if s.Component[k] != s.Component[nearest] {
			continue
		}
		x, piece := &s.Hosts[k], &t.Clocks[k]
		if piece.Events > events {
			events = piece.Events
			h.Skew, h.SkewLow, h.SkewHigh, h.Determined, h.SkewBounded = x.Skew, x.SkewLow, x.SkewHigh, x.Determined, x.SkewBounded
		}
		h.Bounded = h.Bounded && x.Bounded
		h.Outside.Add(x.Outside)
		length := float64(piece.Last-piece.First) + 1
		h.Spread.Best, h.Spread.Worst = min(h.Spread.Best, x.Spread.Best), max(h.Spread.Worst, x.Spread.Worst)
		sum, span = sum+length*float64(x.Spread.Mean), span+length
		for _, d := range x.Deviation {
			if d.Host >= piece.First && d.Host <= piece.Last && (len(h.Deviation) == 0 || d.Host > h.Deviation[len(h.Deviation)-1].Host) {
				h.Deviation = append(h.Deviation, d)
			}
		}
	}
	if h.Spread.Mean = int64(sum / span); !h.Bounded {
		h.Spread = pair.Spread{}
	}
	return h
}

// joinPairs returns the pairs of the original clocks. Where a clock was set, the estimate is that of the pieces with the most
// messages, unless those of some pieces contradict each other.
func joinPairs(t *steps.Parted, parted []Pair) []Pair {
	pairs := pairsOf(t.Original)
	most := make([]int64, len(pairs)) // messages of the pieces whose estimate was taken
	contradicted := func(e *pair.Estimate) bool { return e.Fit == pair.Fallback && e.Map.Low == nil }
	for i := range parted {
		x := &parted[i]
		a, b := t.ClockOf(x.A), t.ClockOf(x.B)
		n, found := pairs.index(a, b)
		if !found {
			continue
		}
		p := &pairs[n]
		e := x.Estimate
		for _, s := range x.Stretches {
			if a > b && e.Map.Mid != nil {
				s.From, s.To = e.Map.At(s.From), e.Map.At(s.To)
			}
			p.Stretches = append(p.Stretches, s)
		}
		if a > b {
			e = reversed(e)
		}
		if x.Both && (!p.Both || x.RoundTrip < p.RoundTrip) {
			p.Both, p.RoundTrip = true, x.RoundTrip
		}
		p.Least = x.Least
		if messages := x.AB + x.BA; most[n] == 0 || !contradicted(&p.Estimate) && (contradicted(&e) || messages > most[n]) {
			most[n], p.Estimate, p.Believing = messages, e, x.Believing
			p.ToleratedAB, p.ToleratedBA = x.ToleratedAB, x.ToleratedBA
			if a > b {
				p.Believing = clock.PairMap{}
				p.ToleratedAB, p.ToleratedBA = x.ToleratedBA, x.ToleratedAB
			}
		}
		p.False = max(p.False, x.False)
	}
	return pairs
}

// reversed returns an estimate of b against a as one of a against b.
func reversed(e pair.Estimate) pair.Estimate {
	onB := func(m clock.PairMap, at clock.HostTime) clock.HostTime {
		if m.Mid == nil {
			return at
		}
		return m.At(at)
	}
	e.First, e.Last = onB(e.Map, e.First), onB(e.Map, e.Last)
	inverse := func(ppm float64) float64 { return (1/(1+ppm/1e6) - 1) * 1e6 }
	e.Skew, e.SkewLow, e.SkewHigh = inverse(e.Skew), inverse(e.SkewHigh), inverse(e.SkewLow)
	m := e.Map
	if m.Mid != nil {
		e.Map = m.Inverse()
	}
	e.Lines = slices.Clone(e.Lines)
	for i := range e.Lines {
		l := &e.Lines[i]
		rate := 1 + l.Skew/1e6
		l.Origin, l.Offset, l.Skew = clock.Add(l.Origin, l.Offset), -l.Offset, inverse(l.Skew)
		l.Residual, l.OffsetError, l.SkewError = l.Residual/rate, l.OffsetError/rate, l.SkewError/rate/rate
	}
	if e.Deviation != nil {
		e.Deviation = slices.Clone(e.Deviation)
		for i := range e.Deviation {
			e.Deviation[i].Host = onB(m, e.Deviation[i].Host)
		}
	}
	return e
}
