package live

import (
	"meridian/order"
	"meridian/trace"
)

// pushedSource is the source of which rows are made: the events that the sorter emits, in the numbers of the trace.
type pushedSource struct {
	in     *input
	stream int                  // of the record, as the trace numbers it
	record *trace.TimelineEvent // nil: it was returned
	values []trace.Value
}

func (p *pushedSource) Next(e *trace.Event) error {
	if p.record == nil {
		return trace.ErrPending
	}
	*e = p.record.Event
	e.Stream, e.Class = p.stream, p.in.classes[p.record.Class]
	p.values, p.record = p.record.Values, nil
	return nil
}

func (p *pushedSource) Values() []trace.Value   { return p.values }
func (p *pushedSource) Streams() []trace.Stream { return p.in.follower.Streams() }
func (p *pushedSource) Classes() []trace.Class  { return p.in.follower.Classes() }
func (p *pushedSource) Close() error            { return nil }

// write makes the rows of an event of a stream of the trace, and writes them unless they were written before. The rows' events have the time of the event that
// made them.
func (in *input) write(r *trace.TimelineEvent, stream int, n order.Note, written bool) error {
	in.pushed.record, in.pushed.stream = r, stream
	for {
		x := &in.row
		err := in.rows.Next(&x.Event)
		if err != nil {
			if err == trace.ErrPending { // of pushedSource, after every event: errors.Is takes longer
				return nil
			}
			return err
		}
		x.Stream = in.rowsOf.Stream(x.Event.Stream)
		if x.Class, err = in.rowsOf.Class(x.Event.Class); err != nil {
			return err
		}
		if written {
			continue
		}
		x.Time, x.Low, x.High, x.Bounded, x.Host, x.Map = r.Time, r.Low, r.High, r.Bounded, r.Host, r.Map
		x.Values = in.rows.Values()
		if err := in.s.sink.Write(x, n); err != nil {
			return err
		}
	}
}

// finish hands on what is left when nothing more comes.
func (in *input) finish() error {
	if in.follower != nil && in.host >= 0 && in.s.o.Rows {
		in.rowsOf.Refresh()
	}
	return nil
}
