// Package live joins the rooms for traces that grow: directories in, one timeline that goes on out. It is what package pipeline is for
// traces that are whole.
//
//	DIR --> ctf.Follower, pcap.Follower --> events at host time --> placed by the maps of now --> order.Sorter --> rows --> filter --> sinks
//	            |                                            ^                          |
//	            '--> tags --> messages ------------> align/live <------ messages <-- packets, matched over a window
//
// One goroutine does everything but the long part of aligning, in steps: what has come is read in the order of the timeline, messages are made of it, the clocks are
// aligned anew if that is due, and what the sorter's time frame releases is handed on. Then it waits until a directory
// grows (package watch). Nothing of a trace is kept but what the sorter holds and the windows of matching and alignment, so
// memory does not grow with time.
//
// "Now" on the timeline is the latest instant that any host showed, and the time since. It needs no clock of this machine to
// be right, and no host to be connected.
package live

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"time"

	alignlive "meridian/align/live"
	"meridian/clock"
	"meridian/internal/live/watch"
	"meridian/order"
	"meridian/trace"
)

// Input is what to follow: the directory of a trace, one that holds traces, or a capture.
type Input struct {
	Host    string // that it is of; "" for the host that the trace names
	Dir     string
	Derived bool // Host was made of Dir: traces in a directory of several have the names that they say
	New     bool // all that is in it is new, whatever Options.FromEnd says
	// Read, unless it is nil, is told now and then up to which byte a capture is not read again, but for its first pcap.HeadSize bytes.
	Read func(bytes int64)
	// Ended, unless it is nil, reports whether nothing more will be written to a capture.
	Ended func() bool
}

// Options say what is followed, and how. Only Inputs is required.
type Options struct {
	Inputs []Input
	// Rows asks for what happens on the rows of a timeline, as viewers show it, instead of the events as they were recorded.
	Rows bool
	// FromEnd leaves out what a directory held when it was first looked at. Alignment uses it all the same.
	FromEnd bool
	// HostsByDirectory names hosts after the directories within a Derived input that their traces lie in, whatever the traces say of themselves.
	HostsByDirectory bool
	Sorter           order.SorterOptions
	Align            alignlive.Options
	// Granularity is the steps of stamps in ns by host, "" for all others. They hold instead of those that the stamps show.
	Granularity map[string]int64
	// Addresses are those of hosts that the captures and recorders do not tell.
	Addresses map[string][]netip.Addr
	// Doubts asks for a [DoubtEvent] where what was handed on is found to be wrong.
	Doubts bool
	// Messages asks for the ends of messages that packets make, on a row of each host. They are written when they are found, which is
	// Settle and up to a second late.
	Messages bool
	// Settle is how long a message whose number may be used again waits for a second sender before it is used, and packets for those
	// before them. Tags of sensors are unique: their messages are used at once.
	Settle time.Duration // 0 is a second
	// Now is the clock by which time passes; nil is time.Now. It must be monotonic.
	Now func() time.Time
}

// Sink takes the events of a live timeline. Write is called in the order of emission: an event that came late is behind later ones, as
// its note says.
type Sink interface {
	Write(e *trace.TimelineEvent, n order.Note) error
	// Step is called after each step, when all events that were due have been written.
	Step(s *Session) error
}

