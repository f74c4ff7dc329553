package align

import (
	"context"
	"math"
	"slices"

	"meridian/align/bound"
	"meridian/align/network"
	"meridian/align/pair"
	"meridian/align/quality"
	"meridian/clock"
)

// Solution is one timeline for each component, and what is known of it.
type Solution struct {
	Method  string
	Network string // the strategy that joined the pairs; "" for methods that place all clocks at once
	// Assumption says in words what the bounds rest on, Assumed in numbers, zero for linear clocks. Where the messages of a
	// pair show that it does not hold, they rest on what the Stretches of that pair say.
	Assumption string
	Assumed    bound.Assumption
	*network.Tree
	Hosts   []Host // of each clock
	Pairs   []Pair // ordered by clocks
	Quality quality.Counts
	// Routes are the changes of a least delay that were found.
	Routes []Route
	// Steps are the settings of clocks during their trace. Each piece between them was aligned by itself. Outliers counts
	// the messages that were left out because they contradict all others; Quality includes them.
	Steps    []Step
	Outliers int64
	// False are the messages that contradict all others between their clocks, by clocks, then by time. They were left
	// out too, and nothing else counts them.
	False []FalseMessage
	// Believing has, of each clock, the estimate with the bounds that hold if every message is true that was not left
	// out. It has no bounds where those are not known.
	Believing []clock.Map
	// Pieces are those of each clock that was set, in the order of time; nil where none was. Maps joins them: for readings
	// that a clock showed twice, the estimate there is that of the first time, within bounds that contain both.
	Pieces [][]Piece
	// Divided is the problem by pieces; nil where no clock was set, and where clocks were aligned by readings of counters.
	Divided *Divided
}

// Pair is what two clocks that exchanged messages say about each other.
type Pair struct {
	A, B   int   // indices of the clocks, A < B
	AB, BA int64 // messages from a to b and back
	// Stretches are the times in which the messages show that the two clocks do not keep the assumption.
	Stretches []bound.Stretch
	// Estimate has the bounds that hold though so many messages each way are false, besides those that were found:
	// False of them were left out. Believing has the bounds that hold if all others are true, and no estimate.
	Estimate                 pair.Estimate
	Believing                clock.PairMap
	ToleratedAB, ToleratedBA Tolerated
	False                    int64
	// RoundTrip is the sum of the quickest delays both ways on the timeline, ns: no error of an offset changes it, but one of a skew
	// does. It is as quick as any exchange could have been, not the quickest that was seen, which quality.RoundTrip returns.
	RoundTrip int64
	Both      bool  // there are messages both ways, and RoundTrip holds
	Least     int64 // the least delay either way that was given or measured, ns
}

// Host is what is known of one clock on the timeline.
type Host struct {
	Skew, SkewLow, SkewHigh float64 // frequency against the timeline, ppm
	// Determined is false if the messages do not determine Skew. With SkewBounded, SkewLow and SkewHigh are strict bounds.
	Determined, SkewBounded bool
	Spread                  pair.Spread // error over its trace, if Bounded
	Bounded                 bool
	// Outside is where the estimate leaves its bounds: nowhere by the methods of our own, unless it is repaired afterwards.
	Outside quality.Outside
	// Deviation is the statistical error, as pair.Estimate has it; nil where the method has none.
	Deviation []pair.Deviation
}

// Route is a way between two clocks whose least delay changed: from At (ns, of the receiver's clock) on it is longer by
// By, ns.
type Route struct {
	From, To int
	At       clock.HostTime
	By       int64
}

