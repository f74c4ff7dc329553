package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"meridian/align"
	"meridian/align/quality"
	"meridian/clock"
	"meridian/internal/show"
)

// AsRecorded is the method that aligns nothing: the stamps as they stand, on one timeline by assumption. It has no
// bounds.
const AsRecorded = "none"

// EvaluateOptions says what to measure.
type EvaluateOptions struct {
	Options        // Outputs apart: an evaluation writes none of them
	Compare bool   // every method on the same messages, and not Align.Method
	Truth   string // file of the truth as sim writes it; "" where it is not known
	Plots   string // directory to be made, if need be, and filled with pictures; "" for none
}

// Evaluation is what an evaluation came to.
type Evaluation struct {
	*show.Evaluation
	// Broken lists the promises that could not be kept: hosts left unaligned, inversions, a truth outside of its bounds.
	// A comparison promises no method's success.
	Broken []string
}

// EvaluationMethods returns the names of all methods that can be evaluated, the default first.
func EvaluationMethods() []string { return append(align.Methods(), AsRecorded) }

// estimate is what a method says of the clocks.
type estimate struct {
	method, assumption string
	maps               []clock.Map
	component          []int
	reference          []int // of each clock
	elapsed            time.Duration
	solution           *align.Solution // nil as recorded
	repaired           *show.Repair
	refused            error
}

// Evaluate measures how well the traces are synchronised by one method or by each: what became of the messages, how
// far apart broadcasts are received, how wide the bounds are, and how far from the truth it all is where that is known.
func Evaluate(ctx context.Context, inputs []Input, o EvaluateOptions) (*Evaluation, error) {
	r := &run{Options: o.Options, inputs: inputs, sampled: -1}
	if err := checkPlots(o.Plots); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := r.gather(ctx); err != nil {
		return nil, err
	}
	e := &evaluator{run: r, options: o}
	if err := e.readTruth(); err != nil {
		return nil, err
	}
	estimates, err := e.estimates(ctx)
	if err != nil {
		return nil, err
	}
	e.minima()
	out := &show.Evaluation{Reference: e.referenceName(estimates)}
	for i, x := range estimates {
		r.Progress("measuring", int64(i), int64(len(estimates)))
		m, err := e.measure(ctx, x)
		if err != nil {
			return nil, err
		}
		out.Methods = append(out.Methods, *m)
	}
	e.warn(estimates, out)
	if o.Plots != "" {
		if err := e.plot(ctx, estimates[0]); err != nil {
			return nil, err
		}
	}
	out.Warnings = r.warnings.Lines()
	return &Evaluation{Evaluation: out, Broken: r.broken}, nil
}

// check refuses, before any work is done, options that cannot be.
func (o EvaluateOptions) check() error {
	if o.Align.Method != "" && !slices.Contains(EvaluationMethods(), o.Align.Method) {
		return usage("no method %q; there are %s", o.Align.Method, strings.Join(EvaluationMethods(), ", "))
	}
	if o.Compare || o.Align.Method == AsRecorded {
		o.Align.Method = "" // which takes all options
	}
	return o.Options.check()
}

// evaluator is a run and what its methods are measured by.
type evaluator struct {
	*run
	options EvaluateOptions
	truth   *quality.Truth
	least   []leastDelay // by channel
}

