package eventbuffer

import (
	"container/heap"
	"io"

	"meridian/clock"
	"meridian/trace"
)

// Events brings the events of the trace, from its beginning. Any number of sources may be open.
func (t *Trace) Events() trace.Source { return &source{t: t, now: -1} }

// source walks through the items by their beginnings and holds the ends to come.
type source struct {
	t      *Trace
	next   int
	ends   ends
	now    int // the item whose fields are asked for, -1 for none
	values []trace.Value
}

func (s *source) Next(e *trace.Event) error {
	items := s.t.items
	if len(s.ends) > 0 && (s.next == len(items) || s.ends[0].time <= items[s.next].Time) {
		end := heap.Pop(&s.ends).(end)
		it := &items[end.item]
		*e = trace.Event{Time: it.End, Slice: it.Slice, Flow: it.EndFlow, Role: it.EndRole,
			Stream: int(it.Stream), Class: int(it.Class), Phase: trace.End, Step: s.t.step(it.endStep)}
		s.now = -1
		return nil
	}
	if s.next == len(items) {
		return io.EOF
	}
	it := &items[s.next]
	*e = trace.Event{Time: it.Time, Slice: it.Slice, Flow: it.Flow, Role: it.Role, Stream: int(it.Stream), Class: int(it.Class), Step: s.t.step(it.step)}
	switch it.Kind {
	case Slice:
		e.Phase = trace.Begin
		heap.Push(&s.ends, end{it.End, s.next})
	case Open:
		e.Phase = trace.Begin
	case Counter:
		e.Phase = trace.Counter
	}
	s.now = s.next
	s.next++
	return nil
}

func (s *source) Values() []trace.Value {
	if s.now < 0 {
		return nil
	}
	s.values = s.t.values(&s.t.items[s.now], s.values)
	return s.values
}

func (s *source) Streams() []trace.Stream { return s.t.streams }
func (s *source) Classes() []trace.Class  { return s.t.classes }
func (s *source) Close() error            { return nil }

// ends is a heap of slices by when they end; of those that end together the last begun is first.
type ends []end

type end struct {
	time clock.HostTime
	item int
}

func (h ends) Len() int      { return len(h) }
func (h ends) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h ends) Less(i, j int) bool {
	return h[i].time < h[j].time || h[i].time == h[j].time && h[i].item > h[j].item
}
func (h *ends) Push(x any) { *h = append(*h, x.(end)) }
func (h *ends) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
