package order

import (
	"errors"
	"fmt"
	"math"
	"time"

	"meridian/clock"
	"meridian/trace"
)

// Sorter orders the events of many streams while they come.
//
//	Push: event --> its stream's queue --.
//	        ...                           +--> heap: earliest first --> its reason? --> Advance: emit
//	Push: event --> its stream's queue --'                          '-> waits for it
//
// An event is emitted when the time frame has passed since its instant on the timeline. By then events that are before it have come
// in, unless one took longer than the frame. Such a late event is emitted at once, behind those that are after it, and its [Note]
// says so. The frame then grows to what would have kept the event in order: the time from its instant to the last release before it came. It is
// halved after each HalveAfter without a late event: a long HalveAfter gives order, a short one latency.
//
// Causally related events are the ends of one message. A consequence (Receives with a Flow) is not emitted before its reason
// (the Sends of that Flow), unless the reason does not come within ReasonTimeout. A consequence at an instant before that of
// its reason is a tachyon: it is moved behind the reason, and Ask is called, since the clocks of the two hosts need another
// exchange.
//
// The events of one stream are emitted in the order in which they were pushed, if their stamps are. An event that a newer map puts
// before its predecessor in the stream, or whose predecessor was moved, is moved to the instant of that predecessor, by at
// most MostFrame. Ordered by their instants alone are an event that would be moved by more, an event whose stamp is before that
// of its predecessor, and a consequence whose reason has not come when it is due: its stream does not wait for it.
//
// So in what is emitted every event that has an instant before one that was emitted earlier is noted as late, and so is one that
// follows an event which was behind it in its stream.
//
// A Sorter is passive: it knows the time that Advance says, and no other. It takes time O(log streams) for an event, and allocates
// nothing while it holds no more than it held before. It is used by one goroutine at a time.
//
// The time frame, the heap over queues, the table of reasons and consequences, the repair of tachyons and the extra round are
// those of A. M. Bakić, M. W. Mutka, D. T. Rover: BRISK: A Portable and Flexible Distributed Instrumentation System, sections
// 3.5 and 3.6. There a repaired event alone gets another stamp, and the time that the frame takes to halve is its "exponent
// constant".
type Sorter struct {
	options SorterOptions
	rows    sorterRows
	causes  sorterCauses
	asks    askLimit
	frame   timeFrame
	now     clock.TimelineTime
	latest  clock.TimelineTime // instant emitted so far
	due     clock.TimelineTime // up to which time what was due has been emitted
	pushed  uint64
	refused int  // what the event takes that was refused since the last Advance; 0 for none
	last    bool // nothing more comes
	record  trace.TimelineEvent
	stats   SorterStats
}

// SorterOptions says how long a [Sorter] waits, and what for. The zero value has the defaults.
type SorterOptions struct {
	Frame      time.Duration // the time frame in the beginning; 0 for DefaultFrame
	LeastFrame time.Duration // it is not halved below it; 0 for 1 ms, at most Frame
	MostFrame  time.Duration // it does not grow above it; 0 for 1 s, at least Frame
	// HalveAfter is the time without late events after which the frame is halved; 0 for 10 s, negative for never.
	HalveAfter time.Duration
	// ReasonTimeout is how long a consequence that is due waits for its reason; 0 for 1 s, negative for not at all. A reason is
	// remembered for as long, and MostFrame more, after it was emitted.
	ReasonTimeout time.Duration
	// MinDelay is the least time that a message takes; negative is 0. One that seems to take less is a tachyon.
	MinDelay time.Duration
	// MostEvents and MostBytes limit what is held; 0 for 2^20 and 256 MiB. An event takes 128 bytes and its fields, in which a number
	// takes 9 bytes. What is known of messages takes at most 240 bytes for each of MostEvents besides.
	MostEvents, MostBytes int
	// Comparable says whether instants that came by two of the schema's maps can be compared. Nil: all can.
	Comparable func(a, b int) bool
	// Ask, if not nil, is called for a tachyon between two hosts, at most once in AskEvery (0 for 1 s) for the two. It must not
	// call the Sorter.
	Ask      func(from, to int)
	AskEvery time.Duration
}

