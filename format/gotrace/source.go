package gotrace

import (
	"errors"
	"fmt"
	"io"

	xtrace "golang.org/x/exp/trace"

	"meridian/clock"
	"meridian/format/internal/eventbuffer"
	"meridian/format/internal/stream"
	"meridian/trace"
)

// set is how far the wall clock may have gone astray from the monotonic one, in ns, before it is told.
const set = 1e6

// source brings the events. One of the trace may be several of ours, or none: they wait in a queue.
type source struct {
	path   string
	w      *trace.Warnings
	file   *stream.Stream
	read   func() (xtrace.Event, error)
	failed error
	offset int64
	events int64

	streams []trace.Stream
	classes []trace.Class
	class   map[[2]string]int

	queue []queued
	at    int // of the queue: the event that Next brought last is the one before

	slices     uint64 // numbers given to slices
	goroutines map[xtrace.GoID]*goroutine
	procs      map[xtrace.ProcID]*proc
	tasks      map[xtrace.TaskID]uint64
	ranges     map[rangeKey]uint64
	unbegun    int64
}

type queued struct {
	trace.Event
	values []trace.Value
}

// program is the row of the whole program.
const program = 0

func newSource(path string, w *trace.Warnings, offset int64) *source {
	return &source{path: path, w: w, offset: offset,
		streams: []trace.Stream{{Name: "program", Kind: trace.Process, Parent: -1}},
		class:   make(map[[2]string]int), goroutines: make(map[xtrace.GoID]*goroutine), procs: make(map[xtrace.ProcID]*proc),
		tasks: make(map[xtrace.TaskID]uint64), ranges: make(map[rangeKey]uint64)}
}

func (s *source) Streams() []trace.Stream { return s.streams }
func (s *source) Classes() []trace.Class  { return s.classes }

func (s *source) Values() []trace.Value {
	if s.at == 0 {
		return nil
	}
	return s.queue[s.at-1].values
}

func (s *source) Close() error {
	if s.failed == nil {
		s.failed = io.EOF
	}
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.Close()
}

func (s *source) Next(e *trace.Event) error {
	for s.at == len(s.queue) {
		s.queue, s.at = s.queue[:0], 0
		if s.failed != nil {
			return s.failed
		}
		if err := s.step(); err != nil {
			s.failed = s.end(err)
		}
	}
	*e = s.queue[s.at].Event
	s.at++
	return nil
}

// step reads an event and takes it. What damage spoilt may come to light, as a panic, only when the event is asked for it.
func (s *source) step() (err error) {
	defer recovered(&err)
	x, err := s.read()
	if err == nil {
		s.events++
		s.take(&x)
	}
	return err
}

// end says what the end of reading means: what came before damage stands.
func (s *source) end(err error) error {
	if s.unbegun > 0 {
		s.w.AddN(s.path, "ends of regions, tasks or ranges that began before the trace, left out", "", s.unbegun)
	}
	var damage *stream.Damage
	switch {
	case err == io.EOF:
	case s.events == 0:
		return fmt.Errorf("%s: %w", s.path, err)
	case errors.As(err, &damage):
		if damage.Cut() {
			s.w.Gap(s.path, "cut short, what came before is used", damage.Error(), 1)
		} else {
			s.w.Gap(s.path, "damaged, what came before is used", damage.Error(), 1)
		}
	default:
		s.w.Gap(s.path, "cut short or damaged, what came before is used", fmt.Sprintf("after %d events: %v", s.events, err), 1)
	}
	return io.EOF
}

