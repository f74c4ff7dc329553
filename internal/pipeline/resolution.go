package pipeline

import (
	"slices"

	"meridian/clock"
	"meridian/internal/pipeline/input"
	"meridian/match"
	"meridian/trace"
)

// receiptSteps says how coarse the timestamps of the receipts of a channel's messages are: each as coarse as its own
// source.
type receiptSteps struct {
	all  *trace.Resolution // nil where each has its own
	each []int64           // by message, ns
}

func (s *receiptSteps) of(message int, t clock.HostTime) int64 {
	if s.all != nil {
		return s.all.Of(t)
	}
	return max(s.each[message], 1)
}

// resolutions gathers how coarse the timestamps of each clock are, by source.
type resolutions struct {
	captured  []int64 // by clock: of its captures; 0 without any
	recorded  []int64 // by clock: of the events of recordings, the coarsest; 0 without any
	marks     []trace.Granularity
	coarsest  []int64              // by clock: of all its sources
	receipts  map[int]receiptSteps // by channel; missing: those of its clock's captures
	sends     map[int]*trace.Resolution
	isStated  []bool // by clock: the user states its step, which holds for all sources
	finest    []int64
	different bool // some message has another step than the finest of its clock
}

// grow makes room for a clock.
func (r *resolutions) grow(clock int) {
	for len(r.coarsest) <= clock {
		r.captured, r.recorded, r.coarsest = append(r.captured, 0), append(r.recorded, 0), append(r.coarsest, 0)
		r.marks = append(r.marks, trace.Granularity{})
	}
}

// addList finds how coarse the timestamps of a list are, by host, and returns what leads to it by host.
func (r *resolutions) addList(l *trace.List, clocks []int) []*trace.Resolution {
	finders := make([]trace.ResolutionFinder, len(clocks))
	for _, c := range l.Channels {
		for _, m := range c.Messages {
			finders[c.From].Add(m.Sent)
			finders[c.To].Add(m.Received)
		}
	}
	for _, c := range l.Collectives {
		for _, m := range c.Members {
			finders[m.Clock].Add(m.Entered)
			finders[m.Clock].Add(m.Left)
		}
	}
	for _, b := range l.Broadcasts {
		for _, x := range b.Receptions {
			finders[x.Clock].Add(x.Time)
		}
	}
	found := make([]*trace.Resolution, len(clocks))
	for h := range finders {
		x := finders[h].Resolution()
		found[h] = &x
		r.coarsest[clocks[h]] = max(r.coarsest[clocks[h]], x.Coarsest())
	}
	return found
}

// addRecorded takes account of how coarse the events of a recording are.
func (r *resolutions) addRecorded(clock int, h *input.RecordedHost) {
	r.recorded[clock] = max(r.recorded[clock], h.Step)
	r.coarsest[clock] = max(r.coarsest[clock], h.Step)
}

// settleResolutions decides how coarse each clock's timestamps are: as coarse as the coarsest of its sources, and of
// messages as the finest.
func (j *joiner) settleResolutions(o *MatchOptions) {
	r := &j.resolutions
	r.isStated, r.finest = make([]bool, len(j.Clocks)), make([]int64, len(j.Clocks))
	for i := range j.Clocks {
		c := &j.Clocks[i]
		r.grow(i)
		if i < j.captured {
			r.captured[i] = max(c.Granularity, 1)
		}
		c.Granularity = max(c.Granularity, r.coarsest[i], j.stated[i], 1)
		if step := o.granularityOf(c.Host); step > 0 {
			r.isStated[i], c.Granularity = true, step
		}
	}
	least := func(clock int, step int64) {
		if r.finest[clock] == 0 || step < r.finest[clock] {
			r.finest[clock] = step
		}
	}
	for n := range j.Channels {
		c := &j.Channels[n]
		s, own := r.receipts[n]
		switch {
		case len(c.Messages) == 0:
		case r.isStated[c.To]:
			least(c.To, j.Clocks[c.To].Granularity)
		case !own:
			least(c.To, max(r.captured[c.To], 1))
		case s.all != nil:
			least(c.To, max(s.all.Step, 1))
		default:
			least(c.To, max(slices.Min(s.each), 1))
		}
	}
	for i, step := range r.finest {
		if step == 0 {
			r.finest[i] = j.Clocks[i].Granularity
		}
	}
	for n, s := range r.receipts {
		c := &j.Channels[n]
		for k := range c.Messages {
			r.different = r.different || !r.isStated[c.To] && s.of(k, c.Messages[k].Received) != r.finest[c.To]
		}
	}
	for i := range j.Clocks {
		r.different = r.different || r.finest[i] != j.Clocks[i].Granularity
	}
}

