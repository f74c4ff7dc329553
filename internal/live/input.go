package live

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	alignlive "meridian/align/live"
	"meridian/clock"
	"meridian/format/ctf"
	"meridian/format/pcap"
	"meridian/internal/kernel"
	"meridian/order"
	"meridian/trace"
)

// input is a directory or a capture that is followed.
type input struct {
	s        *Session
	dir      string
	host     int // in the schema; -1 before the trace names it
	name     string
	number   int // of its clock; -1 before
	follower followed
	trace    *ctf.Follower    // the same, of a directory
	dropped  *dropped         // of trace
	capture  *followedCapture // the same, of a capture
	entries  *order.SourceEntries
	hasTags  bool              // the ends of its messages have tags that are unique everywhere
	shown    []shownSpan       // what was handed on lately
	left     shownSpan         // what was handed on at the end, far ahead of the present
	grain    trace.Granularity // of its stamps, of a trace; a capture knows its own

	given    bool        // by Options, others are found
	derived  bool        // name is not of traces in the directory
	expanded bool        // the directory holds traces, which are inputs, and is none itself
	parent   *input      // the trace that a capture is beside; nil for others
	searched bool        // for traces in it, once
	sought   bool        // captures beside it, once
	rotated  rotated     // captures beside it
	info     fs.FileInfo // of the directory, by which it is known when it has moved; nil before it was read
	fault    error       // of the last look
	missed   int64       // when it was looked for elsewhere, by Session.elapsed
	past     Loss        // of traces that were replaced

	looked     bool        // once: what comes after that is new
	forget     func(int64) // Input.Read; may be nil
	complete   func() bool // Input.Ended; may be nil
	there      bool        // the directory is
	replaced   bool        // the trace was put in the place of another
	began      bool
	first      clock.HostTime // of its first event
	event      trace.Event
	has        bool          // event is the next one, at place, with values
	values     []trace.Value // nil: those of the follower
	sub        int           // its sequence
	n          uint64        // its number there
	tagged     []trace.Value // values with it
	place      alignlive.Place
	at         alignlive.Place // of the event before, which had the stamp atStamp
	atStamp    clock.HostTime
	lead       lead
	apart      bool        // event tells nothing of the present
	held       []heldEvent // read while the clocks were not aligned yet, from is the next
	from       int
	r          trace.TimelineEvent
	subs       map[subKey]int
	lastSub    subKey // of the event read last, with the number of its sequence
	lastNumber int
	classes    []int // by the schema's number: its own; for rows

	packets *packetSource // of which messages are made; nil before the first

	pushed *pushedSource // what rows are made of
	rows   trace.Source
	rowsOf *order.SourceEntries
	row    trace.TimelineEvent
}

// followed is what an input follows.
type followed interface {
	trace.Source
	Refresh() (grew bool, err error)
}

func newInput(s *Session, in Input) *input {
	x := &input{s: s, dir: in.Dir, name: in.Host, derived: in.Derived, looked: in.New, forget: in.Read, complete: in.Ended, host: -1, number: -1, subs: make(map[subKey]int)}
	if followsCapture(in.Dir) {
		x.capture = followCapture(in.Dir, s.warnings)
	}
	x.follow()
	return x
}

// follow begins to follow.
func (in *input) follow() {
	if in.capture != nil {
		in.capture = followCapture(in.dir, in.s.warnings)
		in.follower = in.capture
		return
	}
	in.trace = ctf.Follow(in.dir, in.s.warnings)
	in.dropped = new(dropped)
	in.trace.Files = in.dropped
	if x := in.s.steered[in.number]; x != nil {
		delete(x.decoders, in)
	}
	in.follower = in.trace
}

// loss returns what the traces lack that the input followed.
func (in *input) loss() Loss {
	l := in.past
	if in.trace != nil {
		l.add(lossOf(in.trace.Tally()))
		c := in.dropped.count()
		l.add(Loss{Dropped: c.events, DroppedPackets: c.packets})
	}
	return l
}

