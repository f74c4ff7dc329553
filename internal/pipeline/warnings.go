package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"meridian/align"
	"meridian/align/bound"
	"meridian/align/pair"
	"meridian/internal/show"
	"meridian/trace"
)

// findings is an alignment that is being described: what is wrong with it goes to the warnings, to its broken promises
// and to its report.
type findings struct {
	*Aligned
	warnings *trace.Warnings
	// roundTrips are the least of each two clocks.
	roundTrips map[[2]int]int64
	named      map[int]bool // clocks of which a broken promise says that they have no bound
	delayed    bool         // the stated least delay contradicts messages
}

// breakPromise notes a promise that could not be kept.
func (f *findings) breakPromise(reason string) {
	if !slices.Contains(f.Broken, reason) {
		f.Broken = append(f.Broken, reason)
	}
}

// warnOfPairs names the pairs whose messages do not allow the strict bounds.
func (f *findings) warnOfPairs() {
	for i := range f.Solution.Pairs {
		x := &f.Solution.Pairs[i]
		a, b := f.Clocks[x.A], f.Clocks[x.B]
		name := a.Name + " and " + b.Name
		e := &x.Estimate
		roundTrip, beyond := f.beyondRoundTrip(x)
		switch {
		case beyond:
			stated := time.Duration(f.Options.MinDelay)
			f.warnings.Add(name, fmt.Sprintf("--min-delay %v is more than half their quickest round trip (%s), so no clocks fit their messages; state less",
				stated, show.Duration(roundTrip)), "")
			f.delayed = true
			f.nameUnbounded(x)
			f.breakPromise(fmt.Sprintf("--min-delay %v is more than half the quickest round trip of %s (%s)", stated, name, show.Duration(roundTrip)))
		case e.Fit == pair.OneWay:
			from, to := a.Name, b.Name
			if x.AB == 0 {
				from, to = to, from
			}
			f.warnings.Add(name, fmt.Sprintf("messages from %s to %s only (%s), so the offset is bounded on one side only", from, to, f.filesOf(x.A, x.B)), "")
			if f.onTree(x) {
				f.nameUnbounded(x)
				f.breakPromise(fmt.Sprintf("the offset of %s is not bounded on one side: there are messages from %s to %s only", name, from, to))
			}
		case e.Fit == pair.Fallback && e.Map.Low == nil && e.Determined && f.Solution.Assumed == (bound.Assumption{}): // Ashton's line
			f.warnings.Add(name, fmt.Sprintf("no straight line fits their messages (%s), so a clock is not linear, and the method %s bounds nothing; take the method %s",
				f.filesOf(x.A, x.B), f.Solution.Method, align.Methods()[0]), "")
			f.nameUnbounded(x)
			f.breakPromise("the offset of " + name + " is not bounded: a clock is not linear")
		case e.Fit == pair.Fallback && e.Map.Low == nil:
			f.warnings.Add(name, fmt.Sprintf("their messages contradict each other under any clock (%s): a clock was set, or a capture is of another host", f.filesOf(x.A, x.B)), "")
			f.nameUnbounded(x)
			f.breakPromise("the offset of " + name + " is not bounded: their messages contradict each other")
		}
	}
}

// warnOfOutside says where the estimates of a published method leave the bounds, and what keeps them from that.
func (f *findings) warnOfOutside() {
	if q := &f.Report.Quality; q.OutsideEvents > 0 {
		name := "the method " + f.Solution.Method
		if f.Report.Repair != nil {
			name += " with --repair " + f.Report.Repair.Method
		}
		why := "the bounds hold, the estimate is as published"
		if f.Solution.Method == align.Methods()[0] {
			why = "a clock departs from what is assumed"
		}
		f.warnings.Add(name, fmt.Sprintf("its estimate lies outside of the bounds at %d message ends, by up to %d ns: %s", q.OutsideEvents, q.OutsideNs, why), "")
	}
}

// checkRepair says that a repair left messages, which the stamps of one host do not show as inverted where they are coarse.
func checkRepair(f *findings) {
	if r := f.Report.Repair; r != nil && r.Remaining > 0 {
		what := "before they were sent"
		if f.Options.MinDelay > 0 {
			what += " or sooner than --min-delay"
		}
		f.breakPromise(fmt.Sprintf("%d of %d messages still arrive %s, by up to %s: --repair %s cannot mend stamps that contradict each other, nor take equal stamps of one host apart",
			r.Remaining, f.Solution.Quality.Messages, what, show.Duration(r.RemainingNs), r.Method))
	}
}

// beyondRoundTrip reports whether the stated least delay is more than half of a pair's quickest exchange, which is what keeps
// their messages from fitting then, and how long that exchange took.
func (f *findings) beyondRoundTrip(x *align.Pair) (roundTrip int64, beyond bool) {
	if f.Options.MinDelay <= 0 || x.Estimate.Fit != pair.Fallback {
		return 0, false
	}
	roundTrip, ok := f.roundTrips[[2]int{x.A, x.B}]
	return roundTrip, ok && f.Options.MinDelay > roundTrip/2
}

// nameUnbounded notes that a broken promise names the clock of a pair that has no bound by it.
func (f *findings) nameUnbounded(x *align.Pair) {
	switch {
	case f.Solution.Parent[x.A] == x.B:
		f.named[x.A] = true
	case f.Solution.Parent[x.B] == x.A:
		f.named[x.B] = true
	}
}

// onTree reports whether a clock's path to its reference leads over the pair.
func (f *findings) onTree(x *align.Pair) bool {
	return f.Solution.Parent[x.A] == x.B || f.Solution.Parent[x.B] == x.A
}

