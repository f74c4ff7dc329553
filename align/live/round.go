package live

import (
	"math"
	"slices"
	"strconv"
	"time"

	"meridian/align"
	"meridian/align/bound"
	"meridian/align/online"
	"meridian/clock"
	"meridian/trace"
)

// A round may cost some 0.1 ms of a core for each message of the problem. So the time between rounds grows with these: to
// perMessage of each, but half of what bounds reach ahead at most, and perUrgent where a round is due at once.
const perMessage, perUrgent = time.Millisecond, 500 * time.Microsecond

func (t round) due() bool {
	if t.unfinished != nil {
		return true
	}
	passed := time.Duration(0)
	for _, c := range t.clocks {
		if d := clock.Sub(c.shown, c.atRound); !c.gone {
			passed = max(passed, time.Duration(max(d, -d)))
		}
	}
	if t.urgent {
		return passed >= min(time.Duration(t.kept)*perUrgent, t.o.Ahead/4)
	}
	fresh := false
	for _, p := range t.pairs {
		fresh = fresh || p.ab.fresh || p.ba.fresh
	}
	if !fresh { // what is known must reach further, nothing else
		return passed >= max(t.o.Interval, t.o.Ahead/4) && len(t.pairs) > 0
	}
	return passed >= max(t.o.Interval, min(time.Duration(t.kept)*perMessage, t.o.Ahead/2))
}

// round is what a timeline does from time to time.
type round struct{ *Timeline }

// rest drops what is old.
func (t round) rest() {
	for _, c := range t.clocks {
		keep := t.o.Keep.Nanoseconds()
		last := c.epochs[len(c.epochs)-1]
		for len(c.epochs) > 1 && !counts(t.pairs, c.epochs[0]) {
			c.runs = append(c.runs[:len(c.runs):len(c.runs)], c.epochs[0].runs...)
			c.epochs = slices.Clone(c.epochs[1:])
			if s := c.epochs[0].step; s != nil {
				s.before = nil // nothing holds what is forgotten
			}
		}
		if last.any() {
			for len(c.runs) > 0 && (len(c.runs) > maxOldRuns || max(clock.Sub(c.shown, c.runs[0].Last), clock.Sub(c.runs[0].First, c.shown)) > keep) {
				c.runs = slices.Clone(c.runs[1:])
			}
			last.forget(clock.Add(last.seen, -keep))
		}
	}
}

// maxOldRuns bounds what is kept of a clock that is set again and again.
const maxOldRuns = 64

// counts reports whether rounds are made with an epoch.
func counts(pairs map[[2]int]*pairState, e *epoch) bool {
	for _, p := range pairs {
		if p.a == e || p.b == e {
			return true
		}
	}
	return false
}

// maxLooks is how many rounds look for a step before its time, every other message.
const maxLooks = 5

// refill begins the bounds of the leading edge anew, with what the windows hold, if that does not contradict itself.
func (p *pairState) refill() {
	p.fill(p.edge)
	if !p.edge.Contradictory() {
		p.looked = 0
		return
	}
	p.edge.Reset()
	if p.looked++; p.looked <= maxLooks {
		p.patience = 2
	}
}

// fill begins a bound anew with what the windows hold.
func (p *pairState) fill(s *online.Strict) {
	s.Reset()
	for _, m := range p.ab.messages(perPart) {
		s.AB(m)
	}
	for _, m := range p.ba.messages(perPart) {
		s.BA(m)
	}
}

// age drops pairs that exchanged nothing for long. Of clocks that go on, the stamps of their last messages stay.
func (t round) age() {
	for key, x := range t.silent {
		if x.a.ended || x.b.ended {
			delete(t.silent, key)
		}
	}
	for key, p := range t.pairs {
		limit := t.o.Forget.Nanoseconds()
		if p.a.ended || p.b.ended {
			limit = t.o.Window.Nanoseconds()
		}
		if p.a.ended && p.b.ended {
			p.idle++
		}
		if clock.Sub(p.a.seen, p.lastA) > limit || clock.Sub(p.b.seen, p.lastB) > limit || p.idle > windowParts {
			delete(t.pairs, key)
			if !p.a.ended && !p.b.ended {
				t.silent[key] = silentPair{p.a, p.b, p.lastA, p.lastB}
			}
		}
	}
}

// group is epochs that exchanged messages, directly or over others.
type group struct {
	epochs []*epoch
	pairs  []*pairState
}

// groups returns those of at least two epochs.
func (t round) groups() []*group {
	root := make(map[*epoch]*epoch)
	var find func(e *epoch) *epoch
	find = func(e *epoch) *epoch {
		if root[e] == nil || root[e] == e {
			return e
		}
		r := find(root[e])
		root[e] = r
		return r
	}
	pairs := sorted(t.pairs)
	for _, p := range pairs {
		root[find(p.a)] = find(p.b)
	}
	of := make(map[*epoch]*group)
	var out []*group
	for _, p := range pairs {
		r := find(p.a)
		g := of[r]
		if g == nil {
			g = &group{}
			of[r] = g
			out = append(out, g)
		}
		g.pairs = append(g.pairs, p)
		g.epochs = append(g.epochs, p.a, p.b)
	}
	for _, g := range out {
		slices.SortFunc(g.epochs, func(d, e *epoch) int { return d.number - e.number })
		g.epochs = slices.Compact(g.epochs)
	}
	return out
}

