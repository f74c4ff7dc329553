package live

import (
	"errors"
	"io"
	"strconv"

	alignlive "meridian/align/live"
	"meridian/clock"
	"meridian/format/ctf"
	"meridian/internal/kernel"
	"meridian/order"
	"meridian/trace"
)

// input is a directory that is followed.
type input struct {
	s        *Session
	dir      string
	host     int // in the schema; -1 before the trace names it
	name     string
	number   int // of its clock; -1 before
	follower *ctf.Follower
	entries  *order.SourceEntries
	tagged   bool // the ends of its messages have tags that are unique everywhere

	began   bool
	first   clock.HostTime // of its first event
	event   trace.Event
	has     bool          // event is the next one, at place, with values
	values  []trace.Value // nil: those of the follower
	place   alignlive.Place
	held    []heldEvent // read while the clocks were not aligned yet, from is the next
	from    int
	r       trace.TimelineEvent
	streams []int // by the schema's number: its own; for rows
	classes []int

	pushed *pushedSource // what rows are made of
	rows   trace.Source
	rowsOf *order.SourceEntries
	row    trace.TimelineEvent
}

func newInput(s *Session, in Input) *input {
	return &input{s: s, dir: in.Dir, name: in.Host, host: -1, number: -1, follower: ctf.Follow(in.Dir, s.warnings)}
}

// refresh looks whether the directory has grown.
func (in *input) refresh() error {
	grew, err := in.follower.Refresh()
	if err != nil || !grew || in.host >= 0 {
		return err
	}
	env := in.follower.Env()
	if in.name == "" {
		in.name = env["hostname"]
	}
	if in.name == "" {
		in.name = in.dir
	}
	in.tagged = env["tracer_name"] == "meridian" && (env["domain"] == "ust" || env["domain"] == "host")
	in.host, in.number = in.s.host(in.name)
	in.entries = in.s.entries.Of(in.follower, in.host)
	if in.s.o.Rows {
		in.pushed = &pushedSource{in: in}
		in.rows = kernel.Rows(in.pushed, in.s.warnings)
		in.rowsOf = in.s.rowNames.Of(in.rows, in.host)
	}
	for ok := in.s.o.FromEnd; ok && err == nil; {
		ok, err = in.read()
	}
	return err
}

// heldEvent is an event with values of its own.
type heldEvent struct {
	trace.Event
	values []trace.Value
}

// read reads the next event of the directory, and takes what alignment needs of it; false if there is none now.
func (in *input) read() (bool, error) {
	if in.host < 0 {
		return false, nil
	}
	err := in.follower.Next(&in.event)
	if errors.Is(err, io.EOF) || errors.Is(err, trace.ErrPending) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	in.values = nil
	if !in.began {
		in.began, in.first = true, in.event.Time
	}
	in.s.progress.show(clock.Sub(in.event.Time, in.first), in.s.elapsed())
	in.s.clocks.Seen(in.number, in.event.Time)
	if len(in.s.inputs) > 1 {
		if in.event.Flow != 0 && in.event.Role != trace.NoRole {
			in.mark()
		}
		in.s.packets.see(in)
	}
	return true, nil
}

// hold reads an event, and keeps it until the clocks are aligned.
func (in *input) hold() (bool, error) {
	ok, err := in.read()
	if ok {
		h := heldEvent{Event: in.event}
		for _, v := range in.follower.Values() {
			h.values = append(h.values, v.Clone())
		}
		in.held = append(in.held, h)
	}
	return ok, err
}

// peek makes event the next one, unless it is already; false if there is none now.
func (in *input) peek() (bool, error) {
	switch {
	case in.has:
		return true, nil
	case in.from < len(in.held):
		h := &in.held[in.from]
		in.event, in.values = h.Event, h.values
		in.from++
	default:
		in.held, in.from = nil, 0
		if ok, err := in.read(); !ok {
			return false, err
		}
	}
	in.has = true
	in.locate()
	return true, nil
}

// locate puts the event on the timeline by the maps of now.
func (in *input) locate() { in.place = in.s.clocks.Maps().Place(in.number, in.event.Time) }

// mark notes the end of a message. Tracers that number messages do so among the traces that were written together, which are those of one
// session.
func (in *input) mark() {
	scope := ""
	if !in.tagged {
		scope = "session"
	}
	key := trace.KeyOf("flow", scope, strconv.FormatUint(in.event.Flow, 10))
	in.s.tags.add(in.s.time(), key, in.event.Role, tagEnd{in.number, in.event.Time})
}

// record returns the next event as the sorter takes it.
func (in *input) record() *trace.TimelineEvent {
	e, r := &in.event, &in.r
	*r = trace.TimelineEvent{Event: *e, Time: in.place.At, Low: in.place.At, High: in.place.At, Host: in.host, Map: in.s.mapOf(in, &in.place)}
	if r.Map < 0 { // one host alone: stamps stay as they are
		r.Time = clock.TimelineTime(e.Time)
		r.Low, r.High = r.Time, r.Time
	} else if in.place.Bounded {
		r.Bounded, r.Low, r.High = true, in.place.Low, in.place.High
	}
	r.Stream = in.entries.Stream(e.Stream)
	class, err := in.entries.Class(e.Class)
	if err != nil {
		class = 0 // a follower has the class of every event that it brings
	}
	r.Class = class
	in.remember(&in.streams, r.Stream, e.Stream)
	in.remember(&in.classes, r.Class, e.Class)
	if r.Values = in.values; r.Values == nil {
		r.Values = in.follower.Values()
	}
	in.s.remember(r.Stream, in)
	return r
}

// remember notes which of its own numbers the schema's stands for.
func (in *input) remember(list *[]int, number, own int) {
	for len(*list) <= number {
		*list = append(*list, -1)
	}
	(*list)[number] = own
}

// next gives the event back.
func (in *input) next() { in.has = false }

// pushedSource is the source of which rows are made: the events that the sorter emits, in the numbers of the trace.
type pushedSource struct {
	in     *input
	record *trace.TimelineEvent // nil: it was returned
	values []trace.Value
	ended  bool
}

func (p *pushedSource) Next(e *trace.Event) error {
	if p.record == nil {
		if p.ended {
			return io.EOF
		}
		return trace.ErrPending
	}
	*e = p.record.Event
	e.Stream, e.Class = p.in.streams[p.record.Stream], p.in.classes[p.record.Class]
	p.values, p.record = p.record.Values, nil
	return nil
}

func (p *pushedSource) Values() []trace.Value   { return p.values }
func (p *pushedSource) Streams() []trace.Stream { return p.in.follower.Streams() }
func (p *pushedSource) Classes() []trace.Class  { return p.in.follower.Classes() }
func (p *pushedSource) Close() error            { return nil }

// write makes the rows of an event that the sorter emits, and writes them. The rows' events have the time of the event that made them.
func (in *input) write(r *trace.TimelineEvent, n order.Note) error {
	in.pushed.record = r
	return in.writeRows(r, n)
}

func (in *input) writeRows(of *trace.TimelineEvent, n order.Note) error {
	for {
		x := &in.row
		err := in.rows.Next(&x.Event)
		if errors.Is(err, trace.ErrPending) || errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		x.Time, x.Low, x.High, x.Bounded, x.Host, x.Map = of.Time, of.Low, of.High, of.Bounded, of.Host, of.Map
		x.Stream = in.rowsOf.Stream(x.Event.Stream)
		if x.Class, err = in.rowsOf.Class(x.Event.Class); err != nil {
			return err
		}
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

func (in *input) close() error { return in.follower.Close() }