// Session is a live timeline. It is used by one goroutine at a time.
type Session struct {
	o        Options
	sink     Sink
	schema   *trace.Schema // of the events as they were recorded
	rows     *trace.Schema // of what is written; the same without Options.Rows
	inputs   []*input
	entries  *order.Entries
	rowNames *order.Entries
	lanes    map[int]*lane // by component
	clocks   *alignlive.Timeline
	solving  *solving     // the round that is being solved beside the steps
	beside   bool         // rounds are solved beside the steps
	tags     *tags        // unique everywhere, used at once
	numbered *tags        // by numbers that a tracer may use again
	shared   map[int]bool // components of several hosts
	packets  *packets
	steered  map[int]*steered // by clock, those that have readings of a free one
	waiting  []waitingMessage // for readings
	maps     []mapEntry       // of the schema's maps
	warnings *trace.Warnings

	sequences []*sequence // by the number that the sorter takes for a stream
	resumed   *resumption

	alone   bool // one host: stamps stay as they are
	warming bool // events are held until the clocks are aligned
	held    int

	began         time.Time
	ticked        int64             // when the session last looked at its clock, since began
	progress      pace              // of the hosts' clocks since their first events, whatever these show
	passedOver    string            // the hosts whose clocks a timeline follows though another was asked for
	followed      bool              // the clock that was asked for was the reference, and another took over
	kept          int64             // when the ages of tags were looked at last, by time
	aligned       int64             // the version of the maps that were handed on
	set           settings          // which clocks were set, or may have been
	doubts        doubts            // which places that were handed on may be wrong
	bounding      bounding          // which hosts have bounds
	joined        int64             // the version up to which joins were taken account of
	asked         bool              // the sorter saw messages arrive before they were sent
	askedAt       int64             // when a round was made for that, by time
	before        order.SorterStats // of sorters that were replaced
	ordered       []*lane           // for inOrder
	last          lastInstants      // that was handed on
	reasonTimeout time.Duration     // as given
	discovered    int64             // when inputs were looked for, by elapsed; 0 for never
	discovery     time.Duration     // how long that took
	watcher       *watch.Watcher    // of Run

	lookedAt int64 // when the directories were looked for, by elapsed

	ahead     int64         // events that were far ahead of all others
	inverted  int64         // receipts that stay before their sendings
	ending    bool          // nothing more comes
	rhythm    time.Duration // how often the sink hands on what it was given; 0 for at each step
	load      int           // events that the last step read
	wasBehind bool          // so was the step before
	behind    bool          // the last step read no further than stepSpan: what was recorded before is read
}

// New returns a session that has read nothing. Warnings gets what is wrong with the traces.
func New(o Options, w *trace.Warnings) (*Session, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Settle == 0 {
		o.Settle = time.Second
	}
	clocks, err := alignlive.New(o.Align)
	if err != nil {
		return nil, err
	}
	s := &Session{o: o, schema: new(trace.Schema), clocks: clocks, tags: newTags(0, int64(time.Minute)), numbered: newTags(int64(o.Settle), int64(time.Minute)), shared: make(map[int]bool), steered: make(map[int]*steered), warnings: w, began: o.Now()}
	s.schema.Title = "Live timeline"
	s.rows = s.schema
	if o.Rows {
		s.rows = &trace.Schema{Title: s.schema.Title}
	}
	s.entries = order.NewEntries(s.schema)
	s.rowNames = order.NewEntries(s.rows)
	s.packets = newPackets(s)
	s.reasonTimeout = o.Sorter.ReasonTimeout
	s.o.Sorter.Comparable = s.comparable
	s.o.Sorter.Ask = func(int, int) { s.asked = true }
	s.lanes = make(map[int]*lane)
	if s.alone = len(o.Inputs) == 1; s.alone { // one clock has all in order, and the other ends of its messages are elsewhere
		s.o.Sorter.ReasonTimeout = -1
	} else {
		s.several()
	}
	for _, in := range o.Inputs {
		x := newInput(s, in)
		x.given = true
		s.inputs = append(s.inputs, x)
	}
	return s, nil
}

// several says that there may be several hosts. Nothing has been read yet.
func (s *Session) several() {
	s.alone, s.warming = false, true
	if s.o.Sorter.ReasonTimeout = s.reasonTimeout; s.reasonTimeout == 0 {
		s.o.Sorter.ReasonTimeout = 2 * max(s.o.Sorter.Frame, order.DefaultFrame)
	}
}

// Schema returns what the events refer to that are written. It grows.
func (s *Session) Schema() *trace.Schema { return s.rows }

// To sets the sink. It is called before the first step.
func (s *Session) To(sink Sink) { s.sink = sink }

// The pauses between steps: the shortest keeps the cost bounded however often a directory is written to, the longest is how late a growth
// is seen of which the system gives no word.
const (
	leastPause    = 500 * time.Microsecond // where events wait for less than four times shortestPause
	shortestPause = 4 * time.Millisecond
	longestPause  = 100 * time.Millisecond
)

// manyEvents is how many events a step reads from which on the next one waits for the rhythm of the sink.
const manyEvents = 1 << 10

// flooded reports that more events come than the sink hands on at once. Then nothing is read before the sink can hand it on: what is read is
// released in the same step, so no event is late for that.
func (s *Session) flooded() bool { return s.rhythm > 0 && s.load >= manyEvents }