// solution is a group as the offline stages align it.
type solution struct {
	*group
	*align.Solution
	heir      *align.Solution // the same with the clock as reference that is to take over, if any
	component *component      // nil: none of the group's goes on
	reference *epoch
}

// maxMessages is about how many messages a round of many pairs is made of.
const maxMessages = 5000

// name is what an epoch is called in a round's problem.
func (e *epoch) name() string { return strconv.Itoa(e.number) }

// leading returns the component of a group that goes on, and the clock that is its reference: the oldest one whose reference is
// in the group and has been aligned with others. Of clocks that were all alone it is the wanted one, if any.
func (t round) leading(g *group) (*component, *epoch) {
	var best *component
	for _, e := range g.epochs {
		c := e.component
		if c.reference == e && c.established && (best == nil || c.number < best.number) {
			best = c
		}
	}
	if best != nil {
		return best, best.reference
	}
	for _, e := range g.epochs {
		c := t.clocks[e.clock]
		if wanted := t.o.Align.Reference; wanted != "" && (c.name == wanted || c.host == wanted) && !e.component.established {
			return e.component, e
		}
	}
	return nil, nil
}

// problem is a group's messages as the offline stages take them. The extents of clocks are as far as bounds are to reach.
func (t round) problem(s *solution) *trace.Problem {
	p := &trace.Problem{}
	number := make(map[*epoch]int)
	for i, e := range s.epochs {
		number[e] = i
		r := reachOf(&t.o, e)
		p.Clocks = append(p.Clocks, trace.Clock{Name: e.name(), First: r.from, Last: r.to, Granularity: t.clocks[e.clock].granularity})
	}
	each := max(min(maxMessages/(2*windowParts*len(s.pairs)), perPart), 1)
	for _, pair := range s.pairs {
		a, b := number[pair.a], number[pair.b]
		add := func(from, to int, w *window) {
			messages := w.messages(each)
			t.kept += len(messages)
			for _, m := range messages {
				p.Clocks[from].First = min(p.Clocks[from].First, m.Sent)
				p.Clocks[to].First = min(p.Clocks[to].First, m.Received)
			}
			p.Clocks[from].Events += int64(len(messages))
			p.Clocks[to].Events += int64(len(messages))
			p.Channels = append(p.Channels, trace.Channel{From: from, To: to, Messages: messages})
		}
		add(a, b, &pair.ab)
		add(b, a, &pair.ba)
	}
	for i, e := range s.epochs {
		e.reach = reach{p.Clocks[i].First, p.Clocks[i].Last}
	}
	return p
}

// reachOf returns from where to where a round is to bound an epoch at least: behind what was shown, and around the steps.
func reachOf(o *Options, e *epoch) reach {
	r := reach{e.seen, clock.Add(e.seen, o.Ahead.Nanoseconds())}
	if e.fresh {
		r.from = min(e.seen, max(e.first, clock.Add(e.seen, -o.Window.Nanoseconds())))
		if s := e.step; s != nil {
			r.from = min(r.from, clock.Add(min(s.first, clock.Add(s.last, s.by)), -stepMargin))
		}
	}
	if e.successor != nil && e.successor.fresh {
		s := e.successor.step
		r.to = max(r.to, clock.Add(s.first, max(-s.by, 0)+stepMargin))
	}
	r.from, r.to = max(r.from, 1-clock.Limit), min(r.to, clock.Limit-1)
	return r
}

// commit shows a solution, without bounds where something of several clocks was set, or contradicts them: then it reports true.
func (t round) commit(s *solution, touched map[int]bool, divided bool) (unexplained bool) {
	if s.component == nil {
		t.begins(s)
	}
	handed := t.handOver(s)
	if handed != nil {
		s = handed.solution
	}
	c := s.component
	home := s.Component[slices.Index(s.epochs, c.reference)]
	maps := make(map[*epoch]*clock.Map)
	for i, e := range s.epochs {
		if s.Component[i] != home {
			continue // joined by messages that bound nothing
		}
		m := clock.ComposeMaps(&s.Maps[i], timelineOf(&c.base))
		if e == c.reference {
			m = c.base
		}
		maps[e] = &m
	}
	broken := t.check(s, maps) || divided
	unexplained = broken && crowd(t, s.group)
	if broken { // what was shown since the round began did not know of it
		for _, e := range s.epochs {
			if maps[e] != nil && e != c.reference && !e.fresh && e.prepared < e.seen {
				e.unbind(e.prepared)
			}
		}
	}
	if unexplained {
		for e, m := range maps {
			if e != c.reference {
				m.Low, m.High = nil, nil
			}
		}
	}
	for _, e := range s.epochs {
		m := maps[e]
		if m == nil || e.successor != nil && !e.successor.fresh {
			continue // not bounded, or over
		}
		from, until := e.seen, e.reach.to
		if e == c.reference {
			until = forever
		}
		if handed != nil {
			from = handed.from(m, e)
		}
		if !e.fresh && from >= until {
			continue // it went on further, since the round began, than the round reaches
		}
		screen(t).show(e, c, m, e.reach.from, from, until)
		touched[e.clock] = true
	}
	if len(s.epochs) > 1 {
		c.established = true
	}
	return unexplained
}

