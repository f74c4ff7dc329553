package align

import (
	"cmp"
	"slices"

	"meridian/align/bound"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// A host may have two clocks, one for what it sends and one for what it receives. Each of them then has messages with
// another host in one direction only, which bound nothing, though together they bound everything:
//
//	host   --> db      from its first clock
//	host   <-- db      to its second
//	first <--> second  what the host passes to itself, and chains first --> db --> second
//
// So the two are aligned with each other first, and the messages of the second are carried to the first, each by the
// bound that makes it say less: every other host sees one clock with messages both ways, and its bounds stay strict.
// When all hosts are on the timeline, the second's estimate (not its bounds) is taken anew between all the messages it
// has, so that none of them is inverted for want of knowing the others.

// folded is a problem in which second clocks have messages with their host's first one only.
type folded struct {
	trace.Problem
	first   []int // of each clock: the first clock of its host, itself as a rule
	seconds []second
}

// second is a second clock and what is known of it.
type second struct {
	clock, first int
	problem      pair.Problem // from the first to it
	estimate     pair.Estimate
}

// fold finds the hosts with two clocks. Bounds between the two rest on what all bounds do.
func (s *solving) fold() {
	p := s.problem
	f := &s.folded
	*f = folded{Problem: trace.Problem{Clocks: p.Clocks, Channels: p.Channels}, first: make([]int, len(p.Clocks))}
	known := make(map[string]int)
	for i, c := range p.Clocks {
		f.first[i] = i
		j, again := known[c.Host]
		if !again || c.Host == "" {
			known[c.Host] = i
			continue
		}
		if s.method.whole != nil {
			continue
		}
		x := second{clock: i, first: j, problem: pair.Problem{
			A: p.Clocks[j], B: c, AB: append(messages(p, j, i), chains(p, j, i)...), BA: messages(p, i, j),
		}}
		x.estimate = pair.Hull(&x.problem)
		if !s.method.linear {
			low, high, ok := bound.New(&x.problem, s.Assumed).Curves(s.reach(x.problem.A.First, x.problem.A.Last))
			if ok && low != nil && high != nil {
				x.estimate.Map = clock.Map{Mid: between(low, high), Low: low, High: high}
				x.estimate.Fit = pair.Exact
				rates(&x.estimate)
			}
		}
		if _, bounded := x.estimate.Error(); bounded {
			f.first[i] = j
			f.seconds = append(f.seconds, x)
			f.carry(i, j, x.estimate.Map.Inverse())
		}
	}
}

// secondOf returns what is known of a host's second clock where the pair is that and its first one, nil elsewhere.
func (f *folded) secondOf(x *Pair) *second {
	for i := range f.seconds {
		if s := &f.seconds[i]; min(s.clock, s.first) == x.A && max(s.clock, s.first) == x.B {
			return s
		}
	}
	return nil
}

// messages returns all messages from one clock to another, which several channels may hold.
func messages(p *trace.Problem, from, to int) pair.Messages {
	var found pair.Messages
	for _, c := range p.Channels {
		if c.From == from && c.To == to {
			found = append(found, c.Messages)
		}
	}
	return found
}

// chains returns the messages from a host's first clock to its second that went over another host: it sent there before
// the other sent back.
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

// carry moves the messages that clock from has with other hosts to clock to of its own: sendings to the earliest instant
// that m allows, receptions to the latest.
func (f *folded) carry(from, to int, m clock.Map) {
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

// unfold takes the estimates of second clocks anew, from all their messages with hosts that are on the timeline now.
func (s *solving) unfold() {
	p := s.problem
	for _, x := range s.seconds {
		base := &s.Maps[x.first]
		back := base.Mid.Inverse()
		onFirst := func(other int, stamp int64) int64 {
			return back.At(s.Maps[other].Mid.At(stamp, clock.Nearest), clock.Nearest)
		}
		problem := x.problem
		for other := range p.Clocks {
			if s.first[other] == x.first || s.Component[other] != s.Component[x.clock] {
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
			s.Maps[x.clock].Mid = clock.ComposeCurves(e.Map.Mid.Inverse(), base.Mid, clock.Nearest)
		}
	}
}

// firstOf returns the first clock of a chosen reference's host, or -1 if none was chosen.
func (f *folded) firstOf(reference int) int {
	if reference < 0 {
		return reference
	}
	return f.first[reference]
}

// follow makes a second clock the reference of its component, of which its host's first clock is.
func (s *solving) follow(reference int) {
	component := s.Component[reference]
	base := s.Maps[reference].Inverse()
	for i := range s.Maps {
		if s.Component[i] == component {
			s.Maps[i] = clock.ComposeMaps(&s.Maps[i], &base)
		}
	}
	s.Maps[reference] = clock.Identity()
	s.Parent[s.References[component]], s.Parent[reference] = reference, reference
	s.References[component] = reference
}
