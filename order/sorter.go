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
// says so. The frame then grows to the time that the event took, and is halved after each HalveAfter without a late event: a
// long HalveAfter gives order, a short one latency.
//
// Causally related events are the ends of one message. A consequence (Receives with a Flow) is not emitted before its reason
// (the Sends of that Flow), unless the reason does not come within ReasonTimeout. A consequence at an instant before that of
// its reason is a tachyon: it is moved behind the reason, and Ask is called, since the clocks of the two hosts need another
// exchange.
//
// The events of one stream are emitted in the order in which they were pushed, if their stamps are. An event that a newer map puts
// before its predecessor in the stream, or whose predecessor was moved, is moved to the instant of that predecessor, by at
// most MostFrame. An event whose stamp is before that of its predecessor is ordered by its instant alone, as is a consequence whose
// reason has not come when it is due: its stream does not wait for it.
//
// So in what is emitted every event that has an instant before one that was emitted earlier is noted as late, and so is a consequence
// that follows events which were behind it in its stream.
//
// A Sorter is passive: it knows the time that Advance says, and no other. It takes time O(log streams) for an event, and allocates
// nothing while it holds no more than it held before. It is used by one goroutine at a time.
//
// The time frame, the heap over queues, the table of reasons and consequences, the repair of tachyons and the extra round are
// those of A. M. Bakić, M. W. Mutka, D. T. Rover: BRISK: A Portable and Flexible Distributed Instrumentation System, sections
// 3.5 and 3.6. There a repaired event alone gets another stamp, and the time that the frame takes to halve is its "exponent
// constant".
type Sorter struct {
	options   SorterOptions
	store     eventStore
	heap      eventHeap
	rows      []sorterRow
	rowOf     map[rowKey]int32
	rowsOf    []int32 // by stream, the row of it that was used last; none
	flows     flowTable
	waiting   queue[deadline] // consequences without their reason, as they began to wait
	emitted   queue[deadline] // reasons that consequences may still come for
	asked     map[[2]int32]clock.TimelineTime
	mostAsked int // entries of asked at which old ones are deleted
	frame     timeFrame
	now       clock.TimelineTime
	latest    clock.TimelineTime // instant emitted so far
	pushed    uint64
	full      bool // an event was refused since the last Advance
	last      bool // nothing more comes
	record    trace.TimelineEvent
	stats     SorterStats
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
	minAsked       = 1 << 10 // pairs of hosts for which it keeps when it asked
)

// DefaultFrame is the time frame with which a [Sorter] begins.
const DefaultFrame = 20 * time.Millisecond

// Note says what was done to an event that a [Sorter] emits. Its Low and High stay those that it was pushed with, so that the Time of an
// event that was moved may be beyond them.
type Note struct {
	Latency   time.Duration // from the instant of the event to its emission
	Late      bool          // it is behind one that was emitted before it
	Behind    time.Duration // Late: by how much
	Moved     time.Duration // its Time is so much later than the one it was pushed with
	Repaired  bool          // Moved behind its reason, otherwise behind its predecessor
	Violation bool          // Repaired, and its bounds and those of its reason say that it was received before it was sent
	TimedOut  bool          // its reason did not come in time
	Forced    bool          // the time frame had not passed: memory was full
}

// ErrSorterFull is returned by [Sorter.Push] when memory is full.
var ErrSorterFull = errors.New("order: the sorter is full: it must advance")

// sorterRow is the queue of one stream, and how far it is.
type sorterRow struct {
	host       int32
	stream     int
	head, tail int32 // slots; none
	parked     bool  // the head waits for its reason and is not in the heap
	any        bool  // something was pushed
	stamp      clock.HostTime
	key        clock.TimelineTime // greatest so far
	shown      clock.TimelineTime // of the event emitted last
	number     uint64             // greatest of those emitted that stood in the queue
	late       int64
	mostBehind time.Duration
}

type rowKey struct {
	host   int32
	stream int
}

type eventState uint8

const (
	outsideRow eventState = 1 << iota // it is not in its row's queue
	waits                             // for its reason
	waited                            // it did so outside its row
	cameLate                          // it was late when it was pushed
	keepsTime                         // it is shown at its time, not at its key
	repaired
	violation
	timedOut
)

// shown returns the instant at which the event is shown.
func (h *heldEvent) shown() clock.TimelineTime {
	if h.state&keepsTime != 0 {
		return h.time
	}
	return h.key
}

// NewSorter returns a Sorter that holds nothing.
func NewSorter(o SorterOptions) *Sorter {
	o = o.withDefaults()
	s := &Sorter{options: o, store: newEventStore(), rowOf: make(map[rowKey]int32), asked: make(map[[2]int32]clock.TimelineTime)}
	s.heap.store = &s.store
	s.frame = timeFrame{span: o.Frame, least: o.LeastFrame, most: o.MostFrame, halveAfter: o.HalveAfter}
	s.now, s.latest, s.mostAsked = math.MinInt64, math.MinInt64, minAsked
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
	size := s.store.encode(r.Values)
	if size > s.options.MostBytes {
		return fmt.Errorf("order: an event of %d bytes; the sorter holds %d", size, s.options.MostBytes)
	}
	if s.store.events >= s.options.MostEvents || s.store.bytes()+size > s.options.MostBytes {
		s.full = true
		return ErrSorterFull
	}
	slot, h := s.store.add(r)
	s.pushed++
	h.number = s.pushed
	h.row = s.row(r.Host, r.Stream)
	row := &s.rows[h.row]
	switch {
	case !row.any || r.Time >= row.key:
		s.enqueue(row, slot, h)
	case r.Event.Time >= row.stamp:
		s.lift(h, row.key)
		s.enqueue(row, slot, h)
	default:
		h.state |= outsideRow
		s.heap.push(slot)
	}
	if h.shown() < s.latest {
		h.state |= cameLate
	}
	if r.Role == trace.Sends && r.Flow != 0 {
		s.expect(slot, h)
	}
	return nil
}

