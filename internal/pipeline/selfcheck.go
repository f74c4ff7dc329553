package pipeline

import (
	"fmt"

	"meridian/clock"
	"meridian/internal/show"
	"meridian/trace"
)

// SelfCheck holds a result against what cannot be, before anything of it is shown: the lower bound of a clock lies
// behind the upper one. It returns what is so, a broken promise each. Of messages that were received before they were
// sent even at the ends of their bounds, w gets the two events of the worst one.
func (a *Aligned) SelfCheck(w *trace.Warnings) (broken []string) {
	if a.Solution == nil {
		return nil
	}
	if a.Report != nil {
		broken = crossedBounds(a.Report.Hosts)
	}
	if a.Solution.Quality.Contradicting > 0 {
		if x, ok := worstContradiction(&a.Problem, a.Solution.Maps); ok {
			from, to := &a.Clocks[x.from], &a.Clocks[x.to]
			w.Add("", fmt.Sprintf("of the messages that the bounds exclude the worst left %s at %s and came to %s at %s, each by its own clock: by the bounds it came at least %s before it left",
				from.Name, show.InstantText(x.Sent), to.Name, show.InstantText(x.Received), show.Duration(x.by)), "")
		}
	}
	return broken
}

// crossedBounds names the first place of each host where the lower bound is behind the upper one. A published method's
// estimate may lie outside of both, which is counted under its name.
func crossedBounds(hosts []show.Host) (broken []string) {
	for i := range hosts {
		for _, k := range hosts[i].Map {
			if k.LowNs != nil && k.HighNs != nil && *k.LowNs > *k.HighNs {
				broken = append(broken, fmt.Sprintf("the bounds of %s contradict themselves at %s of its time: this is a fault of Meridian, please report it", hosts[i].Name, show.InstantText(k.HostNs)))
				break
			}
		}
	}
	return broken
}

// contradiction is a message that the bounds of its clocks exclude.
type contradiction struct {
	trace.Message
	from, to int
	by       int64 // at least, ns
}

// worstContradiction finds the message that came the longest before it left, at the latest that its receiver's bounds
// allow and the earliest that its sender's do.
func worstContradiction(p *trace.Problem, maps []clock.Map) (worst contradiction, ok bool) {
	for i := range p.Channels {
		c := &p.Channels[i]
		if len(maps[c.From].Low) == 0 || len(maps[c.To].High) == 0 {
			continue
		}
		low, high := clock.NewCursor(maps[c.From].Low), clock.NewCursor(maps[c.To].High)
		step := max(p.Clocks[c.To].Granularity, 1)
		for _, m := range c.Messages {
			by := clock.Sub(low.Rounded(m.Sent, clock.Down), high.Rounded(clock.Add(m.Received, step), clock.Up))
			if by > max(worst.by, 1) {
				worst, ok = contradiction{m, c.From, c.To, by}, true
			}
		}
	}
	return worst, ok
}
