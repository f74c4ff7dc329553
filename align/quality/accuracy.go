package quality

import (
	"math"

	"meridian/clock"
	"meridian/trace"
)

// Accuracy is the bound of the error over the events of messages, ns: the larger distance from the estimate to a bound
// at the best and the worst event, and the mean over all that are bounded on both sides (Poirier 2010, section 3.4.1).
type Accuracy struct {
	Best, Worst int64
	Mean        float64
	Events      int64 // bounded on both sides; without any the rest is 0
	Unbounded   int64 // events that nothing bounds on one side at least
}

// AccuracyOf takes the stamps of one clock's messages in a problem. A bound is taken to the nearest nanosecond.
func AccuracyOf(p *trace.Problem, m *clock.Map, number int) Accuracy {
	var a Accuracy
	bounded := m.Low != nil && m.High != nil
	if !bounded {
		for i := range p.Channels {
			a.Unbounded += int64(len(p.Channels[i].Messages)) * endpoints(&p.Channels[i], number)
		}
		return a
	}
	a.Best = math.MaxInt64
	var sum float64
	for i := range p.Channels {
		c := &p.Channels[i]
		if endpoints(c, number) == 0 {
			continue
		}
		// Cursors of their own for each channel: its messages mostly move forward, another's begin anew.
		mid, low, high := clock.NewCursor(m.Mid), clock.NewCursor(m.Low), clock.NewCursor(m.High)
		see := func(stamp clock.HostTime) {
			at := mid.At(stamp)
			bound := max(clock.Sub(at, low.At(stamp)), clock.Sub(high.At(stamp), at), 0)
			a.Best, a.Worst = min(a.Best, bound), max(a.Worst, bound)
			sum += float64(bound)
			a.Events++
		}
		for _, x := range c.Messages {
			if c.From == number {
				see(x.Sent)
			}
			if c.To == number {
				see(x.Received)
			}
		}
	}
	if a.Events == 0 {
		return Accuracy{}
	}
	a.Mean = sum / float64(a.Events)
	return a
}

// endpoints returns how many ends of a channel's messages a clock stamps.
func endpoints(c *trace.Channel, number int) int64 {
	n := int64(0)
	if c.From == number {
		n++
	}
	if c.To == number {
		n++
	}
	return n
}

// Add adds the events of another clock.
func (a *Accuracy) Add(o Accuracy) {
	a.Unbounded += o.Unbounded
	if o.Events == 0 {
		return
	}
	if a.Events == 0 {
		a.Best, a.Worst = o.Best, o.Worst
	}
	a.Best, a.Worst = min(a.Best, o.Best), max(a.Worst, o.Worst)
	events := a.Events + o.Events
	a.Mean += (o.Mean - a.Mean) * float64(o.Events) / float64(events)
	a.Events = events
}
