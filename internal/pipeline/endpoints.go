package pipeline

import (
	"slices"

	"meridian/clock"
	"meridian/internal/pipeline/source"
	"meridian/order"
	"meridian/trace"
)

// endpoints returns the ends of messages that no recording has, as sources of events: one for each clock, and for a clock that
// was set one for each piece, so that each end comes by the map of its own piece. Host numbers the host of a clock.
func (o *Ordered) endpoints(host func(clock int) int) []order.EventSource {
	messages, owner := o.messageSource()
	var all []order.EventSource
	for i, s := range messages.Endpoints(func(i int) string { return o.rowName(owner[i], "messages") }) {
		if s == nil {
			continue
		}
		of := o.placed(owner[i], order.EventSource{Events: s, Host: host(owner[i]), Map: o.mapOf(owner[i]), Window: order.InOrder})
		of.Granularity = stepOf(o.Matched, owner[i], o.resolutions.captured[owner[i]]) // messages of lists have their own
		if of.Map != nil && o.Solution.Divided != nil && i < len(o.Solution.Divided.Clocks) && o.inPieces(owner[i]) {
			of.Map, of.Unbounded = &messages.Maps[i], messages.Unbounded[i]
		}
		all = append(all, of)
	}
	return all
}

// messageSource returns the messages that were sent, and the clock of each clock of them. Where clocks were set these are the
// pieces, and behind them all clocks again, for messages whose pieces are not known.
func (o *Ordered) messageSource() (messages *source.Messages, owner []int) {
	if o.Solution == nil || o.Solution.Divided == nil {
		messages = &source.Messages{Clocks: o.Clocks, Channels: o.Channels[:o.sent], Skip: o.isRecorded, Memory: o.memory,
			Step: func(channel int, received bool, t clock.HostTime) int64 {
				return endStep(o.Matched, channel, received, t)
			}}
		if o.Solution != nil {
			messages.Maps, messages.Unbounded = o.coverage.maps, o.coverage.gaps
		}
		for i := range o.Clocks {
			owner = append(owner, i)
		}
		return messages, owner
	}
	d := o.Solution.Divided
	pieces := len(d.Clocks)
	messages = &source.Messages{
		Clocks: append(slices.Clone(d.Clocks), o.Clocks...), Maps: append(slices.Clone(d.Maps), o.coverage.maps...),
		Unbounded: make([][]clock.HostInterval, pieces, pieces+len(o.Clocks)), Memory: o.memory,
	}
	for k, c := range d.ClockOf {
		if x := &d.Clocks[k]; !o.inPieces(c) || !o.bounds(&d.Maps[k], c, x.First, x.Last) {
			messages.Maps[k], messages.Unbounded[k] = o.coverage.maps[c], o.coverage.gaps[c]
		}
	}
	messages.Unbounded = append(messages.Unbounded, o.coverage.gaps...)
	for k, c := range d.ClockOf {
		messages.Clocks[k].Granularity = o.Clocks[c].Granularity
	}
	var origins []int
	messages.Step = func(channel int, received bool, t clock.HostTime) int64 {
		return endStep(o.Matched, origins[channel], received, t)
	}
	owner = slices.Clone(d.ClockOf)
	for i := range o.Clocks {
		owner = append(owner, i)
	}
	for n, c := range append(slices.Clone(d.Channels), d.Apart...) {
		if origin := d.ChannelOf[n]; origin >= o.sent || o.isRecorded(origin) {
			continue
		}
		if n >= d.Sure {
			c.From, c.To = pieces+d.ClockOf[c.From], pieces+d.ClockOf[c.To]
		}
		origins = append(origins, d.ChannelOf[n])
		messages.Channels = append(messages.Channels, trace.Channel{From: c.From, To: c.To, Messages: asRecorded(o.Matched, d.ChannelOf[n], c.Messages)})
	}
	return messages, owner
}
