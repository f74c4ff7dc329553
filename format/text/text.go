// Package text writes a timeline as lines for people, as they read a log. In go events, out comes a line for each:
//
//	2026-01-02T15:04:05.000000001Z ±1.25us web nginx 12: request begin id=5 path="/cart"
//	2026-01-02T15:04:05.000000950Z ±unbounded db postgres 7: query begin late=1.2ms sql="select 1"
//
// A line has the instant on the timeline, the greater distance to its two bounds, host and row, the event, what it does to its row (begin,
// end, counter; nothing for an instant), how far it is behind an event before it and by how much it was moved ([Writer.Annotate]), and its fields. The second column
// is absent where stamps are as they were recorded. Texts are quoted, and control characters escaped: a field cannot forge a line, or
// reach the terminal.
//
// The cost is about a microsecond an event, and no memory but a line's.
package text

import (
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"meridian/clock"
	"meridian/format/internal/table"
	"meridian/format/internal/timeline"
	"meridian/trace"
)

// Writer is a sink that writes lines.
type Writer struct {
	out   timeline.Lines
	notes timeline.Notes
	time  table.Instants
	line  []byte
	value []byte
}

// NewWriter returns a writer of events that refer to a schema, which may grow while they come.
func NewWriter(w io.Writer, l *trace.Schema) (*Writer, error) {
	out, err := timeline.NewLines("text", w, l)
	if err != nil {
		return nil, err
	}
	return &Writer{out: out}, nil
}

// Write writes one line. Its error is that of an event whose host, stream or class the schema does not have, of the output,
// or of a writer that is closed; after an error nothing is written.
func (w *Writer) Write(r *trace.TimelineEvent) error {
	if err := w.out.Accept(r); err != nil {
		return err
	}
	late, moved := w.notes.Take()
	w.out.Events++
	names := table.RowOf(w.out.Schema, r)
	b := append(w.time.Append(w.line[:0], r.Time), ' ')
	switch _, aligned := w.out.Schema.Component(r); {
	case r.Bounded:
		b = append(b, "±"...)
		b = append(appendDuration(b, max(clock.Sub(r.High, r.Time), clock.Sub(r.Time, r.Low))), ' ')
	case aligned:
		b = append(b, "±unbounded "...)
	}
	b = append(appendName(b, names.Host), ' ')
	b = append(appendName(b, names.Row), ": "...)
	if names.Category != "" && !strings.HasPrefix(names.Event, names.Category+":") {
		b = append(appendName(b, names.Category), ':')
	}
	b = appendName(b, names.Event)
	if r.Phase != trace.Instant {
		b = append(append(b, ' '), names.Phase...)
	}
	if r.Flow != 0 && names.Role != "" {
		b = append(append(append(b, ' '), names.Role...), '=')
		b = strconv.AppendUint(b, r.Flow, 10)
	}
	if late > 0 {
		b = appendDuration(append(b, " late="...), late)
	}
	if moved > 0 {
		b = appendDuration(append(b, " moved="...), moved)
	}
	w.line = append(w.fields(b, r), '\n')
	return w.out.WriteLine(w.line)
}

// fields appends NAME=VALUE for each field that the event has.
func (w *Writer) fields(b []byte, r *trace.TimelineEvent) []byte {
	fields := w.out.Schema.Classes[r.Class].Fields
	for i := range min(len(fields), len(r.Values)) {
		v, f := &r.Values[i], &fields[i]
		if v.Kind == trace.None {
			continue
		}
		b = append(appendName(append(b, ' '), f.Name), '=')
		if v.Kind == trace.Text {
			b = strconv.AppendQuote(b, string(v.Data))
			continue
		}
		w.value = f.Append(w.value[:0], v)
		b = appendPlain(b, w.value)
	}
	return b
}

// Annotate says of the event that is written next how far it is behind one that was written before it, and by how much it was moved to
// follow its cause, both in ns; 0 for not at all.
func (w *Writer) Annotate(late, moved int64) { w.notes.Annotate(late, moved) }

// Flush writes what is buffered.
func (w *Writer) Flush() error { return w.out.Flush() }

// Close writes what is buffered. It does not close what is below.
func (w *Writer) Close() error { return w.out.Close() }

// appendName appends a name that is anybody's; one that a terminal or a reader could misread is quoted.
func appendName(b []byte, name string) []byte {
	if name == "" {
		return append(b, '?')
	}
	if strings.ContainsFunc(name, unprintable) || !utf8.ValidString(name) {
		return strconv.AppendQuote(b, name)
	}
	return append(b, name...)
}

// appendPlain appends a value that is no text by itself, but may hold some.
func appendPlain(b, value []byte) []byte {
	for len(value) > 0 {
		r, n := utf8.DecodeRune(value)
		if unprintable(r) {
			b = strconv.AppendQuoteRuneToASCII(b, r)
		} else {
			b = utf8.AppendRune(b, r)
		}
		value = value[n:]
	}
	return b
}

// unprintable says whether a character controls the terminal, or reorders what is shown.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// appendDuration appends a length of time of at least 0 with three significant digits or more, rounded up: it is a bound.
func appendDuration(b []byte, ns int64) []byte {
	switch {
	case ns < 1e3:
		return append(strconv.AppendInt(b, ns, 10), "ns"...)
	case ns < 1e6:
		return append(appendHundredths(b, ns, 1e3), "us"...)
	case ns < 1e9:
		return append(appendHundredths(b, ns, 1e6), "ms"...)
	}
	return append(appendHundredths(b, ns, 1e9), 's')
}

func appendHundredths(b []byte, ns, unit int64) []byte {
	whole, part := ns/unit, (ns%unit*100+unit-1)/unit
	if part == 100 {
		whole, part = whole+1, 0
	}
	b = append(strconv.AppendInt(b, whole, 10), '.')
	return append(b, byte('0'+part/10), byte('0'+part%10))
}
