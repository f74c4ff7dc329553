package evaluate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"meridian/align"
	"meridian/clock"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/usage"
	"meridian/internal/show"
	"meridian/trace"
)

// estimate is what a method says of the clocks.
type estimate struct {
	method, assumption string
	maps               []clock.Map
	component          []int
	reference          []int // of each clock
	elapsed            time.Duration
	solution           *align.Solution // nil as recorded
	divided            *align.Divided  // by the pieces of clocks that were set; nil without any
	repair             *show.Repair
	refused            error // why the method does not take this input; nothing else is set then but its name
}

// estimator runs methods on one problem.
type estimator struct {
	*pipeline.Matched
	options *Options
	problem *trace.Problem // of Matched, as alignment sees it
	first   *estimate      // the first that aligned the clocks; nil without any
}

// estimates runs the methods asked for. In a comparison all follow the reference that the first of them chose: errors
// against different clocks cannot be compared. A network strategy holds for the methods that take it, the others keep
// their own.
func (e *estimator) estimates(ctx context.Context) ([]*estimate, error) {
	methods := []string{e.options.Align.Method}
	if e.options.Compare {
		methods = Methods()
	}
	var all []*estimate
	for i, method := range methods {
		e.options.Progress.Report("aligning", int64(i), int64(len(methods)))
		x, err := e.estimate(ctx, method)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	if e.first == nil && e.options.Compare {
		return nil, &usage.Error{Reason: errors.Join(all[0].refused, fmt.Errorf("no method takes this input")).Error()}
	}
	return all, nil
}

// estimate runs one method.
func (e *estimator) estimate(ctx context.Context, method string) (x *estimate, err error) {
	o := e.options.Align
	o.Method, o.Reference = method, e.wanted()
	if e.options.Compare && o.Check() != nil {
		o.Network = ""
	}
	if method == pipeline.AsRecorded {
		if x, err = e.asRecorded(); err != nil {
			return nil, err
		}
	} else {
		x = e.solve(ctx, o.Options)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case x.refused != nil && e.options.Compare:
		return x, nil
	case x.refused != nil:
		return nil, &usage.Error{Reason: x.refused.Error()}
	}
	if e.options.Compare {
		x.rebase(e.clockNamed(o.Reference))
	}
	if err := e.repair(ctx, x, o); err != nil {
		return nil, err
	}
	if e.first == nil && x.solution != nil {
		e.first = x
	}
	return x, nil
}

// wanted is the reference that methods are to follow; "" for any.
func (e *estimator) wanted() string {
	if e.first != nil && len(e.Clocks) > 0 {
		return e.firstReference()
	}
	return e.options.Align.Reference
}

// firstReference is the reference of the largest component of the first estimate.
func (e *estimator) firstReference() string {
	s := e.first.solution
	return e.Clocks[s.References[e.Largest(s.Component, e.options.Align.Reference)]].Name
}

// clockNamed returns the number of a clock, -1 if there is none of the name.
func (e *estimator) clockNamed(name string) int {
	number := -1
	for i, c := range e.Clocks {
		if c.Name == name {
			number = i
		}
	}
	return number
}

// rebase puts the clocks that share a timeline with a wanted reference on its clock, where the method follows another.
func (x *estimate) rebase(to int) {
	if to < 0 || x.reference[to] == to {
		return
	}
	from, back := x.reference[to], x.maps[to].Inverse()
	onto := func(m clock.Map) clock.Map {
		composed := clock.ComposeMaps(&m, &back)
		return clock.ConvertMap[clock.HostTime, clock.TimelineTime](&composed)
	}
	reference := x.reference
	x.maps, x.reference = slices.Clone(x.maps), slices.Clone(x.reference)
	for i := range x.maps {
		if reference[i] == from {
			x.maps[i], x.reference[i] = onto(x.maps[i]), to
		}
	}
	x.maps[to] = clock.Identity()
	if x.divided == nil {
		return
	}
	d := *x.divided
	d.Maps = slices.Clone(d.Maps)
	for k, c := range d.ClockOf {
		if reference[c] == from {
			d.Maps[k] = onto(d.Maps[k])
		}
	}
	x.divided = &d
}

// repair repairs what a method left inverted.
func (e *estimator) repair(ctx context.Context, x *estimate, o pipeline.AlignOptions) (err error) {
	switch {
	case o.Repair == "":
	case x.solution == nil: // as recorded
		x.maps, x.repair, err = pipeline.RepairMaps(e.problem, x.maps, o, func(i int) string { return e.Clocks[i].Host })
	default:
		s, tree := *x.solution, *x.solution.Tree
		s.Tree, tree.Maps, s.Divided = &tree, x.maps, x.divided
		x.solution, x.repair, err = pipeline.Repair(ctx, e.problem, &s, o)
		if err == nil {
			x.maps, x.divided = x.solution.Maps, x.solution.Divided
		}
	}
	return err
}

// solve runs a method of package align.
func (e *estimator) solve(ctx context.Context, o align.Options) *estimate {
	begun := time.Now()
	s, err := align.Solve(ctx, e.problem, o)
	if err != nil {
		return &estimate{method: o.Method, refused: err}
	}
	x := &estimate{
		divided: s.Divided, method: s.Method, assumption: pipeline.AssumptionOf(s, e.Clocks, o), maps: s.Maps, component: s.Component, solution: s,
		elapsed: time.Since(begun),
	}
	for _, c := range s.Component {
		x.reference = append(x.reference, s.References[c])
	}
	return x
}

// asRecorded takes the stamps as they are. After a method that aligned them it keeps to its components, so that the same
// clocks are compared; alone it takes all clocks for one component.
func (e *estimator) asRecorded() (*estimate, error) {
	x := &estimate{method: pipeline.AsRecorded}
	reference := 0
	if name := e.options.Align.Reference; name != "" {
		if reference = e.clockNamed(name); reference < 0 {
			return nil, usage.Errorf("unknown reference host %q", name)
		}
	}
	for range e.Clocks {
		x.maps = append(x.maps, clock.Map{Mid: clock.Identity().Mid})
	}
	if e.first != nil {
		x.component, x.reference = e.first.component, e.first.reference
		return x, nil
	}
	for range e.Clocks {
		x.component, x.reference = append(x.component, 0), append(x.reference, reference)
	}
	return x, nil
}

// referenceName names the clock that most others are measured against.
func (e *estimator) referenceName(estimates []*estimate) string {
	switch {
	case len(e.Clocks) == 0:
		return ""
	case e.first != nil:
		return e.firstReference()
	}
	return e.Clocks[estimates[0].reference[0]].Name
}
