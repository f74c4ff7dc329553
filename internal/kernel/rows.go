package kernel

import (
	"errors"
	"io"

	"meridian/clock"
	"meridian/trace"
)

// Rows returns the events of src on the rows of a timeline. Events of a kernel go to processors, threads, interrupts and
// devices. Those of programs go to their threads, as the tracer's context names them (vtid, vpid, procname). All others stay
// on the rows of src. Classes in pairs, such as request_start and request_end, make slices. Events keep their fields.
// A slice that began before the trace is left out; one still open at the end of the trace ends with its last event. Of a trace that
// is still being written (trace.ErrPending) open slices stay open. Warnings count the repairs; w may be nil.
func Rows(src trace.Source, w *trace.Warnings) trace.Source {
	r := &rows{w: w, dump: none}
	r.src = src
	r.kinds, r.outs, r.labels = make(map[string]int), make(map[outKey]int), make(map[labelKey]string)
	r.own, r.devices = make(map[int]int), make(map[string]int)
	r.threads, r.processes, r.adopted = make(map[int64]*thread), make(map[int64]int), make(map[int]bool)
	r.processors = make(map[int64]*processor)
	r.runs = r.kindOf("running")
	return r
}

const none = -1

// rows is the source that Rows returns. It is built in layers, each of which uses only those below it:
//
//	rows             what each event does
//	processorTable   what each processor runs
//	threadTable      threads, processes
//	timeline         rows, open slices, events to be returned
//	classTable       what the classes mean
//	input            the source and its current event
type rows struct {
	processorTable
	w       *trace.Warnings
	last    clock.HostTime // greatest stamp so far
	started bool
	ended   error
	dump    int           // the row of the state when the trace began
	wider   []trace.Value // returned by Values
}

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
			if err == trace.ErrPending || errors.Is(err, trace.ErrPending) { // the former after every event of a trace that grows
				return err
			}
			r.ended = err
			if errors.Is(err, io.EOF) {
				r.finish()
			}
			continue
		}
		if r.last < r.event.Time || !r.started {
			r.last, r.started = r.event.Time, true
		}
		r.handle()
	}
	*e = r.queue[r.given].Event
	r.given++
	return nil
}

func (r *rows) Values() []trace.Value {
	if r.given == 0 {
		return nil
	}
	switch r.queue[r.given-1].values {
	case ownValues:
		return r.fields()
	case withNumber:
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

// finish closes the open slices when the source has ended, and warns of those closed early.
func (r *rows) finish() {
	r.closeAll(r.last)
	if r.lost > 0 && r.w != nil {
		r.w.AddN("", "slices were ended early on rows whose events contradict each other, as they do where the tracer lost some", "", r.lost)
	}
}