// check takes the bounds from clocks whose latest messages contradict them: they were left out as outliers, and may be the first
// behind a step. It notes where clocks do not keep the assumption, and
// reports whether there was either.
func (t round) check(s *solution, maps map[*epoch]*clock.Map) (broken bool) {
	suspects := make(map[*epoch]int)
	for _, p := range s.pairs {
		a, b := maps[p.a], maps[p.b]
		if a == nil || b == nil {
			continue
		}
		stepA, stepB := t.clocks[p.a.clock].granularity, t.clocks[p.b.clock].granularity
		if p.contradicts(a, b, stepA, stepB) || p.contradictsSince(a, b, stepA, stepB) {
			suspects[p.a]++
			suspects[p.b]++
		}
	}
	for e, n := range suspects {
		if e != s.component.reference || n > 1 {
			maps[e].Low, maps[e].High = nil, nil
		}
	}
	broken = len(suspects) > 0
	several := crowd(t, s.group)
	for i := range s.Pairs {
		x := &s.Pairs[i]
		p := t.pairs[[2]int{s.epochs[x.A].number, s.epochs[x.B].number}]
		if p == nil || len(x.Stretches) == 0 {
			continue
		}
		// Among several clocks, bounds that are wider because the clocks may bend are no reason to doubt the messages.
		doubtful := !several || p.contradictory()
		if tellBends(t, p, x.Stretches, s.component.number) && doubtful {
			broken = true
		}
	}
	return broken
}

// tellBends tells where two clocks do not keep the assumption, as far as it was not told before, and reports whether there is such a
// stretch. What was shown between a bend and the message that shows it may be wrong: the last stretch reaches as far as was shown. Where messages
// have just contradicted the assumption it is told again.
func tellBends(t round, p *pairState, stretches []bound.Stretch, component int) (told bool) {
	found, bent := p.alarmed && p.looked == 0, p.bent
	for i, b := range stretches {
		last := i == len(stretches)-1
		if b.To <= bent && !(last && found) {
			continue
		}
		if last {
			b.To = max(b.To, p.a.seen)
		}
		t.change(Change{Kind: Bent, Clock: p.a.clock, Other: p.b.clock, Component: component, From: b.From, To: b.To, Sure: p.proved || p.contradictory()})
		p.bent, told, p.proved = max(p.bent, b.To), true, false
	}
	return told
}

// timelineOf turns a component's base into a map from the timeline of a round, which is its reference's clock.
func timelineOf(base *clock.Map) *clock.MapOf[clock.TimelineTime, clock.TimelineTime] {
	m := clock.ConvertMap[clock.TimelineTime, clock.TimelineTime](base)
	return &m
}

// begins gives a group its component where none goes on: a clock that was alone becomes the reference, and a part of a component
// that has lost touch with its reference goes on from where its new reference's estimate is.
func (t round) begins(s *solution) {
	r := s.reference
	if !r.component.established && r.component.reference == r {
		s.component = r.component
		return
	}
	c := &component{number: t.components, reference: r, established: true}
	t.components++
	old := &r.open().Map
	c.base = line(old, r.seen, func(m *clock.Map, x clock.HostTime) (mid, low, high clock.TimelineTime) {
		mid = m.At(x)
		return mid, mid, mid
	})
	s.component = c
}

// baseSpan is how far apart the two knots of a base are, ns.
const baseSpan = 1 << 40

// slopeSpan is over how much of an estimate its rate is taken, ns.
const slopeSpan = 10_000_000_000

// line returns the map that goes on straight from x, at the rate that m's estimate has there.
func line(m *clock.Map, x clock.HostTime, at func(m *clock.Map, x clock.HostTime) (mid, low, high clock.TimelineTime)) clock.Map {
	rate := float64(clock.Sub(m.At(x), m.At(x-slopeSpan))-slopeSpan) / slopeSpan
	span := int64(baseSpan) + int64(math.Round(rate*baseSpan))
	mid, low, high := at(m, x)
	through := func(y clock.TimelineTime) clock.Curve {
		return clock.Curve{{X: x, Y: y}, {X: clock.Add(x, baseSpan), Y: clock.Add(y, span)}}
	}
	return clock.Map{Mid: through(mid), Low: through(low), High: through(high)}
}
