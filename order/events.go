package order

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"

	"meridian/clock"
	"meridian/trace"
)

// EventSource is one sequence of events whose stamps are of one clock.
type EventSource struct {
	Events trace.Source
	Host   int // of its events, an index into the schema's hosts
	// Map carries its stamps to the timeline; nil leaves them as they are, unbounded.
	Map *clock.Map
	// Granularity is the step of its stamps in ns, 0 for 1: an event happened less than a step after the instant that its stamp
	// says. The bounds of events hold it.
	Granularity int64
	// Unbounded is where the bounds of Map say nothing, in order: an event there has none.
	Unbounded []clock.HostInterval
	Component int // of its clock, as [trace.HostMap] has it
	// Keep drops events before their fields are decoded. Nil keeps all.
	Keep func(e *trace.Event) bool
	// Window is how late an event may come after a later stamp, in ns of its clock. 0 is DefaultWindow, InOrder says that
	// none is late, so that none has to wait and be copied for it.
	Window int64
	// Ahead asks for a goroutine that reads the source ahead, which pays where reading it is work. It calls Keep too.
	Ahead bool
}

// InOrder is the window of sources whose events come in order of their stamps.
const InOrder = -1

// Events emits the events of all sources in the order of the timeline, ties broken by source and then as they came. What
// the sources' events refer to is entered into the schema before the first record that refers to it. A record is void
// after emit returns, which is called by the caller's goroutine. An error of a source or of emit, or the end of ctx, ends
// it, when all goroutines that read ahead have ended, which has to wait for a Next that blocks.
//
// It is an error if schema, emit or a source's Events is nil, a source's Host is not one of the schema, a curve of its Map
// that counts does not pass [clock.CurveOf.Check], or a source brings an event of a class that it does not have. An event of a
// stream that its source does not have goes on a row named "?".
//
// Its memory is the events of one window, at most [maxWaiting] for each source: one that is later still is emitted late,
// and counted.
func Events(ctx context.Context, sources []EventSource, schema *trace.Schema, emit func(*trace.TimelineEvent) error) (Stats, error) {
	stats := Stats{Frames: make([]int64, len(sources)), Late: make([]int64, len(sources))}
	if err := checkSources(sources, schema); err != nil {
		return stats, err
	}
	if emit == nil {
		return stats, errors.New("order: emit is nil")
	}
	shared := NewEntries(schema)
	sources, done := readAhead(ctx, sources)
	defer done()
	var heap []*eventInput
	for i := range sources {
		l := newEventInput(i, &sources[i], shared)
		if ok, err := l.advance(); err != nil {
			return stats, err
		} else if ok {
			heap = append(heap, l)
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		siftInput(heap, i)
	}
	last := clock.TimelineTime(math.MinInt64)
	for n := 1; len(heap) > 0; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return stats, ctx.Err()
		}
		l := heap[0]
		r := l.record()
		stats.Frames[l.number]++
		if r.Time < last {
			stats.Late[l.number]++
		}
		last = max(last, r.Time)
		if err := emit(r); err != nil {
			return stats, err
		}
		ok, err := l.advance()
		if err != nil {
			return stats, err
		}
		if !ok {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		siftInput(heap, 0)
	}
	return stats, ctx.Err()
}

func checkSources(sources []EventSource, schema *trace.Schema) error {
	if schema == nil {
		return errors.New("order: the schema is nil")
	}
	for i := range sources {
		if err := sources[i].check(len(schema.Hosts)); err != nil {
			return fmt.Errorf("order: source %d: %w", i, err)
		}
	}
	return nil
}

func (s *EventSource) check(hosts int) error {
	switch {
	case s.Events == nil:
		return errors.New("Events is nil")
	case s.Host < 0 || s.Host >= hosts:
		return fmt.Errorf("there is no host %d; the schema has %d", s.Host, hosts)
	case s.Map == nil:
		return nil
	}
	curves := []clock.Curve{s.Map.Mid}
	if s.bounded() {
		curves = append(curves, s.Map.Low, s.Map.High)
	}
	for _, c := range curves {
		if err := c.Check(); err != nil {
			return err
		}
	}
	return nil
}

// bounded reports whether the source's map has both bounds.
func (s *EventSource) bounded() bool { return s.Map.Low != nil && s.Map.High != nil }

// Enter enters the maps of the sources, and the types of events that they know as far as they are wanted, into the schema,
// for sinks that must know them beforehand. Those that sources learn of later come when their first event does. The
// arguments are those of [Events]; a nil wanted stands for all types. A source that Events refuses is passed over.
func Enter(sources []EventSource, schema *trace.Schema, wanted func(source, class int) bool) {
	if schema == nil {
		return
	}
	shared := NewEntries(schema)
	for i := range sources {
		if sources[i].check(len(schema.Hosts)) != nil {
			continue
		}
		shared.mapOf(&sources[i])
		for k, c := range sources[i].Events.Classes() {
			if wanted == nil || wanted(i, k) {
				shared.class(&c)
			}
		}
	}
}

// siftInput moves the input at i below all that come before it: the heap property holds again if it held but for i.
func siftInput(heap []*eventInput, i int) {
	for 2*i+1 < len(heap) {
		c := 2*i + 1
		if c+1 < len(heap) && heap[c+1].before(heap[c]) {
			c++
		}
		if !heap[c].before(heap[i]) {
			return
		}
		heap[i], heap[c] = heap[c], heap[i]
		i = c
	}
}

// maxWaiting is how many events of one source wait for one that may come before them.
const maxWaiting = 1 << 15