// refresh looks whether the directory has grown.
func (in *input) refresh() error {
	if in.forget != nil && in.capture != nil {
		in.forget(in.capture.Read())
	}
	if in.has && in.values == nil { // they are the follower's until it looks again
		in.values = cloneValues(in.follower.Values())
	}
	if in.expanded || in.parent != nil && in.parent.host < 0 {
		return nil
	}
	before := in.looked
	in.looked = true
	grew, err := in.follower.Refresh()
	if errors.Is(err, ctf.ErrReplaced) || errors.Is(err, pcap.ErrReplaced) {
		what := "trace"
		if in.capture != nil {
			what = "capture"
		}
		in.s.warnings.Add(in.dir, "another "+what+" was put in its place, and is followed from its beginning", "")
		return in.replace()
	}
	if err != nil && !before && in.given {
		return err // it was named, and never could be read
	}
	if in.fault = err; err != nil { // it may pass: what could be read is followed on, and so are all others
		in.s.warnings.Add(in.dir, "cannot be read, at times or at all, and is tried again", err.Error())
	}
	if in.host < 0 && grew {
		return in.open(before)
	}
	if in.host >= 0 && in.trace != nil {
		in.locateDirectory()
	}
	return nil
}

// locateDirectory looks for a trace that has vanished, at once and then at intervals.
func (in *input) locateDirectory() {
	switch {
	case !in.trace.Vanished():
		if in.missed = 0; in.info == nil {
			if info, err := os.Stat(in.dir); err == nil {
				in.info = info
			}
		}
	case in.info != nil && (in.missed == 0 || in.s.elapsed()-in.missed >= lookInterval):
		in.missed = max(in.s.elapsed(), 1)
		in.seek()
	}
}

