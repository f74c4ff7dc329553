package align

import (
	"cmp"
	"slices"

	"meridian/align/bound"
	"meridian/align/network"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// pairList is pairs ordered by clocks.
type pairList []Pair

// pairsOf returns a pair for every two clocks with messages between them, ordered by clocks.
func pairsOf(p *trace.Problem) pairList {
	var pairs pairList
	known := make(map[[2]int]int)
	for _, c := range p.Channels {
		if len(c.Messages) == 0 || c.From == c.To {
			continue
		}
		a, b := min(c.From, c.To), max(c.From, c.To)
		i, seen := known[[2]int{a, b}]
		if !seen {
			i = len(pairs)
			known[[2]int{a, b}] = i
			pairs = append(pairs, Pair{A: a, B: b})
		}
		if c.From == a {
			pairs[i].AB += int64(len(c.Messages))
		} else {
			pairs[i].BA += int64(len(c.Messages))
		}
	}
	slices.SortFunc(pairs, func(p, q Pair) int { return p.compare(q.A, q.B) })
	return pairs
}

// compare orders pairs by their clocks.
func (x *Pair) compare(a, b int) int { return cmp.Or(cmp.Compare(x.A, a), cmp.Compare(x.B, b)) }

// index returns the place of the pair of two clocks; false if they exchanged no messages.
func (l pairList) index(a, b int) (int, bool) {
	return slices.BinarySearchFunc(l, [2]int{min(a, b), max(a, b)}, func(x Pair, key [2]int) int { return x.compare(key[0], key[1]) })
}

// between returns the estimate of two clocks, that of equal clocks if they exchanged no messages.
func (l pairList) between(a, b int) *pair.Estimate {
	if i, found := l.index(a, b); found {
		return &l[i].Estimate
	}
	return &pair.Estimate{Map: clock.PairIdentity()}
}

// leastDelay returns the least delay possible between two clocks, ns.
func (l pairList) leastDelay(a, b int) int64 {
	if i, found := l.index(a, b); found {
		return l[i].Least
	}
	return 0
}

// problems gathers the messages of every pair, both ways, in one pass over the channels. The messages are shared.
func (l pairList) problems(p *trace.Problem, minDelay int64) []pair.Problem {
	problems := make([]pair.Problem, len(l))
	number := make(map[[2]int]int)
	for i := range l {
		x := &l[i]
		problems[i] = pair.Problem{A: p.Clocks[x.A], B: p.Clocks[x.B], MinAB: minDelay, MinBA: minDelay}
		number[[2]int{x.A, x.B}] = i
	}
	for _, c := range p.Channels {
		if len(c.Messages) == 0 || c.From == c.To {
			continue
		}
		x := &problems[number[[2]int{min(c.From, c.To), max(c.From, c.To)}]]
		if c.From < c.To {
			x.AB = append(x.AB, c.Messages)
		} else {
			x.BA = append(x.BA, c.Messages)
		}
	}
	return problems
}

// boundedEstimate returns the bounds of two clocks as an estimate, with the middle between them.
func boundedEstimate(p *pair.Problem, c *bound.Corridor, low, high clock.PairCurve) pair.Estimate {
	e := pair.Estimate{Fit: pair.Exact, Map: clock.PairMap{Low: low, High: high}}
	e.First, e.Last = c.Extent()
	if low == nil || high == nil {
		line := pair.Hull(p)
		e.Fit, e.Map.Mid, e.Skew, e.Determined = pair.OneWay, line.Map.Mid, line.Skew, line.Determined
		return e
	}
	e.Map.Mid = middle(low, high)
	setRates(&e)
	return e
}

// spansOf returns for each clock of a problem how long the longest trace is of a clock of its component, ns: those that
// exchanged messages, directly or over others.
func spansOf(p *trace.Problem) []int64 {
	root := make([]int, len(p.Clocks)) // of each clock one of its component; that of the whole component in the end
	for i := range root {
		root[i] = i
	}
	find := func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for _, c := range p.Channels {
		if len(c.Messages) > 0 {
			root[find(c.From)] = find(c.To)
		}
	}
	spans := make([]int64, len(root))
	for i, c := range p.Clocks {
		r := find(i)
		spans[r] = max(spans[r], clock.Sub(c.Last, c.First))
	}
	for i := range spans {
		spans[i] = spans[find(i)]
	}
	return spans
}

// reachOf returns over which interval of a clock, whose trace has the given extent, a pair must be bounded: the trace of every
// other clock of its component, the longest of which has so many ns, is covered wherever it lies, if it has messages within
// this one.
func reachOf(longest int64, first, last clock.HostTime) (from, to clock.HostTime) {
	span := max(longest, 10_000_000_000)
	return max(clock.Add(first, -span), -clock.Limit), min(clock.Add(last, span), clock.Limit)
}

// middle returns the curve halfway between two with knots at the same host times.
func middle(low, high clock.PairCurve) clock.PairCurve {
	mid := make(clock.PairCurve, len(low))
	for i := range low {
		mid[i] = clock.PairKnot{X: low[i].X, Y: clock.Add(low[i].Y, int64(high[i].Y-low[i].Y)/2)}
	}
	return mid
}

// setRates sets the skew of an estimate, and its interval, from the map: the mean rate over the messages.
func setRates(e *pair.Estimate) {
	span := float64(e.Last - e.First)
	e.Determined, e.SkewBounded = false, false
	if span <= 0 || e.Map.Mid == nil {
		return
	}
	rate := func(from, to clock.HostTime) float64 { return (float64(to-from)/span - 1) * 1e6 }
	e.Skew = rate(e.Map.At(e.First), e.Map.At(e.Last))
	low1, high1, _, _ := e.Map.Bounds(e.First)
	low2, high2, lowOK, highOK := e.Map.Bounds(e.Last)
	if !lowOK || !highOK {
		e.Determined = span >= minSkewSpan
		return
	}
	e.SkewLow, e.SkewHigh = rate(high1, low2), rate(low1, high2)
	e.SkewBounded = true
	e.Determined = e.SkewHigh-e.SkewLow <= pair.UndeterminedPPM
}

// minSkewSpan is the least extent of the messages for which the slope of an estimate without bounds is taken as its skew, ns.
const minSkewSpan = 10_000_000_000

// unboundedWeight is the weight of a pair whose offset is unbounded on one side: any bounded path is better.
const unboundedWeight = 1e15

// edges returns the pairs as edges of the network, weighted by the residual deviation where the method has one (K8) and by
// the mean bound otherwise.
func (l pairList) edges() []network.Edge {
	var edges []network.Edge
	for i := range l {
		x := &l[i]
		if x.Estimate.Fit == pair.Absent {
			continue
		}
		e := network.Edge{A: x.A, B: x.B, Map: x.Estimate.Map, Weight: unboundedWeight}
		if spread, ok := x.Estimate.Error(); ok {
			e.Weight = float64(spread.Mean)
		}
		if x.Estimate.Exchanges > 2 { // two leave no residual
			e.Weight = x.Estimate.Residual
		}
		edges = append(edges, e)
	}
	return edges
}
