package kernel

import (
	"errors"
	"io"

	"meridian/clock"
	"meridian/trace"
)

// Rows returns the events of src on the rows of a timeline. A kernel's events go to processors, threads, interrupts and
// devices; those of programs to their threads, as the tracer's context names them (vtid, vpid, procname); all others stay
// on the rows of src. Classes that come in twos, as request_start and request_end, make slices. What an event said stays
// with it. A slice that began before the trace is left out, one still open at its end ends with the last event. Warnings
// say what had to be repaired; w may be nil.
func Rows(src trace.Source, w *trace.Warnings) trace.Source {
	r := &rows{
		src: src, w: w, outs: make(map[outKey]int), kinds: make(map[string]int), own: make(map[int]int), adopted: make(map[int]bool), dump: none,
		threads: make(map[int64]*thread), processes: make(map[int64]int), processors: make(map[int64]*processor),
		devices: make(map[string]int), labels: make(map[labelKey]string),
	}
	r.runs = r.kindOf("running")
	return r
}

const none = -1

// rows is the source that Rows returns. One event in can make several out, which wait in queue.
type rows struct {
	src     trace.Source
	w       *trace.Warnings
	event   trace.Event   // of src, the one being looked at
	values  []trace.Value // of it, once asked for
	fetched bool
	last    clock.HostTime // greatest stamp so far
	started bool
	ended   error

	queue []out
	given int // of the queue
	wider []trace.Value

	streams []trace.Stream
	open    [][]slice // of each stream, outermost first
	classes []trace.Class
	outs    map[outKey]int
	slices  uint64
	kinds   map[string]int // numbers of the kinds of slices
	runs    int            // that of a thread's running

	meanings  []meaning // of the classes of src
	kernel    bool
	scheduled bool // switches are recorded

	own        map[int]int  // rows of src's own
	adopted    map[int]bool // which of them are those of processes too
	dump       int          // the row of what was there when the trace began
	threads    map[int64]*thread
	processes  map[int64]int // rows
	processors map[int64]*processor
	devices    map[string]int
	labels     map[labelKey]string

	lost int64 // slices that had to be closed because their end is missing
}

// out is an event for the timeline, and what its values are.
type out struct {
	trace.Event
	shape shape
}

type shape uint8

const (
	empty shape = iota // of a slice closed for want of its end
	same               // those of src's event
	wide               // and the processor behind them
)

// slice is one that began on a row and has not ended.
type slice struct {
	kind  int
	class int
	id    uint64
}

// outKey names a class of the timeline: events of one of src's classes, under one name.
type outKey struct {
	raw  int
	name string
}

// mostOpen bounds the slices open on a row, mostNames the names that one class can take from what its events say.
const (
	mostOpen  = 1024
	mostNames = 4096
)

// firstSlice keeps the numbers of slices made here apart from those that src's events have already.
const firstSlice = 1 << 40

func (r *rows) Streams() []trace.Stream { return r.streams }
func (r *rows) Classes() []trace.Class  { return r.classes }
func (r *rows) Close() error            { return r.src.Close() }

func (r *rows) Next(e *trace.Event) error {
	for r.given == len(r.queue) {
		r.queue, r.given = r.queue[:0], 0
		if r.ended != nil {
			return r.ended
		}
		r.fetched = false
		if err := r.src.Next(&r.event); err != nil {
			r.ended = err
			if errors.Is(err, io.EOF) {
				r.closeAll()
			}
			continue
		}
		if r.last < r.event.Time || !r.started {
			r.last, r.started = r.event.Time, true
		}
		r.place()
	}
	*e = r.queue[r.given].Event
	r.given++
	return nil
}

func (r *rows) Values() []trace.Value {
	if r.given == 0 {
		return nil
	}
	switch r.queue[r.given-1].shape {
	case same:
		return r.fields()
	case wide:
		values := r.fields()
		r.wider = append(r.wider[:0], values...)
		for len(r.wider) < len(r.src.Classes()[r.event.Class].Fields) {
			r.wider = append(r.wider, trace.Value{})
		}
		cpu := trace.Value{}
		if p := r.cpu(&r.meanings[r.event.Class]); p != nil {
			cpu = trace.OfUint(uint64(p.id))
		}
		r.wider = append(r.wider, cpu)
		return r.wider
	}
	return nil
}

// fields returns the values of src's event, decoded once.
func (r *rows) fields() []trace.Value {
	if !r.fetched {
		r.values, r.fetched = r.src.Values(), true
	}
	return r.values
}