const (
	maxSorterHosts = 1 << 20 // hosts that a Sorter takes
	maxStreamIndex = 1 << 20 // streams that it finds without a map
)

// DefaultFrame is the time frame with which a [Sorter] begins.
const DefaultFrame = 20 * time.Millisecond

// Note says what was done to an event that a [Sorter] emits. Its Low and High stay those that it was pushed with, so that the Time of an
// event that was moved may be beyond them.
type Note struct {
	Latency   time.Duration // from the instant of the event to its emission
	Late      bool          // one that belongs behind it was emitted before it
	Behind    time.Duration // Late: by how much it is before that, at least 0
	Moved     time.Duration // its Time is so much later than the one it was pushed with
	Repaired  bool          // Moved behind its reason, otherwise behind its predecessor
	Violation bool          // Repaired, and its bounds and those of its reason say that it was received before it was sent
	TimedOut  bool          // its reason did not come in time
	Forced    bool          // the time frame had not passed: memory was full
}

// ErrSorterFull is returned by [Sorter.Push] when memory is full.
var ErrSorterFull = errors.New("order: the sorter is full: it must advance")

// NewSorter returns a Sorter that holds nothing.
func NewSorter(o SorterOptions) *Sorter {
	o = o.withDefaults()
	s := &Sorter{options: o, now: math.MinInt64, latest: math.MinInt64, due: math.MinInt64}
	s.rows.init(o.MostFrame)
	s.causes = newSorterCauses(&s.rows, &o)
	s.asks = newAskLimit(&o)
	s.frame = timeFrame{span: o.Frame, least: o.LeastFrame, most: o.MostFrame, halveAfter: o.HalveAfter}
	return s
}

func (o SorterOptions) withDefaults() SorterOptions {
	or := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	or(&o.Frame, DefaultFrame)
	or(&o.LeastFrame, time.Millisecond)
	or(&o.MostFrame, time.Second)
	or(&o.HalveAfter, 10*time.Second)
	or(&o.ReasonTimeout, time.Second)
	or(&o.AskEvery, time.Second)
	o.Frame, o.MinDelay = max(o.Frame, 0), max(o.MinDelay, 0)
	o.LeastFrame, o.MostFrame = min(max(o.LeastFrame, 0), o.Frame), max(o.MostFrame, o.Frame)
	if o.MostEvents <= 0 {
		o.MostEvents = 1 << 20
	}
	if o.MostBytes <= 0 {
		o.MostBytes = 256 << 20
	}
	o.MostEvents = min(o.MostEvents, math.MaxInt32-slotsPerChunk)
	o.MostBytes = min(o.MostBytes, (math.MaxInt32-cellsPerChunk)*cellBytes)
	return o
}

// Push takes a copy of an event, whose Stream and Host are those of the schema. It returns [ErrSorterFull], and takes nothing,
// when memory is full: the next Advance makes room. Any other error says that the event can never be taken.
func (s *Sorter) Push(r *trace.TimelineEvent) error {
	if r.Host < 0 || r.Host >= maxSorterHosts || r.Stream < 0 || !clock.Valid(r.Time) {
		return fmt.Errorf("order: an event of host %d and stream %d at %d ns cannot be ordered", r.Host, r.Stream, int64(r.Time))
	}
	store := &s.rows.store
	size := store.encode(r.Values)
	if size > s.options.MostBytes {
		return fmt.Errorf("order: an event of %d bytes; the sorter holds %d", size, s.options.MostBytes)
	}
	if store.events() >= s.options.MostEvents || store.bytes()+size > s.options.MostBytes {
		s.refused = size
		return ErrSorterFull
	}
	slot, h := store.add(r)
	s.pushed++
	h.number = s.pushed
	s.rows.push(slot, h)
	if h.shown() < s.latest {
		s.frame.grow(s.due.Sub(h.shown()), s.now)
	}
	if r.Role == trace.Sends && r.Flow != 0 {
		s.causes.expect(slot, h)
	}
	return nil
}

