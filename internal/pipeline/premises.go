package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"meridian/align"
	"meridian/align/pair"
	"meridian/align/quality"
	"meridian/clock"
	"meridian/internal/show"
	"meridian/match"
	"meridian/trace"
)

// What the messages of spans rest on is a premise: that a server ends before its client, that what bears one name is
// one clock. Durations, a parent and a child on one host, and requests both ways test them (match.Spans). What nothing
// tests is stated beside the bounds.

// Premises of replies.
const (
	RepliesTested = "tested" // RepliesEnd where the delays of the replies show it, else RepliesBegin
	RepliesEnd    = "end"    // a server ends before its client does
	RepliesBegin  = "begin"  // a server has begun before its client ends
)

// ReplyPremises returns the premises on which bounds by replies may rest, the usual one first.
func ReplyPremises() []string { return []string{RepliesTested, RepliesEnd, RepliesBegin} }

// ladder is what became of the two premises of replies, that servers end before their clients and that they begin
// before these end.
type ladder struct {
	weak    func(r *match.ReplyPremise) bool // the bounds rest on the weaker one; nil: on none
	fallen  bool                             // since messages contradict the stronger one
	weaker  *align.Solution                  // all replies rest on the weaker one; nil where it was not asked for
	strong  *align.Solution                  // all replies rest on the stronger one; nil where that is the solution, or contradicted
	problem *trace.Problem                   // the solution's
}

// maxAside is how many messages a problem may have that is solved once more only to tell the width of its bounds under
// another premise.
const maxAside = 1_000_000

// solveLadder aligns. The estimate rests on the stronger premise of replies, and so do the bounds where the replies'
// delays bear it out; else the bounds rest on the weaker one. Where messages contradict the stronger premise and not
// the weaker one, all rests on the latter.
func solveLadder(ctx context.Context, m *Matched, o AlignOptions) (*align.Solution, ladder, error) {
	l := ladder{problem: problemUnder(m, nil)}
	s, err := alignClocks(ctx, m, l.problem, o.Options)
	if err != nil || len(m.weaker) == 0 || s.Assumption == "" {
		return s, l, err
	}
	l.weak = func(r *match.ReplyPremise) bool {
		return o.Replies == RepliesBegin || o.Replies != RepliesEnd && r.Shape == match.DoubtfulReplies
	}
	doubtful := slices.ContainsFunc(m.spans.Replies, func(r match.ReplyPremise) bool { return l.weak(&r) })
	isContradicted := contradicted(s)
	weakerProblem := problemUnder(m, func(*match.ReplyPremise) bool { return true })
	if isContradicted && o.Replies != RepliesEnd || s.Quality.Messages < maxAside {
		l.weaker, err = alignClocks(ctx, m, weakerProblem, o.Options)
		if err != nil {
			return nil, l, err
		}
	}
	switch {
	case isContradicted && o.Replies != RepliesEnd && !contradicted(l.weaker):
		l.fallen, l.problem, l.weak = true, weakerProblem, func(*match.ReplyPremise) bool { return true }
		s, l.weaker = l.weaker, nil
		return s, l, nil
	case !doubtful:
		return s, l, nil
	}
	problem := problemUnder(m, l.weak)
	bounds, err := alignClocks(ctx, m, problem, o.Options)
	if err != nil {
		return nil, l, err
	}
	l.strong = s
	if merged := withBoundsOf(problem, s, bounds); merged != nil && !isContradicted {
		return merged, l, nil
	}
	l.problem = problem
	return bounds, l, nil
}

// withBoundsOf returns a solution with the bounds of another, which rest on less; nil if the estimate lies outside of
// them, or the two are not of the same clocks' timeline.
func withBoundsOf(p *trace.Problem, s, bounds *align.Solution) *align.Solution {
	if s.Divided != nil || bounds.Divided != nil || !slices.Equal(s.Component, bounds.Component) || !slices.Equal(s.References, bounds.References) || len(s.Pairs) != len(bounds.Pairs) {
		return nil
	}
	out, tree := *s, *s.Tree
	out.Tree, tree.Maps = &tree, slices.Clone(s.Maps)
	out.Hosts, out.Pairs, out.False = slices.Clone(s.Hosts), slices.Clone(s.Pairs), bounds.False
	out.Believing = slices.Clone(s.Believing)
	for i := range out.Maps {
		x := &out.Maps[i]
		x.Low, x.High = bounds.Maps[i].Low, bounds.Maps[i].High
		c := &p.Clocks[i]
		if quality.OutsideOf(p, x, i, c.First, c.Last).Events > 0 {
			return nil
		}
		h, of := &out.Hosts[i], &bounds.Hosts[i]
		h.Determined, h.SkewBounded, h.SkewLow, h.SkewHigh = h.Determined && of.Determined, of.SkewBounded, of.SkewLow, of.SkewHigh
		h.Spread, h.Bounded = pair.SpreadOf(x, c.First, c.Last)
		out.Believing[i] = clock.Map{Mid: x.Mid, Low: bounds.Believing[i].Low, High: bounds.Believing[i].High}
	}
	for i := range out.Pairs {
		x, of := &out.Pairs[i], &bounds.Pairs[i]
		if x.A != of.A || x.B != of.B {
			return nil
		}
		e := &x.Estimate
		e.Fit, e.Map.Low, e.Map.High = of.Estimate.Fit, of.Estimate.Map.Low, of.Estimate.Map.High
		e.Determined, e.SkewBounded = e.Determined && of.Estimate.Determined, of.Estimate.SkewBounded
		e.SkewLow, e.SkewHigh = of.Estimate.SkewLow, of.Estimate.SkewHigh
		x.Stretches, x.Believing, x.False = of.Stretches, of.Believing, of.False
		x.ToleratedAB, x.ToleratedBA = of.ToleratedAB, of.ToleratedBA
	}
	return &out
}

