package align

import (
	"fmt"
	"slices"

	"meridian/align/network"
	"meridian/align/pair"
	"meridian/align/quality"
	"meridian/clock"
	"meridian/trace"
)

// A host's stamps may be of a clock that is steered, with readings that lead to one that is not (trace.Clock.Free). Then the free
// clock is aligned, and the result is put together with what leads to it:
//
//	stamp --Free--> free clock --estimate, bounds--> timeline
//
// Free is known with an error. No bound may come from a message that is not there, so a message counts as sent at the
// earliest instant that its stamp may mean, and as received at the latest, as with the second clock of a host. Which message
// is inverted on the timeline, on the other hand, is decided by the estimates, Free's among them.

// freeClocks is a problem some of whose clocks have a free one.
type freeClocks struct {
	recorded *trace.Problem    // as given
	exact    *trace.Problem    // on the free clocks, by Free's estimate
	inverse  []clock.PairCurve // of each clock, from its free clock to its stamps; nil where the stamps are that
}

// newFreeClocks returns nil if no clock has a free one.
func newFreeClocks(p *trace.Problem) *freeClocks {
	if !slices.ContainsFunc(p.Clocks, func(c trace.Clock) bool { return c.Free != nil }) {
		return nil
	}
	f := &freeClocks{recorded: p, inverse: make([]clock.PairCurve, len(p.Clocks))}
	for i, c := range p.Clocks {
		if c.Free != nil {
			f.inverse[i] = c.Free.Mid.Inverse()
		}
	}
	// A nanosecond more and less, since rounding must invert no message when the maps are put together.
	f.exact = f.moved(
		func(m *clock.PairMap, stamp clock.HostTime, _ int64) clock.HostTime {
			return clock.Add(m.Mid.At(stamp, clock.Up), 1)
		},
		func(m *clock.PairMap, stamp clock.HostTime, _ int64) clock.HostTime {
			return clock.Add(m.Mid.At(stamp, clock.Down), -1)
		})
	return f
}

// widened returns the problem on the free clocks in which no message says more than its stamps do.
func (f *freeClocks) widened() *trace.Problem {
	return f.moved(
		func(m *clock.PairMap, stamp clock.HostTime, _ int64) clock.HostTime {
			return m.Low.At(stamp, clock.Down)
		},
		func(m *clock.PairMap, stamp clock.HostTime, step int64) clock.HostTime {
			// The event was before the stamp's step was over; whoever uses the stamp adds the step again.
			return clock.Add(m.High.At(clock.Add(stamp, step), clock.Up), -step)
		})
}

// moved returns the problem with stamps of the free clocks.
func (f *freeClocks) moved(sent, received func(m *clock.PairMap, stamp clock.HostTime, step int64) clock.HostTime) *trace.Problem {
	p := *f.recorded
	free := func(c int) *clock.PairMap { return f.recorded.Clocks[c].Free }
	step := func(c int) int64 { return max(f.recorded.Clocks[c].Granularity, 1) }
	p.Clocks = slices.Clone(p.Clocks)
	for i := range p.Clocks {
		if c := &p.Clocks[i]; c.Free != nil {
			c.First, c.Last = c.Free.At(c.First), c.Free.At(c.Last)
			c.Free, c.Activity = nil, nil // which speaks of the recorded timestamps
		}
	}
	p.Channels = slices.Clone(p.Channels)
	for n := range p.Channels {
		c := &p.Channels[n]
		from, to := free(c.From), free(c.To)
		if from == nil && to == nil {
			continue
		}
		messages := make([]trace.Message, len(c.Messages))
		for k, m := range c.Messages {
			if from != nil {
				m.Sent = sent(from, m.Sent, step(c.From))
			}
			if to != nil {
				m.Received = received(to, m.Received, step(c.To))
			}
			messages[k] = m
		}
		c.Messages = messages
	}
	p.Broadcasts = slices.Clone(p.Broadcasts)
	for n := range p.Broadcasts {
		b := &p.Broadcasts[n]
		b.Receptions = slices.Clone(b.Receptions)
		for k := range b.Receptions {
			if m := free(b.Receptions[k].Clock); m != nil {
				b.Receptions[k].Time = m.At(b.Receptions[k].Time)
			}
		}
	}
	p.Samples = slices.Clone(p.Samples)
	for n := range p.Samples {
		s := &p.Samples[n]
		for _, end := range []struct {
			clock int
			stamp *clock.HostTime
		}{{s.Clock, &s.Host}, {s.Against, &s.Reference}} {
			if m := free(end.clock); m != nil {
				e, _ := m.Error(*end.stamp)
				*end.stamp, s.Error = m.At(*end.stamp), clock.Add(s.Error, e)
			}
		}
	}
	return &p
}

