package align

import (
	"context"

	"meridian/trace"
)

// Solve aligns the clocks of a problem: all stages from [Estimate] to [Ordered.Solution]. Errors are options and fields of
// the problem that are not valid, a method that cannot work on what it is given, and those of ctx. Otherwise there is a
// solution, whatever the messages are like, and its pairs say how good it is.
func Solve(ctx context.Context, p *trace.Problem, o Options) (*Solution, error) {
	e, err := Estimate(ctx, p, o)
	for err == nil {
		var ordered *Ordered
		if ordered, err = e.order(ctx); err != nil {
			break
		}
		if e, err = ordered.Reconsider(ctx); err == nil && e == nil {
			return ordered.Solution(ctx)
		}
	}
	return nil, err
}

// order takes an estimate through all stages to the last.
func (e *Estimated) order(ctx context.Context) (*Ordered, error) {
	placed, err := e.Place(ctx)
	if err != nil {
		return nil, err
	}
	bounded, err := placed.Bound()
	if err != nil {
		return nil, err
	}
	return bounded.Order(ctx)
}
