package pipeline

import (
	"context"
	"fmt"
	"slices"

	"meridian/align"
	"meridian/align/bound"
	"meridian/align/pair"
	"meridian/align/quality"
	"meridian/clock"
	"meridian/internal/show"
	"meridian/trace"
)

// Describe turns a solution into the report. Warnings, and the promises that could not be kept, name what is wrong. The only
// errors are those of ctx and of reading a recording again.
func (s *Solved) Describe(ctx context.Context, w *trace.Warnings) (*Aligned, error) {
	a := &Aligned{Matched: s.Matched, Options: s.Options, Solution: s.Solution}
	a.segments, a.disorder = s.findSegments(s.Solution)
	var err error
	if a.coverage, err = s.cover(ctx); err != nil {
		return nil, err
	}
	a.refine()
	f := &findings{Aligned: a, warnings: w, roundTrips: s.roundTrips(), named: make(map[int]bool)}
	a.Report = newReport(s, a.coverage, f.roundTrips)
	warnOfSpans(f, s.ladder)
	f.warnOfSegments()
	warnOfDisorder(f)
	warnOfLateStamps(f)
	f.warnOfSteps()
	warnOfFalseMessages(f)
	f.warnOfPairs()
	f.warnOfOutside()
	f.warnOfSlews()
	f.warnOfStretches()
	f.warnOfLoops()
	f.warnOfIslands()
	f.warnOfUnbounded()
	checkRepair(f)
	if n := s.Solution.Quality.BeyondGranularity; n > 0 {
		f.breakPromise(fmt.Sprintf("%d of %d messages are still received before they were sent", n, s.Solution.Quality.Messages))
	}
	if n := s.Solution.Quality.Contradicting; n > 0 {
		f.breakPromise(fmt.Sprintf("the bounds contradict each other: by them %d of %d messages were received before they were sent", n, s.Solution.Quality.Messages))
	}
	return a, nil
}

func newReport(s *Solved, c *coverage, roundTrips map[[2]int]int64) *show.Report {
	x := s.Solution
	out := &show.Report{
		Method: x.Method, Network: x.Network, Assumption: AssumptionOf(x, s.Clocks, s.Options.Options), Repair: s.Repair,
		Reference: s.referenceName(), Quality: qualityOf(s, c), Memory: s.need,
	}
	out.Premises = s.premises()
	out.Assumption = joinClauses(out.Assumption, premiseClause(out.Premises))
	if x.Assumed != (bound.Assumption{}) && out.Assumption != "" {
		out.WanderPPBS, out.EpsilonNs = &x.Assumed.Wander, &x.Assumed.Epsilon
		if x.Assumed.MaxSkew > 0 {
			out.MaxSkewPPM = &x.Assumed.MaxSkew
		}
	}
	for i := range s.Clocks {
		out.Hosts = append(out.Hosts, reportHost(s, c, i))
	}
	for i := range x.Pairs {
		p := reportPair(&x.Pairs[i], s.Clocks, c.limits[x.Component[x.Pairs[i].A]])
		if least, ok := roundTrips[[2]int{x.Pairs[i].A, x.Pairs[i].B}]; ok {
			p.MinRTTNs = &least
		}
		out.Pairs = append(out.Pairs, p)
	}
	for _, step := range x.Steps {
		out.Steps = append(out.Steps, show.Step{Host: s.Clocks[step.Clock].Name, AtNs: step.At, ByNs: step.By, StoodStill: step.StoodStill})
	}
	for _, m := range x.False {
		out.FalseMessages = append(out.FalseMessages, show.FalseMessage{From: s.Clocks[m.From].Name, To: s.Clocks[m.To].Name, SentNs: m.Sent, ReceivedNs: m.Received})
	}
	for _, r := range x.Routes {
		out.Routes = append(out.Routes, show.Route{From: s.Clocks[r.From].Name, To: s.Clocks[r.To].Name, AtNs: r.At, ByNs: r.By})
	}
	return out
}

// referenceName names the clock that the largest component follows.
func (s *Solved) referenceName() string {
	if len(s.Clocks) == 0 {
		return ""
	}
	return s.Clocks[s.Solution.References[s.Largest(s.Solution.Component, s.Options.Reference)]].Name
}

