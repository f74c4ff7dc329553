package source

import (
	"io"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"meridian/clock"
	"meridian/trace"
)

// Messages is the messages whose endpoints become events. Its fields must not be changed while sources are read.
type Messages struct {
	Clocks   []trace.Clock
	Channels []trace.Channel
	// Skip reports whether the endpoints of a channel are left out, because recorded events are these. Nil skips none.
	Skip func(channel int) bool
	// Maps are those of the clocks, by which the delays of messages are told; nil where nothing was aligned.
	Maps []clock.Map
	// Unbounded is, of each clock, where the bounds of its map say nothing; nil where they always do.
	Unbounded [][]clock.HostInterval
	// Step returns how coarse the timestamp of an end of a channel's messages is, ns: of the receipt, or of the
	// sending; 0: as coarse as its clock's captures. Nil is 0 for all.
	Step func(channel int, received bool, t clock.HostTime) int64
	// Memory keeps the endpoints in the order of their clocks; nil is Go's heap.
	Memory trace.Memory
}

// endpointSource is the endpoints of messages of one clock as events. A message is a flow, which viewers draw as an
// arrow. Flows are numbered from 1, by channel and then by message.
type endpointSource struct {
	row
	of        *Messages
	clock     int
	endpoints endpointRuns
	now       endpoint // the last one that Next returned
	before    []uint64 // by channel: the messages of all channels before it
	names     []trace.Value
	values    [4]trace.Value
}

// Classes of endpoints.
const (
	sendClass = iota
	receiveClass
)

var endpointClasses = []trace.Class{
	sendClass: {Name: "send", Category: "messages", Fields: []trace.Field{{Name: "to", Type: trace.Type{Kind: trace.Text}}}},
	receiveClass: {Name: "receive", Category: "messages", Fields: []trace.Field{
		{Name: "from", Type: trace.Type{Kind: trace.Text}},
		{Name: "delay_ns", Type: trace.Type{Kind: trace.Int}},
		{Name: "delay_low_ns", Type: trace.Type{Kind: trace.Int}},
		{Name: "delay_high_ns", Type: trace.Type{Kind: trace.Int}},
	}},
}

// EndpointClasses returns the classes of the two ends of a message: of its sending, and of its receipt. They are not to be changed.
func EndpointClasses() []trace.Class { return endpointClasses }

// Endpoints returns the endpoints of each clock as events on a row, nil for a clock without any.
func (m *Messages) Endpoints(rowName func(clock int) string) []trace.Source {
	var before []uint64
	next := uint64(0)
	for _, c := range m.Channels {
		before = append(before, next)
		next += uint64(len(c.Messages))
	}
	var names []trace.Value
	for i := range m.Clocks {
		names = append(names, trace.OfText(m.Clocks[i].Name))
	}
	all := make([]trace.Source, len(m.Clocks))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range all {
		group.Go(func() error {
			if endpoints := m.endpointsOf(i); len(endpoints.heads) > 0 {
				all[i] = &endpointSource{
					row: newRow(rowName(i), trace.Messages, endpointClasses),
					of:  m, clock: i, endpoints: endpoints, before: before, names: names,
				}
			}
			return nil
		})
	}
	_ = group.Wait() // none fails
	return all
}

// inGap reports whether a stamp lies where nothing bounds its clock.
func (m *Messages) inGap(number int, t clock.HostTime) bool {
	return m.Unbounded != nil && slices.ContainsFunc(m.Unbounded[number], func(g clock.HostInterval) bool { return g.Holds(t) })
}

func (x *endpointSource) Next(e *trace.Event) error {
	p := &x.now
	if !x.endpoints.next(p) {
		return io.EOF
	}
	*e = trace.Event{Time: p.time, Flow: x.before[p.channel] + uint64(p.message) + 1, Role: trace.Sends, Class: sendClass}
	if x.of.Channels[p.channel].To == x.clock {
		e.Role, e.Class = trace.Receives, receiveClass
	}
	if x.of.Step != nil {
		e.Step = uint32(x.of.Step(int(p.channel), e.Role == trace.Receives, p.time))
	}
	return nil
}

// Values returns the other host, and for the receiver the delay: by the clocks where nothing was aligned, on the timeline
// otherwise, with its bounds where both endpoints have them.
func (x *endpointSource) Values() []trace.Value {
	p := &x.now
	ch := &x.of.Channels[p.channel]
	if ch.From == x.clock {
		x.values[0] = x.names[ch.To]
		return x.values[:1]
	}
	x.values[0] = x.names[ch.From]
	m := &ch.Messages[p.message]
	if x.of.Maps == nil {
		x.values[1] = trace.OfInt(clock.Sub(m.Received, m.Sent))
		return x.values[:2]
	}
	from, to := &x.of.Maps[ch.From], &x.of.Maps[ch.To]
	x.values[1] = trace.OfInt(clock.Sub(to.At(m.Received), from.At(m.Sent)))
	x.values[2], x.values[3] = trace.Value{}, trace.Value{}
	sentLow, sentHigh, sentHasLow, sentHasHigh := from.EventBounds(m.Sent, x.of.Clocks[ch.From].Granularity)
	receivedLow, receivedHigh, receivedHasLow, receivedHasHigh := to.EventBounds(m.Received, x.of.Clocks[ch.To].Granularity)
	if x.of.inGap(ch.From, m.Sent) || x.of.inGap(ch.To, m.Received) {
		return x.values[:]
	}
	if sentHasHigh && receivedHasLow {
		x.values[2] = trace.OfInt(clock.Sub(receivedLow, sentHigh))
	}
	if sentHasLow && receivedHasHigh {
		x.values[3] = trace.OfInt(clock.Sub(receivedHigh, sentLow))
	}
	return x.values[:]
}
