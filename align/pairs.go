package align

import (
	"context"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"meridian/align/bound"
	"meridian/align/network"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// pairsOf returns a pair for every two clocks with messages between them, ordered by clocks.
func pairsOf(p *trace.Problem) []Pair {
	var pairs []Pair
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
	slices.SortFunc(pairs, func(p, q Pair) int {
		if p.A != q.A {
			return p.A - q.A
		}
		return p.B - q.B
	})
	return pairs
}

// messagesOf gathers the messages of every pair, both ways, in one pass over the channels.
func (s *solving) messagesOf() []pair.Problem {
	problems := make([]pair.Problem, len(s.Pairs))
	number := make(map[[2]int]int)
	for i := range s.Pairs {
		x := &s.Pairs[i]
		problems[i] = pair.Problem{A: s.Clocks[x.A], B: s.Clocks[x.B], MinAB: s.options.MinDelay, MinBA: s.options.MinDelay}
		number[[2]int{x.A, x.B}] = i
	}
	for _, c := range s.Channels {
		if len(c.Messages) == 0 || c.From == c.To {
			continue
		}
		p := &problems[number[[2]int{min(c.From, c.To), max(c.From, c.To)}]]
		if c.From < c.To {
			p.AB = append(p.AB, c.Messages)
		} else {
			p.BA = append(p.BA, c.Messages)
		}
	}
	return problems
}

// estimate bounds every pair and estimates those that the strategy needs.
func (s *solving) estimate(ctx context.Context) error {
	if s.method.whole != nil {
		return nil
	}
	problems := s.messagesOf()
	s.problems = problems
	s.estimated = make([]bool, len(s.Pairs))
	if len(problems) == 1 && !s.options.MeasureDelay {
		return s.estimateOnly(ctx, &problems[0])
	}
	if err := s.bound(ctx, problems); err != nil {
		return err
	}
	// What was measured is an estimate, on which no bound may rest.
	for i := range problems {
		if s.options.MeasureDelay {
			least := pair.MeasuredMinimum(&problems[i])
			problems[i].MinAB, problems[i].MinBA = least, least
		}
		s.Pairs[i].Least = problems[i].MinAB
	}
	if s.strategy() != joint {
		return s.each(ctx, func(i int) error { return s.estimateOne(i, &problems[i]) })
	}
	// Of a network only the pairs of a tree are smoothed one by one.
	first, err := network.Build("", len(s.Clocks), s.edges(), s.chosen)
	if err != nil {
		return err
	}
	return s.each(ctx, func(i int) error {
		if x := &s.Pairs[i]; first.Parent[x.A] == x.B || first.Parent[x.B] == x.A {
			return s.estimateOne(i, &problems[i])
		}
		return nil
	})
}

// strategy returns the network strategy in force.
func (s *solving) strategy() string {
	switch {
	case s.options.Network != "":
		return s.options.Network
	case s.method.name == envelopeMethod:
		return joint
	}
	return network.Strategies()[0]
}

// each runs a function for every pair, as many at a time as there are processors.
func (s *solving) each(ctx context.Context, f func(i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range s.Pairs {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return f(i)
		})
	}
	return group.Wait()
}

