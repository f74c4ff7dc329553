package align

import (
	"context"
	"slices"

	"meridian/align/causal"
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// keep pushes the estimates aside where messages are still inverted: all clocks of a component at once. Only the default
// method does so; the published ones are left as published.
func (s *solving) keep(ctx context.Context) error {
	if s.method.name != envelopeMethod || s.Network != joint {
		return nil
	}
	wrong, err := s.inverted(ctx)
	if err != nil || !slices.Contains(wrong, true) {
		return err
	}
	contradict := false
	for c := range s.References {
		contradict = !s.keepComponent(c, wrong) || contradict
	}
	s.counts = nil
	if contradict {
		return s.keepEach(ctx)
	}
	return nil
}

// keepComponent pushes the clocks of a component aside if any is wrong. It reports false where their messages contradict
// each other under any clocks.
func (s *solving) keepComponent(component int, wrong []bool) bool {
	p := &causal.Problem{Clocks: s.problem.Clocks, Maps: s.Maps, Fixed: make([]bool, len(s.Maps))}
	any := false
	for i := range wrong {
		any = any || wrong[i] && s.Component[i] == component
		p.Fixed[i] = s.Parent[i] == i
	}
	if !any {
		return true
	}
	for _, c := range s.problem.Channels {
		if s.Component[c.From] == component && s.Component[c.To] == component {
			p.Channels = append(p.Channels, c)
		}
	}
	curves, ok := causal.RestoreOrder(p)
	if !ok {
		return false
	}
	for i := range curves {
		s.Maps[i].Mid = curves[i]
	}
	return true
}

// keepRounds is how often the clocks are gone through: each is pushed aside by what all others say, and pushes others.
const keepRounds = 6

// keepEach pushes each clock in turn, all others standing still: what can be kept is, where messages contradict each other.
func (s *solving) keepEach(ctx context.Context) error {
	for range keepRounds {
		wrong, err := s.inverted(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(wrong, true) {
			return nil
		}
		s.counts = nil
		for i, any := range wrong {
			if any && s.Parent[i] != i {
				s.push(i)
			}
		}
	}
	return nil
}

// inverted reports for each clock whether a message that it sent or received is inverted beyond granularity; where stamps
// are as fine as they can be, at all.
func (s *solving) inverted(ctx context.Context) ([]bool, error) {
	if err := s.count(ctx); err != nil {
		return nil, err
	}
	wrong := make([]bool, len(s.problem.Clocks))
	for i, n := range s.counts {
		c := &s.problem.Channels[i]
		if n.BeyondGranularity > 0 || n.Inversions > 0 && s.problem.Clocks[c.To].Granularity <= 1 {
			wrong[c.From], wrong[c.To] = true, true
		}
	}
	return wrong, nil
}

// push takes a clock's estimate anew so that none of its messages is inverted under the others' maps: the problem of two
// clocks of which one is the timeline. Stamps of one nanosecond are first taken at their word, which noise can contradict.
func (s *solving) push(i int) {
	for _, fine := range []int64{0, 1} {
		if mid, ok := pair.Keep(s.against(i, fine), s.Maps[i].Mid); ok {
			s.Maps[i].Mid = mid
			return
		}
	}
}

// against returns the problem of a clock and the timeline. What a stamp's step allows (fine for those of a nanosecond) is
// given to the timeline's side, as quality counts it: on the clock's own a step would be stretched by the rate of the push.
func (s *solving) against(i int, fine int64) *pair.Problem {
	p := &pair.Problem{A: s.problem.Clocks[i], B: trace.Clock{Granularity: 1}}
	p.A.Granularity = 1
	for _, c := range s.problem.Channels {
		if (c.From == i) == (c.To == i) {
			continue
		}
		other := c.To
		if c.To == i {
			other = c.From
		}
		step := s.problem.Clocks[c.To].Granularity
		if step <= 1 {
			step = fine
		}
		u := clock.NewCursor(s.Maps[other].Mid)
		moved := make([]trace.Message, len(c.Messages))
		for k, m := range c.Messages {
			// The problem adds a nanosecond of its own to each receiver's stamp.
			if c.From == i {
				m.Received = clock.Add(u.At(m.Received), step-1)
			} else {
				m.Received, m.Sent = m.Received-1, clock.Sub(u.At(m.Sent), step)
			}
			moved[k] = m
		}
		if c.From == i {
			p.AB = append(p.AB, moved)
		} else {
			p.BA = append(p.BA, moved)
		}
	}
	return p
}
