package chrome

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"meridian/clock"
	"meridian/format/internal/arrows"
	"meridian/format/internal/ranks"
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
// host's clock; those of a slice's end, which readers throw together with those of its begin, have an end_ before them.
//
// Memory: 2 MiB and what the legend has; 0.2 µs and some 120 bytes a record.
type Writer struct {
	w      io.Writer
	err    error
	legend *trace.Schema
	buf    []byte
	ends   arrows.Ends
	late   []byte // arrivals that wait for the end of their instant
	wait   []arrival
	waits  map[uint64]bool // which messages do
	tally  Tally

	begun   bool
	origin  clock.TimelineTime // whole seconds
	last    clock.TimelineTime
	hosts   map[string]int
	known   []bool // hosts that were described
	rows    []writtenRow
	classes []writtenClass
	open    map[numberedSlice]openSlice
	slices  uint64 // numbers given to them
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
	place    []byte // "pid":1,"tid":1000001
	pid      int
	name     string         // as it was described
	nested   []int          // classes of its open slices without a number
	counters map[int][]byte // names of its counters, by class
}

type numberedSlice struct {
	stream int
	id     uint64
}

// openSlice is one that has begun: its number in the file, and its class, which its end repeats.
type openSlice struct {
	number uint64
	class  int
}

const writeSize = 1 << 20

// firstThread keeps the numbers of threads apart from those of processes, to which readers give a thread of the same number.
const firstThread = 1_000_001

// NewWriter begins a trace. The legend may grow while records come.
func NewWriter(w io.Writer, l *trace.Schema) (*Writer, error) {
	return &Writer{
		w: w, legend: l, buf: make([]byte, 0, writeSize+1<<16), waits: make(map[uint64]bool),
		hosts: make(map[string]int), open: make(map[numberedSlice]openSlice),
	}, nil
}

// Write writes one record. It keeps nothing of r.
func (w *Writer) Write(r *trace.TimelineEvent) error {
	if w.err != nil {
		return w.err
	}
	if err := w.check(r); err != nil {
		w.err = err
		return err
	}
	w.tally.Records++
	if r.Time != w.last {
		w.release()
		w.last = max(w.last, r.Time)
	}
	row, c := w.row(r.Stream, r.Host), w.class(r.Class)
	isEnd := r.Flow != 0 && (r.Role == trace.Sends || r.Role == trace.Receives)
	switch r.Phase {
	case trace.Begin:
		w.begin(row, c, r)
	case trace.End:
		w.end(row, r)
	case trace.Counter:
		w.counter(row, c, r)
	default:
		if isEnd {
			w.messageEnd(row, c, r)
		} else {
			b := w.head(w.buf, row, r.Time, "i", c)
			b = append(b, `,"s":"t"`...)
			w.buf = w.close(w.args(b, c, r))
		}
	}
	if isEnd && r.Phase != trace.Instant {
		w.messageEnd(row, nil, r)
	}
	if len(w.buf) >= writeSize {
		w.flush()
	}
	return w.err
}

func (w *Writer) check(r *trace.TimelineEvent) error {
	if r.Stream < 0 || r.Stream >= len(w.legend.Streams) || r.Class < 0 || r.Class >= len(w.legend.Classes) ||
		r.Host < 0 || r.Host >= len(w.legend.Hosts) {
		return fmt.Errorf("chrome: record %d is of host %d, stream %d and class %d, and the legend has %d, %d and %d of them",
			w.tally.Records+1, r.Host, r.Stream, r.Class, len(w.legend.Hosts), len(w.legend.Streams), len(w.legend.Classes))
	}
	if !w.begun {
		w.start(r.Time)
	}
	if r.Time < w.origin {
		return fmt.Errorf("chrome: record %d is at %d ns, more than a second before the first: sort the records by time",
			w.tally.Records+1, r.Time)
	}
	return nil
}