// Solution says what there is to know of a timeline. The only errors are those of ctx.
func (o *Ordered) Solution(ctx context.Context) (*Solution, error) {
	if o == nil || o.bounded == nil {
		return nil, errNoStage
	}
	p := o.bounded.placed
	e := p.estimated
	t := e.task
	s := &Solution{
		Method: t.method.name, Network: p.network, Assumption: e.assumed.String(), Assumed: e.assumed,
		Tree: cloneTree(o.tree), Hosts: make([]Host, len(t.problem.Clocks)), Pairs: slices.Clone(e.pairs),
	}
	if t.method.whole != nil {
		s.Assumption, s.Assumed = t.method.assumption, bound.Assumption{}
	}
	believing, err := o.bounded.believing()
	if err != nil {
		return nil, err
	}
	for i := range s.Hosts {
		s.Hosts[i] = o.host(i)
		believing[i].Mid = s.Maps[i].Mid
	}
	s.Believing = believing
	s.False = slices.SortedFunc(slices.Values(t.found), compareFalse)
	o.completePairs(s.Pairs)
	s.Routes = p.allRoutes()
	counts := o.counts
	if counts == nil {
		if counts, err = e.count(ctx, o.tree); err != nil {
			return nil, err
		}
	}
	o.measure(s, counts)
	if t.parted != nil {
		s = join(t.parted, s)
	}
	if t.free != nil {
		s = t.free.solution(s)
		s.Divided = nil // its stamps would be the counters'
	}
	t.settle(s.Tree)
	return s, nil
}

// host returns what is known of a clock.
func (o *Ordered) host(i int) Host {
	p := o.bounded.placed
	e, t := p.estimated, o.tree
	c := &e.task.problem.Clocks[i]
	h := Host{Determined: true, SkewBounded: true}
	h.Spread, h.Bounded = pair.SpreadOf(&t.Maps[i], c.First, c.Last)
	h.Outside = quality.OutsideOf(e.task.problem, &t.Maps[i], i, c.First, c.Last)
	if e.task.method.whole != nil {
		h.Skew = slope(t.Maps[i].Mid, c.First, c.Last)
		h.SkewBounded = t.Parent[i] == i
		return h
	}
	rate, low, high := 1.0, 1.0, 1.0 // of the clock against the timeline
	for at := i; t.Parent[at] != at; at = t.Parent[at] {
		x := e.pairs.between(at, t.Parent[at])
		h.Determined = h.Determined && x.Determined
		h.SkewBounded = h.SkewBounded && x.SkewBounded
		r, l, u := 1+x.Skew/1e6, 1+x.SkewLow/1e6, 1+x.SkewHigh/1e6
		if at < t.Parent[at] { // the estimate is the parent's rate against the clock's
			r, l, u = 1/r, 1/u, 1/l
		}
		rate, low, high = rate*r, low*l, high*u
	}
	h.Skew, h.SkewLow, h.SkewHigh = (rate-1)*1e6, (low-1)*1e6, (high-1)*1e6
	if h.SkewBounded && h.SkewHigh-h.SkewLow > pair.UndeterminedPPM {
		h.Determined = false
	}
	if p.smoothedWith(i) {
		h.Deviation = p.deviations[i]
	} else {
		h.Deviation = e.pairs.deviation(t, i)
	}
	h.Deviation = withinBounds(h.Deviation, &o.tree.Maps[i])
	return h
}

// slope returns the mean frequency of a clock against the timeline, ppm.
func slope(c clock.Curve, first, last clock.HostTime) float64 {
	if last <= first {
		return 0
	}
	from, to := c.At(first, clock.Nearest), c.At(last, clock.Nearest)
	return (float64(last-first)/max(float64(to-from), 1) - 1) * 1e6
}

