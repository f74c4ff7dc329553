package align

import (
	"meridian/align/pair"
	"meridian/clock"
	"meridian/trace"
)

// A host may have two clocks, one for what it sends and one for what it receives. Each of them then has messages with
// another host in one direction only, which bound nothing, though together they bound everything. So the two are
// aligned with each other first, and the messages of the second are carried to the first: every other host sees one
// clock with messages both ways. What the carrying may be wrong by widens the bounds of the pairs concerned.

// folded is a problem in which second clocks have messages with their host's first one only.
type folded struct {
	trace.Problem
	widen []int64 // of each clock: the worst error of the messages carried to it, ns
}

func fold(p *trace.Problem) *folded {
	f := &folded{Problem: trace.Problem{Clocks: p.Clocks, Channels: p.Channels}, widen: make([]int64, len(p.Clocks))}
	first := make(map[string]int)
	for i, c := range p.Clocks {
		j, known := first[c.Host]
		if !known || c.Host == "" {
			first[c.Host] = i
			continue
		}
		e := pair.Hull(&pair.Problem{A: p.Clocks[j], B: c, AB: messages(p, j, i), BA: messages(p, i, j)})
		if spread, bounded := e.Error(); bounded {
			f.carry(i, j, e.Map.Inverse())
			f.widen[j] = max(f.widen[j], spread.Worst+spread.Worst/1000+1)
		}
	}
	return f
}

// carry moves the messages that clock from has with others to clock to of the same host.
func (f *folded) carry(from, to int, m clock.Map) {
	channels := make([]trace.Channel, len(f.Channels))
	for n, c := range f.Channels {
		channels[n] = c
		if c.From == to || c.To == to || (c.From != from && c.To != from) {
			continue
		}
		moved := make([]trace.Message, len(c.Messages))
		cursor := clock.NewCursor(m.Mid)
		for k, x := range c.Messages {
			if c.From == from {
				x.Sent = cursor.At(x.Sent)
			} else {
				x.Received = cursor.At(x.Received)
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

// widened returns the estimate of a pair with its bounds moved apart.
func widened(e pair.Estimate, by int64) pair.Estimate {
	if by == 0 {
		return e
	}
	shift := func(c clock.Curve, by int64) clock.Curve {
		out := make(clock.Curve, len(c))
		for i, k := range c {
			out[i] = clock.Knot{Host: k.Host, Timeline: clock.Add(k.Timeline, by)}
		}
		return out
	}
	if e.Map.Low != nil {
		e.Map.Low = shift(e.Map.Low, -by)
	}
	if e.Map.High != nil {
		e.Map.High = shift(e.Map.High, by)
	}
	return e
}