// start writes what stands before all records, of which the first is at t.
func (w *Writer) start(t clock.TimelineTime) {
	const second = 1_000_000_000
	w.begun, w.last = true, t
	w.origin = t - clock.TimelineTime(((int64(t)%second)+second)%second)
	b := append(w.buf, `{"displayTimeUnit":"ns","baseTimeNanoseconds":`...)
	b = strconv.AppendInt(b, int64(w.origin), 10)
	b = append(b, `,"otherData":{"writer":"meridian","origin_ns":"`...)
	b = append(strconv.AppendInt(b, int64(w.origin), 10), '"')
	for _, x := range [][2]string{{"title", w.legend.Title}, {"method", w.legend.Method}, {"assumption", w.legend.Assumption}} {
		if x[1] != "" {
			b = append(append(append(b, `,"`...), x[0]...), `":`...)
			b = appendText(b, x[1])
		}
	}
	w.buf = append(b, `},"traceEvents":[`...)
	for h := range w.legend.Hosts {
		w.host(h)
	}
}

// Close ends what is open at the time of the last record and writes the rest.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	if !w.begun {
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
	err := w.err
	if err == nil {
		w.err = errors.New("chrome: the trace is closed")
	}
	return err
}

// Tally says what was changed; complete after Close.
func (w *Writer) Tally() Tally {
	t := w.tally
	t.Inverted = w.ends.Inverted()
	return t
}

func (w *Writer) flush() {
	if w.err != nil {
		return
	}
	n, err := w.w.Write(w.buf)
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = fmt.Errorf("chrome: %w", err)
	}
	w.buf = w.buf[:0]
}

// host describes a host when it is needed first, and returns the number of its process.
func (w *Writer) host(h int) int {
	for len(w.known) <= h {
		w.known = append(w.known, false)
	}
	if w.known[h] {
		return h + 1
	}
	w.known[h] = true
	name := w.legend.Hosts[h]
	w.hosts[name] = h
	if name == "" {
		name = fmt.Sprintf("host %d", h+1)
	}
	place := fmt.Appendf(nil, `"pid":%d`, h+1)
	w.buf = metadata(w.buf, place, "process_name", "name", appendText(nil, name))
	w.buf = metadata(w.buf, place, "process_sort_index", "sort_index", strconv.AppendInt(nil, int64(h), 10))
	return h + 1
}

func metadata(b, place []byte, name, key string, value []byte) []byte {
	if n := len(b); n == 0 || b[n-1] != '[' {
		b = append(b, ',')
	}
	return fmt.Appendf(b, "\n"+`{"ph":"M","name":"%s",%s,"args":{"%s":%s}}`, name, place, key, value)
}

// row returns a stream's row, and describes it when it is needed first.
func (w *Writer) row(stream, host int) *writtenRow {
	if stream < len(w.rows) && w.rows[stream].pid != 0 {
		return &w.rows[stream]
	}
	for len(w.rows) < len(w.legend.Streams) {
		w.rows = append(w.rows, writtenRow{})
	}
	pid := w.host(host)
	if h, ok := w.hosts[w.legend.Streams[stream].Host]; ok {
		pid = h + 1
	}
	r := &w.rows[stream]
	r.pid, r.place = pid, fmt.Appendf(nil, `"pid":%d,"tid":%d`, pid, firstThread+stream)
	w.describeRow(r, stream)
	return r
}

func (w *Writer) describeRow(r *writtenRow, stream int) {
	s := &w.legend.Streams[stream]
	r.name = w.rowName(stream)
	name := appendText(nil, r.name)
	w.buf = metadata(w.buf, r.place, "thread_name", "name", fmt.Appendf(name, `,"kind":"%s","id":%d`, s.Kind, s.ID))
	w.buf = metadata(w.buf, r.place, "thread_sort_index", "sort_index", strconv.AppendInt(nil, ranks.Place(s, stream), 10))
}

// rowName is a row's name behind that of the row it belongs to: the format knows no rows below threads.
func (w *Writer) rowName(stream int) string {
	s := &w.legend.Streams[stream]
	if p := s.Parent; p >= 0 && p < len(w.legend.Streams) && p != stream && w.legend.Streams[p].Host == s.Host {
		return ranks.Name(&w.legend.Streams[p]) + " / " + ranks.Name(s)
	}
	return ranks.Name(s)
}
