package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"meridian/align"
	"meridian/align/bound"
	"meridian/align/pair"
)

// warnOfPairs names the pairs whose messages do not allow the strict bounds.
func (r *run) warnOfPairs() {
	var wander []string
	for i := range r.solution.Pairs {
		x := &r.solution.Pairs[i]
		a, b := r.matched.Clocks[x.A], r.matched.Clocks[x.B]
		name := a.Name + " and " + b.Name
		e := &x.Estimate
		switch {
		case e.Fit == pair.OneWay:
			from, to := a.Name, b.Name
			if x.AB == 0 {
				from, to = to, from
			}
			r.warnings.Add(name, fmt.Sprintf("messages from %s to %s only (%s), so the offset is bounded on one side only", from, to, r.filesOf(x.A, x.B)), "")
			if r.hangsOn(x) {
				r.breakOnce(fmt.Sprintf("nothing bounds the offset of %s on one side: there are messages from %s to %s only", name, from, to))
			}
		case e.Fit == pair.Fallback && e.Map.Low == nil:
			r.warnings.Add(name, fmt.Sprintf("their messages contradict each other under any clock (%s): a clock was set, or a capture is not what it seems", r.filesOf(x.A, x.B)), "")
			r.breakOnce("nothing bounds the offset of " + name + ": their messages contradict each other")
		case e.Fit == pair.Fallback && r.report.WanderPPBS == nil: // of methods that take clocks for linear
			ppm := float64(e.Wander) / 1e3
			r.warnings.Add(name, fmt.Sprintf("no straight line passes between their messages, so a clock is not linear; the bounds hold while the rates wander by less than %.3g ppm", ppm), "")
			wander = append(wander, fmt.Sprintf("%s wander by less than %.3g ppm", name, ppm))
		}
	}
	if len(wander) > 0 {
		r.report.Assumption += "; but " + strings.Join(wander, ", ")
	}
}

// hangsOn reports whether a clock's way to the reference goes over the pair.
func (r *run) hangsOn(x *align.Pair) bool {
	return r.solution.Parent[x.A] == x.B || r.solution.Parent[x.B] == x.A
}

// warnOfLoops names the hosts around which strict bounds leave no room, though each pair's messages allow them.
func (r *run) warnOfLoops() {
	for _, c := range r.solution.Contradictions {
		var names []string
		for _, i := range c.Clocks {
			names = append(names, r.matched.Clocks[i].Name)
		}
		r.warnings.Add(fewOf(names), "the bounds from each to the next and back to the first contradict each other, so a clock is not what they assume; state a larger --wander",
			fmt.Sprintf("by %d ns at %s s", c.By, seconds(c.Timeline)))
	}
}

// warnOfWander says in one line which pairs contradict the stated wander; the bounds of all rest on what they allow.
func (r *run) warnOfWander() {
	if w := r.solution.ShownWander; w > 0 {
		r.warnings.Add("the clocks", fmt.Sprintf("the messages show that they wander, so bounds rest on %.3g ppb/s instead of %g; state another with --wander",
			w, bound.Default.Wander), "")
	}
	if r.report.LeastWanderPPBS == nil {
		return
	}
	var names []string
	for i := range r.solution.Pairs {
		if x := &r.solution.Pairs[i]; x.Estimate.Fit == pair.Fallback && x.Estimate.Map.Low != nil {
			names = append(names, r.matched.Clocks[x.A].Name+" and "+r.matched.Clocks[x.B].Name)
		}
	}
	stated := bound.Default
	if r.Align.Assumption != nil {
		stated = *r.Align.Assumption
	}
	if len(names) == 0 { // what is left of them has no bounds, which another line says
		names = []string{"some hosts"}
	}
	r.warnings.Add(fewOf(names), fmt.Sprintf("their messages contradict the stated wander of %g ppb/s; the smallest that fits is %.3g ppb/s, and bounds rest on twice that",
		stated.Wander, r.solution.LeastWander), "")
}

// fewOf joins the first names of a list that may be long.
func fewOf(names []string) string {
	if len(names) > 6 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), len(names)-5)
	}
	return strings.Join(names, ", ")
}

// warnOfSteps names the clocks that were set, as their messages tell, and counts the messages that contradict all others.
func (r *run) warnOfSteps() {
	for _, x := range r.solution.Steps {
		how := ""
		if x.Leap {
			how = " for a leap second"
		}
		if x.Other >= 0 {
			how += fmt.Sprintf(" (or that of %s the other way)", r.matched.Clocks[x.Other].Name)
		}
		r.warnings.Add(r.matched.Clocks[x.Clock].Name, fmt.Sprintf("its clock was set by %+.6f s%s at %s s of its time; aligned piece by piece",
			float64(x.By)/1e9, how, seconds(x.At)), "")
	}
	if n := r.solution.Outliers; n > 0 {
		r.warnings.Add("alignment", fmt.Sprintf("%d messages contradict all others and were left out", n), "")
	}
}

// seconds writes an instant as lists of messages have it.
func seconds(ns int64) string {
	if ns < 0 {
		return fmt.Sprintf("-%d.%09d", -(ns / 1e9), -(ns % 1e9))
	}
	return fmt.Sprintf("%d.%09d", ns/1e9, ns%1e9)
}

// needs says of what a method lacks some where it leaves a host unaligned.
func needs(method string) string {
	switch method {
	case methodBroadcast:
		return "broadcasts"
	case methodSampled:
		return "samples"
	}
	return "messages"
}

// The methods that align by something else than messages.
const (
	methodBroadcast = "broadcast"
	methodSampled   = "sampled"
)

// warnOfIslands names the hosts that share nothing with the main component, and the likely cause; want is what they lack.
func (r *run) warnOfIslands(component []int, want string) {
	if len(component) == 0 || slices.Max(component) == 0 {
		return
	}
	main := r.largest(component)
	var apart []string
	for i, c := range r.matched.Clocks {
		if component[i] != main {
			apart = append(apart, c.Name)
		}
		if want == "messages" && alone(component, i) && !r.met(i) {
			r.warnings.Add(r.filesOf(i), "no message in common with any other input: recorded on other hosts, at another time, or behind a proxy?", "")
		}
	}
	if len(apart) == len(r.matched.Clocks)-1 && slices.Max(component) == len(apart) {
		apart = append([]string{r.report.Reference}, apart...)
		r.breakOnce("no " + want + " between any of the hosts: " + strings.Join(apart, ", "))
		return
	}
	r.breakOnce(fmt.Sprintf("left unaligned with %s for want of %s: %s", r.report.Reference, want, strings.Join(apart, ", ")))
}

// met reports whether a clock's captures share packets with another host's, though none could be matched: then another
// warning says why.
func (r *run) met(i int) bool {
	for _, c := range r.matched.Captures {
		if c.Met && (c.Sent == i || c.Received == i) {
			return true
		}
	}
	return false
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

// filesOf names the files in which the clocks' stamps stand.
func (r *run) filesOf(clocks ...int) string {
	var files []string
	add := func(name string) {
		if !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	for _, i := range clocks {
		for n, c := range r.matched.Captures {
			if c.Sent == i || c.Received == i {
				add(r.captures[n].File)
			}
		}
		if l := r.listed[i]; l != nil {
			add(l.File)
		}
		if i == r.sampled {
			add(r.Samples.File)
		}
	}
	return strings.Join(files, ", ")
}
