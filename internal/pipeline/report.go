package pipeline

import (
	"fmt"
	"slices"

	"meridian/align"
	"meridian/align/bound"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/internal/show"
	"meridian/trace"
)

// describe turns the solution into the report, and names what is not as promised.
func (r *run) describe() {
	s, p := r.solution, &r.matched.Problem
	r.cut = r.stretches()
	r.report = &show.Report{Method: s.Method, Network: s.Network, Assumption: assumptionOf(s), Repair: r.repaired}
	if s.Assumed != (bound.Assumption{}) && r.report.Assumption != "" {
		r.report.WanderPPBS, r.report.EpsilonNs = &s.Assumed.Wander, &s.Assumed.Epsilon
	}
	if s.LeastWander > 0 {
		r.report.LeastWanderPPBS = &s.LeastWander
	}
	if len(p.Clocks) > 0 {
		r.report.Reference = p.Clocks[s.References[r.mainComponent()]].Name
	}
	for i := range p.Clocks {
		r.report.Hosts = append(r.report.Hosts, r.host(i))
	}
	for i := range s.Pairs {
		r.report.Pairs = append(r.report.Pairs, reportPair(&s.Pairs[i], p.Clocks))
	}
	for _, x := range s.Steps {
		r.report.Steps = append(r.report.Steps, show.Step{Host: p.Clocks[x.Clock].Name, AtNs: x.At, ByNs: x.By})
	}
	for _, x := range s.Routes {
		r.report.Routes = append(r.report.Routes, show.Route{From: p.Clocks[x.From].Name, To: p.Clocks[x.To].Name, AtNs: x.At, ByNs: x.By})
	}
	r.quality()
	r.warnOfStretches(r.cut)
	r.warnOfSteps()
	r.warnOfPairs()
	r.warnOfWander()
	r.warnOfLoops()
	r.warnOfIslands(s.Component, needs(s.Method))
	if n := s.Quality.BeyondGranularity; n > 0 {
		r.breakOnce(fmt.Sprintf("%d of %d messages are still received before they were sent", n, s.Quality.Messages))
	}
}

// assumptionOf returns what the bounds of a solution rest on; "" where the method bounds no clock.
func assumptionOf(s *align.Solution) string {
	others := 0
	for i := range s.Maps {
		if s.Parent[i] == i {
			continue
		}
		if others++; s.Maps[i].Low != nil || s.Maps[i].High != nil {
			return s.Assumption
		}
	}
	if others > 0 {
		return ""
	}
	return s.Assumption
}

// breakOnce notes a promise that could not be kept.
func (r *run) breakOnce(reason string) {
	if !slices.Contains(r.broken, reason) {
		r.broken = append(r.broken, reason)
	}
}

// mainComponent is the solution's largest.
func (r *run) mainComponent() int { return r.largest(r.solution.Component) }

// largest is the component with the most clocks, the chosen reference's if one was chosen.
func (r *run) largest(component []int) int {
	counts := make([]int, slices.Max(component)+1)
	for i, c := range component {
		counts[c]++
		if r.Align.Reference != "" && r.matched.Clocks[i].Name == r.Align.Reference {
			return c
		}
	}
	return slices.Index(counts, slices.Max(counts))
}

// unknownError is an error, in ns, that nobody means: three years.
const unknownError = 1e17

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
	for _, d := range h.Deviation {
		if float64(d.Ns) >= unknownError {
			continue // the smoother could not say, which is no number
		}
		out.Error = append(out.Error, show.Error{HostNs: d.Host, SDNs: d.Ns})
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
	if len(e.Deviation) > 0 { // it was smoothed, and its wander estimated
		out.Sigma, out.EvidenceNats = &e.Sigma, &e.Gain
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