// contradicted reports whether the messages of a solution contradict what it assumes anywhere.
func contradicted(s *align.Solution) bool {
	if len(s.Steps)+len(s.Contradictions)+len(s.False) > 0 || s.Outliers+s.Quality.BeyondGranularity+s.Quality.Contradicting > 0 {
		return true
	}
	return slices.ContainsFunc(s.Pairs, func(x align.Pair) bool { return len(x.Stretches) > 0 || x.Estimate.Fit == pair.Fallback })
}

// premises returns what the bounds rest on beside the clocks.
func (s *Solved) premises() []show.Premise {
	if s.spans == nil {
		return nil
	}
	var out []show.Premise
	for _, r := range s.spans.Replies {
		out = append(out, s.replyPremise(&r))
	}
	for _, n := range s.spans.Names {
		if n.NamedBy != trace.ServiceName && n.Pairs == 0 {
			continue
		}
		tested := n.Pairs
		out = append(out, show.Premise{Kind: show.OneClock, About: n.NamedBy, Hosts: []string{s.Clocks[n.Clock].Name}, Messages: n.Pairs, Tested: tested, Contradicted: n.Contradicted})
	}
	return out
}

func (s *Solved) replyPremise(r *match.ReplyPremise) show.Premise {
	server, client := s.Clocks[r.From].Name, s.Clocks[r.To].Name
	p := show.Premise{
		Kind: show.ServerEnds, About: fmt.Sprintf("servers of %s end before their clients on %s", server, client), Hosts: []string{server, client},
		Messages: r.Messages - r.Refuted - r.Fallen, Contradicted: r.Refuted, Alone: !s.boundWithoutReplies(r.From, r.To),
	}
	if r.Shape == match.DelayedReplies {
		p.Tested = p.Messages
	}
	l := &s.ladder
	if l.weak == nil || !l.weak(r) {
		p.WeakerBoundNs = pairBound(l.weaker, r.From, r.To)
		return p
	}
	p.Kind, p.About = show.ServerBegins, fmt.Sprintf("servers of %s begin before their clients on %s end", server, client)
	p.StrongerBoundNs = pairBound(l.strong, r.From, r.To)
	if l.fallen {
		p.Tested = p.Messages
	}
	return p
}

// pairBound returns the bound of two clocks in a solution; nil for none.
func pairBound(s *align.Solution, a, b int) *int64 {
	if s == nil || contradicted(s) {
		return nil
	}
	for i := range s.Pairs {
		x := &s.Pairs[i]
		if x.A != min(a, b) || x.B != max(a, b) {
			continue
		}
		if spread, ok := x.Estimate.Error(); ok && spread.Worst <= maxWidth {
			return &spread.Worst
		}
	}
	return nil
}

// boundWithoutReplies reports whether messages other than replies go from one clock to another: then they bound what
// the replies bound.
func (s *Solved) boundWithoutReplies(from, to int) bool {
	for n := range s.Channels {
		if c := &s.Channels[n]; c.From == from && c.To == to && s.weaker[n] == nil && len(c.Messages) > 0 {
			return true
		}
	}
	return false
}

// premiseClause says in words what the bounds rest on beside the clocks; "" for nothing that has to be said.
func premiseClause(premises []show.Premise) string {
	var parts []string
	var services []string
	for _, p := range premises {
		switch {
		case p.Kind == show.OneClock && p.About == trace.ServiceName:
			services = append(services, p.Hosts[0])
		case p.Kind == show.OneClock || p.Messages == 0:
		default:
			parts = append(parts, fmt.Sprintf("%s (%s)", p.About, replyDetails(&p)))
		}
	}
	if len(services) > 0 {
		parts = append(parts, fmt.Sprintf("each service is on one host (%s)", firstOf(services)))
	}
	return strings.Join(parts, "; ")
}

// replyDetails says how sure a premise of replies is.
func replyDetails(p *show.Premise) string {
	text := show.Count(p.Messages) + " replies"
	if p.Alone {
		text += ", which alone bound that side"
	}
	if p.WeakerBoundNs != nil {
		text += fmt.Sprintf("; ±%s if they had only begun", show.Duration(*p.WeakerBoundNs))
	}
	if p.StrongerBoundNs != nil {
		text += fmt.Sprintf("; ±%s if they had ended", show.Duration(*p.StrongerBoundNs))
	}
	return text
}

