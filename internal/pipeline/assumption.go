package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"meridian/align"
	"meridian/trace"
)

// AssumptionOf returns what the bounds of a solution rest on, in words: how the clocks behave, how coarse their stamps are where
// they are coarser than 1 ns, and the least delay that was stated. It is "" where the method bounds no clock.
func AssumptionOf(s *align.Solution, clocks []trace.Clock, o align.Options) string {
	if s.Assumption == "" || !boundsAny(s) {
		return ""
	}
	parts := []string{s.Assumption}
	switch {
	case o.MinDelay > 0:
		parts = append(parts, fmt.Sprintf("no message takes less than %v (--min-delay)", time.Duration(o.MinDelay)))
	case o.MeasureDelay && s.Method == "hull":
		parts = append(parts, "no message takes less than half of its pair's quickest exchange (--min-delay measured)")
	}
	if tolerated := toleranceClause(s, clocks, &o); tolerated != "" {
		parts = append(parts, tolerated)
	}
	if coarse := granularityClause(clocks); coarse != "" {
		parts = append(parts, coarse)
	}
	return strings.Join(parts, "; ")
}

// boundsAny reports whether a solution bounds a clock beside the references, or has no others.
func boundsAny(s *align.Solution) bool {
	others := false
	for i := range s.Maps {
		if s.Parent[i] == i {
			continue
		}
		if others = true; s.Maps[i].Low != nil || s.Maps[i].High != nil {
			return true
		}
	}
	return !others
}

// granularityClause says how coarse the stamps of which clocks are; "" where all are of 1 ns.
func granularityClause(clocks []trace.Clock) string {
	byStep := make(map[int64][]string)
	var steps []int64
	for i := range clocks {
		step := clocks[i].Granularity
		if step <= 1 {
			continue
		}
		if byStep[step] == nil {
			steps = append(steps, step)
		}
		byStep[step] = append(byStep[step], clocks[i].Name)
	}
	if len(steps) == 0 {
		return ""
	}
	slices.SortFunc(steps, func(a, b int64) int { return cmp.Compare(b, a) })
	var each []string
	for _, step := range steps {
		of := " (" + firstOf(byStep[step]) + ")"
		if len(byStep[step]) == len(clocks) {
			of = ""
		}
		each = append(each, time.Duration(step).String()+of)
	}
	return "an event is later than its stamp by less than " + strings.Join(each, ", ")
}