// rest returns how long nothing is read after a step, though directories grow: some 40% of the time that events wait for each other.
// Reading less often costs less for an event.
func (s *Session) rest() time.Duration {
	frame := cmp.Or(s.o.Sorter.Frame, order.DefaultFrame)
	shortest := min(shortestPause, max(frame/4, leastPause))
	return min(max(frame*2/5-shortestPause, shortest), longestPause*2/5)
}

// Run follows until ctx ends, which is no error. Then it hands on what the directories hold by that time. It closes what it
// opened.
func (s *Session) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	w := watch.New()
	s.watcher = w
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, in := range s.inputs {
		w.Add(in.dir)
	}
	whole := context.WithoutCancel(ctx) // a step that has begun is done: what it read is not lost
	s.beside = true
	for ctx.Err() == nil {
		busy, err := s.Step(whole)
		if err != nil {
			return err
		}
		if busy {
			continue
		}
		if s.flooded() {
			err = w.Sleep(ctx, s.rhythm)
		} else {
			err = w.Wait(ctx, s.rest(), s.pause())
		}
		if err != nil {
			break
		}
	}
	return s.Finish(whole)
}

// pause returns how long nothing need be done if no directory grows.
func (s *Session) pause() time.Duration {
	least := longestPause
	if due, waits := s.due(); waits {
		for _, in := range s.inputs {
			if in.has {
				least = min(least, max(time.Duration(clock.Sub(in.place.At, due.until)), s.rest()))
			}
		}
	}
	for _, l := range s.lanes {
		if due, any := l.sorter.Due(); any {
			least = min(least, max(time.Duration(clock.Sub(due, l.now(s.elapsed()))), s.rest()))
		}
	}
	return least
}

// maxStep is how many events are read at a step. Then what they release is handed on, and the clocks are looked at.
const maxStep = 1 << 14

// stepSpan is how much of the hosts' time a step reads, ns, where there are several: what was recorded before the session began is aligned as it would
// have been while it was recorded.
const stepSpan = 2_000_000_000

// far says whether a step that began at a time has read enough.
func (s *Session) far(began int64) bool { return !s.alone && s.time()-began > stepSpan }

// lookInterval is between looks whether the directories are there, ns.
const lookInterval = 1_000_000_000

// Step reads what has come, aligns and hands on. Busy says that there is more to be read at once.
func (s *Session) Step(ctx context.Context) (busy bool, err error) {
	s.tick()
	if err := s.discover(false); err != nil {
		return false, err
	}
	for _, in := range s.inputs {
		if err := in.refresh(); err != nil {
			return false, err
		}
	}
	if s.elapsed()-s.lookedAt >= lookInterval {
		s.lookedAt = s.elapsed()
		for _, in := range s.inputs {
			in.gone()
		}
	}
	if s.warming {
		busy, err := s.warm()
		if err != nil {
			return false, err
		}
		return busy, s.align(ctx)
	}
	s.confirm()
	n, full, began := 0, false, s.time()
	s.wasBehind, s.behind = s.behind, false
	due, waits := s.due()
	for n < maxStep && !full && !s.behind {
		if n%256 == 255 {
			s.tick()
		}
		in, err := s.earliest()
		if err != nil {
			return false, err
		}
		if in == nil || waits && in.place.At > due.until && in.place.At <= due.now {
			break
		}
		err = s.take(in, waits)
		if full = errors.Is(err, order.ErrSorterFull); err != nil && !full {
			return false, err
		}
		n++
		s.behind = s.far(began)
	}
	s.load = n
	s.tick()
	if err := s.align(ctx); err != nil {
		return false, err
	}
	for _, l := range s.inOrder() {
		if err := l.sorter.Advance(l.now(s.elapsed()), s.emit); err != nil {
			return false, err
		}
	}
	if err := s.writeDoubts(false); err != nil {
		return false, err
	}
	return n >= maxStep || full || s.behind, s.sink.Step(s)
}