// Advance says that the timeline has come to now, and emits the events that are due: those whose time frame has passed, late
// ones, and the oldest if memory is full. A record is void after emit returns; emit must not call the Sorter. An error of emit
// ends the call: the event that it was for counts as emitted. A now before the last one counts as the last.
//
// Events are due by their instants alone, so now must not run ahead of what could be read: while files of the past are read, now is the
// instant up to which all of them were read. In the same way, an event that a wrong clock puts hours after now is held for hours.
func (s *Sorter) Advance(now clock.TimelineTime, emit func(r *trace.TimelineEvent, n Note) error) error {
	s.now = max(s.now, now)
	s.frame.advance(s.now)
	if err := s.release(emit); err != nil {
		return err
	}
	// After what has come in was looked at: a reason may be among it.
	if s.causes.endWaits(s.now) {
		if err := s.release(emit); err != nil {
			return err
		}
	}
	s.due = s.now
	return nil
}

// Pass does what Push does, and then Advance for an event that is due and belongs behind all that was emitted: that one is emitted at once, without a copy.
// Where events are read no sooner than they are due, it takes half the time. Emit may change r.
func (s *Sorter) Pass(r *trace.TimelineEvent, now clock.TimelineTime, emit func(r *trace.TimelineEvent, n Note) error) error {
	if now > s.now {
		s.now = now
		s.frame.advance(now)
	}
	limit := s.now.Add(-s.frame.span)
	if e := s.rows.heap.entries; len(e) > 0 && e[0].key <= limit {
		if err := s.release(emit); err != nil {
			return err
		}
	}
	direct := len(s.rows.heap.entries) == 0 && r.Time <= limit && r.Time >= s.latest && (r.Flow == 0 || r.Role == trace.NoRole)
	if !direct || r.Host < 0 || r.Host >= maxSorterHosts || r.Stream < 0 || !clock.Valid(r.Time) {
		return s.Push(r)
	}
	row := &s.rows.all[s.rows.row(int32(r.Host), r.Stream)]
	if row.head != none || row.any && r.Time < row.key {
		return s.Push(r)
	}
	s.pushed++
	row.any, row.key, row.stamp, row.shown, row.number = true, r.Time, r.Event.Time, max(row.shown, r.Time), s.pushed
	s.latest, s.due = r.Time, s.now
	n := Note{Latency: s.now.Sub(r.Time)}
	s.stats.add(&n)
	return emit(r, n)
}

// Flush emits all that is held, as if nothing more came. It may be called again after an error of emit, and events may be pushed
// after it.
func (s *Sorter) Flush(emit func(r *trace.TimelineEvent, n Note) error) error {
	s.last = true
	defer func() { s.last = false }()
	return s.release(emit)
}

// release emits what is due, and what must be to make room.
func (s *Sorter) release(emit func(r *trace.TimelineEvent, n Note) error) error {
	heap, store := &s.rows.heap, &s.rows.store
	for {
		if s.refused > 0 && s.hasRoom() {
			s.refused = 0
		}
		if len(heap.entries) == 0 {
			if !s.last && s.refused == 0 || !s.causes.endOldestWait() {
				return nil
			}
			continue
		}
		slot := heap.entries[0].slot
		h := store.at(slot)
		due := h.key <= s.now.Add(-s.frame.span) || h.key < s.latest
		if !due && !s.last && s.refused == 0 {
			return nil
		}
		if !s.settled(slot, h) {
			continue
		}
		if err := s.emit(slot, h, !due && !s.last, emit); err != nil {
			return err
		}
	}
}

// hasRoom reports whether there is room for the event that was refused, and an eighth is free: then events are forced in bursts, and
// the frame counts between them.
func (s *Sorter) hasRoom() bool {
	store, o := &s.rows.store, &s.options
	return store.events() <= o.MostEvents/8*7 && store.bytes() <= min(o.MostBytes/8*7, o.MostBytes-s.refused)
}