// replace follows the trace that was put in the place of the one that was followed. Its host and clock are taken for the same.
func (in *input) replace() error {
	// What has come of the trace before is handed on by its own names.
	in.s.warming = false
	for {
		ok, err := in.peek()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := in.s.take(in, false); errors.Is(err, order.ErrSorterFull) {
			err = in.s.flush()
			if err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	if err := in.s.restart(); err != nil {
		return err
	}
	err := in.follower.Close()
	in.past = in.loss()
	in.s.packets.replaced(in)
	if in.capture != nil && in.parent != nil {
		in.parent.rotated.add(in.capture.Head())
	}
	in.follow()
	in.subs, in.lastSub, in.began, in.classes = make(map[subKey]int), subKey{}, false, nil
	in.replaced, in.info = true, nil
	if in.host >= 0 {
		in.enter()
	}
	return err
}

// gone warns of a directory that has vanished.
func (in *input) gone() {
	_, err := os.Stat(in.dir)
	if there := err == nil; there != in.there {
		if in.there {
			what := "directory"
			if in.capture != nil {
				what = "capture"
			}
			in.s.warnings.Add(in.dir, "the "+what+" has vanished; what comes in its place is followed", "")
		}
		in.there = there
	}
}

// open learns what the trace says of itself. Before says that it was looked at before: then all in it is new.
func (in *input) open(before bool) (err error) {
	if in.parent != nil {
		in.name = in.parent.name
	}
	if in.trace != nil {
		env := in.trace.Env()
		if in.name == "" {
			in.name = env["hostname"]
		}
		if !before {
			in.dropped.begin(in.dir)
		}
		in.hasTags = env["tracer_name"] == "meridian" && (env["domain"] == "ust" || env["domain"] == "host")
	}
	if in.name == "" {
		in.name = in.dir
	}
	in.host, in.number = in.s.host(in.name)
	in.s.expect(in)
	in.enter()
	for ok := in.s.o.FromEnd && !before; ok && err == nil; {
		ok, err = in.read()
	}
	if in.s.o.FromEnd && !before {
		in.s.packets.skip(in)
	}
	return err
}

// enter begins to number what the events of the trace refer to.
func (in *input) enter() {
	in.entries = in.s.entries.Of(in.follower, in.host)
	if in.s.o.Rows {
		in.pushed = &pushedSource{in: in}
		in.rows = in.pushed // packets are what they are
		if in.trace != nil {
			in.rows = kernel.Rows(in.pushed, in.s.warnings)
		}
		in.rowsOf = in.s.rowNames.Of(in.rows, in.host)
		if !in.replaced {
			in.rowsOf.Resume(in.s.resumed.rows(in))
		}
	}
}

// heldEvent is an event with values of its own.
type heldEvent struct {
	trace.Event
	values []trace.Value
	sub    int
	n      uint64
	apart  bool
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
	in.values, in.sub = nil, in.sequence()
	x := in.s.sequences[in.sub]
	in.n = x.read
	x.read++
	if !in.began {
		in.began, in.first = true, in.event.Time
	}
	if in.trace != nil {
		in.dropped.see(in)
		in.grain.Add(in.event.Time)
	}
	if in.apart = in.leads(); !in.apart {
		in.s.goOn(clock.Sub(in.event.Time, in.first))
	}
	in.s.see(in, in.parent == nil || !in.parent.began || in.event.Time > in.parent.event.Time)
	if !in.s.alone {
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
		in.held = append(in.held, heldEvent{Event: in.event, values: cloneValues(in.follower.Values()), sub: in.sub, n: in.n, apart: in.apart})
	}
	return ok, err
}

func cloneValues(values []trace.Value) []trace.Value {
	own := make([]trace.Value, 0, len(values)) // not nil: the follower's have been copied, though there may be none
	for _, v := range values {
		own = append(own, v.Clone())
	}
	return own
}

// peek makes event the next one, unless it is already; false if there is none now.
func (in *input) peek() (bool, error) {
	switch {
	case in.has:
		return true, nil
	case in.from < len(in.held):
		h := &in.held[in.from]
		in.event, in.values, in.sub, in.n, in.apart = h.Event, h.values, h.sub, h.n, h.apart
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
func (in *input) locate() {
	if in.s.alone { // its stamps stay as they are
		in.place = alignlive.Place{At: clock.TimelineTime(in.event.Time)}
		return
	}
	in.place = in.s.place(in.number, in.event.Time)
	// A reading may have moved the estimate back, by no more than the bounds: events of one clock stay in order.
	if p := &in.place; in.s.steered[in.number] != nil && p.Bounded && in.event.Time >= in.atStamp && p.Component == in.at.Component && p.At < in.at.At {
		p.At = max(p.At, min(in.at.At, p.High))
	}
}

// granularity returns the step of the stamps, ns: the stated one, or what they tell.
func (in *input) granularity() int64 {
	if step := in.s.o.granularityOf(in.name); step > 0 {
		return step
	}
	if in.capture != nil {
		return in.capture.Granularity()
	}
	return in.grain.Step()
}

// granularityOf returns the stated step of a host's stamps, 0 if none is.
func (o *Options) granularityOf(host string) int64 {
	if len(o.Granularity) == 0 {
		return 0
	}
	if step, named := o.Granularity[host]; named {
		return step
	}
	return o.Granularity[""]
}

// mark notes the end of a message. What is received may have come up to a step of the stamps later. Tracers that number messages do so among the traces that were written together, which are those of one
// session.
func (in *input) mark() {
	scope := ""
	if !in.hasTags {
		scope = "session"
	}
	key := trace.KeyOf("flow", scope, strconv.FormatUint(in.event.Flow, 10))
	end := tagEnd{in.number, in.event.Time}
	if in.event.Role == trace.Receives {
		end.time = clock.Add(end.time, in.granularity()-1)
	}
	if in.hasTags {
		in.s.tags.add(in.s.time(), key, in.event.Role, end)
	} else {
		in.s.numbered.add(in.s.time(), key, in.event.Role, end)
	}
}

// record returns the next event as the sorter takes it.
func (in *input) record() *trace.TimelineEvent {
	e, r := &in.event, &in.r
	*r = trace.TimelineEvent{Event: *e, Time: in.place.At, Low: in.place.At, High: in.place.At, Host: in.host, Map: in.s.mapOf(in, &in.place)}
	if r.Map < 0 { // one host alone: stamps stay as they are
		r.Time = clock.TimelineTime(e.Time)
		r.Low, r.High = r.Time, r.Time
	} else if in.place.Bounded && in.s.shared[in.place.Component] {
		r.Bounded, r.Low, r.High = true, in.place.Low, in.place.High
		if step := in.granularity(); step > 1 {
			in.s.reachStep(r, in.number, e.Time, step)
		}
	}
	r.Stream = in.sub
	class, err := in.entries.Class(e.Class)
	if err != nil {
		class = 0 // a follower has the class of every event that it brings
	}
	r.Class = class
	for len(in.classes) <= r.Class {
		in.classes = append(in.classes, -1)
	}
	in.classes[r.Class] = e.Class
	values := in.values
	if values == nil {
		values = in.follower.Values()
	}
	r.Values = in.tag(values)
	return r
}

// next gives the event back.
func (in *input) next() {
	in.has, in.at, in.atStamp = false, in.place, in.event.Time
}

func (in *input) close() error {
	if in.parent != nil {
		n := int64(0)
		for _, x := range in.s.sequences {
			if x.in == in {
				n += int64(x.read)
			}
		}
		in.parent.dropped.closed(filepath.Base(in.dir), droppedCounts{events: n}, false)
	}
	if in.capture != nil && in.complete != nil && in.complete() {
		in.capture.Complete()
	}
	return in.follower.Close()
}