// deviation returns a clock's statistical error: those of the pairs on its path, added up as independent.
func (l pairList) deviation(t *network.Tree, i int) []pair.Deviation {
	var out []pair.Deviation
	for at := i; t.Parent[at] != at; at = t.Parent[at] {
		e := l.between(at, t.Parent[at])
		if len(e.Deviation) == 0 {
			return nil
		}
		a := min(at, t.Parent[at])
		// From the clock's instants over the timeline to those of the pair's first clock.
		back := t.Maps[a].Mid.Inverse()
		onA := func(host clock.HostTime) clock.HostTime { return back.At(t.Maps[i].At(host), clock.Nearest) }
		if out == nil {
			forth := t.Maps[i].Mid.Inverse()
			for _, d := range e.Deviation {
				out = append(out, pair.Deviation{Host: forth.At(t.Maps[a].At(d.Host), clock.Nearest), Ns: d.Ns})
			}
			continue
		}
		for k := range out {
			out[k].Ns = math.Hypot(out[k].Ns, deviationAt(e.Deviation, onA(out[k].Host)))
		}
	}
	return out
}

// deviationAt interpolates a deviation.
func deviationAt(d []pair.Deviation, host clock.HostTime) float64 {
	i, _ := slices.BinarySearchFunc(d, host, func(d pair.Deviation, t clock.HostTime) int {
		switch {
		case d.Host < t:
			return -1
		case d.Host > t:
			return 1
		}
		return 0
	})
	if i == 0 || i == len(d) {
		return d[min(i, len(d)-1)].Ns
	}
	f := float64(host-d[i-1].Host) / float64(d[i].Host-d[i-1].Host)
	return d[i-1].Ns + f*(d[i].Ns-d[i-1].Ns)
}

// completePairs gives pairs that were not estimated one by one the estimate that follows from the timeline.
func (o *Ordered) completePairs(pairs []Pair) {
	e, t := o.bounded.placed.estimated, o.tree
	whole := e.task.method.whole != nil
	for i := range pairs {
		x := &pairs[i]
		if !whole && (e.byMethod[i] || e.merged.secondOf(x) != nil || x.Estimate.Fit == pair.Absent) {
			continue
		}
		if t.Component[x.A] != t.Component[x.B] {
			continue
		}
		if whole {
			c := &e.task.problem.Clocks[x.A]
			x.Estimate.Fit, x.Estimate.First, x.Estimate.Last = pair.Exact, c.First, c.Last
		}
		x.Estimate.Map.Mid = clock.ComposeCurves(t.Maps[x.A].Mid, t.Maps[x.B].Mid.Inverse(), clock.Nearest)
		setRates(&x.Estimate)
	}
}

// allRoutes returns the routes that changed: those found with all clocks at once, and elsewhere those of the pairs.
func (p *Placed) allRoutes() []Route {
	out := slices.Clone(p.routes)
	for i := range p.estimated.pairs {
		x := &p.estimated.pairs[i]
		if p.smoothedWith(x.A) {
			continue
		}
		for _, r := range x.Estimate.Routes {
			route := Route{From: x.A, To: x.B, At: r.At, By: r.By}
			if !r.FromA {
				route.From, route.To = x.B, x.A
			}
			out = append(out, route)
		}
	}
	return out
}

// measure sums up the counts of all channels, and finds the round trips of the pairs.
func (o *Ordered) measure(s *Solution, counts []quality.Counts) {
	e, t := o.bounded.placed.estimated, o.tree
	s.Quality = quality.Counts{Quickest: math.MaxInt64}
	quickest := make(map[[2]int]int64)
	for j, c := range e.task.problem.Channels {
		s.Quality.Add(counts[j])
		from, to := e.merged.first[c.From], e.merged.first[c.To]
		if from == to { // between the two clocks of a host
			from, to = c.From, c.To
		}
		if known, ok := quickest[[2]int{from, to}]; !ok || counts[j].Quickest < known {
			quickest[[2]int{from, to}] = counts[j].Quickest
		}
	}
	for i := range s.Pairs {
		x := &s.Pairs[i]
		if x.Both = x.AB > 0 && x.BA > 0 && t.Component[x.A] == t.Component[x.B]; x.Both {
			x.RoundTrip = max(clock.Add(quickest[[2]int{x.A, x.B}], quickest[[2]int{x.B, x.A}]), 0) // less is granularity's
		}
	}
}