// ForAlignment returns the problem as alignment is to see it. Alignment knows one step for each clock, so that is the
// finest of its messages, and messages whose receipt has a coarser timestamp are received later by the difference: the
// latest instant of each is its own.
//
// Replies is the premise of replies, one of [ReplyPremises] or "" for the first: of these, [RepliesBegin] alone makes a
// difference.
func ForAlignment(m *Matched, replies string) *trace.Problem {
	if replies == RepliesBegin {
		return problemUnder(m, func(*match.ReplyPremise) bool { return true })
	}
	return problemUnder(m, nil)
}

// problemUnder returns the problem for alignment, with the replies that rest on the weaker premise as far as they hold
// by it. Nil is none of them.
func problemUnder(m *Matched, weaker func(*match.ReplyPremise) bool) *trace.Problem {
	r := &m.resolutions
	if !r.different && weaker == nil {
		return &m.Problem
	}
	p := m.Problem
	p.Clocks, p.Channels = slices.Clone(p.Clocks), slices.Clone(p.Channels)
	for i := range p.Clocks {
		p.Clocks[i].Granularity = r.finest[i]
	}
	for n := range p.Channels {
		c := &p.Channels[n]
		if w := m.weaker[n]; weaker != nil && w != nil && weaker(replyPremiseOf(m, c)) {
			c.Messages = w
		}
		s, own := r.receipts[n]
		if !own || r.isStated[c.To] {
			continue
		}
		finest := r.finest[c.To]
		c.Messages = slices.Clone(c.Messages)
		for k := range c.Messages {
			x := &c.Messages[k].Received
			*x = clock.Add(*x, s.of(k, *x)-finest)
		}
	}
	return &p
}

// asRecorded returns messages of a channel as they were recorded, which alignment saw as [ForAlignment] has them. A
// fine timestamp that looks like one that was moved is taken for that: its step then holds it.
func asRecorded(m *Matched, channel int, messages []trace.Message) []trace.Message {
	r := &m.resolutions
	to := m.Channels[channel].To
	s, own := r.receipts[channel]
	if !r.different || !own || s.all == nil || r.isStated[to] {
		return messages
	}
	messages = slices.Clone(messages)
	for k := range messages {
		x := &messages[k].Received
		step := max(s.all.Step, 1)
		for _, coarse := range s.all.Coarser {
			if int64(clock.Add(*x, r.finest[to]-coarse))%coarse == 0 {
				step = coarse
				break
			}
		}
		*x = clock.Add(*x, r.finest[to]-step)
	}
	return messages
}

// endStep returns the step of an end of a message of a list, ns; 0: that of its clock's captures.
func endStep(m *Matched, channel int, received bool, t clock.HostTime) int64 {
	r := &m.resolutions
	c := &m.Channels[channel]
	switch {
	case received && r.isStated[c.To] || !received && r.isStated[c.From]:
		return 0
	case !received:
		if s := r.sends[channel]; s != nil {
			return s.Of(t)
		}
	default:
		if s, own := r.receipts[channel]; own && s.all != nil {
			return s.all.Of(t)
		}
	}
	return 0
}

// stepOf returns the step of a source of a clock's events: that of the clock where the user states it.
func stepOf(m *Matched, clock int, own int64) int64 {
	if m.resolutions.isStated[clock] {
		return m.Clocks[clock].Granularity
	}
	return max(own, 1)
}

// statedSteps is a source of events whose own steps do not hold, because the user states that of their clock.
type statedSteps struct{ trace.Source }

func (s statedSteps) Next(e *trace.Event) error {
	err := s.Source.Next(e)
	e.Step = 0
	return err
}
