package align

import (
	"cmp"
	"slices"

	"meridian/align/bound"
	"meridian/align/network"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// A host may have two clocks, one that stamps what it sends and one that stamps what it receives. Each of them has messages
// with another host in one direction only. One direction bounds nothing; both clocks together bound everything:
//
//	host   --> db      from its first clock
//	host   <-- db      to its second
//	first <--> second  messages of the host to itself, and chains first --> db --> second
//
// So the two are aligned with each other first. Then the stamps of the second clock are rewritten as stamps of the first,
// each by the bound that makes its message say less. Every other host sees one clock with messages both ways, and its
// bounds stay strict. When all hosts are on the timeline, the second clock is estimated again (its bounds are not) from
// all its messages, so that none of them is inverted because the others were not known.

// mergedProblem is a problem in which second clocks have messages with the first clock of their host only.
type mergedProblem struct {
	trace.Problem
	first   []int // of each clock: the first clock of its host, which is itself for most
	seconds []secondClock
}

// secondClock is the second clock of a host and how it relates to the first.
type secondClock struct {
	clock, first int
	problem      pair.Problem // messages between the first and the second
	estimate     pair.Estimate
}

// mergeSecondClocks merges the clocks of hosts with two. The bounds between the two rest on the assumption of all bounds.
func mergeSecondClocks(t *task, assumed bound.Assumption) mergedProblem {
	p := t.problem
	f := mergedProblem{Problem: trace.Problem{Clocks: p.Clocks, Channels: p.Channels}, first: make([]int, len(p.Clocks))}
	known := make(map[string]int)
	spans := spansOf(p)
	for i, c := range p.Clocks {
		f.first[i] = i
		j, again := known[c.Host]
		if !again || c.Host == "" {
			known[c.Host] = i
			continue
		}
		if t.method.whole != nil {
			continue
		}
		x := secondClock{clock: i, first: j, problem: pair.Problem{
			A: p.Clocks[j], B: c, AB: append(messages(p, j, i), chains(p, j, i)...), BA: messages(p, i, j),
		}}
		x.problem.Unsure = t.unsure(&x.problem, j, i)
		x.estimate = pair.Cones(&x.problem)
		if !t.method.linear {
			var stretches []bound.Stretch
			if !t.options.NoAdapt {
				stretches = bound.Bends(&x.problem, assumed)
			}
			c := bound.NewTolerant(&x.problem, assumed, t.tolerance(j, i), stretches...)
			low, high, ok := c.Curves(reachOf(spans[j], x.problem.A.First, x.problem.A.Last))
			if ok && low != nil && high != nil {
				x.estimate.Map = clock.PairMap{Mid: middle(low, high), Low: low, High: high}
				x.estimate.Fit = pair.Exact
				setRates(&x.estimate)
			}
		}
		// Bounds may stand still, where one of the clocks was set; such bounds have no inverse.
		back := x.estimate.Map.Inverse()
		if _, bounded := x.estimate.Error(); bounded && back.Low != nil && back.High != nil {
			f.first[i] = j
			f.seconds = append(f.seconds, x)
			f.rewrite(i, j, back)
		}
	}
	return f
}

// secondOf returns the second clock of a host if a pair is the two clocks of that host, and nil otherwise.
func (f *mergedProblem) secondOf(x *Pair) *secondClock {
	for i := range f.seconds {
		if s := &f.seconds[i]; min(s.clock, s.first) == x.A && max(s.clock, s.first) == x.B {
			return s
		}
	}
	return nil
}

// rewritten reports whether stamps of a second clock stand among those of a pair's clocks.
func (f *mergedProblem) rewritten(x *Pair) bool {
	return slices.ContainsFunc(f.seconds, func(s secondClock) bool { return s.first == x.A || s.first == x.B })
}

// messages returns all messages from one clock to another, of all channels.
func messages(p *trace.Problem, from, to int) pair.Messages {
	var found pair.Messages
	for _, c := range p.Channels {
		if c.From == from && c.To == to {
			found = append(found, c.Messages)
		}
	}
	return found
}

// chains returns pairs of messages over another host as messages from a host's first clock to its second: one that it sent
// there, and the next one that the other sent back.
func chains(p *trace.Problem, first, second int) pair.Messages {
	var found pair.Messages
	for x := range p.Clocks {
		there, back := slices.Collect(messages(p, first, x).All()), slices.Collect(messages(p, x, second).All())
		slices.SortFunc(there, func(m, n trace.Message) int { return cmp.Compare(m.Received, n.Received) })
		slices.SortFunc(back, func(m, n trace.Message) int { return cmp.Compare(m.Sent, n.Sent) })
		var over []trace.Message
		i := 0
		for _, b := range back {
			for i < len(there) && there[i].Received <= b.Sent {
				i++
			}
			if i > 0 {
				over = append(over, trace.Message{Sent: there[i-1].Sent, Received: b.Received})
			}
		}
		if len(over) > 0 {
			found = append(found, over)
		}
	}
	return found
}

// rewrite moves the messages that clock from has with other hosts to clock to of its own host: sendings to the earliest
// instant that m allows, receptions to the latest. The channels of the original problem stay as they are.
func (f *mergedProblem) rewrite(from, to int, m clock.PairMap) {
	channels := slices.Clone(f.Channels)
	for n, c := range channels {
		if c.From == to || c.To == to || (c.From != from && c.To != from) {
			continue
		}
		moved := make([]trace.Message, len(c.Messages))
		for k, x := range c.Messages {
			if c.From == from {
				x.Sent = m.Low.At(x.Sent, clock.Down)
			} else {
				x.Received = m.High.At(x.Received, clock.Up)
			}
			moved[k] = x
		}
		channels[n].Messages = moved
		if c.From == from {
			channels[n].From = to
		} else {
			channels[n].To = to
		}
	}
	f.Channels = channels
}

// estimateSecondClocks estimates second clocks again, from all their messages with hosts that are on the timeline now.
func (f *mergedProblem) estimateSecondClocks(p *trace.Problem, tree *network.Tree) {
	for _, x := range f.seconds {
		base := &tree.Maps[x.first]
		back := base.Mid.Inverse()
		onFirst := func(other int, stamp clock.HostTime) clock.HostTime {
			return back.At(tree.Maps[other].Mid.At(stamp, clock.Nearest), clock.Nearest)
		}
		problem := x.problem
		for other := range p.Clocks {
			if f.first[other] == x.first || tree.Component[other] != tree.Component[x.clock] {
				continue
			}
			var to, from []trace.Message
			for m := range messages(p, other, x.clock).All() {
				to = append(to, trace.Message{Sent: onFirst(other, m.Sent), Received: m.Received})
			}
			for m := range messages(p, x.clock, other).All() {
				from = append(from, trace.Message{Sent: m.Sent, Received: onFirst(other, m.Received)})
			}
			problem.AB, problem.BA = append(problem.AB, to), append(problem.BA, from)
		}
		if e := pair.Hull(&problem); e.Fit == pair.Exact {
			tree.Maps[x.clock].Mid = clock.ComposeCurves(e.Map.Mid.Inverse(), base.Mid, clock.Nearest)
		}
	}
}

// firstOf returns the first clock of a reference's host, or -1 if there is no reference.
func (f *mergedProblem) firstOf(reference int) int {
	if reference < 0 {
		return reference
	}
	return f.first[reference]
}

// rebase makes a second clock the reference of its component, whose reference is the first clock of the same host.
func rebase(t *network.Tree, reference int) {
	component := t.Component[reference]
	base := t.Maps[reference].Inverse()
	for i := range t.Maps {
		if t.Component[i] == component {
			m := clock.ComposeMaps(&t.Maps[i], &base)
			t.Maps[i] = onTimeline(&m)
		}
	}
	t.Maps[reference] = clock.Identity()
	t.Parent[t.References[component]], t.Parent[reference] = reference, reference
	t.References[component] = reference
}
