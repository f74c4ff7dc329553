package align

import (
	"context"
	"math"
	"slices"

	"meridian/align/envelope"
	"meridian/align/network"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// place puts all clocks on the timeline of their component's reference, estimates and bounds along a tree.
func (s *solving) place(ctx context.Context, chosen int) error {
	var err error
	if s.method.whole != nil {
		s.Tree, err = s.method.whole(s.problem, s.options)
		return err
	}
	s.Network = s.strategy()
	name := s.Network
	if name == joint {
		name = ""
	}
	if s.Tree, err = network.Build(name, len(s.Clocks), s.edges(), chosen); err != nil {
		return err
	}
	if s.Network != joint {
		return nil
	}
	s.deviations, s.smoothed = make([][]pair.Deviation, len(s.Clocks)), make([]bool, len(s.References))
	for c := range s.References {
		if err := s.smooth(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// smooth takes the estimates of a component's clocks anew, all at once. Two clocks have nothing to add to their own pair,
// and where a clock hangs on messages one way only there is nothing to start from.
func (s *solving) smooth(ctx context.Context, component int) error {
	number := make(map[int]int)
	n := &envelope.Network{}
	for i, c := range s.Component {
		if c != component {
			continue
		}
		if parent := s.Parent[i]; parent != i && s.between(i, parent).Fit == pair.OneWay {
			return nil
		}
		number[i] = len(n.Clocks)
		n.Clocks = append(n.Clocks, s.Clocks[i])
		n.Start = append(n.Start, s.Maps[i].Mid)
		n.Sigma = append(n.Sigma, s.sigmaOf(i))
	}
	if len(n.Clocks) < 3 {
		return nil
	}
	n.Reference = number[s.References[component]]
	for _, c := range s.Channels {
		from, inside := number[c.From]
		to, both := number[c.To]
		if !inside || !both || c.From == c.To {
			continue
		}
		n.Channels = append(n.Channels, trace.Channel{From: from, To: to, Messages: c.Messages})
		n.Least = append(n.Least, s.leastOf(c.From, c.To))
	}
	j, err := envelope.Joint(ctx, n)
	if err != nil || j == nil {
		return err
	}
	clocks := make([]int, len(n.Clocks))
	for i, k := range number {
		clocks[k] = i
		s.Maps[i].Mid = j.Curves[k]
		s.deviations[i] = j.Deviation[k]
	}
	for _, r := range j.Routes {
		s.routes = append(s.routes, Route{From: clocks[r.From], To: clocks[r.To], At: r.At, By: r.By})
	}
	s.smoothed[component] = true
	return nil
}

// usualSigma is the wander of a clock of which no pair tells.
const usualSigma = 1e-9

// sigmaOf returns the wander of a clock from those of its pairs: the lower median, since a pair wanders with the worse of
// its clocks, and of the variance half, as if both were alike.
func (s *solving) sigmaOf(c int) float64 {
	var found []float64
	for i := range s.Pairs {
		x := &s.Pairs[i]
		if (x.A == c || x.B == c) && x.Estimate.Sigma > 0 {
			found = append(found, x.Estimate.Sigma/math.Sqrt2)
		}
	}
	if len(found) == 0 {
		return usualSigma
	}
	slices.Sort(found)
	return found[(len(found)-1)/2]
}

// leastOf returns the least delay possible between two clocks.
func (s *solving) leastOf(a, b int) int64 {
	if x := s.find(a, b); x != nil {
		return x.Least
	}
	return 0
}

// enclose tightens the bounds of all clocks over every path, and keeps the estimates within. Loops whose bounds
// contradict each other prove that clocks wandered by more than was stated.
func (s *solving) enclose() error {
	if s.method.linear || s.method.whole != nil {
		return nil
	}
	if len(s.Pairs) > len(s.Clocks)-len(s.References) || len(s.Clocks) > 2 {
		maps, wrong, err := network.Tighten(s.edges(), s.Tree, s.sampling())
		if err != nil {
			return err
		}
		s.Contradictions = wrong
		for i := range maps {
			s.Maps[i].Low, s.Maps[i].High = maps[i].Low, maps[i].High
		}
	}
	for i := range s.Maps {
		if s.Parent[i] != i {
			s.Maps[i].Mid = within(&s.Maps[i], s.Clocks[i].First, s.Clocks[i].Last)
		}
	}
	return nil
}

// doubt drops bounds that contradict each other, as they can where messages are no messages at all: decades apart, or
// claiming rates that no clock has.
func (s *solving) doubt() {
	for i := range s.Maps {
		m, c := &s.Maps[i], &s.Clocks[i]
		m.Mid = rising(m.Mid)
		if m.Low != nil && m.Low.Check() != nil || m.High != nil && m.High.Check() != nil {
			m.Low, m.High = nil, nil
		}
		for k := range int64(9) {
			low, high, lowOK, highOK := m.Bounds(c.First + clock.MulDiv(clock.Sub(c.Last, c.First), k, 8, clock.Nearest))
			if lowOK && highOK && low > high {
				m.Low, m.High = nil, nil
			}
		}
	}
}

// rising returns a curve without the knots at which it would be no function of time: those that arithmetic drove to the ends
// of what an int64 holds.
func rising(c clock.Curve) clock.Curve {
	if c.Check() == nil {
		return c
	}
	out := make(clock.Curve, 0, len(c))
	for _, k := range c {
		if n := len(out); n == 0 || k.X > out[n-1].X && k.Y >= out[n-1].Y {
			out = append(out, k)
		}
	}
	return out
}

// sampling says how often bounds over the network are taken: so often that what the wander adds between two instants is
// a small part of epsilon, as far as the number of clocks allows.
func (s *solving) sampling() network.Sampling {
	span := int64(1)
	for _, c := range s.Clocks {
		span = max(span, clock.Sub(c.Last, c.First))
	}
	const most = 1 << 18 // instants times clocks
	n := min(span/4_000_000_000+64, max(most/int64(len(s.Clocks)), 128), 4096)
	a := s.Assumed
	return network.Sampling{Instants: int(n), Margin: func(h int64) int64 { return int64(math.Ceil(min(a.Sag(float64(h)), 1e17))) }}
}

// within returns the estimate of a map, moved into its bounds, as far as there are some, where it leaves them between two
// host times.
func within(m *clock.Map, first, last int64) clock.Curve {
	hosts := []int64{first, last}
	for _, c := range []clock.Curve{m.Mid, m.Low, m.High} {
		for _, k := range c {
			if k.X >= first && k.X <= last {
				hosts = append(hosts, k.X)
			}
		}
	}
	inside := func(h int64) int64 {
		low, high, lowOK, highOK := m.Bounds(h)
		v := m.At(h)
		if lowOK && v < low {
			v = low
		}
		if highOK && v > high {
			v = high
		}
		return v
	}
	if !slices.ContainsFunc(hosts, func(h int64) bool { return inside(h) != m.At(h) }) {
		return m.Mid
	}
	for _, k := range m.Mid {
		hosts = append(hosts, k.X)
	}
	slices.Sort(hosts)
	out := make(clock.Curve, 0, len(hosts))
	for _, h := range slices.Compact(hosts) {
		v := inside(h)
		if n := len(out); n > 0 {
			v = max(v, out[n-1].Y)
		}
		out = append(out, clock.Knot{X: h, Y: v})
	}
	return out
}