// Largest returns the component of the wanted reference, "" for any, or else the one with the most clocks.
func (m *Matched) Largest(component []int, reference string) int {
	counts := make([]int, slices.Max(component)+1)
	for i, c := range component {
		counts[c]++
		if reference != "" && m.Clocks[i].Name == reference {
			return c
		}
	}
	return slices.Index(counts, slices.Max(counts))
}

// maxDeviation is the standard deviation, in ns, from which on an estimate's own is taken for unknown: three years.
const maxDeviation = 1e17

func reportHost(s *Solved, covered *coverage, i int) show.Host {
	x, c := s.Solution, &s.Clocks[i]
	m, h := &covered.maps[i], &x.Hosts[i]
	out := show.Host{
		Name: c.Name, Component: x.Component[i], Reference: s.Clocks[x.Reference(i)].Name,
		GranularityNs: c.Granularity, Clock: s.hostClock(i),
		Addresses: []string{}, Events: c.Events, Map: show.Knots(m, covered.gaps[i], c.First, c.Last),
		Unaligned: covered.unaligned[i], Unbounded: covered.unbounded[i],
	}
	for _, a := range s.Addresses[i] {
		out.Addresses = append(out.Addresses, a.String())
	}
	if m.Low == nil && m.High == nil && x.Parent[i] == i { // it is a component of its own
		return out
	}
	out.OffsetNs = offsetOf(m, c.First, c.Last)
	if h.Determined {
		out.SkewPPM = &h.Skew
	}
	if h.SkewBounded {
		out.SkewLowPPM, out.SkewHighPPM = &h.SkewLow, &h.SkewHigh
	}
	if h.Bounded && covered.unbounded[i] == nil {
		out.BoundNs = &covered.spreads[i].Worst
		if believing, ok := believingSpread(x, covered, i, c.First, c.Last); ok {
			out.BoundAllTrueNs = &believing.Worst
		}
		if x.Parent[i] != i {
			out.Worst = s.worstOf(covered, i)
		}
	}
	out.OutsideEvents, out.OutsideNs = h.Outside.Events, h.Outside.Largest
	for _, d := range h.Deviation {
		if float64(d.Ns) < maxDeviation {
			out.Error = append(out.Error, show.Error{HostNs: d.Host, SDNs: d.Ns})
		}
	}
	return out
}

// offsetOf returns the offset of a host, its clock minus the timeline's, at the middle between two instants of it.
func offsetOf(m *clock.Map, first, last clock.HostTime) *int64 {
	middle := first + clock.HostTime(int64(last-first)/2)
	offset := clock.Sub(int64(middle), int64(m.At(middle)))
	return &offset
}

// pairOffset returns the offset of b against a, b's clock minus a's, at the middle between two instants of a. The map leads
// from a to b.
func pairOffset(m *clock.PairMap, first, last clock.HostTime) *int64 {
	middle := first + clock.HostTime(int64(last-first)/2)
	offset := clock.Sub(m.At(middle), middle)
	return &offset
}

// reportPair describes a pair. A bound beyond the limit is none.
func reportPair(x *align.Pair, clocks []trace.Clock, limit int64) show.Pair {
	e := &x.Estimate
	out := show.Pair{A: clocks[x.A].Name, B: clocks[x.B].Name, MessagesAB: x.AB, MessagesBA: x.BA, Fit: e.Fit.String()}
	if e.Fit == pair.Absent {
		return out
	}
	out.OffsetNs = pairOffset(&e.Map, e.First, e.Last)
	if e.Determined {
		out.SkewPPM = &e.Skew
	}
	if e.SkewBounded {
		out.SkewLowPPM, out.SkewHighPPM = &e.SkewLow, &e.SkewHigh
	}
	if spread, ok := e.Error(); ok && spread.Worst <= limit {
		out.BoundNs = &spread.Worst
		believing := clock.PairMap{Mid: e.Map.Mid, Low: x.Believing.Low, High: x.Believing.High}
		if all, ok := pair.SpreadOf(&believing, e.First, e.Last); ok {
			worst := min(all.Worst, spread.Worst)
			out.BoundAllTrueNs = &worst
		}
	}
	out.ToleratesAB, out.ToleratesBA = show.Tolerated(x.ToleratedAB), show.Tolerated(x.ToleratedBA)
	out.Regression = regressionLines(e.Lines)
	if len(e.Deviation) > 0 { // it was smoothed, and its wander estimated
		out.Sigma, out.EvidenceNats = &e.Sigma, &e.Gain
	}
	for _, s := range x.Stretches {
		out.Stretches = append(out.Stretches, show.Stretch{FromNs: s.From, ToNs: s.To, WanderPPBS: &s.Wander, Steep: s.Steep})
	}
	return out
}