// unsure returns by how much the stamps of two clocks lengthen a round trip between them, see [pair.Problem]; nil where neither
// has a free clock.
func (t *task) unsure(p *pair.Problem, a, b int) func(clock.HostTime) int64 {
	if t.free == nil || p.AB.Len() == 0 {
		return nil
	}
	width := func(c int) func(clock.HostTime) int64 {
		if t.parted != nil {
			c = t.parted.ClockOf(c)
		}
		m := t.free.of(c)
		if m == nil {
			return func(clock.HostTime) int64 { return 0 }
		}
		back := t.free.inverse[c]
		return func(at clock.HostTime) int64 {
			stamp := back.At(at, clock.Nearest)
			return clock.Sub(m.High.At(stamp, clock.Up), m.Low.At(stamp, clock.Down))
		}
	}
	// How wide the stamps of b are hardly changes over a delay, so that of any message tells how far b's clock is from a's.
	var offset int64
	for m := range p.AB.All() {
		offset = clock.Sub(m.Received, m.Sent)
		break
	}
	ofA, ofB := width(a), width(b)
	return func(at clock.HostTime) int64 { return ofA(at) + ofB(clock.Add(at, offset)) }
}

// measured returns the problem by which messages are ordered and counted. Where clocks were set it is the parted one: there a
// message that is inverted by less than Free's error may be overlooked.
func (t *task) measured() *trace.Problem {
	if t.free != nil && t.parted == nil {
		return t.free.exact
	}
	return t.problem
}

// of returns the map from a clock's stamps to its free clock, nil where the stamps are that.
func (f *freeClocks) of(c int) *clock.PairMap { return f.recorded.Clocks[c].Free }

// back returns the stamp that a clock has when its free clock shows an instant.
func (f *freeClocks) back(c int, at clock.HostTime) clock.HostTime {
	if f.of(c) != nil {
		return f.inverse[c].At(at, clock.Nearest)
	}
	return at
}

// tree returns a tree of the clocks as recorded.
func (f *freeClocks) tree(t *network.Tree) *network.Tree {
	out := cloneTree(t)
	for i := range out.Maps {
		if m := f.of(i); m != nil {
			out.Maps[i] = clock.ComposeMaps(m, &t.Maps[i])
		}
	}
	return out
}

// pairs returns pairs of the clocks as recorded. Skews stay those of the free clocks.
func (f *freeClocks) pairs(pairs []Pair) []Pair {
	pairs = slices.Clone(pairs)
	for i := range pairs {
		f.pair(&pairs[i])
	}
	return pairs
}

func (f *freeClocks) pair(x *Pair) {
	a, b := f.of(x.A), f.of(x.B)
	e := &x.Estimate
	if a != nil || b != nil {
		x.Believing = clock.PairMap{} // of counters
	}
	if a != nil {
		back := f.inverse[x.A]
		onA := func(at clock.HostTime) clock.HostTime { return back.At(at, clock.Nearest) }
		e.First, e.Last = onA(e.First), onA(e.Last)
		e.Deviation = slices.Clone(e.Deviation)
		for k := range e.Deviation {
			e.Deviation[k].Host = onA(e.Deviation[k].Host)
		}
		x.Stretches = slices.Clone(x.Stretches)
		for k := range x.Stretches {
			x.Stretches[k].From, x.Stretches[k].To = onA(x.Stretches[k].From), onA(x.Stretches[k].To)
		}
		if e.Map.Mid != nil {
			e.Map = clock.ComposeMaps(a, &e.Map)
		}
	}
	if b != nil && e.Map.Mid != nil {
		inverse := b.Inverse()
		e.Map = clock.ComposeMaps(&e.Map, &inverse)
	}
	e.Routes = slices.Clone(e.Routes)
	for k := range e.Routes {
		receiver := x.A
		if e.Routes[k].FromA {
			receiver = x.B
		}
		e.Routes[k].At = f.back(receiver, e.Routes[k].At)
	}
}

