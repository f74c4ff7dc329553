// Package evaluate measures how well traces are synchronised, by one method of alignment or by each.
//
//	pipeline.Match --> Matched --> an estimate for each method --> show.Evaluation, plots
//
// All methods are measured on the same messages: what became of them, how far apart broadcasts are received, how wide the
// bounds are, and how far from the truth the estimate is where that is known. The metrics are those of align/quality.
package evaluate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"meridian/align"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/pipeline/usage"
	"meridian/internal/show"
	"meridian/trace"
)

// Options says what to measure.
type Options struct {
	Match    pipeline.MatchOptions
	Align    pipeline.AlignOptions // the method may be pipeline.AsRecorded
	Compare  bool                  // measures every method, and not that of Align
	Truth    string                // file of the truth as sim writes it; "" where it is not known
	Plots    string                // directory to be made, if need be, and filled with pictures; "" for none
	Progress pipeline.Progress
}

// Evaluation is the result of an evaluation.
type Evaluation struct {
	*show.Evaluation
	// Broken lists the promises that could not be kept: hosts left unaligned, inversions, a truth outside of its bounds.
	// A comparison promises no method's success.
	Broken []string
}

// Methods returns the names of all methods that can be evaluated, the default first.
func Methods() []string { return append(align.Methods(), pipeline.AsRecorded) }

// check refuses, before any work is done, options that cannot be.
func (o *Options) check() error {
	if err := checkPlots(o.Plots); err != nil {
		return err
	}
	if o.Align.Method != "" && !slices.Contains(Methods(), o.Align.Method) {
		return usage.Errorf("unknown method %q (%s)", o.Align.Method, strings.Join(Methods(), ", "))
	}
	a := o.Align
	if o.Compare || a.Method == pipeline.AsRecorded {
		a.Method = "" // which takes all options
	}
	if err := a.Check(); err != nil {
		return &usage.Error{Reason: err.Error()}
	}
	return a.CheckRepair()
}

// Run measures how well the traces are synchronised.
func Run(ctx context.Context, traces []input.Trace, o Options) (*Evaluation, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	w := new(trace.Warnings)
	read := pipeline.Options{Match: o.Match, Progress: o.Progress}
	matched, err := read.ReadAndMatch(ctx, traces, w)
	if err != nil {
		return nil, err
	}
	truth, err := readTruth(o.Truth, matched.Clocks, w)
	if err != nil {
		return nil, err
	}
	e := &estimator{Matched: matched, options: &o, problem: pipeline.ForAlignment(matched, o.Align.Replies)}
	estimates, err := e.estimates(ctx)
	if err != nil {
		return nil, err
	}
	m := newMeasurer(e.problem, truth)
	result := &Evaluation{Evaluation: &show.Evaluation{Reference: e.referenceName(estimates)}}
	for i, x := range estimates {
		o.Progress.Report("measuring", int64(i), int64(len(estimates)))
		measured, err := m.measure(ctx, x)
		if err != nil {
			return nil, err
		}
		result.Methods = append(result.Methods, *measured)
	}
	if err := result.describe(ctx, e, estimates, w); err != nil {
		return nil, err
	}
	if o.Plots != "" {
		p := &plotter{Matched: matched, truth: truth, estimate: estimates[0], dir: o.Plots, warnings: w}
		if err := p.plot(ctx); err != nil {
			return nil, err
		}
	}
	if damage := w.Gaps(); damage != "" {
		result.Broken = append(result.Broken, damage)
	}
	result.Warnings = w.Lines()
	return result, nil
}

// describe names what is not as promised: for one method all that aligning would name, for a comparison the hosts that no
// method can align.
func (r *Evaluation) describe(ctx context.Context, e *estimator, estimates []*estimate, w *trace.Warnings) error {
	switch {
	case e.first == nil:
	case e.options.Compare:
		if broken := e.WarnOfIslands(joinComponents(estimates), e.options.Align.Reference, r.Reference, "messages", w); broken != "" {
			r.Broken = append(r.Broken, broken)
		}
	default:
		x := estimates[0]
		solved := pipeline.Solved{Matched: e.Matched, Solution: x.solution, Repair: x.repair, Options: e.options.Align}
		described, err := solved.Describe(ctx, w)
		if err != nil {
			return err
		}
		r.Broken = append(described.Broken, described.SelfCheck(w)...)
		for _, h := range r.Methods[0].Hosts {
			if t := h.Truth; t != nil && t.Always != nil && !*t.Always {
				r.Broken = append(r.Broken, fmt.Sprintf("the truth of %s lies outside of its bounds", h.Name))
			}
		}
	}
	return nil
}

// joinComponents numbers the components that clocks form when any method's connection counts.
func joinComponents(estimates []*estimate) []int {
	var joined []int
	for _, x := range estimates {
		switch {
		case x.solution == nil:
		case joined == nil:
			joined = slices.Clone(x.component)
		default:
			join(joined, x.component)
		}
	}
	number := make(map[int]int)
	for i, c := range joined {
		if _, known := number[c]; !known {
			number[c] = len(number)
		}
		joined[i] = number[c]
	}
	return joined
}

// join makes one component of all those in joined of which a method connects clocks.
func join(joined, component []int) {
	into := make(map[int]int) // by component of the method: one of joined
	for i, c := range component {
		to, known := into[c]
		if !known {
			into[c] = joined[i]
			continue
		}
		from := joined[i]
		for k := range joined {
			if joined[k] == from {
				joined[k] = to
			}
		}
		for k := range into {
			if into[k] == from {
				into[k] = to
			}
		}
	}
}
