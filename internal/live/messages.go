package live

import (
	"cmp"
	"math"
	"slices"

	alignlive "meridian/align/live"
	"meridian/clock"
	"meridian/internal/pipeline/source"
	"meridian/order"
	"meridian/trace"
)

// messageEnds makes events of the two ends of messages that packets are, as internal/pipeline/source does it of whole traces: on a row
// "messages" of each host, with what the other host is and how long the message took. They are known only after they have happened, so
// they pass no sorter: those of a round are written in order of time among themselves, each marked late by how far it is behind.
type messageEnds struct {
	s     *Session
	found []foundMessage
	rows  map[*input]*messageRow
	flow  uint64 // the number of the last message, from the greatest down; those of tags and tracers are from elsewhere
}

type foundMessage struct {
	from, to *input
	trace.Message
	steps [2]int64 // of the stamps of its ends, ns
}

// messageRow is the row of a host, as a source with one stream.
type messageRow struct {
	stream  [1]trace.Stream
	entries *order.SourceEntries
	number  int
}

func (r *messageRow) Next(*trace.Event) error { return trace.ErrPending }
func (r *messageRow) Values() []trace.Value   { return nil }
func (r *messageRow) Streams() []trace.Stream { return r.stream[:] }
func (r *messageRow) Classes() []trace.Class  { return source.EndpointClasses() }
func (r *messageRow) Close() error            { return nil }

// add takes a message, to be written when the clocks are aligned by it.
func (x *messageEnds) add(m foundMessage) {
	if x.s.o.Messages {
		x.found = append(x.found, m)
	}
}

// write writes what was found, as far as recorded events up to both ends have been handed on: a timeline begins with its first event, and
// these are the earlier ones. All writes the rest too. What a host received is written in order of its clock, but for messages with an end far ahead:
// a clock that was set puts those there that it sent and received before that was found, and others do not wait for them.
func (x *messageEnds) write(all bool) error {
	if len(x.found) == 0 {
		return nil
	}
	slices.SortStableFunc(x.found, func(a, b foundMessage) int { return cmp.Compare(a.Received, b.Received) })
	var ends []trace.TimelineEvent
	var wait []foundMessage
	blocked := make(map[*input]bool)
	for _, m := range x.found {
		sent, received := x.end(m.from, m.Sent, m.steps[0], trace.Sends), x.end(m.to, m.Received, m.steps[1], trace.Receives)
		if !all && (blocked[m.to] || !x.due(&sent) || !x.due(&received)) {
			blocked[m.to] = blocked[m.to] || !x.far(&sent) && !x.far(&received)
			wait = append(wait, m)
			continue
		}
		x.flow--
		sent.Flow, received.Flow = x.flow, x.flow
		sent.Values = []trace.Value{trace.OfText(m.to.name)}
		delay := [3]trace.Value{trace.OfInt(clock.Sub(received.Time, sent.Time))}
		if sent.Bounded && received.Bounded {
			delay[1], delay[2] = trace.OfInt(clock.Sub(received.Low, sent.High)), trace.OfInt(clock.Sub(received.High, sent.Low))
		}
		received.Values = append([]trace.Value{trace.OfText(m.from.name)}, delay[:]...)
		ends = append(ends, sent, received)
	}
	x.found = wait
	slices.SortStableFunc(ends, func(a, b trace.TimelineEvent) int { return cmp.Compare(a.Time, b.Time) })
	for i := range ends {
		e := &ends[i]
		var n order.Note
		if last, any := x.last(e); any && e.Time < last {
			n.Late, n.Behind = true, last.Sub(e.Time)
		}
		if err := x.s.sink.Write(e, n); err != nil {
			return err
		}
	}
	return nil
}

// due says whether recorded events up to one end have been handed on.
func (x *messageEnds) due(e *trace.TimelineEvent) bool {
	last, any := x.last(e)
	return any && e.Time <= last
}

// far says whether an end is so far ahead of the recorded events that they may never get there.
func (x *messageEnds) far(e *trace.TimelineEvent) bool {
	last, any := x.last(e)
	return any && e.Time.Sub(last) > maxLead
}

// last returns the latest recorded event that was handed on in the component of an end.
func (x *messageEnds) last(e *trace.TimelineEvent) (clock.TimelineTime, bool) {
	component, _ := x.s.rows.Component(e)
	last := *x.s.last.of(component)
	return last, last > math.MinInt64
}

// end places one end on the timeline by the maps of now. It happened less than a step after its stamp.
func (x *messageEnds) end(in *input, at clock.HostTime, step int64, role trace.Role) trace.TimelineEvent {
	row := x.row(in)
	place := x.s.place(in.number, at)
	e := trace.TimelineEvent{Event: trace.Event{Time: at, Role: role, Stream: row.number}, Host: in.host, Map: x.s.mapOf(in, &place),
		Time: place.At, Low: place.At, High: place.At}
	if bounded(x.s, &place) {
		e.Bounded, e.Low, e.High = true, place.Low, place.High
		if step > 1 {
			x.s.reachStep(&e, in.number, at, step)
		}
	}
	class := 0 // as EndpointClasses has them: of the sending, of the receipt
	if role == trace.Receives {
		class = 1
	}
	e.Class, _ = row.entries.Class(class) // there are two
	return e
}

// bounded says whether a place has bounds that say something: not those of a host that is alone in its component.
func bounded(s *Session, p *alignlive.Place) bool { return p.Bounded && s.shared[p.Component] }

// row returns the row of a host. Of an index that is gone on with it is the one that the schema has.
func (x *messageEnds) row(in *input) *messageRow {
	if r := x.rows[in]; r != nil {
		return r
	}
	if x.rows == nil {
		x.rows = make(map[*input]*messageRow)
	}
	r := &messageRow{stream: [1]trace.Stream{{Name: "messages", Kind: trace.Messages, Parent: -1}}}
	r.entries = x.s.rowNames.Of(r, in.host)
	r.entries.Resume([]int{slices.IndexFunc(x.s.rows.Streams, func(s trace.Stream) bool {
		return s.Host == in.name && s.Kind == trace.Messages && s.Name == r.stream[0].Name
	})})
	r.number = r.entries.Stream(0)
	x.rows[in] = r
	return r
}

// noHostTime is before all stamps: nothing yet.
const noHostTime clock.HostTime = math.MinInt64