// emit takes the first of the heap out and emits it.
func (s *Sorter) emit(slot int32, h *heldEvent, forced bool, emit func(r *trace.TimelineEvent, n Note) error) error {
	row := &s.rows.all[h.row]
	shown := h.shown()
	n := Note{
		Latency: max(s.now.Sub(h.time), 0), Moved: shown.Sub(h.time), Forced: forced,
		Repaired: h.state&repaired != 0, Violation: h.state&violation != 0, TimedOut: h.state&timedOut != 0,
	}
	switch {
	case shown < s.latest:
		n.Late, n.Behind = true, s.latest.Sub(shown)
	case h.state&stray == 0 && row.number > h.number: // events behind it in its stream were emitted before it
		n.Late, n.Behind = true, max(row.shown.Sub(h.time), 0)
	}
	if shown > s.latest {
		s.latest, s.due = shown, s.now
	}
	row.shown = max(row.shown, shown)
	s.rows.store.read(h, &s.record)
	s.stats.add(&n)
	if n.Late {
		row.late++
		row.mostBehind = max(row.mostBehind, n.Behind)
	}
	if h.state&stray == 0 {
		row.number = max(row.number, h.number)
	}
	s.rows.advance(row, h)
	if h.event.Role == trace.Sends && h.event.Flow != 0 {
		s.causes.happened(h, shown, s.now)
	}
	s.rows.store.free(slot)
	return emit(&s.record, n)
}

// settled reports whether the first of the heap may be emitted. If not, it was moved in the heap, or waits for its reason
// outside of it.
func (s *Sorter) settled(slot int32, h *heldEvent) bool {
	if h.event.Role != trace.Receives || h.event.Flow == 0 || h.state&timedOut != 0 {
		return true
	}
	f := s.causes.flows.find(h.event.Flow)
	switch {
	case f != nil && f.emitted:
		return s.follows(slot, h, f)
	case s.options.ReasonTimeout < 0, s.last && (f == nil || f.reason == none):
		h.state |= timedOut
		return true
	}
	s.causes.await(slot, h, f, s.now)
	return false
}

// follows reports whether a consequence is at an instant at which its reason, which was emitted, can have brought it about. A tachyon
// is moved to the first such.
func (s *Sorter) follows(slot int32, h *heldEvent, f *flow) bool {
	least := s.options.MinDelay
	first := f.shown.Add(least)
	if h.shown() >= first {
		return true
	}
	h.key = max(h.key, first)
	h.state = h.state&^keepsTime | repaired
	alike := s.options.Comparable == nil || s.options.Comparable(f.mapNumber, h.mapNumber)
	if alike && h.bounded && f.bounded && h.high < f.low.Add(least) {
		h.state |= violation
		if s.stats.Excluded == nil {
			s.stats.Excluded = &ExcludedMessage{From: int(f.host), To: int(h.host), Sent: f.time, Received: h.time, By: f.low.Add(least).Sub(h.high)}
		}
	}
	// Where the instants that they were pushed with agree, the reason was moved, for another message.
	if h.time < f.time.Add(least) && s.asks.ask(f.host, h.host, s.now) {
		s.stats.Asked++
	}
	s.rows.heap.replace(slot)
	return false
}

// Due returns the instant at which Advance will have something to do, if nothing is pushed until then; false if nothing is held. It
// may be too early.
func (s *Sorter) Due() (at clock.TimelineTime, ok bool) {
	at = math.MaxInt64
	if e := s.rows.heap.entries; len(e) > 0 {
		if at, ok = e[0].key.Add(s.frame.span), true; e[0].key < s.latest {
			at = s.now
		}
	}
	if w := &s.causes.waiting; !w.empty() {
		at, ok = min(at, w.first().at), true
	}
	return at, ok
}

// Held returns how many events are held.
func (s *Sorter) Held() int { return s.rows.store.events() }

// Frame returns the time frame now.
func (s *Sorter) Frame() time.Duration { return s.frame.span }
