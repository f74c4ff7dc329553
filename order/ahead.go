package order

import (
	"context"
	"sync"

	"meridian/trace"
)

// ahead reads a source in a goroutine of its own, some events at a time, and is itself the source that is merged:
//
//	free --> filled from src by run --> full --> emptied by Next --> free
//
// Streams and classes that the source learned of travel with the events, since the source goes on while these are looked at.
type ahead struct {
	trace.Source
	keep       func(*trace.Event) bool
	ctx        context.Context
	full, free chan *eventBatch
	now        *eventBatch
	at         int // events of it that were brought
	streams    []trace.Stream
	classes    []trace.Class
}

// eventBatch is some events of a source, with all that they refer to.
type eventBatch struct {
	events  []trace.Event
	ends    []int // of the values of each
	fields  fields
	from    int // streams replaces those of the source from here on
	streams []trace.Stream
	classes []trace.Class // that are new
	err     error         // that came after the events
}

const (
	batchesAhead   = 3
	maxBatchEvents = 256
	minBatchEvents = 16
	maxEventsAhead = 4096 // of as many sources as there are
	maxBatchBytes  = 256 << 10
)

// readAhead begins to read those sources that want it, and returns the sources to be merged instead. All has ended after done.
func readAhead(ctx context.Context, sources []EventSource) (all []EventSource, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	all = append(all, sources...)
	size := min(max(maxEventsAhead/max(len(sources), 1), minBatchEvents), maxBatchEvents)
	for i := range all {
		s := &all[i]
		if !s.Ahead {
			continue
		}
		a := &ahead{Source: s.Events, keep: s.Keep, ctx: ctx, now: new(eventBatch), full: make(chan *eventBatch, batchesAhead), free: make(chan *eventBatch, batchesAhead)}
		for range batchesAhead {
			a.free <- new(eventBatch)
		}
		s.Events, s.Keep = a, nil
		group.Go(func() { a.run(size) })
	}
	return all, func() {
		cancel()
		group.Wait()
	}
}

// run reads the source to its end.
func (a *ahead) run(size int) {
	streams, whole, classes := 0, 0, 0 // how many were told, how many when all were
	for {
		var s *eventBatch
		select {
		case s = <-a.free:
		case <-a.ctx.Done():
			return
		}
		s.fill(a, size)
		known := a.Source.Streams()
		s.from, s.streams = streams, append(s.streams[:0], known[min(streams, len(known)):]...)
		if s.err != nil || len(known) > streams && len(known) >= 2*whole { // names were completed: see [eventInput.extend]
			s.from, s.streams = 0, append(s.streams[:0], known...)
			whole = len(known)
		}
		streams = len(known)
		s.classes = append(s.classes[:0], a.Source.Classes()[classes:]...)
		classes += len(s.classes)
		last := s.err != nil // s belongs to Next once it was sent
		select {
		case a.full <- s:
		case <-a.ctx.Done():
			return
		}
		if last {
			return
		}
	}
}

// fill reads events until there are enough, or an error comes.
func (s *eventBatch) fill(a *ahead, size int) {
	s.events, s.ends, s.err = s.events[:0], s.ends[:0], nil
	s.fields.reset()
	for read := 1; len(s.events) < size && len(s.fields.data) < maxBatchBytes && len(s.fields.items) < maxBatchBytes/64; read++ {
		if read%4096 == 0 && a.ctx.Err() != nil { // Keep dropped so many
			s.err = a.ctx.Err()
			return
		}
		n := len(s.events)
		s.events = append(s.events, trace.Event{})
		if s.err = a.Source.Next(&s.events[n]); s.err != nil {
			s.events = s.events[:n]
			return
		}
		if a.keep != nil && !a.keep(&s.events[n]) {
			s.events = s.events[:n]
			continue
		}
		s.fields.add(a.Source.Values())
		s.ends = append(s.ends, len(s.fields.values))
	}
}

func (a *ahead) Next(e *trace.Event) error {
	for a.at == len(a.now.events) {
		if a.now.err != nil {
			return a.now.err
		}
		if cap(a.now.events) > 0 {
			a.free <- a.now // never blocks: it holds as many as there are
		}
		select {
		case a.now = <-a.full:
		case <-a.ctx.Done():
			return a.ctx.Err()
		}
		a.at = 0
		a.streams = append(a.streams[:a.now.from], a.now.streams...)
		a.classes = append(a.classes, a.now.classes...)
	}
	*e = a.now.events[a.at]
	a.at++
	return nil
}

func (a *ahead) Values() []trace.Value {
	from, to := 0, a.now.ends[a.at-1]
	if a.at > 1 {
		from = a.now.ends[a.at-2]
	}
	return a.now.fields.values[from:to:to]
}

func (a *ahead) Streams() []trace.Stream { return a.streams }
func (a *ahead) Classes() []trace.Class  { return a.classes }
