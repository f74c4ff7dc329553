package perfetto

import (
	"encoding/hex"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"meridian/format/internal/timeline"
	"meridian/trace"
)

// annotations appends the fields of a record, and what is known of its time.
func (w *Writer) annotations(b []byte, c *class, r *trace.TimelineEvent) []byte {
	l := &w.progress.Schema.Classes[r.Class]
	n, extra := min(len(r.Values), len(l.Fields)), recorded
	if r.Phase == trace.End { // its annotations join those of the begin, and would take the place of their namesakes
		n, extra = min(n, len(l.Fields)-l.Context), endRecorded
	}
	b = named(b, eventAnnotation, r.Values[:n], l.Fields, c.Fields)
	if int64(r.Event.Time) != int64(r.Time) {
		b = w.extra(b, extra, noteInt, uint64(r.Event.Time))
	}
	if r.Low < r.Time {
		b = w.extra(b, extra+earlier, noteInt, uint64(r.Time-r.Low))
	}
	if r.High > r.Time {
		b = w.extra(b, extra+later, noteInt, uint64(r.High-r.Time))
	}
	if w.progress.Unbounded(r) {
		b = w.extra(b, extra+unbounded, noteBool, 1)
	}
	if number, several := w.progress.Component(r); several && r.Phase != trace.End {
		b = w.extra(b, component, noteInt, uint64(number))
	}
	return b
}

// named appends annotations as messages of a field's number: the values that are there, each with the name of its field.
func named(b []byte, as protowire.Number, values []trace.Value, fields []trace.Field, names []timeline.FieldName[uint64]) []byte {
	for i := range min(len(values), len(fields), len(names)) {
		if values[i].Kind == trace.None {
			continue
		}
		var at int
		b, at = message(b, as)
		b = number(b, noteName, names[i].Name)
		b = value(b, &values[i], &fields[i].Type, &names[i])
		b, _ = end(b, at)
	}
	return b
}

func (w *Writer) extra(b []byte, name int, kind protowire.Number, v uint64) []byte {
	b, at := message(b, eventAnnotation)
	b = number(b, noteName, w.extraName(name))
	b = number(b, kind, v)
	b, _ = end(b, at)
	return b
}

// value appends the value of an annotation. A value goes by its own kind where it is not of its field's.
func value(b []byte, v *trace.Value, t *trace.Type, s *timeline.FieldName[uint64]) []byte {
	switch v.Kind {
	case trace.Bool:
		return number(b, noteBool, v.Bits)
	case trace.Int, trace.Uint:
		return integer(b, v, t)
	case trace.Float:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return text(b, noteText, strconv.FormatFloat(f, 'g', -1, 64)) // a database would make NULL of it
		}
		return fixed(b, noteReal, v.Bits)
	case trace.Text:
		return text(b, noteText, v.Data)
	case trace.Bytes:
		b, at := message(b, noteText)
		b = hex.AppendEncode(b, v.Data)
		b, _ = end(b, at)
		return b
	case trace.Struct:
		return named(b, noteEntries, v.Items, t.Fields, s.Fields)
	case trace.Array:
		if t.Elem == nil || s.Elem == nil {
			return b
		}
		for i := range v.Items {
			var at int
			b, at = message(b, noteItems)
			b = value(b, &v.Items[i], t.Elem, s.Elem)
			b, _ = end(b, at)
		}
	case trace.Variant:
		if v.Bits < uint64(min(len(t.Fields), len(s.Fields))) && len(v.Items) == 1 {
			return value(b, &v.Items[0], &t.Fields[v.Bits].Type, &s.Fields[v.Bits])
		}
	}
	return b
}

func integer(b []byte, v *trace.Value, t *trace.Type) []byte {
	switch {
	case len(t.Labels) > 0 && t.Label(v) != "":
		return text(b, noteText, t.Label(v))
	case v.Kind == trace.Int:
		return number(b, noteInt, v.Bits)
	case t.Base == 16:
		return number(b, notePointer, v.Bits)
	}
	return number(b, noteUint, v.Bits)
}
