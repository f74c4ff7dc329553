package gotrace

import (
	"fmt"

	xtrace "golang.org/x/exp/trace"

	"meridian/clock"
	"meridian/trace"
)

// goroutine is what is known of one.
type goroutine struct {
	id      xtrace.GoID
	row     int
	name    string // its first function, once known
	open    bool   // a state is shown
	state   int    // its class
	proc    *proc  // on which it runs
	regions []region
}

type region struct {
	name  string
	slice uint64
	class int
}

// proc is one of the runtime's processors: what lets goroutines run.
type proc struct {
	row     int
	running bool
	class   int
}

// rangeKey names a range that is open: only one of a name is at a time, on one thing.
type rangeKey struct {
	name  string
	scope xtrace.ResourceID
}

func (s *source) goroutine(id xtrace.GoID) *goroutine {
	g := s.goroutines[id]
	if g == nil {
		g = &goroutine{id: id, row: len(s.streams)}
		s.goroutines[id] = g
		s.streams = append(s.streams, trace.Stream{Name: fmt.Sprintf("goroutine %d", id), Kind: trace.Thread, ID: int64(id), Parent: program})
	}
	return g
}

// named completes the name of a goroutine.
func (g *goroutine) named(s *source, name string) {
	if name != "" {
		g.name = name
		s.streams[g.row].Name = fmt.Sprintf("goroutine %d %s", g.id, name)
	}
}

func (s *source) proc(id xtrace.ProcID) *proc {
	p := s.procs[id]
	if p == nil {
		p = &proc{row: len(s.streams)}
		s.procs[id] = p
		s.streams = append(s.streams, trace.Stream{Name: fmt.Sprintf("proc %d", id), Kind: trace.CPU, ID: int64(id), Parent: program})
	}
	return p
}

// rowOf returns the row of the goroutine that ran when something happened, of its processor if there was none.
func (s *source) rowOf(x *xtrace.Event) int {
	if id := x.Goroutine(); id != xtrace.NoGoroutine {
		return s.goroutine(id).row
	}
	if id := x.Proc(); id != xtrace.NoProc {
		return s.proc(id).row
	}
	return program
}

// transition ends the state of a goroutine and begins the next.
func (s *source) transition(x *xtrace.Event, st *xtrace.StateTransition, at clock.HostTime) {
	g := s.goroutine(st.Resource.Goroutine())
	from, to := st.Goroutine()
	if g.name == "" {
		stack := st.Stack
		if stack == xtrace.NoStack && from.Executing() {
			stack = x.Stack()
		}
		g.named(s, bottom(stack))
	}
	if from == to && g.open {
		return // only said again
	}
	if g.open {
		g.open = false
		s.put(trace.Event{Time: at, Stream: g.row, Class: g.state, Phase: trace.End})
	}
	if g.proc != nil && to != xtrace.GoRunning {
		s.leaves(g.proc, at)
		g.proc = nil
	}
	begin := trace.Event{Time: at, Stream: g.row, Phase: trace.Begin}
	var values []trace.Value
	switch to {
	case xtrace.GoRunning:
		begin.Class = s.classOf("running", "state", fieldProc, fieldThread)
		values = []trace.Value{trace.OfInt(int64(x.Proc())), trace.OfInt(int64(x.Thread()))}
	case xtrace.GoRunnable:
		begin.Class = s.classOf("runnable", "state", fieldReason, fieldBy)
		values = []trace.Value{trace.OfText(st.Reason), {}}
		if by := x.Goroutine(); by != xtrace.NoGoroutine && by != g.id {
			values[1] = trace.OfInt(int64(by))
		}
	case xtrace.GoWaiting:
		reason := st.Reason
		if reason == "" {
			reason = "waiting"
		}
		function, place := top(stackOf(x, st))
		begin.Class = s.classOf(reason, "waiting", fieldFunction, fieldPlace)
		values = []trace.Value{trace.OfText(function), trace.OfText(place)}
	case xtrace.GoSyscall:
		function, place := top(stackOf(x, st))
		begin.Class = s.classOf("syscall", "state", fieldFunction, fieldPlace)
		values = []trace.Value{trace.OfText(function), trace.OfText(place)}
	case xtrace.GoNotExist:
		for n := len(g.regions) - 1; n >= 0; n-- {
			s.put(trace.Event{Time: at, Slice: g.regions[n].slice, Stream: g.row, Class: g.regions[n].class, Phase: trace.End})
		}
		delete(s.goroutines, g.id)
		return
	default:
		return
	}
	g.open, g.state = true, begin.Class
	s.put(begin, values...)
	if to == xtrace.GoRunning && x.Proc() != xtrace.NoProc && g.proc == nil {
		g.proc = s.proc(x.Proc())
		s.leaves(g.proc, at) // none should run there, but traces may be damaged
		name := g.name
		if name == "" {
			name = "goroutine"
		}
		g.proc.running, g.proc.class = true, s.classOf(name, "goroutine", fieldGoroutine)
		s.put(trace.Event{Time: at, Stream: g.proc.row, Class: g.proc.class, Phase: trace.Begin}, trace.OfInt(int64(g.id)))
	}
}

