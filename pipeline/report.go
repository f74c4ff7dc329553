package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"meridian/align"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/show"
	"meridian/trace"
)

// describe turns the solution into the report, and names what is not as promised.
func (r *run) describe() {
	s, p := r.solution, &r.matched.Problem
	r.cut = r.stretches()
	r.report = &show.Report{Method: s.Method, Assumption: s.Assumption}
	if len(p.Clocks) > 0 {
		r.report.Reference = p.Clocks[s.References[r.mainComponent()]].Name
	}
	for i := range p.Clocks {
		r.report.Hosts = append(r.report.Hosts, r.host(i))
	}
	for i := range s.Pairs {
		r.report.Pairs = append(r.report.Pairs, reportPair(&s.Pairs[i], p.Clocks))
	}
	r.quality()
	r.warnOfSteps(r.cut)
	r.warnOfPairs()
	r.warnOfIslands()
	if n := s.Quality.BeyondGranularity; n > 0 {
		r.breakOnce(fmt.Sprintf("%d of %d messages are still received before they were sent", n, s.Quality.Messages))
	}
}

// breakOnce notes a promise that could not be kept.
func (r *run) breakOnce(reason string) {
	if !slices.Contains(r.broken, reason) {
		r.broken = append(r.broken, reason)
	}
}

// mainComponent is the one with the most clocks, the chosen reference's if one was chosen.
func (r *run) mainComponent() int {
	counts := make([]int, len(r.solution.References))
	for i, c := range r.solution.Component {
		counts[c]++
		if r.Align.Reference != "" && r.matched.Clocks[i].Name == r.Align.Reference {
			return c
		}
	}
	return slices.Index(counts, slices.Max(counts))
}

func (r *run) host(i int) show.Host {
	s, c := r.solution, &r.matched.Clocks[i]
	m, h := &s.Maps[i], &s.Hosts[i]
	out := show.Host{
		Name: c.Name, Component: s.Component[i], Reference: r.matched.Clocks[s.References[s.Component[i]]].Name,
		Addresses: []string{}, Events: c.Events, Map: show.Knots(m, c.First, c.Last),
	}
	for _, a := range r.matched.Addresses[i] {
		out.Addresses = append(out.Addresses, a.String())
	}
	middle := c.First + (c.Last-c.First)/2
	offset := clock.Sub(m.At(middle), middle)
	out.OffsetNs = &offset
	if h.Determined {
		out.SkewPPM = &h.Skew
	}
	if h.Enclosed {
		out.SkewLowPPM, out.SkewHighPPM = &h.SkewLow, &h.SkewHigh
	}
	if h.Bounded {
		out.BoundNs = &h.Spread.Worst
	}
	return out
}

func reportPair(x *align.Pair, clocks []trace.Clock) show.Pair {
	e := &x.Estimate
	out := show.Pair{A: clocks[x.A].Name, B: clocks[x.B].Name, MessagesAB: x.AB, MessagesBA: x.BA, Fit: e.Fit.String()}
	if x.Both {
		out.MinRTTNs = &x.RoundTrip
	}
	if e.Fit == pair.Absent {
		return out
	}
	middle := e.First + (e.Last-e.First)/2
	offset := clock.Sub(e.Map.At(middle), middle)
	out.OffsetNs = &offset
	if e.Determined {
		out.SkewPPM = &e.Skew
	}
	if e.Enclosed {
		out.SkewLowPPM, out.SkewHighPPM = &e.SkewLow, &e.SkewHigh
	}
	if spread, ok := e.Error(); ok {
		out.BoundNs = &spread.Worst
	}
	return out
}

// quality sums up messages and bounds; the bounds are weighed by events, the reference's own apart.
func (r *run) quality() {
	s := r.solution
	q := &r.report.Quality
	q.Messages, q.Inversions = s.Quality.Messages, s.Quality.Inversions
	q.InversionsBeyondGranularity, q.TooFast = s.Quality.BeyondGranularity, s.Quality.TooFast
	var sum, events float64
	var best, worst int64
	for i, c := range r.matched.Clocks {
		if s.Parent[i] == i {
			continue
		}
		h := &s.Hosts[i]
		if !h.Bounded {
			return
		}
		if events == 0 {
			best, worst = h.Spread.Best, h.Spread.Worst
		}
		best, worst = min(best, h.Spread.Best), max(worst, h.Spread.Worst)
		sum += float64(h.Spread.Mean) * float64(c.Events)
		events += float64(c.Events)
	}
	if events > 0 {
		mean := int64(sum / events)
		q.BoundNs = show.BoundRange{Best: &best, Mean: &mean, Worst: &worst}
	}
}

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
		case e.Fit == pair.Fallback:
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

// warnOfIslands names the hosts that share no messages with the main component, and the likely cause.
func (r *run) warnOfIslands() {
	s := r.solution
	if len(s.References) < 2 {
		return
	}
	main := r.mainComponent()
	var apart []string
	for i, c := range r.matched.Clocks {
		if s.Component[i] != main {
			apart = append(apart, c.Name)
		}
		if r.alone(i) && !r.met(i) {
			r.warnings.Add(r.filesOf(i), "no message in common with any other input: recorded on other hosts, at another time, or behind a proxy?", "")
		}
	}
	if len(apart) == len(r.matched.Clocks)-1 && len(s.References) == len(r.matched.Clocks) {
		apart = append([]string{r.report.Reference}, apart...)
		r.breakOnce("no messages between any of the hosts: " + strings.Join(apart, ", "))
		return
	}
	r.breakOnce(fmt.Sprintf("left unaligned with %s for want of messages: %s", r.report.Reference, strings.Join(apart, ", ")))
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
func (r *run) alone(i int) bool {
	n := 0
	for _, c := range r.solution.Component {
		if c == r.solution.Component[i] {
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
	}
	return strings.Join(files, ", ")
}
