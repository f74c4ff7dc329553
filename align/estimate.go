package align

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"meridian/align/bound"
	"meridian/align/network"
	"meridian/align/pair"
	"meridian/align/steps"
	"meridian/clock"
	"meridian/trace"
)

// Estimated is the first stage: every two clocks that exchanged messages, with the estimate of the method and the strict
// bounds. Clocks that were set are parted into pieces here, so that all later stages see clocks that were not.
//
// It does not change, and [Estimated.Place] may be called any number of times.
type Estimated struct {
	task     *task
	merged   mergedProblem
	pairs    pairList
	spans    []int64 // of each clock; see spansOf
	byMethod []bool  // of each pair: the method estimated it; otherwise the estimate is the middle of the bounds
	assumed  bound.Assumption
}

// errNoStage is the error of a zero value. Its Tree and Pairs, which have no error to return, panic.
var errNoStage = errors.New("not a stage of an alignment: stages come from Estimate and from one another")

// task is what all stages need to know.
type task struct {
	problem   *trace.Problem // the one to be solved: as given, or parted
	options   *Options
	method    *method
	reference int            // index of the clock that the timeline is to follow, -1 for any
	parted    *steps.Parted  // the problem with a clock for each piece; nil where no clock was set
	free      *freeClocks    // the problem as given; nil where no clock has a free one
	found     []FalseMessage // messages that were left out, between clocks of the problem that was given
	rounds    int            // how often messages were left out
}

// strategy returns the network strategy in force.
func (t *task) strategy() string {
	switch {
	case t.options.Network != "":
		return t.options.Network
	case t.method.name == envelopeMethod:
		return joint
	}
	return network.Strategies()[0]
}

// part returns the task of the parted problem. A wanted reference that was set is followed in its longest piece.
func (t *task) part(parted *steps.Parted) *task {
	of := *t
	of.problem, of.parted = &parted.Problem, parted
	if t.reference >= 0 {
		of.reference = parted.Longest(t.reference)
	}
	return &of
}