// estimateOnly bounds and estimates a single pair, both at once.
func (s *solving) estimateOnly(ctx context.Context, p *pair.Problem) error {
	s.Pairs[0].Least = p.MinAB
	group, inner := errgroup.WithContext(ctx)
	var e pair.Estimate
	group.Go(func() error { return s.bound(inner, s.problems) })
	group.Go(func() (err error) {
		e, err = s.run(p)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	s.take(0, e)
	return ctx.Err()
}

// estimateOne runs the method on a pair.
func (s *solving) estimateOne(i int, p *pair.Problem) error {
	e, err := s.run(p)
	if err == nil {
		s.take(i, e)
	}
	return err
}

// run runs the method.
func (s *solving) run(p *pair.Problem) (pair.Estimate, error) {
	estimate := func(p *pair.Problem) (pair.Estimate, error) { return s.method.pair(p, s.options) }
	if s.options.Segment > 0 {
		return pair.Segmented(p, s.options.Segment.Nanoseconds(), estimate)
	}
	return estimate(p)
}

// take makes an estimate a pair's, with the bounds that the pair has.
func (s *solving) take(i int, e pair.Estimate) {
	x := &s.Pairs[i]
	if s.secondOf(x) != nil {
		return
	}
	if !s.method.linear {
		known := x.Estimate
		e.Fit, e.Wander = known.Fit, known.Wander
		e.Map.Low, e.Map.High = known.Map.Low, known.Map.High
		e.First, e.Last = known.First, known.Last
		rates(&e)
	}
	x.Estimate, s.estimated[i] = e, true
}

// bound gives every pair the strict bounds of the stated wander. Where the messages of some contradict it, the smallest
// wander that all allow is found, and all bounds rest on twice that: jitter hides a part of what clocks wander.
func (s *solving) bound(ctx context.Context, problems []pair.Problem) error {
	if s.method.linear {
		return nil
	}
	refused := make([]bool, len(s.Pairs))
	err := s.each(ctx, func(i int) error {
		refused[i] = !s.boundOne(i, &problems[i])
		return nil
	})
	if err != nil || !slices.Contains(refused, true) {
		return err
	}
	least := make([]float64, len(s.Pairs))
	err = s.each(ctx, func(i int) error {
		if refused[i] {
			least[i] = bound.Least(&problems[i], s.Assumed.Epsilon)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, w := range least {
		if !math.IsInf(w, 1) {
			s.LeastWander = max(s.LeastWander, w)
		}
	}
	s.Assumed.Wander = max(s.Assumed.Wander, 2*s.LeastWander)
	return s.each(ctx, func(i int) error {
		if !s.boundOne(i, &problems[i]) { // contradictory under any clock
			x := &s.Pairs[i]
			x.Estimate = pair.Hull(&problems[i])
			x.Estimate.Map.Low, x.Estimate.Map.High = nil, nil
		} else if refused[i] {
			s.Pairs[i].Estimate.Fit = pair.Fallback
			s.Pairs[i].Estimate.Wander = int64(s.Assumed.Wander)
		}
		return nil
	})
}

// shownNats is by how many nats a wander must explain the messages better than none to be taken as shown.
const shownNats = 6

// widen lets the bounds rest on the wander that the messages show, where nobody has stated one and it is more than what is
// assumed of clocks otherwise: five standard deviations of the walk that was found. What clocks in ordinary rooms show stays
// below the default.
func (s *solving) widen(ctx context.Context) error {
	if s.options.Assumption != nil || s.method.linear || s.method.whole != nil {
		return nil
	}
	shown := 0.0
	for i := range s.Pairs {
		if e := &s.Pairs[i].Estimate; e.Gain > shownNats {
			shown = max(shown, bound.FromWalk(e.Sigma, 5, s.Assumed.Epsilon).Wander)
		}
	}
	if shown <= s.Assumed.Wander {
		return nil
	}
	s.Assumed.Wander, s.ShownWander = shown, shown
	return s.each(ctx, func(i int) error {
		x := &s.Pairs[i]
		if s.secondOf(x) != nil {
			return nil
		}
		before := x.Estimate
		if s.boundOne(i, &s.problems[i]) && before.Map.Mid != nil && before.Map.Low != nil {
			after := x.Estimate
			x.Estimate = before
			x.Estimate.Map.Low, x.Estimate.Map.High = after.Map.Low, after.Map.High
			if !s.estimated[i] {
				x.Estimate.Map.Mid = after.Map.Mid
			}
			rates(&x.Estimate)
			return nil
		}
		x.Estimate = before
		return nil
	})
}

// boundOne sets a pair's bounds and, for the time being, the middle between them as its estimate. It reports false where
// the messages contradict the assumption.
func (s *solving) boundOne(i int, p *pair.Problem) bool {
	x := &s.Pairs[i]
	if second := s.secondOf(x); second != nil {
		x.Estimate = second.estimate
		return true
	}
	x.Estimate = pair.Estimate{}
	c := bound.New(p, s.Assumed)
	if c.Empty() {
		return true
	}
	low, high, ok := c.Curves(s.reach(p.A.First, p.A.Last))
	if !ok {
		return false
	}
	e := pair.Estimate{Fit: pair.Exact, Map: clock.Map{Low: low, High: high}}
	e.First, e.Last = c.Extent()
	if low == nil || high == nil {
		one := pair.Hull(p)
		e.Fit, e.Map.Mid, e.Skew, e.Determined = pair.OneWay, one.Map.Mid, one.Skew, one.Determined
	} else {
		e.Map.Mid = between(low, high)
		rates(&e)
	}
	x.Estimate = e
	return true
}

// reach extends the extent of a trace so far that every other clock's trace, wherever it lies, is covered if it has
// messages within this one.
func (s *solving) reach(first, last int64) (from, to int64) {
	span := int64(10_000_000_000)
	for _, c := range s.Clocks {
		span = max(span, clock.Sub(c.Last, c.First))
	}
	return max(clock.Sub(first, span), -clock.Limit), min(clock.Add(last, span), clock.Limit)
}

// between returns the curve halfway between two that have the same knots.
func between(low, high clock.Curve) clock.Curve {
	mid := make(clock.Curve, len(low))
	for i := range low {
		mid[i] = clock.Knot{X: low[i].X, Y: low[i].Y + (high[i].Y-low[i].Y)/2}
	}
	return mid
}

// rates fills in what an estimate and its bounds say about the mean rate over the messages.
func rates(e *pair.Estimate) {
	span := float64(e.Last - e.First)
	e.Determined, e.Enclosed = false, false
	if span <= 0 || e.Map.Mid == nil {
		return
	}
	rate := func(from, to int64) float64 { return (float64(to-from)/span - 1) * 1e6 }
	e.Skew = rate(e.Map.At(e.First), e.Map.At(e.Last))
	low1, high1, _, _ := e.Map.Bounds(e.First)
	low2, high2, lowOK, highOK := e.Map.Bounds(e.Last)
	if !lowOK || !highOK {
		e.Determined = span >= shortestSkewSpan
		return
	}
	e.SkewLow, e.SkewHigh = rate(high1, low2), rate(low1, high2)
	e.Enclosed = true
	e.Determined = e.SkewHigh-e.SkewLow <= pair.UndeterminedPPM
}

// shortestSkewSpan is how long messages must flow before the slope of an estimate without bounds says anything, ns.
const shortestSkewSpan = 10_000_000_000

// unboundedWeight is the weight of a pair whose offset is open to one side: any bounded path is better.
const unboundedWeight = 1e15

// edges weighs the pairs: by residual deviation where the method has one (K8), by mean bound otherwise.
func (s *solving) edges() []network.Edge {
	var edges []network.Edge
	for i := range s.Pairs {
		x := &s.Pairs[i]
		if x.Estimate.Fit == pair.Absent {
			continue
		}
		e := network.Edge{A: x.A, B: x.B, Map: x.Estimate.Map, Weight: unboundedWeight}
		if spread, ok := x.Estimate.Error(); ok {
			e.Weight = float64(spread.Mean)
		}
		if x.Estimate.Exchanges > 0 {
			e.Weight = x.Estimate.Residual
		}
		edges = append(edges, e)
	}
	return edges
}