// Finish reads what the directories hold by now, and hands on all that is held, as if nothing more came.
func (s *Session) Finish(ctx context.Context) error {
	s.tick()
	if err := s.discover(true); err != nil {
		return err
	}
	s.warming, s.beside, s.ending = false, false, true
	for busy := true; busy; {
		var err error
		if busy, err = s.Step(ctx); err != nil {
			return err
		}
	}
	for _, in := range s.inputs {
		if err := in.finish(); err != nil {
			return err
		}
	}
	if err := s.flush(); err != nil {
		return err
	}
	if err := s.packets.finish(ctx); err != nil {
		return err
	}
	s.conclude()
	if err := errors.Join(s.writeDoubts(true), s.writeLeft()); err != nil {
		return err
	}
	return s.sink.Step(s)
}

// Now returns the present instant of the timeline, as far as the hosts of the first one's component have told.
func (s *Session) Now() clock.TimelineTime {
	for _, l := range s.inOrder() {
		return l.now(s.elapsed())
	}
	return 0
}

// time is how far the session has come, in ns: as far as any host's clock has gone on, and by this machine's clock since.
func (s *Session) time() int64 { return s.progress.now(s.elapsed()) }

// elapsed is the time since the session began, ns, as of the last tick: a clock is not read for each event.
func (s *Session) elapsed() int64 { return s.ticked }

func (s *Session) tick() { s.ticked = int64(s.o.Now().Sub(s.began)) }

// earliest returns the input whose next event is the earliest, nil if none has one: on the timeline among those of a component, and by abreast
// among others.
func (s *Session) earliest() (*input, error) {
	var first *input
	for _, in := range s.inputs {
		ok, err := in.peek()
		if err != nil {
			return nil, err
		}
		if ok && (first == nil || s.earlier(in, first)) {
			first = in
		}
	}
	return first, nil
}

func (s *Session) earlier(a, b *input) bool {
	if a.place.Component == b.place.Component {
		return a.place.At < b.place.At
	}
	return s.abreast(a, a.event.Time) < s.abreast(b, b.event.Time)
}

// abreast returns a number by which hosts that are not aligned are read at one pace, for messages between them are only found if both
// packets are read about at once. It is the time of day, or what a clock that shows another has shown since it began.
func (s *Session) abreast(in *input, at clock.HostTime) int64 {
	for _, other := range s.inputs {
		if !other.began {
			continue
		}
		if apart := clock.Sub(in.first, other.first); apart > maxApart || apart < -maxApart {
			return clock.Sub(at, in.first) + int64(other.first)
		}
		break
	}
	return int64(at)
}

// maxApart is how far the times of day of two hosts are apart at most, ns; clocks that are further do not show that.
const maxApart = 24 * 3600 * 1_000_000_000

// take hands the next event of an input to the sorter of its component. With pass, one that is due is emitted.
func (s *Session) take(in *input, pass bool) error {
	r := in.record()
	l := s.lane(in.place.Component)
	if !in.apart {
		l.take(int64(r.Time), s.elapsed(), s.alone || s.behind || s.wasBehind)
	}
	var err error
	if pass {
		err = l.sorter.Pass(r, l.now(s.elapsed()), s.emit)
	} else {
		err = l.sorter.Push(r)
	}
	if err != nil {
		return err
	}
	in.next()
	return nil
}

// dueTime is up to when events are read in a step, and the present.
type dueTime struct{ until, now clock.TimelineTime }

// due says up to which instant a step reads the events of one host alone, if its traces say how far they reach: then events wait for others
// in their files, and the sorter need not copy each. An event after the present, by a trace that is wrong about its reach, waits for nothing.
func (s *Session) due() (d dueTime, ok bool) {
	if !s.alone || s.ending {
		return d, false
	}
	for _, in := range s.inputs {
		if in.host < 0 && in.trace != nil && in.parent == nil {
			continue // nothing has been read of it
		}
		latest, known := clock.HostTime(0), false
		if in.trace != nil {
			latest, known = in.trace.Latest()
		}
		if !known {
			return d, false
		}
		if l := s.lane(0); !l.any || int64(latest)-l.pace.now(s.elapsed()) <= maxLead {
			l.show(int64(latest), s.elapsed())
		}
		ok = true
	}
	if ok {
		l := s.lane(0)
		d.now = l.now(s.elapsed())
		d.until = d.now.Add(-l.sorter.Frame())
	}
	return d, ok
}

func (s *Session) close() (err error) {
	s.abandon()
	for _, in := range s.inputs {
		err = errors.Join(err, in.close())
	}
	return err
}
