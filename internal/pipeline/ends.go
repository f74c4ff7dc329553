package pipeline

import (
	"cmp"
	"io"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"meridian/clock"
	"meridian/trace"
)

// ends are the ends of messages as events of one clock: what draws arrows. A flow is a message's number from 1.
type ends struct {
	run    *run
	clock  int
	list   []messageEnd
	at     int
	values [4]trace.Value
	hosts  []trace.Value // names as values
}

// messageEnd is one end of a message: of a channel's, counted through.
type messageEnd struct {
	time    int64
	channel int32
	message int32
}

// Classes of the ends of messages.
const (
	sendClass = iota
	receiveClass
)

var endClasses = []trace.Class{
	sendClass: {Name: "send", Category: "messages", Fields: []trace.Field{{Name: "to", Type: trace.Type{Kind: trace.Text}}}},
	receiveClass: {Name: "receive", Category: "messages", Fields: []trace.Field{
		{Name: "from", Type: trace.Type{Kind: trace.Text}},
		{Name: "delay_ns", Type: trace.Type{Kind: trace.Int}},
		{Name: "delay_low_ns", Type: trace.Type{Kind: trace.Int}},
		{Name: "delay_high_ns", Type: trace.Type{Kind: trace.Int}},
	}},
}

// allEnds returns the ends of the messages of each clock.
func (r *run) allEnds() []*ends {
	all := make([]*ends, len(r.matched.Clocks))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range all {
		group.Go(func() error {
			all[i] = r.newEnds(i)
			return nil
		})
	}
	_ = group.Wait() // none fails
	return all
}

// newEnds gathers the ends of the messages of a clock in order of its time. Channels of which other events are the ends
// are left out.
func (r *run) newEnds(clock int) *ends {
	x := &ends{run: r, clock: clock}
	for c, ch := range r.matched.Channels[:r.sent] {
		if ch.From != clock && ch.To != clock || c >= r.drawn[0] && c < r.drawn[1] {
			continue
		}
		for m := range ch.Messages {
			at := ch.Messages[m].Received
			if ch.From == clock {
				at = ch.Messages[m].Sent
			}
			x.list = append(x.list, messageEnd{at, int32(c), int32(m)})
		}
	}
	slices.SortFunc(x.list, func(a, b messageEnd) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.channel, b.channel), cmp.Compare(a.message, b.message))
	})
	for i := range r.matched.Clocks {
		x.hosts = append(x.hosts, trace.OfText(r.matched.Clocks[i].Name))
	}
	return x
}

func (x *ends) Next(e *trace.Event) error {
	if x.at >= len(x.list) {
		return io.EOF
	}
	n := &x.list[x.at]
	x.at++
	*e = trace.Event{Time: n.time, Flow: x.run.flows[n.channel] + uint64(n.message) + 1, Role: trace.Sends, Class: sendClass}
	if x.run.matched.Channels[n.channel].To == x.clock {
		e.Role, e.Class = trace.Receives, receiveClass
	}
	return nil
}

func (x *ends) Values() []trace.Value {
	n := &x.list[x.at-1]
	ch := &x.run.matched.Channels[n.channel]
	if ch.From == x.clock {
		x.values[0] = x.hosts[ch.To]
		return x.values[:1]
	}
	x.values[0] = x.hosts[ch.From]
	m := &ch.Messages[n.message]
	if x.run.solution == nil {
		x.values[1] = trace.OfInt(clock.Sub(m.Received, m.Sent))
		return x.values[:2]
	}
	from, to := &x.run.solution.Maps[ch.From], &x.run.solution.Maps[ch.To]
	x.values[1] = trace.OfInt(clock.Sub(to.At(m.Received), from.At(m.Sent)))
	x.values[2], x.values[3] = trace.Value{}, trace.Value{}
	sentLow, sentHigh, a, b := from.Bounds(m.Sent)
	receivedLow, receivedHigh, c, d := to.Bounds(m.Received)
	if b && c {
		x.values[2] = trace.OfInt(clock.Sub(receivedLow, sentHigh))
	}
	if a && d {
		x.values[3] = trace.OfInt(clock.Sub(receivedHigh, sentLow))
	}
	return x.values[:]
}

func (x *ends) Streams() []trace.Stream {
	return []trace.Stream{{Name: x.run.rowName(x.clock, "messages"), Kind: trace.Messages, Parent: -1}}
}
func (x *ends) Classes() []trace.Class { return endClasses }
func (x *ends) Close() error           { return nil }

// rowName tells the rows of a host's second clock from those of its first.
func (r *run) rowName(clock int, name string) string {
	if c := &r.matched.Clocks[clock]; c.Name != c.Host {
		return name + " (" + c.Name + ")"
	}
	return name
}