// solution returns a solution of the clocks as recorded.
func (f *freeClocks) solution(s *Solution) *Solution {
	out := *s
	out.Tree, out.Pairs = f.tree(s.Tree), f.pairs(s.Pairs)
	out.Hosts, out.Believing = slices.Clone(s.Hosts), slices.Clone(s.Believing)
	for i := range out.Hosts {
		m, h := f.of(i), &out.Hosts[i]
		if m == nil {
			continue
		}
		out.Believing[i] = clock.Map{Mid: out.Maps[i].Mid} // the other is of the counter
		c := &f.recorded.Clocks[i]
		if h.Bounded {
			h.Spread, h.Bounded = pair.SpreadOf(&out.Maps[i], c.First, c.Last)
		}
		h.Outside = quality.OutsideOf(f.recorded, &out.Maps[i], i, c.First, c.Last)
		back := f.inverse[i]
		h.Deviation = slices.Clone(h.Deviation)
		for k := range h.Deviation {
			h.Deviation[k].Host = back.At(h.Deviation[k].Host, clock.Nearest)
		}
	}
	out.Routes = slices.Clone(s.Routes)
	for i := range out.Routes {
		out.Routes[i].At = f.back(out.Routes[i].To, out.Routes[i].At)
	}
	out.Steps = slices.Clone(s.Steps)
	for i := range out.Steps {
		x := &out.Steps[i]
		x.At = f.back(x.Clock, x.At)
	}
	if s.Pieces != nil {
		out.Pieces = slices.Clone(s.Pieces)
		for c := range out.Pieces {
			out.Pieces[c] = f.pieces(c, s.Pieces[c])
		}
	}
	return &out
}

// pieces returns the pieces of a clock as recorded.
func (f *freeClocks) pieces(c int, pieces []Piece) []Piece {
	m := f.of(c)
	if m == nil || pieces == nil {
		return pieces
	}
	pieces = slices.Clone(pieces)
	for i := range pieces {
		x := &pieces[i]
		x.First, x.Last = f.back(c, x.First), f.back(c, x.Last)
		if x.Map.Mid != nil {
			x.Map = clock.ComposeMaps(m, &x.Map)
		}
	}
	return pieces
}

// checkFree returns what is wrong with the map to a free clock.
func checkFree(c *trace.Clock) error {
	if c.Free == nil {
		return nil
	}
	for _, x := range []struct {
		name  string
		curve clock.PairCurve
	}{{"estimate", c.Free.Mid}, {"lower bound", c.Free.Low}, {"upper bound", c.Free.High}} {
		if err := x.curve.Check(); err != nil {
			return fmt.Errorf("clock %q: the %s of its free clock: %w", c.Name, x.name, err)
		}
		for _, k := range x.curve {
			if !clock.Valid(k.X) || !clock.Valid(k.Y) {
				return fmt.Errorf("clock %q: the %s of its free clock at %d ns is not within ±2^62 ns", c.Name, x.name, k.X)
			}
		}
	}
	for _, curve := range []clock.PairCurve{c.Free.Mid, c.Free.Low, c.Free.High} {
		for _, k := range curve {
			low, high, _, _ := c.Free.Bounds(k.X)
			if at := c.Free.At(k.X); at < low || at > high {
				return fmt.Errorf("clock %q: the estimate of its free clock at %d ns is outside its bounds", c.Name, k.X)
			}
		}
	}
	return nil
}