// leaves ends what runs on a processor.
func (s *source) leaves(p *proc, at clock.HostTime) {
	if p.running {
		p.running = false
		s.put(trace.Event{Time: at, Stream: p.row, Class: p.class, Phase: trace.End})
	}
}

func (s *source) region(x *xtrace.Event, at clock.HostTime) {
	r := x.Region()
	g := s.goroutine(x.Goroutine())
	class := s.classOf(r.Type, "region", fieldTask)
	if x.Kind() == xtrace.EventRegionBegin {
		s.slices++
		g.regions = append(g.regions, region{r.Type, s.slices, class})
		s.put(trace.Event{Time: at, Slice: s.slices, Stream: g.row, Class: class, Phase: trace.Begin}, taskValue(r.Task))
		return
	}
	for n := len(g.regions) - 1; n >= 0; n-- {
		if g.regions[n].name == r.Type {
			s.put(trace.Event{Time: at, Slice: g.regions[n].slice, Stream: g.row, Class: class, Phase: trace.End})
			g.regions = append(g.regions[:n], g.regions[n+1:]...)
			return
		}
	}
	s.unbegun++
}

func (s *source) task(x *xtrace.Event, at clock.HostTime) {
	t := x.Task()
	class := s.classOf(t.Type, "task", fieldTask, fieldParent)
	if x.Kind() == xtrace.EventTaskBegin {
		s.slices++
		s.tasks[t.ID] = s.slices
		s.put(trace.Event{Time: at, Slice: s.slices, Stream: program, Class: class, Phase: trace.Begin}, taskValue(t.ID), taskValue(t.Parent))
		return
	}
	slice, begun := s.tasks[t.ID]
	if !begun {
		s.unbegun++
		return
	}
	delete(s.tasks, t.ID)
	s.put(trace.Event{Time: at, Slice: slice, Stream: program, Class: class, Phase: trace.End})
}

// ranged brings a phase of garbage collection, a stop of the world and the like.
func (s *source) ranged(x *xtrace.Event, at clock.HostTime) {
	r := x.Range()
	row := program
	switch r.Scope.Kind {
	case xtrace.ResourceGoroutine:
		row = s.goroutine(r.Scope.Goroutine()).row
	case xtrace.ResourceProc:
		row = s.proc(r.Scope.Proc()).row
	}
	key := rangeKey{r.Name, r.Scope}
	slice, begun := s.ranges[key]
	e := trace.Event{Time: at, Slice: slice, Stream: row, Class: s.classOf(r.Name, "runtime"), Phase: trace.End}
	if x.Kind() == xtrace.EventRangeEnd {
		if !begun {
			s.unbegun++
			return
		}
		delete(s.ranges, key)
		s.put(e)
		return
	}
	if begun {
		return // only said again
	}
	s.slices++
	s.ranges[key] = s.slices
	e.Slice, e.Phase = s.slices, trace.Begin
	s.put(e)
}

// stackOf returns where a goroutine stood when its state changed.
func stackOf(x *xtrace.Event, st *xtrace.StateTransition) xtrace.Stack {
	if st.Stack != xtrace.NoStack {
		return st.Stack
	}
	return x.Stack()
}

// top returns the last function called and its place in the source.
func top(stack xtrace.Stack) (function, place string) {
	if stack == xtrace.NoStack {
		return "", ""
	}
	for f := range stack.Frames() {
		return f.Func, fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return "", ""
}

// bottom returns the first function called.
func bottom(stack xtrace.Stack) (function string) {
	if stack == xtrace.NoStack {
		return ""
	}
	for f := range stack.Frames() {
		function = f.Func
	}
	return function
}