// eventInput is a source with the events that were read ahead, in order.
type eventInput struct {
	*EventSource
	number, mapped int
	entries        *SourceEntries
	mid, low, high clock.Cursor
	bounded        bool
	event          trace.Event
	head           *ownedEvent
	direct         bool          // nothing waits: head is the event that the source brought last, whose values are still its own
	waiting        []*ownedEvent // in order; those before from were emitted
	from           int
	spare          []*ownedEvent
	latest         clock.HostTime // stamp read so far
	ended          bool
}

// newEventInput returns the input of a source that passes check.
func newEventInput(number int, s *EventSource, shared *Entries) *eventInput {
	l := &eventInput{EventSource: s, number: number, mapped: shared.mapOf(s), entries: shared.Of(s.Events, s.Host), latest: math.MinInt64}
	if l.Window == 0 {
		l.Window = DefaultWindow
	}
	l.direct = l.Window < 0
	if s.Map == nil {
		return l
	}
	l.mid = clock.NewCursor(s.Map.Mid)
	if l.bounded = s.bounded(); l.bounded {
		l.low, l.high = clock.NewCursor(s.Map.Low), clock.NewCursor(s.Map.High)
	}
	return l
}

func (l *eventInput) before(o *eventInput) bool {
	a, b := l.head.record.Time, o.head.record.Time
	return a < b || a == b && l.number < o.number
}

// record returns the record of the head.
func (l *eventInput) record() *trace.TimelineEvent {
	r := &l.head.record
	if l.direct {
		r.Values = l.Events.Values()
	}
	return r
}

// advance gives the head back and goes on to the next; false if there is none.
func (l *eventInput) advance() (bool, error) {
	if l.direct {
		return l.nextInOrder()
	}
	if l.head != nil {
		l.spare = append(l.spare, l.head)
		l.head = nil
	}
	for {
		if n := len(l.waiting) - l.from; n > 0 {
			first := l.waiting[l.from]
			if l.ended || n >= maxWaiting || first.record.Event.Time <= clock.Add(l.latest, -l.Window) {
				l.head = first
				l.from++
				return true, nil
			}
		} else if l.ended {
			return false, nil
		}
		if err := l.read(); err == io.EOF {
			l.ended = true
			l.entries.Refresh()
		} else if err != nil {
			return false, err
		}
	}
}

// nextInOrder goes on to the next event of a source that has them in order.
func (l *eventInput) nextInOrder() (bool, error) {
	if l.head == nil {
		l.head = new(ownedEvent)
	}
	for {
		if err := l.Events.Next(&l.event); err == io.EOF {
			l.ended = true
			l.entries.Refresh()
			return false, nil
		} else if err != nil {
			return false, err
		}
		if l.Keep == nil || l.Keep(&l.event) {
			err := l.mapEvent(&l.event, l.head)
			return err == nil, err
		}
	}
}

// read takes one event in.
func (l *eventInput) read() error {
	e := &l.event
	if err := l.Events.Next(e); err != nil {
		return err
	}
	l.latest = max(l.latest, e.Time)
	if l.Keep != nil && !l.Keep(e) {
		return nil
	}
	h := l.take()
	if err := l.mapEvent(e, h); err != nil {
		return err
	}
	h.keep(l.Events.Values())
	l.enqueue(h)
	return nil
}

// mapEvent makes the record of an event, but for its values.
func (l *eventInput) mapEvent(e *trace.Event, h *ownedEvent) (err error) {
	h.record = trace.TimelineEvent{Event: *e, Time: clock.TimelineTime(e.Time), Host: l.Host, Map: l.mapped, Low: clock.TimelineTime(e.Time), High: clock.TimelineTime(e.Time)}
	r := &h.record
	if r.Class, err = l.entries.Class(e.Class); err != nil {
		return fmt.Errorf("order: source %d: %w", l.number, err)
	}
	r.Stream = l.entries.Stream(e.Stream)
	if l.Map != nil {
		r.Time = l.mid.At(e.Time)
		r.Low, r.High = r.Time, r.Time
		if l.bounded && !e.Untimed && !l.inGap(e.Time) {
			r.Bounded = true
			// The event is before the next stamp is due: in whole ns, at least 1 before.
			r.Low, r.High = l.low.Rounded(e.Time, clock.Down), clock.Add(l.high.Rounded(clock.Add(e.Time, max(l.Granularity, int64(e.Step), 1)), clock.Up), -1)
		}
	}
	return nil
}

// inGap reports whether a stamp lies where the bounds say nothing.
func (l *eventInput) inGap(t clock.HostTime) bool {
	if len(l.Unbounded) == 0 {
		return false
	}
	i := sort.Search(len(l.Unbounded), func(i int) bool { return l.Unbounded[i].Last >= t })
	return i < len(l.Unbounded) && l.Unbounded[i].Holds(t)
}

// enqueue puts an event behind all that are not later: nearly always behind the last.
func (l *eventInput) enqueue(h *ownedEvent) {
	if l.from > len(l.waiting)/2 && l.from >= 1024 {
		n := copy(l.waiting, l.waiting[l.from:])
		l.waiting, l.from = l.waiting[:n], 0
	}
	l.waiting = append(l.waiting, h)
	for i := len(l.waiting) - 1; i > l.from && h.record.Event.Time < l.waiting[i-1].record.Event.Time; i-- {
		l.waiting[i], l.waiting[i-1] = l.waiting[i-1], h
	}
}

func (l *eventInput) take() *ownedEvent {
	if n := len(l.spare); n > 0 {
		h := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return h
	}
	return new(ownedEvent)
}

// ownedEvent is a record with its fields in memory of its own.
type ownedEvent struct {
	record trace.TimelineEvent
	fields fields
}

func (h *ownedEvent) keep(values []trace.Value) {
	h.fields.reset()
	h.fields.add(values)
	h.record.Values = h.fields.values
}
