package chrome

import (
	"encoding/hex"
	"math"
	"strconv"
	"unicode/utf8"

	"meridian/format/internal/timeline"
	"meridian/trace"
)

// class returns the names of a class: Name is `,"name":"open","cat":"syscall"`, those of fields are quoted.
func (w *Writer) class(i int) *timeline.ClassName[[]byte] {
	return w.classes.Class(w.progress.Schema, i, describeClass, quote)
}

func describeClass(name *timeline.ClassName[[]byte], c *trace.Class) {
	name.Name = appendText([]byte(`,"name":`), timeline.NameOf(c))
	if c.Category != "" {
		name.Name = appendText(append(name.Name, `,"cat":`...), c.Category)
	}
}

func quote(s string) []byte { return appendText(nil, s) }

// args appends the fields of a record, and what is known of its time.
func (w *Writer) args(b []byte, c *timeline.ClassName[[]byte], r *trace.TimelineEvent) []byte {
	return w.argsWith(b, c, r, false)
}

func (w *Writer) argsWith(b []byte, c *timeline.ClassName[[]byte], r *trace.TimelineEvent, early bool) []byte {
	l := &w.progress.Schema.Classes[r.Class]
	n, prefix := min(len(r.Values), len(l.Fields)), ""
	if r.Phase == trace.End {
		n, prefix = min(n, len(l.Fields)-l.Context), "end_"
	}
	at := len(b)
	b = append(b, `,"args":`...)
	inside := len(b)
	for i := range n {
		if r.Values[i].Kind == trace.None {
			continue
		}
		b = append(append(append(b, ','), c.Fields[i].Name...), ':')
		b = appendValue(b, &r.Values[i], &l.Fields[i].Type, &c.Fields[i])
	}
	if int64(r.Event.Time) != int64(r.Time) {
		b = appendExtra(b, prefix, "recorded_ns", int64(r.Event.Time))
	}
	if r.Low < r.Time {
		b = appendExtra(b, prefix, "may_be_earlier_ns", int64(r.Time-r.Low))
	}
	if r.High > r.Time {
		b = appendExtra(b, prefix, "may_be_later_ns", int64(r.High-r.Time))
	}
	if w.progress.Unbounded(r) {
		b = append(append(append(b, ',', '"'), prefix...), `unbounded":true`...)
	}
	if number, several := w.progress.Component(r); several && r.Phase != trace.End {
		b = appendExtra(b, "", "component", int64(number))
	}
	if early {
		b = append(b, `,"received_before_sent":true`...)
	}
	if len(b) == inside {
		return b[:at]
	}
	b[inside] = '{' // in place of the first comma
	return append(b, '}')
}

func appendExtra(b []byte, prefix, name string, v int64) []byte {
	b = append(append(append(b, ',', '"'), prefix...), name...)
	return strconv.AppendInt(append(b, `":`...), v, 10)
}

// appendValue appends a value as JSON. Integers that no reader's int64 holds go as text, as does what is no number.
func appendValue(b []byte, v *trace.Value, t *trace.Type, f *timeline.FieldName[[]byte]) []byte {
	switch v.Kind {
	case trace.Bool:
		return strconv.AppendBool(b, v.Bits != 0)
	case trace.Int, trace.Uint:
		switch label := label(v, t); {
		case label != "":
			return appendText(b, label)
		case v.Kind == trace.Int:
			return strconv.AppendInt(b, v.Int(), 10)
		case v.Bits > math.MaxInt64:
			return append(strconv.AppendUint(append(b, '"'), v.Bits, 10), '"')
		}
		return strconv.AppendUint(b, v.Bits, 10)
	case trace.Float:
		return appendFloat(b, v.Float())
	case trace.Text:
		return appendText(b, v.Data)
	case trace.Bytes:
		return append(hex.AppendEncode(append(b, '"'), v.Data), '"')
	case trace.Struct:
		first := len(b)
		b = append(b, '{')
		for i := range min(len(v.Items), len(t.Fields), len(f.Fields)) {
			if v.Items[i].Kind == trace.None {
				continue
			}
			if len(b) > first+1 {
				b = append(b, ',')
			}
			b = append(append(b, f.Fields[i].Name...), ':')
			b = appendValue(b, &v.Items[i], &t.Fields[i].Type, &f.Fields[i])
		}
		return append(b, '}')
	case trace.Array:
		b = append(b, '[')
		for i := range v.Items {
			if t.Elem == nil || f.Elem == nil {
				break
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, &v.Items[i], t.Elem, f.Elem)
		}
		return append(b, ']')
	case trace.Variant:
		if v.Bits < uint64(min(len(t.Fields), len(f.Fields))) && len(v.Items) == 1 {
			return appendValue(b, &v.Items[0], &t.Fields[v.Bits].Type, &f.Fields[v.Bits])
		}
	}
	return append(b, "null"...)
}

func label(v *trace.Value, t *trace.Type) string {
	if len(t.Labels) == 0 {
		return ""
	}
	return t.Label(v)
}

func appendFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(strconv.AppendFloat(append(b, '"'), f, 'g', -1, 64), '"')
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}

// appendText quotes a text from a trace. What is no UTF-8 becomes U+FFFD, and so does a zero byte, at which some readers
// would end it. Escaped is also what would do harm in a page that contains the file: <, > and &, and the line ends that
// JavaScript knows beside JSON's.
func appendText[T string | []byte](b []byte, s T) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == '"' || c == '\\':
				b = append(b, '\\', c)
			case c == 0:
				b = append(b, `\ufffd`...)
			case c < 0x20 || c == 0x7f || c == '<' || c == '>' || c == '&':
				b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
			default:
				b = append(b, c)
			}
			continue
		}
		r, n := timeline.DecodeRune(s, i)
		i += n
		if r == '\u2028' || r == '\u2029' {
			b = append(b, `\u202`...)
			b = append(b, digits[r&15])
			continue
		}
		b = utf8.AppendRune(b, r)
	}
	return append(b, '"')
}
