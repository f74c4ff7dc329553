package chrome

import (
	"fmt"
	"io"
	"strconv"

	"meridian/clock"
	"meridian/format/internal/timeline"
	"meridian/trace"
)

// Writer writes a timeline as Chrome JSON, for ui.perfetto.dev, chrome://tracing and whatever else reads it. It is a
// [trace.Sink].
//
// A host is a process and a row is a thread of it, with numbers of our own: theirs could be equal on two hosts. Names
// and order are metadata events; a host's numbers stand in their args.
//
//	record                          event
//	slice without a number          B, E
//	slice with one                  b, e with an id of its own: they may overlap, and readers make rows of them
//	instant                         i
//	counter                         C: a series for each number field
//	end of a message                X of no duration, for arrows bind to slices; and s where the arrow starts, f where it
//	                                ends, with bp e: without it f would bind to the slice that follows
//
// Stamps are microseconds, which readers hold as float64: since 1970 they would lose their nanoseconds. They count from
// the second in which the timeline begins, baseTimeNanoseconds, which otherData has too, in three decimals.
//
// Args are the fields, with recorded_ns, may_be_earlier_ns and may_be_later_ns where the timeline knows more than the
// host's clock, unbounded where nothing bounds the time, and component where the times of some hosts cannot be compared; those of a slice's end, which readers throw together with those of its begin, have an end_ before them.
//
// Memory: 2 MiB and what the schema has; 0.2 µs and some 120 bytes a record.
type Writer struct {
	progress timeline.Progress
	buf      []byte
	arrows   timeline.Arrows
	tally    Tally

	origin  clock.TimelineTime // whole seconds
	hosts   timeline.Hosts
	rows    []writtenRow
	classes timeline.ClassNames[[]byte]
	open    timeline.OpenSlices[int] // with their classes, which their ends repeat
}

// Tally says what the writer had to change.
type Tally struct {
	Records  int64
	LoneEnds int64 // ends of slices that had not begun: left out
	Open     int64 // slices that did not end: they end with the trace, or where their number is used again
	Inverted int64 // messages that arrive before they were sent: their arrows point back to the sender
	NoNumber int64 // values of counters that are infinite or no number: left out
}

// writtenRow is what the writer knows of a stream.
type writtenRow struct {
	thread   []byte // "pid":1,"tid":1000001
	pid      int
	name     string         // as it was described
	nested   []int          // classes of its open slices without a number
	counters map[int][]byte // names of its counters, by class
}

const writeSize = 1 << 20

// firstThread keeps the numbers of threads apart from those of processes, to which readers give a thread of the same number.
const firstThread = 1_000_001

// NewWriter begins a trace of events of a schema, which may grow while they come.
func NewWriter(w io.Writer, s *trace.Schema) (*Writer, error) {
	progress, err := timeline.NewProgress("chrome", w, s)
	if err != nil {
		return nil, err
	}
	return &Writer{progress: progress, buf: make([]byte, 0, writeSize+1<<16)}, nil
}

// Write writes one event. Its indices must lie within the schema, and it must not be more than a second before the first
// event. Write keeps nothing of r. After an error the writer is of no further use.
func (w *Writer) Write(r *trace.TimelineEvent) error {
	if err := w.progress.Accept(r); err != nil {
		return err
	}
	if !w.progress.Started {
		w.start(r.Time)
	}
	if r.Time < w.origin {
		return w.progress.Unsorted(r, "more than a second before the first event")
	}
	if w.progress.Count(r) {
		w.release()
	}
	row, c := w.row(r.Stream, r.Host), w.class(r.Class)
	switch r.Phase {
	case trace.Begin:
		w.begin(row, c, r)
	case trace.End:
		w.end(row, r)
	case trace.Counter:
		w.counter(row, c, r)
	default:
		w.instant(row, c, r)
	}
	if r.Phase != trace.Instant && timeline.IsMessageEnd(r) {
		w.messageEnd(row, nil, r)
	}
	if len(w.buf) >= writeSize {
		w.flush()
	}
	return w.progress.Err
}