// Estimate checks a problem and options, and estimates and bounds every pair of clocks. The problem is not changed, and must
// not be by others as long as any stage made from it is in use. Errors are options and fields of the problem that are not
// valid, and those of ctx.
func Estimate(ctx context.Context, p *trace.Problem, o Options) (*Estimated, error) {
	t, err := newTask(p, o)
	if err != nil {
		return nil, err
	}
	e, err := t.estimate(ctx)
	if err != nil {
		return nil, err
	}
	if e.contradictory() {
		parted, err := e.findSteps(ctx)
		if err != nil {
			return nil, err
		}
		if parted != nil {
			if e, err = t.part(parted).estimate(ctx); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

// newTask checks what Estimate is given.
func newTask(p *trace.Problem, o Options) (*task, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	m, err := o.method()
	if err != nil {
		return nil, err
	}
	if p, err = checked(p); err != nil {
		return nil, err
	}
	reference, err := o.reference(p)
	if err != nil {
		return nil, err
	}
	t := &task{problem: p, options: &o, method: m, reference: reference, free: newFreeClocks(p)}
	if t.free != nil {
		t.problem = t.free.widened()
	}
	return t, nil
}

// estimate estimates and bounds the pairs.
func (t *task) estimate(ctx context.Context) (*Estimated, error) {
	e := &Estimated{task: t, assumed: t.options.assumption(t.method)}
	e.merged = mergeSecondClocks(t, e.assumed)
	e.pairs = pairsOf(&e.merged.Problem)
	e.spans = spansOf(t.problem)
	e.byMethod = make([]bool, len(e.pairs))
	if t.method.whole != nil {
		return e, nil
	}
	x := estimator{Estimated: e, problems: e.pairs.problems(&e.merged.Problem, t.options.MinDelay)}
	for i := range x.problems {
		x.problems[i].Unsure = t.unsure(&x.problems[i], e.pairs[i].A, e.pairs[i].B)
	}
	found, err := x.judge(ctx)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		return t.without(found).estimate(ctx)
	}
	if err := x.run(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// Pairs returns every two clocks of the problem that exchanged messages, with their estimates, ordered by clocks. The
// fields that depend on the timeline are not filled in yet.
func (e *Estimated) Pairs() []Pair {
	pairs := []Pair(e.pairs)
	if e.task.parted != nil {
		pairs = joinPairs(e.task.parted, e.pairs)
	}
	if e.task.free != nil {
		return e.task.free.pairs(pairs)
	}
	return slices.Clone(pairs)
}

// contradictory reports whether the messages of some pair may contradict each other under any clocks that were not set.
func (e *Estimated) contradictory() bool {
	if e.task.method.whole != nil {
		return false
	}
	return slices.ContainsFunc(e.pairs, func(x Pair) bool {
		if x.bent() {
			return true
		}
		return x.Estimate.Fit == pair.Fallback && (e.task.method.linear || x.Estimate.Map.Low == nil)
	})
}

// findSteps looks for clocks that were set; nil if there are none, and no outliers.
func (e *Estimated) findSteps(ctx context.Context) (*steps.Parted, error) {
	t := e.task
	pairs := pairsOf(t.problem)
	problems := pairs.problems(t.problem, 0)
	messages := make([]steps.Pair, len(pairs))
	for i := range pairs {
		x := &pairs[i]
		k, estimated := e.pairs.index(x.A, x.B) // messages of second clocks are estimated as those of the first
		messages[i] = steps.Pair{A: x.A, B: x.B, Messages: problems[i], Bent: estimated && e.pairs[k].bent()}
	}
	return steps.Find(ctx, t.problem, messages, e.assumed.Epsilon, t.reference)
}

// bent reports whether the clocks bend more in some stretch than clocks wander.
func (x *Pair) bent() bool {
	return slices.ContainsFunc(x.Stretches, func(s bound.Stretch) bool { return steps.Contradictory(s.Wander) })
}

// estimator makes an Estimated; it may change it until it is returned.
type estimator struct {
	*Estimated
	problems []pair.Problem // of each pair
}

// run bounds every pair and estimates those that the strategy needs.
func (x *estimator) run(ctx context.Context) error {
	o := x.task.options
	if len(x.problems) == 1 && !o.MeasureDelay {
		return x.only(ctx)
	}
	if err := x.bound(ctx); err != nil {
		return err
	}
	// A measured delay is an estimate, so no bound may rest on it: it is put in after the bounds.
	for i := range x.problems {
		if o.MeasureDelay {
			least := pair.MeasuredMinimum(&x.problems[i])
			x.problems[i].MinAB, x.problems[i].MinBA = least, least
		}
		x.pairs[i].Least = x.problems[i].MinAB
	}
	estimate := func(i int) error {
		e, err := x.estimateOf(i)
		if err == nil {
			x.accept(i, e)
		}
		return err
	}
	if x.task.strategy() != joint {
		return x.each(ctx, estimate)
	}
	// All clocks are smoothed at once later. That starts from a tree, of which alone the pairs are smoothed one by one.
	first, err := network.Build("", len(x.merged.Clocks), x.pairs.edges(), x.merged.firstOf(x.task.reference))
	if err != nil {
		return err
	}
	return x.each(ctx, func(i int) error {
		if p := &x.pairs[i]; first.Parent[p.A] == p.B || first.Parent[p.B] == p.A {
			return estimate(i)
		}
		return nil
	})
}

// only bounds and estimates a single pair: both at the same time, once it is known where it is slewed.
func (x *estimator) only(ctx context.Context) error {
	x.pairs[0].Least = x.problems[0].MinAB
	var group errgroup.Group
	var e pair.Estimate
	group.Go(func() error {
		x.boundOne(0)
		return nil
	})
	group.Go(func() (err error) {
		e, err = x.estimateOf(0)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	x.accept(0, e)
	return ctx.Err()
}

// each runs a function for every pair, as many at a time as there are processors.
func (x *estimator) each(ctx context.Context, f func(i int) error) error {
	return eachOf(ctx, len(x.pairs), f)
}

// eachOf runs a function for every number below n, as many at a time as there are processors.
func eachOf(ctx context.Context, n int, f func(i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return f(i)
		})
	}
	return group.Wait()
}

// estimateOf runs the method on a pair.
func (x *estimator) estimateOf(i int) (pair.Estimate, error) {
	o := x.task.options
	estimate := func(p *pair.Problem) (pair.Estimate, error) {
		if bent := x.task.method.bent; bent != nil {
			return bent(p, x.pairs[i].Stretches)
		}
		return x.task.method.pair(p, o)
	}
	if o.Segment > 0 {
		return pair.Segmented(&x.problems[i], o.Segment.Nanoseconds(), estimate)
	}
	return estimate(&x.problems[i])
}

// accept makes an estimate that of a pair, with the bounds that the pair has.
func (x *estimator) accept(i int, e pair.Estimate) {
	p := &x.pairs[i]
	if x.merged.secondOf(p) != nil {
		return
	}
	if !x.task.method.linear {
		known := p.Estimate
		e.Fit, e.Wander = known.Fit, known.Wander
		e.Map.Low, e.Map.High = known.Map.Low, known.Map.High
		e.First, e.Last = known.First, known.Last
		setRates(&e)
	}
	p.Estimate, x.byMethod[i] = e, true
}

// bound gives every pair its strict bounds: those of the assumption, and of a greater wander where the messages show one.
func (x *estimator) bound(ctx context.Context) error {
	return x.each(ctx, func(i int) error {
		x.boundOne(i)
		return nil
	})
}

// boundOne sets the bounds of a pair and, for the time being, the middle between them as its estimate.
func (x *estimator) boundOne(i int) {
	if x.task.method.linear {
		return
	}
	p, problem := &x.pairs[i], &x.problems[i]
	if second := x.merged.secondOf(p); second != nil {
		p.Estimate = second.estimate
		return
	}
	p.Estimate = pair.Estimate{}
	tolerance := x.task.tolerance(p.A, p.B)
	p.setTolerated(&tolerance)
	c, believing := bound.NewBoth(problem, x.assumed, tolerance, p.Stretches...)
	if c.Empty() {
		return
	}
	from, to := reachOf(x.spans[p.A], problem.A.First, problem.A.Last)
	if low, high, ok := believing.Curves(from, to); ok {
		p.Believing = clock.PairMap{Low: low, High: high}
	}
	low, high, ok := c.Curves(from, to)
	if !ok { // contradictory under any clocks
		p.Estimate = pair.Cones(problem)
		p.Estimate.Map.Low, p.Estimate.Map.High = nil, nil
		return
	}
	p.Estimate = boundedEstimate(problem, c, low, high)
	for _, s := range p.Stretches {
		p.Estimate.Fit = pair.Fallback
		if !math.IsInf(s.Wander, 1) {
			p.Estimate.Wander = max(p.Estimate.Wander, int64(s.Wander))
		}
	}
}