// emit puts an event of a row out at the time of src's event.
func (r *rows) emit(row, class int, phase trace.Phase, id uint64, shape shape) {
	if shape == same && r.meanings[r.event.Class].wide {
		shape = wide
	}
	e := r.event
	e.Stream, e.Class, e.Phase, e.Slice = row, class, phase, id
	r.queue = append(r.queue, out{e, shape})
}

// instant puts src's event on a row as it is.
func (r *rows) instant(row int, m *meaning) {
	r.emit(row, m.out, r.event.Phase, r.event.Slice, same)
}

// begin opens a slice. Of a kind that is alone on its row one still open has lost its end.
func (r *rows) begin(row, kind, class int, alone bool) {
	if alone {
		if at := r.find(row, kind); at >= 0 {
			r.cut(row, at)
		}
	}
	if len(r.open[row]) == mostOpen {
		r.cut(row, 0)
	}
	r.slices++
	id := firstSlice + r.slices
	r.open[row] = append(r.open[row], slice{kind, class, id})
	r.emit(row, class, trace.Begin, id, same)
}

// find returns the place of the innermost open slice of a kind, or -1.
func (r *rows) find(row, kind int) int {
	open := r.open[row]
	for i := len(open) - 1; i >= 0; i-- {
		if open[i].kind == kind {
			return i
		}
	}
	return none
}

// end closes the innermost slice of a kind, and reports whether there is one.
func (r *rows) end(row int, m *meaning) bool {
	at := r.find(row, m.kind)
	if at < 0 {
		return false
	}
	s := r.drop(row, at)
	r.emit(row, r.named(m, r.classes[s.class].Name), trace.End, s.id, same)
	return true
}

// drop takes an open slice off its row.
func (r *rows) drop(row, at int) slice {
	open := r.open[row]
	s := open[at]
	r.open[row] = append(open[:at], open[at+1:]...)
	return s
}

// close ends a slice of whose end src's event tells nothing.
func (r *rows) close(row, at int) {
	s := r.drop(row, at)
	r.emit(row, s.class, trace.End, s.id, empty)
}

// cut ends a slice whose end is missing.
func (r *rows) cut(row, at int) {
	r.close(row, at)
	r.lost++
}

// closeAll ends what is open when the trace ends, innermost first.
func (r *rows) closeAll() {
	r.event = trace.Event{Time: r.last}
	for row := range r.open {
		for i := len(r.open[row]) - 1; i >= 0; i-- {
			s := r.open[row][i]
			r.emit(row, s.class, trace.End, s.id, empty)
		}
		r.open[row] = nil
	}
	if r.lost > 0 && r.w != nil {
		r.w.AddN("", "slices were ended early on rows whose events contradict each other, as they do where the tracer lost some", "", r.lost)
	}
}

// row adds a row.
func (r *rows) row(s trace.Stream) int {
	if streams := r.src.Streams(); s.Host == "" && r.event.Stream >= 0 && r.event.Stream < len(streams) {
		s.Host = streams[r.event.Stream].Host
	}
	r.streams = append(r.streams, s)
	r.open = append(r.open, nil)
	return len(r.streams) - 1
}

// ownRow returns the row that is src's own.
func (r *rows) ownRow(stream int) int {
	if row, ok := r.own[stream]; ok {
		return row
	}
	s := trace.Stream{Name: "?", Parent: none}
	if all := r.src.Streams(); stream >= 0 && stream < len(all) {
		s = all[stream]
		if s.Parent >= 0 && s.Parent < stream {
			s.Parent = r.ownRow(s.Parent)
		} else {
			s.Parent = none
		}
	}
	row := r.row(s)
	r.own[stream] = row
	return row
}

// class returns the number of a class of the timeline, whose events are those of a class of src under a name.
func (r *rows) class(raw int, name, category string) int {
	key := outKey{raw, name}
	if n, ok := r.outs[key]; ok {
		return n
	}
	c := r.src.Classes()[raw]
	c.Name, c.Category = name, category
	if r.meanings[raw].wide {
		c.Fields = append(c.Fields[:len(c.Fields):len(c.Fields)], trace.Field{Name: "cpu_id", Type: trace.Type{Kind: trace.Uint, Bits: 32}})
		c.Context++
	}
	n := len(r.classes)
	r.classes = append(r.classes, c)
	r.outs[key] = n
	return n
}

// named is class for names that events bring; the class's own name stands in when there are too many.
func (r *rows) named(m *meaning, name string) int {
	if n, ok := r.outs[outKey{m.raw, name}]; ok {
		return n
	}
	if m.names == mostNames {
		return m.out
	}
	m.names++
	return r.class(m.raw, name, m.category)
}