// start writes what stands before all records, of which the first is at t.
func (w *Writer) start(t clock.TimelineTime) {
	const second = 1_000_000_000
	w.progress.Started, w.progress.Last = true, t
	w.origin = t - clock.TimelineTime(((int64(t)%second)+second)%second)
	b := append(w.buf, `{"displayTimeUnit":"ns","baseTimeNanoseconds":`...)
	b = strconv.AppendInt(b, int64(w.origin), 10)
	b = append(b, `,"otherData":{"writer":"meridian","origin_ns":"`...)
	b = append(strconv.AppendInt(b, int64(w.origin), 10), '"')
	for _, x := range [][2]string{{"title", w.progress.Schema.Title}, {"method", w.progress.Schema.Method}, {"assumption", w.progress.Schema.Assumption}} {
		if x[1] != "" {
			b = append(append(append(b, `,"`...), x[0]...), `":`...)
			b = appendText(b, x[1])
		}
	}
	w.buf = append(b, `},"traceEvents":[`...)
	for h := range w.progress.Schema.Hosts {
		w.host(h)
	}
}

// Close ends what is open at the time of the last record and writes the rest.
func (w *Writer) Close() error {
	if w.progress.Err != nil {
		return w.progress.Err
	}
	if !w.progress.Started {
		w.start(0)
	}
	w.release()
	w.closeSlices()
	for i := range w.rows {
		if r := &w.rows[i]; r.pid != 0 && r.name != w.rowName(i) {
			w.describeRow(r, i)
		}
	}
	w.buf = append(w.buf, "\n]}\n"...)
	w.flush()
	return w.progress.Close()
}

// Tally says what was changed; complete after Close.
func (w *Writer) Tally() Tally {
	t := w.tally
	t.Records, t.Inverted = w.progress.Events, w.arrows.Inverted()
	return t
}

func (w *Writer) flush() {
	w.progress.Output(w.buf)
	w.buf = w.buf[:0]
}

// host describes a host when it is needed first.
func (w *Writer) host(h int) {
	name, first := w.hosts.Describe(w.progress.Schema, h)
	if !first {
		return
	}
	process := fmt.Appendf(nil, `"pid":%d`, h+1)
	w.buf = metadata(w.buf, process, "process_name", "name", appendText(nil, name))
	w.buf = metadata(w.buf, process, "process_sort_index", "sort_index", strconv.AppendInt(nil, int64(h), 10))
}

func metadata(b, thread []byte, name, key string, value []byte) []byte {
	if n := len(b); n == 0 || b[n-1] != '[' {
		b = append(b, ',')
	}
	return fmt.Appendf(b, "\n"+`{"ph":"M","name":"%s",%s,"args":{"%s":%s}}`, name, thread, key, value)
}

// row returns a stream's row, and describes it when it is needed first.
func (w *Writer) row(stream, host int) *writtenRow {
	if stream < len(w.rows) && w.rows[stream].pid != 0 {
		return &w.rows[stream]
	}
	for len(w.rows) < len(w.progress.Schema.Streams) {
		w.rows = append(w.rows, writtenRow{})
	}
	w.host(host)
	pid := w.hosts.Of(&w.progress.Schema.Streams[stream], host) + 1
	r := &w.rows[stream]
	r.pid, r.thread = pid, fmt.Appendf(nil, `"pid":%d,"tid":%d`, pid, firstThread+stream)
	w.describeRow(r, stream)
	return r
}

func (w *Writer) describeRow(r *writtenRow, stream int) {
	s := &w.progress.Schema.Streams[stream]
	r.name = w.rowName(stream)
	name := appendText(nil, r.name)
	w.buf = metadata(w.buf, r.thread, "thread_name", "name", fmt.Appendf(name, `,"kind":"%s","id":%d`, s.Kind, s.ID))
	w.buf = metadata(w.buf, r.thread, "thread_sort_index", "sort_index", strconv.AppendInt(nil, timeline.RowRank(s, stream), 10))
}

// rowName is a row's name behind that of the row it belongs to: the format knows no rows below threads.
func (w *Writer) rowName(stream int) string {
	s := &w.progress.Schema.Streams[stream]
	if p := s.Parent; p >= 0 && p < len(w.progress.Schema.Streams) && p != stream && w.progress.Schema.Streams[p].Host == s.Host {
		return timeline.RowName(&w.progress.Schema.Streams[p]) + " / " + timeline.RowName(s)
	}
	return timeline.RowName(s)
}