// regressionLines returns the lines of a pair. Two exchanges say nothing of the residuals.
func regressionLines(lines []pair.Line) (out []show.Line) {
	for i := range lines {
		x := &lines[i]
		l := show.Line{OriginNs: x.Origin, Exchanges: x.Exchanges, OffsetNs: x.Offset, SkewPPM: x.Skew}
		if x.Exchanges > 2 {
			l.ResidualNs, l.OffsetErrorNs, l.SkewErrorPPM = &x.Residual, &x.OffsetError, &x.SkewError
		}
		out = append(out, l)
	}
	return out
}

// RegressionLines returns the lines of all pairs of a solution.
func RegressionLines(s *align.Solution, clocks []trace.Clock) (out []show.PairLine) {
	for i := range s.Pairs {
		x := &s.Pairs[i]
		for _, l := range regressionLines(x.Estimate.Lines) {
			out = append(out, show.PairLine{A: clocks[x.A].Name, B: clocks[x.B].Name, Line: l})
		}
	}
	return out
}

// believingSpread returns the error of a host if every message is true that was not left out; false where that is not
// known. It is no greater than the bound, which counts what the recording does not cover too.
func believingSpread(s *align.Solution, covered *coverage, i int, first, last clock.HostTime) (of pair.Spread, known bool) {
	if s.Parent[i] == i {
		return pair.Spread{}, true
	}
	most := &covered.spreads[i]
	all, known := pair.SpreadOf(&s.Believing[i], first, last)
	if !known {
		return all, false
	}
	return pair.Spread{Best: min(all.Best, most.Best), Mean: min(all.Mean, most.Mean), Worst: min(all.Worst, most.Worst)}, true
}

// qualityOf sums up messages and bounds. The mean bound weighs clocks by their events; references, whose bound is 0, do
// not count.
func qualityOf(s *Solved, covered *coverage) (q show.Quality) {
	x := s.Solution
	q.Messages, q.Inversions = x.Quality.Messages, x.Quality.Inversions
	q.InversionsBeyondGranularity, q.TooFast = x.Quality.BeyondGranularity, x.Quality.TooFast
	q.Contradicting = x.Quality.Contradicting
	var outside quality.Outside
	for i := range x.Hosts {
		outside.Add(x.Hosts[i].Outside)
	}
	q.OutsideEvents, q.OutsideNs = outside.Events, outside.Largest
	var sum, sumBelieving, events float64
	var best, worst int64
	var all show.BoundRange // if all are true
	known := true
	for i, c := range s.Clocks {
		if x.Parent[i] == i {
			continue
		}
		h := &covered.spreads[i]
		if !x.Hosts[i].Bounded || covered.unbounded[i] != nil {
			return q
		}
		believing, ok := believingSpread(x, covered, i, c.First, c.Last)
		known = known && ok
		if events == 0 {
			best, worst = h.Best, h.Worst
			all = show.BoundRange{Best: &believing.Best, Worst: &believing.Worst}
		}
		*all.Best, *all.Worst = min(*all.Best, believing.Best), max(*all.Worst, believing.Worst)
		sumBelieving += float64(believing.Mean) * float64(c.Events)
		best, worst = min(best, h.Best), max(worst, h.Worst)
		sum += float64(h.Mean) * float64(c.Events)
		events += float64(c.Events)
	}
	if events > 0 {
		mean := int64(sum / events)
		q.BoundNs = show.BoundRange{Best: &best, Mean: &mean, Worst: &worst}
		if known {
			mean := int64(sumBelieving / events)
			all.Mean = &mean
			q.BoundAllTrueNs = all
		}
	}
	return q
}
