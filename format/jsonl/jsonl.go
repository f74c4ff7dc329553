// Package jsonl writes a timeline as JSON lines, for programs that read events as they come. In go events, out comes an
// object for each, on a line of its own:
//
//	{"time":"2026-01-02T15:04:05.000000001Z","time_ns":1767366245000000001,"low_ns":…,"high_ns":…,"recorded_ns":…,"host":"web","row":"nginx 12",
//	 "row_kind":"thread","event":"request","category":"app","phase":"begin","slice":4,"flow":7,"role":"sends","component":0,"late_ns":1200,
//	 "fields":{"id":5}}
//
// The members are the columns of format/csv under the same names. A member is absent where a table has an empty cell: low_ns and
// high_ns where nothing bounds the event, slice, flow and role where it has none, component where time_ns is the stamp as it was
// recorded. late_ns is how far a live event is behind one before it, moved_ns by how much it was
// moved to follow its cause ([Writer.Annotate]); both are absent if it was not. Integers have all their digits, also those beyond 2^53.
//
// What lines have in common is made once: the names of a row and of a class, and the second. The cost is 0.2 to 0.4 us an event, and the memory
// that of a line, and of these names.
package jsonl

import (
	"io"
	"strconv"

	"meridian/format/internal/table"
	"meridian/format/internal/timeline"
	"meridian/trace"
)

// Writer is a sink that writes JSON lines.
type Writer struct {
	out     timeline.Lines
	notes   timeline.Notes
	layout  *table.Layout
	time    table.Instants
	rows    []members // by stream
	classes []members // by class
	line    []byte
}

// members are those that name a row or a class, as they stand in a line.
type members struct {
	of   table.Row // what they were made of; the schema may say something else later
	text []byte
}

// NewWriter returns a writer of events that refer to a schema, which may grow while they come.
func NewWriter(w io.Writer, l *trace.Schema) (*Writer, error) {
	out, err := timeline.NewLines("jsonl", w, l)
	if err != nil {
		return nil, err
	}
	return &Writer{out: out, layout: table.New(l, 0)}, nil
}

// Write writes one line. Its error is that of an event whose host, stream or class the schema does not have, of the output,
// or of a writer that is closed; after an error nothing is written.
func (w *Writer) Write(r *trace.TimelineEvent) error {
	if err := w.out.Accept(r); err != nil {
		return err
	}
	late, moved := w.notes.Take()
	w.out.Events++
	w.line = append(w.line[:0], `{"time":"`...)
	w.line = w.time.Append(w.line, r.Time)
	w.line = append(w.line, `","time_ns":`...)
	w.line = strconv.AppendInt(w.line, int64(r.Time), 10)
	if r.Bounded {
		w.number(`,"low_ns":`, int64(r.Low))
		w.number(`,"high_ns":`, int64(r.High))
	}
	w.number(`,"recorded_ns":`, int64(r.Event.Time))
	names := table.RowOf(w.out.Schema, r)
	w.line = append(w.line, w.row(r.Stream, &names)...)
	w.line = append(w.line, w.class(r.Class, &names)...)
	w.text(`,"phase":`, names.Phase)
	w.nonZero(`,"slice":`, r.Slice)
	w.nonZero(`,"flow":`, r.Flow)
	w.text(`,"role":`, names.Role)
	if component, ok := w.out.Schema.Component(r); ok {
		w.number(`,"component":`, int64(component))
	}
	if late > 0 {
		w.number(`,"late_ns":`, late)
	}
	if moved > 0 {
		w.number(`,"moved_ns":`, moved)
	}
	w.line = append(w.line, `,"fields":`...)
	w.layout.Place(r)
	if len(w.layout.Rest) > 0 {
		w.line = append(w.line, w.layout.Rest...)
	} else {
		w.line = append(w.line, "{}"...)
	}
	w.line = append(w.line, "}\n"...)
	return w.out.WriteLine(w.line)
}

// Annotate says of the event that is written next how far it is behind one that was written before it, and by how much it was moved to
// follow its cause, both in ns; 0 for not at all.
func (w *Writer) Annotate(late, moved int64) { w.notes.Annotate(late, moved) }

// Flush writes what is buffered.
func (w *Writer) Flush() error { return w.out.Flush() }

// Close writes what is buffered. It does not close what is below.
func (w *Writer) Close() error { return w.out.Close() }

// row returns the members that name the row of a stream.
func (w *Writer) row(stream int, names *table.Row) []byte {
	for len(w.rows) <= stream {
		w.rows = append(w.rows, members{})
	}
	m := &w.rows[stream]
	if m.text == nil || m.of.Host != names.Host || m.of.Row != names.Row || m.of.Kind != names.Kind {
		m.of = *names
		m.text = appendText(m.text[:0], `,"host":`, names.Host)
		m.text = appendText(m.text, `,"row":`, names.Row)
		m.text = appendText(m.text, `,"row_kind":`, names.Kind)
	}
	return m.text
}

// class returns the members that name a class.
func (w *Writer) class(class int, names *table.Row) []byte {
	for len(w.classes) <= class {
		w.classes = append(w.classes, members{})
	}
	m := &w.classes[class]
	if m.text == nil || m.of.Event != names.Event || m.of.Category != names.Category {
		m.of = *names
		m.text = appendText(m.text[:0], `,"event":`, names.Event)
		m.text = appendText(m.text, `,"category":`, names.Category)
	}
	return m.text
}

// number appends a member, whose name has its comma and colon.
func (w *Writer) number(name string, n int64) {
	w.line = strconv.AppendInt(append(w.line, name...), n, 10)
}

// nonZero appends a number of which 0 stands for none.
func (w *Writer) nonZero(name string, n uint64) {
	if n != 0 {
		w.line = strconv.AppendUint(append(w.line, name...), n, 10)
	}
}

func (w *Writer) text(name, s string) { w.line = appendText(w.line, name, s) }

// appendText appends a text unless it is empty.
func appendText(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return table.AppendString(append(b, name...), s)
}