// joinClauses joins what bounds rest on; "" if there are none.
func joinClauses(assumption, premises string) string {
	if assumption == "" || premises == "" {
		return assumption
	}
	return assumption + "; and " + premises
}

// warnOfSpans says which spans are no evidence, and which names stand for several clocks.
func warnOfSpans(f *findings, l ladder) {
	if f.spans == nil {
		return
	}
	for _, r := range f.spans.Replies {
		about := fmt.Sprintf("%s and %s", f.Clocks[r.To].Name, f.Clocks[r.From].Name)
		if r.Refuted > 0 {
			f.warnings.Add(about, fmt.Sprintf("servers of %s that end after their client got the reply, as they last longer (%d): their replies bound nothing",
				f.Clocks[r.From].Name, r.Refuted), "")
		}
		if r.Fallen > 0 {
			f.warnings.Add(about, fmt.Sprintf("replies of operations whose servers mostly last longer than their clients (%d): they bound nothing", r.Fallen), "")
		}
		switch {
		case l.fallen:
			f.warnings.Add(about, fmt.Sprintf("servers of %s end after their client got the reply, as other messages show: bounds rest on servers having begun before their clients end",
				f.Clocks[r.From].Name), "")
		case r.Shape == match.DoubtfulReplies && r.Messages > r.Refuted+r.Fallen && l.weak != nil && l.weak(&r) && f.Options.Replies != RepliesBegin:
			f.warnings.Add(about, fmt.Sprintf("the delays of %d replies do not show that servers of %s end before their clients: bounds rest on servers having begun; "+
				"--replies end trusts them", r.Messages-r.Refuted-r.Fallen, f.Clocks[r.From].Name), "")
		}
	}
	t := &f.spans.Tally
	if t.Kindless > 0 {
		f.warnings.AddN("", "spans whose parent is on another host, and which are no messages: of the two, one lacks its kind (client and server, producer and consumer)", "", t.Kindless)
	}
	if t.MarkedLocal > 0 {
		f.warnings.AddN("", "spans whose parent is on another host, and which are no messages: their flags say that the parent is of their own process", "", t.MarkedLocal)
	}
	if t.Ambiguous > 0 {
		f.warnings.AddN("", "messages of spans left out: several spans have the number of one end, or a client has several servers", "", t.Ambiguous)
	}
	if t.Messages+t.Local == 0 && t.Alone > 0 {
		f.warnings.AddN("", "servers and consumers whose parent is in none of the inputs: spans of their clients and producers are missing, or were sampled away", "", t.Alone)
	}
	warnOfSpanNames(f)
}

// spansExplain reports whether a warning about spans says why a clock shares no message with others.
func spansExplain(m *Matched, clock int) bool {
	if m.spans == nil {
		return false
	}
	_, unjoined := slices.BinarySearch(m.spans.Unjoined, clock)
	t := &m.spans.Tally
	return unjoined || t.Messages+t.Local == 0 && t.Alone > 0
}

// warnOfSpanNames names the hosts whose spans are of several clocks, or may be.
func warnOfSpanNames(f *findings) {
	var services []string
	for _, n := range f.spans.Names {
		host := f.Clocks[n.Clock].Name
		advice := "name hosts by another attribute with --host-attribute"
		if n.Attribute != "" {
			advice = "their " + n.Attribute + " differs: use --host-attribute " + n.Attribute
		} else if n.Apart {
			advice = "no attribute tells them apart: have the program set service.instance.id or host.name"
		}
		switch {
		case n.Refuted:
			f.breakPromise(fmt.Sprintf("%s is the %s of several clocks: of %d spans and their parents on it, no single clock explains %d; %s",
				host, n.NamedBy, n.Pairs, n.Contradicted, advice))
		case n.Apart:
			f.breakPromise(fmt.Sprintf("%s is the %s of several processes whose calls differ as those of different clocks do; %s", host, n.NamedBy, advice))
		case n.Contradicted > 0:
			f.warnings.Add(host, fmt.Sprintf("of %d spans and their parents on it, no single clock explains %d", n.Pairs, n.Contradicted), "")
		}
		if n.NamedBy == trace.ServiceName {
			services = append(services, host)
		}
	}
	if len(services) > 0 {
		f.warnings.Add(firstOf(services), "hosts are named by their service alone; if a service runs on several hosts, its spans are not of one clock: "+
			"name hosts by another attribute with --host-attribute", "")
	}
}

// replyPremiseOf returns the premise on which a channel of replies rests.
func replyPremiseOf(m *Matched, c *trace.Channel) *match.ReplyPremise {
	i := slices.IndexFunc(m.spans.Replies, func(r match.ReplyPremise) bool { return r.From == c.From && r.To == c.To })
	return &m.spans.Replies[i]
}
