// Package perfetto writes a timeline as a Perfetto trace (.pftrace), for ui.perfetto.dev and the trace processor's SQL.
//
// In go the records of a timeline in order of time; out comes a stream of protobuf messages that needs no seeking.
//
// Every host is a track of its own at the top, in the schema's order, and all its rows lie below it as their parents
// say. They are plain tracks without process or thread numbers: those would have to be unique over all hosts, and the
// viewer would sort hosts among processes. The numbers stand in the tracks' descriptions.
//
//	web                        a track for each host
//	|- clock bound  ~~~~       counters: one track for each number
//	|- messages     | | |      instants; arrows lie on instants, send (flow_ids) to receive (terminating_flow_ids)
//	|- CPU 0        [==][==]
//	'- nginx 12
//	   |- worker 13 [=[==]=]   slices of one track nest
//	   '- worker 13 #2 [===]   what would not is moved aside (lanes.go)
//
// A field of an event becomes a debug annotation of its kind; structures and arrays stay such, enumerations become their
// names. Where the timeline differs from what the host's clock showed, recorded_ns is what it showed; where the time has
// bounds, may_be_earlier_ns and may_be_later_ns say how far they are; where nothing bounds it, unbounded is true. Where the
// times of some hosts cannot be compared, component is equal for those that can. What text is said again and again (names of events,
// categories and fields) is written once and then called by number.
//
// All is one machine to Perfetto, because flows do not cross machine_id, and one clock, REALTIME, because its conversion
// between clocks has no slope. Times before 1970 cannot be written: if the timeline begins there, all of it is moved
// later by whole seconds, which [Tally] tells.
//
// The file, each line a TracePacket (field 1 of Trace), numbers of fields in wire.go:
//
//	clock_snapshot, trace_packet_defaults   once
//	track_descriptor | interned_data        before what refers to them
//	track_event                             the records
//
// Memory: some 6 MiB and what the schema has; 0.2 µs and 30 bytes a record, and more with its fields.
// Source: the .proto files of Perfetto v55.
package perfetto

import (
	"io"

	"meridian/clock"
	"meridian/format/internal/timeline"
	"meridian/trace"
)

// Writer writes events as a Perfetto trace. It is a [trace.Sink].
type Writer struct {
	progress timeline.Progress
	tracks   tracks
	names    names
	chunk    int
	arrows   timeline.Arrows
	lanes    lanes
	tally    Tally

	head []byte // descriptors and names, written before what is in body and refers to them
	body []byte // events
	base int64  // how many bytes of events were written before body
}

// Tally says what the writer had to change.
type Tally struct {
	Records  int64
	LoneEnds int64 // ends of slices that had not begun: left out
	Open     int64 // slices that did not end: they end with the trace, or where their number is used again
	Aside    int64 // slices that lie on extra tracks because they overlap others
	Inverted int64 // messages that arrive before they were sent: their arrows point back to the sender
	NoNumber int64 // values of counters that are infinite or no number: left out
	Shift    int64 // ns by which everything was moved later, because the timeline begins before 1970
}

// chunkSize is what is written at once. Up to twice as much is held: what overlaps is seen only within that.
const chunkSize = 1 << 20

// NewWriter begins a trace of events of a schema, which may grow while they come.
func NewWriter(w io.Writer, s *trace.Schema) (*Writer, error) {
	progress, err := timeline.NewProgress("perfetto", w, s)
	if err != nil {
		return nil, err
	}
	x := &Writer{progress: progress, chunk: chunkSize, head: make([]byte, 0, 1<<16), body: make([]byte, 0, 2*chunkSize+1<<16)}
	x.names.init()
	return x, nil
}

// Write writes one event. Its indices must lie within the schema, and it must not be both before 1970 and before the
// second in which the first event lies. Write keeps nothing of r. After an error the writer is of no further use.
func (w *Writer) Write(r *trace.TimelineEvent) error {
	if err := w.progress.Accept(r); err != nil {
		return err
	}
	if !w.progress.Started {
		w.begin(r.Time)
	}
	if r.Time+clock.TimelineTime(w.tally.Shift) < 0 {
		return w.progress.Unsorted(r, "before 1970 and before the first event")
	}
	if w.progress.Count(r) {
		w.release()
	}
	row, c := w.row(r.Stream, r.Host), w.class(r.Class)
	switch r.Phase {
	case trace.Begin:
		w.beginSlice(row, c, r)
	case trace.End:
		w.endSlice(row, c, r)
	case trace.Counter:
		w.counters(row, r)
	default:
		w.instant(row.uuid, c, r)
	}
	if r.Phase != trace.Instant && timeline.IsMessageEnd(r) {
		w.messageEnd(row.uuid, nil, r)
	}
	if len(w.body) >= 2*w.chunk {
		w.flush(w.chunk)
	}
	return w.progress.Err
}

// begin writes what stands before all records, of which the first is at t.
func (w *Writer) begin(t clock.TimelineTime) {
	w.progress.Started, w.progress.Last = true, t
	if t < 0 {
		const second = 1_000_000_000
		w.tally.Shift = (int64(-(t+1))/second + 1) * second
	}
	w.head = appendPreamble(w.head, w.stamp(t))
	for h := range w.progress.Schema.Hosts {
		w.host(h)
	}
}

func (w *Writer) stamp(t clock.TimelineTime) uint64 {
	return uint64(t + clock.TimelineTime(w.tally.Shift))
}

// Close ends what is open at the time of the last record and writes the rest.
func (w *Writer) Close() error {
	if w.progress.Err != nil {
		return w.progress.Err
	}
	if !w.progress.Started {
		w.begin(0)
	}
	w.release()
	w.closeSlices()
	w.rename()
	w.flush(len(w.body))
	return w.progress.Close()
}

// Tally says what was changed; complete after Close.
func (w *Writer) Tally() Tally {
	t := w.tally
	t.Records, t.Inverted = w.progress.Events, w.arrows.Inverted()
	return t
}

// flush decides where the slices that begin in the first n bytes of the body lie, and writes up to the first undecided.
func (w *Writer) flush(n int) {
	if w.progress.Err != nil {
		return
	}
	cut := w.place(w.base + int64(n))
	w.progress.Output(w.head)
	w.progress.Output(w.body[:cut])
	w.head = w.head[:0]
	w.base += int64(cut)
	w.body = w.body[:copy(w.body, w.body[cut:])]
}