// take turns an event of the trace into ours.
func (s *source) take(x *xtrace.Event) {
	at := eventbuffer.Add(clock.HostTime(x.Time()), s.offset)
	switch x.Kind() {
	case xtrace.EventSync:
		if c := x.Sync().ClockSnapshot; c != nil {
			if moved := between(c) - s.offset; moved > set || moved < -set {
				s.w.Add(s.path, "the wall clock was set, or ran otherwise than the monotonic one, while the trace was recorded; stamps follow the latter",
					fmt.Sprintf("by %d ns", moved))
			}
		}
	case xtrace.EventStateTransition:
		if st := x.StateTransition(); st.Resource.Kind == xtrace.ResourceGoroutine {
			s.transition(x, &st, at)
		}
	case xtrace.EventRegionBegin, xtrace.EventRegionEnd:
		s.region(x, at)
	case xtrace.EventTaskBegin, xtrace.EventTaskEnd:
		s.task(x, at)
	case xtrace.EventRangeBegin, xtrace.EventRangeActive, xtrace.EventRangeEnd:
		s.ranged(x, at)
	case xtrace.EventLog:
		l := x.Log()
		s.put(trace.Event{Time: at, Stream: s.rowOf(x), Class: s.classOf(l.Category, "log", fieldMessage, fieldTask)},
			trace.OfText(l.Message), taskValue(l.Task))
	case xtrace.EventMetric:
		s.metric(x, at)
	case xtrace.EventStackSample:
		function, _ := top(x.Stack())
		s.put(trace.Event{Time: at, Stream: s.rowOf(x), Class: s.classOf("sample", "cpu", fieldFunction)}, trace.OfText(function))
	case xtrace.EventLabel:
		if l := x.Label(); l.Resource.Kind == xtrace.ResourceGoroutine {
			s.goroutine(l.Resource.Goroutine()).named(s, l.Label)
		}
	}
}

// put brings an event with its fields.
func (s *source) put(e trace.Event, values ...trace.Value) {
	s.queue = append(s.queue, queued{e, values})
}

var (
	fieldProc      = trace.Field{Name: "proc", Type: trace.Type{Kind: trace.Int}}
	fieldThread    = trace.Field{Name: "thread", Type: trace.Type{Kind: trace.Int}}
	fieldGoroutine = trace.Field{Name: "goroutine", Type: trace.Type{Kind: trace.Int}}
	fieldBy        = trace.Field{Name: "by_goroutine", Type: trace.Type{Kind: trace.Int}}
	fieldFunction  = trace.Field{Name: "function", Type: trace.Type{Kind: trace.Text}}
	fieldPlace     = trace.Field{Name: "place", Type: trace.Type{Kind: trace.Text}}
	fieldReason    = trace.Field{Name: "reason", Type: trace.Type{Kind: trace.Text}}
	fieldMessage   = trace.Field{Name: "message", Type: trace.Type{Kind: trace.Text}}
	fieldTask      = trace.Field{Name: "task", Type: trace.Type{Kind: trace.Uint}}
	fieldParent    = trace.Field{Name: "parent_task", Type: trace.Type{Kind: trace.Uint}}
)

// classOf returns the class of a name and a category, whose fields are those of its first use.
func (s *source) classOf(name, category string, fields ...trace.Field) int {
	key := [2]string{category, name}
	c, known := s.class[key]
	if !known {
		c = len(s.classes)
		s.class[key] = c
		s.classes = append(s.classes, trace.Class{Name: name, Category: category, Fields: fields})
	}
	return c
}

// metric brings the value of a counter of the runtime.
func (s *source) metric(x *xtrace.Event, at clock.HostTime) {
	m := x.Metric()
	var v trace.Value
	switch m.Value.Kind() {
	case xtrace.ValueUint64:
		v = trace.OfUint(m.Value.Uint64())
	default:
		return
	}
	field := trace.Field{Name: "value", Type: trace.Type{Kind: v.Kind}}
	s.put(trace.Event{Time: at, Stream: program, Class: s.classOf(m.Name, "metric", field), Phase: trace.Counter}, v)
}

func taskValue(id xtrace.TaskID) trace.Value {
	if id == xtrace.NoTask || id == xtrace.BackgroundTask {
		return trace.Value{}
	}
	return trace.OfUint(uint64(id))
}