// warnOfLoops names the hosts around which strict bounds contradict each other, though each pair's messages allow them.
func (f *findings) warnOfLoops() {
	for _, c := range f.Solution.Contradictions {
		var names []string
		for _, i := range c.Clocks {
			names = append(names, f.Clocks[i].Name)
		}
		f.warnings.Add(firstOf(names), "the bounds along the loop of these hosts contradict each other, so a clock wanders more than assumed; state a larger --wander",
			fmt.Sprintf("by %d ns at %s s", c.By, seconds(int64(c.Timeline))))
		f.breakPromise("the bounds of " + firstOf(names) + " contradict each other")
	}
}

// firstOf joins names, only the first of many.
func firstOf(names []string) string {
	if len(names) > 6 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), len(names)-5)
	}
	return strings.Join(names, ", ")
}

// warnOfSteps names the clocks that were set, as their messages show, and counts the messages that contradict all others.
func (f *findings) warnOfSteps() {
	for _, x := range f.Solution.Steps {
		how := ""
		if x.Leap {
			how = " for a leap second"
		}
		if x.Other >= 0 {
			a, b := f.Clocks[x.Clock].Name, f.Clocks[x.Other].Name
			how += fmt.Sprintf(" (or that of %s the other way)", b)
			// The timeline follows its reference, so that a step which is taken for another clock's moves no event on it.
			if f.Solution.Parent[x.Other] != x.Other {
				f.breakPromise(fmt.Sprintf("one of %s and %s was set by %+.6f s, or the other way, and nothing tells which", a, b, float64(x.By)/1e9))
			}
		}
		if show.IsCounterWrap(x.By) {
			warnOfWrap(f, &x)
			continue
		}
		if x.StoodStill {
			f.warnings.Add(f.Clocks[x.Clock].Name, fmt.Sprintf("its clock stood still for %.6f s at %s s of its time, as that of a suspended machine does; aligned in pieces",
				float64(-x.By)/1e9, seconds(int64(x.At))), "")
			continue
		}
		f.warnings.Add(f.Clocks[x.Clock].Name, fmt.Sprintf("its clock was set by %+.6f s%s at %s s of its time; aligned in pieces",
			float64(x.By)/1e9, how, seconds(int64(x.At))), "")
	}
	if n := f.Solution.Outliers; n > 0 {
		f.warnings.Add("alignment", fmt.Sprintf("%d messages left out: they contradict all others", n), "")
	}
}

// warnOfWrap names the clock whose timestamps are a counter that wraps. Alignment may have found the jump in the clock
// of a host that it talks to.
func warnOfWrap(f *findings, x *align.Step) {
	k := &f.Clocks[x.Clock]
	kind := "its timestamps, or those of a host that it talks to, jump"
	if show.IsCounter(int64(k.First), int64(k.Last)) {
		kind = "its timestamps jump"
	}
	f.warnings.Add(k.Name, fmt.Sprintf("%s by %+.6f s at %s s of its time, %s; aligned in pieces", kind, float64(x.By)/1e9, seconds(int64(x.At)), show.CounterWrap), "")
}

// seconds writes an instant as lists of messages have it.
func seconds(ns int64) string {
	if ns < 0 {
		return fmt.Sprintf("-%d.%09d", -(ns / 1e9), -(ns % 1e9))
	}
	return fmt.Sprintf("%d.%09d", ns/1e9, ns%1e9)
}

// warnOfIslands names the hosts that nothing connects with the largest component.
func (f *findings) warnOfIslands() {
	if broken := f.WarnOfIslands(f.Solution.Component, f.Options.Reference, f.Report.Reference, missing(f.Solution.Method), f.warnings); broken != "" {
		f.breakPromise(broken)
	}
}

// missing says what a method lacks where it leaves a host unaligned.
func missing(method string) string {
	switch method {
	case "broadcast":
		return "broadcasts"
	case "sampled":
		return "samples"
	}
	return "messages"
}

// WarnOfIslands names the hosts outside of the largest component, and the likely causes. It returns the promise that is
// broken by it; "" if all hosts are connected. wanted is the reference asked for, if any, reference the one chosen, and
// lacking what connects hosts.
func (m *Matched) WarnOfIslands(component []int, wanted, reference, lacking string, w *trace.Warnings) (broken string) {
	if len(component) == 0 || slices.Max(component) == 0 {
		return ""
	}
	largest := m.Largest(component, wanted)
	var apart []string
	for i, c := range m.Clocks {
		if component[i] != largest {
			apart = append(apart, c.Name)
		}
		if lacking == "messages" && alone(component, i) && c.Events > 0 && !spansExplain(m, i) {
			warnOfApart(m, i, w)
		}
	}
	if len(apart) == len(m.Clocks)-1 && slices.Max(component) == len(apart) {
		return "no " + lacking + " between any of the hosts: " + strings.Join(append([]string{reference}, apart...), ", ")
	}
	return fmt.Sprintf("not aligned with %s for lack of %s: %s", reference, lacking, strings.Join(apart, ", "))
}

// sharesPackets reports whether a clock's captures share packets with another host's, though none could be matched: then
// another warning gives the reason.
func (m *Matched) sharesPackets(i int) bool {
	for _, c := range m.Captures {
		if c.Met && (c.Sent == i || c.Received == i) {
			return true
		}
	}
	return false
}

// exchanges reports whether a clock has messages with others, which then did not serve: another warning gives the reason.
func (m *Matched) exchanges(i int) bool {
	return slices.ContainsFunc(m.Channels, func(c trace.Channel) bool {
		return (c.From == i || c.To == i) && c.From != c.To && len(c.Messages) > 0
	})
}

// alone reports whether a clock is its component's only one.
func alone(component []int, i int) bool {
	n := 0
	for _, c := range component {
		if c == component[i] {
			n++
		}
	}
	return n == 1
}
