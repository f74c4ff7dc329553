package pipeline

import (
	"math"

	"meridian/clock"
	"meridian/internal/show"
	"meridian/trace"
)

// worstOf returns where the bound of a clock is worst outside of its gaps, and how far its messages are from there; nil for a
// clock without a bound.
func (s *Solved) worstOf(c *coverage, i int) *show.WorstBound {
	k := &s.Clocks[i]
	var out *show.WorstBound
	var worst int64
	add := func(first, last clock.HostTime) {
		if at, ns, ok := c.maps[i].WorstError(first, last); ok && (out == nil || ns > worst) {
			out, worst = &show.WorstBound{HostNs: at}, ns
		}
	}
	from := k.First
	for _, g := range c.gaps[i] {
		add(from, clock.Add(g.First, -1))
		from = clock.Add(g.Last, 1)
	}
	add(from, k.Last)
	if out != nil {
		out.SinceMessageNs, out.UntilMessageNs = messagesAround(s.Channels, i, out.HostNs)
	}
	return out
}

// messagesAround returns how long before an instant a clock had its last message, and how long after it the next; nil for none.
func messagesAround(channels []trace.Channel, number int, at clock.HostTime) (since, until *int64) {
	const none = math.MaxInt64
	before, after := int64(none), int64(none)
	for k := range channels {
		c := &channels[k]
		if c.From == c.To || c.From != number && c.To != number {
			continue
		}
		for m := range c.Messages {
			t := c.Messages[m].Received
			if c.From == number {
				t = c.Messages[m].Sent
			}
			if d := clock.Sub(at, t); d >= 0 {
				before = min(before, d)
			}
			if d := clock.Sub(t, at); d >= 0 {
				after = min(after, d)
			}
		}
	}
	if before != none {
		since = &before
	}
	if after != none {
		until = &after
	}
	return since, until
}