// enqueue puts an event at the end of its row.
func (s *Sorter) enqueue(row *sorterRow, slot int32, h *heldEvent) {
	row.any, row.key, row.stamp = true, h.key, h.event.Time
	if row.head == none {
		row.head, row.tail = slot, slot
		s.heap.push(slot)
		return
	}
	s.store.at(row.tail).next = slot
	row.tail = slot
}

// row returns the number of a stream's row. A stream of a schema has one host: the map is for streams that do not keep to it.
func (s *Sorter) row(host, stream int) int32 {
	if stream < len(s.rowsOf) {
		if i := s.rowsOf[stream]; i != none && int(s.rows[i].host) == host {
			return i
		}
	}
	k := rowKey{int32(host), stream}
	i, ok := s.rowOf[k]
	if !ok {
		i = int32(len(s.rows))
		s.rows = append(s.rows, sorterRow{host: k.host, stream: stream, head: none, tail: none})
		s.rowOf[k] = i
	}
	if stream < maxStreamIndex {
		for stream >= len(s.rowsOf) {
			s.rowsOf = append(s.rowsOf, none)
		}
		s.rowsOf[stream] = i
	}
	return i
}

// lift moves an event behind its predecessor, which has the key. One that would have to be moved by more than MostFrame keeps
// its time, and becomes late.
func (s *Sorter) lift(h *heldEvent, key clock.TimelineTime) {
	h.key = key
	if key.Sub(h.time) > s.options.MostFrame {
		h.state |= keepsTime
	}
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
	s.endWaits()
	return s.release(emit)
}

// Flush emits all that is held, as if nothing more came. It may be called again after an error of emit, and events may be pushed
// after it.
func (s *Sorter) Flush(emit func(r *trace.TimelineEvent, n Note) error) error {
	s.last = true
	defer func() { s.last = false }()
	return s.release(emit)
}

func (s *Sorter) release(emit func(r *trace.TimelineEvent, n Note) error) error {
	for {
		// Room for an eighth is made at once: events are forced in bursts, and the frame counts between them.
		makeRoom := s.full && (s.store.events > s.options.MostEvents/8*7 || s.store.bytes() > s.options.MostBytes/8*7)
		s.full = makeRoom
		if len(s.heap.entries) == 0 {
			if !s.last && !makeRoom || !s.endOldestWait() {
				return nil
			}
			continue
		}
		slot := s.heap.entries[0].slot
		h := s.store.at(slot)
		due := h.key <= s.now.Add(-s.frame.span) || h.key < s.latest
		if !due && !s.last && !makeRoom {
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

// emit takes the first of the heap out and emits it.
func (s *Sorter) emit(slot int32, h *heldEvent, forced bool, emit func(r *trace.TimelineEvent, n Note) error) error {
	row := &s.rows[h.row]
	shown := h.shown()
	n := Note{
		Latency: max(s.now.Sub(h.time), 0), Moved: shown.Sub(h.time), Forced: forced,
		Repaired: h.state&repaired != 0, Violation: h.state&violation != 0, TimedOut: h.state&timedOut != 0,
	}
	switch {
	case shown < s.latest:
		n.Late, n.Behind = true, s.latest.Sub(shown)
	case h.state&waited != 0 && row.number > h.number: // the events behind it in its stream went on
		n.Late, n.Behind = true, max(row.shown.Sub(h.time), 0)
	}
	if h.state&cameLate != 0 {
		s.frame.grow(s.now.Sub(h.time), s.now)
	}
	s.latest = max(s.latest, shown)
	row.shown = max(row.shown, shown)
	s.store.read(h, &s.record)
	s.stats.add(&n)
	if n.Late {
		row.late++
		row.mostBehind = max(row.mostBehind, n.Behind)
	}
	if h.state&(outsideRow|waited) != outsideRow {
		row.number = max(row.number, h.number)
	}
	s.advanceRow(row, h)
	if h.event.Role == trace.Sends && h.event.Flow != 0 {
		s.happened(h, shown)
	}
	s.store.free(slot)
	return emit(&s.record, n)
}

// advanceRow takes the first of the heap out of it and of its row, and puts the next of the row into the heap.
func (s *Sorter) advanceRow(row *sorterRow, h *heldEvent) {
	row.key = max(row.key, h.key)
	if h.state&outsideRow != 0 {
		s.heap.pop()
		return
	}
	row.head = h.next
	if row.head == none {
		s.heap.pop()
		return
	}
	if next := s.store.at(row.head); next.key < h.key {
		s.lift(next, h.key)
	}
	s.heap.replace(row.head)
}

// timeFrame is how long events wait.
type timeFrame struct {
	span, least, most, halveAfter time.Duration
	since                         clock.TimelineTime // the last late event or halving
	began                         bool
}

// advance halves the frame as often as it is due.
func (f *timeFrame) advance(now clock.TimelineTime) {
	if !f.began {
		f.began, f.since = true, now
	}
	for f.halveAfter > 0 && f.span > f.least && now.Sub(f.since) >= f.halveAfter {
		f.span = max(f.span/2, f.least)
		f.since = f.since.Add(f.halveAfter)
	}
}

// grow makes the frame so long that an event that took so long would not have been late.
func (f *timeFrame) grow(took time.Duration, now clock.TimelineTime) {
	f.span = min(max(f.span, took), f.most)
	f.since = now
}
