package perfetto

import (
	"math"
	"strings"

	"meridian/format/internal/timeline"
	"meridian/trace"
)

// count is the track of one number field of a class of counters.
type count struct {
	field int
	uuid  uint64
}

// counters writes a value for each number field of the event's class, other than those that the tracer added.
func (w *Writer) counters(row *row, r *trace.TimelineEvent) {
	tracks, ok := row.counters[r.Class]
	if !ok {
		tracks = w.describeCounters(row, r.Class)
	}
	for _, t := range tracks {
		if t.field >= len(r.Values) {
			break
		}
		v := &r.Values[t.field]
		n, ok := v.Number()
		if !ok {
			continue
		}
		if math.IsNaN(n) || math.IsInf(n, 0) {
			w.tally.NoNumber++
			continue
		}
		b, at := w.event(w.body, r.Time, typeCounter, t.uuid)
		if v.Kind == trace.Float || v.Kind == trace.Uint && v.Bits > math.MaxInt64 {
			b = double(b, eventRealCount, n)
		} else {
			b = number(b, eventCount, v.Bits)
		}
		w.body = at.close(b)
	}
}

// describeCounters gives a class of counters its tracks below a row: named after the class, and after the field too where
// there are several.
func (w *Writer) describeCounters(r *row, class int) []count {
	l := &w.progress.Schema.Classes[class]
	var out []count
	for i := range l.Fields[:max(0, len(l.Fields)-l.Context)] {
		switch l.Fields[i].Type.Kind {
		case trace.Bool, trace.Int, trace.Uint, trace.Float:
			out = append(out, count{field: i, uuid: w.newUUID()})
		}
	}
	for _, t := range out {
		field := l.Fields[t.field].Name
		name := l.Name
		if len(out) > 1 || name == "" {
			name = strings.TrimSpace(name + " " + field)
		}
		var unit uint64
		switch {
		case strings.HasSuffix(field, "_ns"):
			unit = unitNS
		case strings.HasSuffix(field, "bytes"):
			unit = unitBytes
		}
		// Above all rows below this one: their ranks begin where a kind of row does.
		rank := min(uint64(class)*8+uint64(min(t.field, 7)), timeline.RanksPerKind)
		w.describe(track{uuid: t.uuid, parent: r.uuid, name: name, rank: rank, counter: true, unit: unit})
	}
	if r.counters == nil {
		r.counters = make(map[int][]count)
	}
	r.counters[class] = out
	return out
}