// estimates runs the methods asked for. In a comparison all follow the reference that the first of them chose: errors
// against different clocks cannot be compared. A network strategy holds for the methods that take it, the others keep
// their own.
func (e *evaluator) estimates(ctx context.Context) ([]*estimate, error) {
	methods := []string{e.Align.Method}
	if e.options.Compare {
		methods = EvaluationMethods()
	}
	var estimates []*estimate
	var first *estimate
	options := e.Align
	for i, method := range methods {
		e.Progress("aligning", int64(i), int64(len(methods)))
		options.Method, options.Network = method, e.Align.Network
		if e.options.Compare && options.Check() != nil {
			options.Network = ""
		}
		var x *estimate
		if method == AsRecorded {
			var err error
			if x, err = e.asRecorded(first); err != nil {
				return nil, err
			}
		} else {
			x = e.solve(ctx, options)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if x.refused != nil && !e.options.Compare {
			return nil, &UsageError{x.refused.Error()}
		}
		if x.refused == nil {
			if e.options.Compare {
				x.follow(e.numbers(), options.Reference)
			}
			if err := e.repairEstimate(ctx, x); err != nil {
				return nil, err
			}
		}
		if first == nil && x.refused == nil && x.solution != nil {
			first = x
			e.solution = x.solution
			if len(e.matched.Clocks) > 0 {
				options.Reference = e.matched.Clocks[x.solution.References[e.mainComponent()]].Name
			}
		}
		estimates = append(estimates, x)
	}
	if first == nil && e.options.Compare {
		return nil, &UsageError{errors.Join(estimates[0].refused, fmt.Errorf("no method takes this input")).Error()}
	}
	return estimates, nil
}

// follow puts the clocks that share a timeline with the wanted reference on its own, where a method follows another.
func (x *estimate) follow(number map[string]int, wanted string) {
	to, known := number[wanted]
	if !known || x.reference[to] == to {
		return
	}
	from, back := x.reference[to], x.maps[to].Inverse()
	for i := range x.maps {
		if x.reference[i] == from {
			x.maps[i], x.reference[i] = clock.ComposeMaps(&x.maps[i], &back), to
		}
	}
	x.maps[to] = clock.Identity()
}

// repairEstimate repairs what a method left inverted.
func (e *evaluator) repairEstimate(ctx context.Context, x *estimate) (err error) {
	if x.repaired, err = e.repair(x.maps); err != nil || x.repaired == nil || x.solution == nil {
		return err
	}
	return e.remeasure(ctx, x.solution)
}

// solve runs a method of package align.
func (e *evaluator) solve(ctx context.Context, o align.Options) *estimate {
	begun := time.Now()
	s, err := align.Solve(ctx, &e.matched.Problem, o)
	if err != nil {
		return &estimate{method: o.Method, refused: err}
	}
	x := &estimate{
		method: s.Method, assumption: assumptionOf(s), maps: s.Maps, component: s.Component, solution: s,
		elapsed: time.Since(begun),
	}
	for _, c := range s.Component {
		x.reference = append(x.reference, s.References[c])
	}
	return x
}

// asRecorded takes the stamps as they stand. Beside a method that aligned them it keeps to its components, so that the
// same clocks are compared; alone it takes all clocks for one.
func (e *evaluator) asRecorded(beside *estimate) (*estimate, error) {
	x := &estimate{method: AsRecorded}
	reference := 0
	for i, c := range e.matched.Clocks {
		x.maps = append(x.maps, clock.Map{Mid: clock.Identity().Mid})
		if c.Name == e.Align.Reference {
			reference = i
		}
	}
	if name := e.Align.Reference; name != "" && (len(e.matched.Clocks) == 0 || e.matched.Clocks[reference].Name != name) {
		return nil, usage("no host %q to be the reference", name)
	}
	if beside != nil {
		x.component, x.reference = beside.component, beside.reference
		return x, nil
	}
	for range e.matched.Clocks {
		x.component, x.reference = append(x.component, 0), append(x.reference, reference)
	}
	return x, nil
}

// referenceName names the clock that most others are measured against.
func (e *evaluator) referenceName(estimates []*estimate) string {
	if len(e.matched.Clocks) == 0 {
		return ""
	}
	if e.solution != nil {
		return e.matched.Clocks[e.solution.References[e.mainComponent()]].Name
	}
	return e.matched.Clocks[estimates[0].reference[0]].Name
}

// warn names what is not as promised: for one method all that aligning would name, for a comparison the hosts that no
// method can align.
func (e *evaluator) warn(estimates []*estimate, out *show.Evaluation) {
	if e.solution == nil {
		return
	}
	if e.options.Compare {
		e.report = &show.Report{Reference: out.Reference}
		e.warnOfIslands(together(estimates), needs(""))
		return
	}
	e.repaired = estimates[0].repaired
	e.describe()
	for _, h := range out.Methods[0].Hosts {
		if t := h.Truth; t != nil && t.Always != nil && !*t.Always {
			e.breakOnce(fmt.Sprintf("the truth of %s lies outside of its bounds", h.Name))
		}
	}
}

// together numbers the clocks' components when any method's way from one to another counts.
func together(estimates []*estimate) []int {
	var component []int
	for _, x := range estimates {
		if x.solution == nil {
			continue
		}
		if component == nil {
			component = slices.Clone(x.component)
			continue
		}
		first := make(map[int]int) // of each of the method's components, one of those found so far
		for i, c := range x.component {
			into, known := first[c]
			if !known {
				first[c] = component[i]
				continue
			}
			if from := component[i]; from != into {
				for k := range component {
					if component[k] == from {
						component[k] = into
					}
				}
				for k := range first {
					if first[k] == from {
						first[k] = into
					}
				}
			}
		}
	}
	number := make(map[int]int)
	for i, c := range component {
		if _, known := number[c]; !known {
			number[c] = len(number)
		}
		component[i] = number[c]
	}
	return component
}
