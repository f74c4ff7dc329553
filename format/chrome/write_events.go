package chrome

import (
	"math"
	"strconv"
	"strings"

	"meridian/clock"
	"meridian/format/internal/timeline"
	"meridian/trace"
)

// head begins an event, all but its args; c is nil where it has no class.
func (w *Writer) head(b []byte, row *writtenRow, t clock.TimelineTime, phase string, c *timeline.ClassName[[]byte]) []byte {
	b = append(append(append(b, ",\n"+`{"ph":"`...), phase...), '"')
	if c != nil {
		b = append(b, c.Name...)
	}
	b = append(append(b, ','), row.thread...)
	b = append(b, `,"ts":`...)
	return appendMicros(b, int64(t-w.origin))
}

func (w *Writer) close(b []byte) []byte { return append(b, '}') }

// appendMicros appends nanoseconds, which are not below zero, as microseconds with all their digits.
func appendMicros(b []byte, ns int64) []byte {
	b = strconv.AppendInt(b, ns/1000, 10)
	part := ns % 1000
	return append(b, '.', byte('0'+part/100), byte('0'+part/10%10), byte('0'+part%10))
}

func (w *Writer) begin(row *writtenRow, c *timeline.ClassName[[]byte], r *trace.TimelineEvent) {
	if r.Slice == 0 {
		row.nested = append(row.nested, r.Class)
		w.buf = w.close(w.args(w.head(w.buf, row, r.Time, "B", c), c, r))
		return
	}
	if s, ok := w.open.End(r); ok { // its end is missing: the number is used again
		w.tally.Open++
		w.buf = w.close(w.endNumbered(row, s, r.Time))
	}
	s := w.open.Begin(r, r.Class)
	w.buf = w.close(w.args(appendID(w.head(w.buf, row, r.Time, "b", c), s.Number), c, r))
}

// appendID appends a slice's number, which is its own within the process.
func appendID(b []byte, number uint64) []byte {
	b = append(b, `,"id2":{"local":"0x`...)
	return append(strconv.AppendUint(b, number, 16), `"}`...)
}

func (w *Writer) end(row *writtenRow, r *trace.TimelineEvent) {
	var b []byte
	if r.Slice == 0 {
		n := len(row.nested) - 1
		if n < 0 {
			w.tally.LoneEnds++
			return
		}
		b = w.head(w.buf, row, r.Time, "E", w.class(row.nested[n]))
		row.nested = row.nested[:n]
	} else {
		s, ok := w.open.End(r)
		if !ok {
			w.tally.LoneEnds++
			return
		}
		b = w.endNumbered(row, s, r.Time)
	}
	w.buf = w.close(w.args(b, w.class(r.Class), r))
}

// endNumbered begins the end of a slice with a number: name and category are those of its begin, or readers would not
// see that they belong together.
func (w *Writer) endNumbered(row *writtenRow, s timeline.OpenSlice[int], t clock.TimelineTime) []byte {
	return appendID(w.head(w.buf, row, t, "e", w.class(s.Value)), s.Number)
}

// closeSlices ends what is still open at the time of the last record, the innermost first.
func (w *Writer) closeSlices() {
	for _, s := range w.open.EndAll() {
		w.tally.Open++
		w.buf = w.close(w.endNumbered(&w.rows[s.Stream], s, w.progress.Last))
	}
	for i := range w.rows {
		row := &w.rows[i]
		for n := len(row.nested) - 1; n >= 0; n-- {
			w.tally.Open++
			w.buf = w.close(w.head(w.buf, row, w.progress.Last, "E", w.class(row.nested[n])))
		}
	}
}

// counter writes the number fields of an event as the series of one counter.
func (w *Writer) counter(row *writtenRow, c *timeline.ClassName[[]byte], r *trace.TimelineEvent) {
	l := &w.progress.Schema.Classes[r.Class]
	name, ok := row.counters[r.Class]
	if !ok {
		name = w.counterName(row, r)
	}
	b := append(w.head(w.buf, row, r.Time, "C", nil), name...)
	b = append(b, `,"args":{`...)
	none := true
	for i := range min(len(r.Values), len(l.Fields)-l.Context) {
		n, ok := r.Values[i].Number()
		if !ok {
			continue
		}
		if math.IsNaN(n) || math.IsInf(n, 0) {
			w.tally.NoNumber++
			continue
		}
		if !none {
			b = append(b, ',')
		}
		none = false
		b = append(append(b, c.Fields[i].Name...), ':')
		if r.Values[i].Kind == trace.Int {
			b = strconv.AppendInt(b, r.Values[i].Int(), 10)
		} else {
			b = appendFloat(b, n)
		}
	}
	if !none {
		w.buf = w.close(append(b, '}'))
	}
}

// counterName names the counter of a class. It is the process's and not the thread's, so the row's name goes before it,
// but where it speaks of the host.
func (w *Writer) counterName(row *writtenRow, r *trace.TimelineEvent) []byte {
	name := w.progress.Schema.Classes[r.Class].Name
	if w.progress.Schema.Streams[r.Stream].Kind != trace.Bounds || name == "" {
		name = strings.TrimSpace(row.name + " " + name)
	}
	if row.counters == nil {
		row.counters = make(map[int][]byte)
	}
	row.counters[r.Class] = appendText([]byte(`,"name":`), name)
	return row.counters[r.Class]
}

// instant writes an instant, which may be an end of a message.
func (w *Writer) instant(row *writtenRow, c *timeline.ClassName[[]byte], r *trace.TimelineEvent) {
	if timeline.IsMessageEnd(r) {
		w.messageEnd(row, c, r)
		return
	}
	b := append(w.head(w.buf, row, r.Time, "i", c), `,"s":"t"`...)
	w.buf = w.close(w.args(b, c, r))
}

// messageEnd writes an end of a message; c is nil for one that stands beside an event that is more.
//
// Viewers take events of one stamp in the order of the file and know only arrows that start before they end.
func (w *Writer) messageEnd(row *writtenRow, c *timeline.ClassName[[]byte], r *trace.TimelineEvent) {
	mark, inverted := w.arrows.Next(r)
	b := w.buf
	if mark == timeline.Waits {
		b = w.arrows.Pending
	}
	b = w.head(b, row, r.Time, "X", c)
	b = append(b, `,"dur":0`...)
	if c != nil {
		b = w.argsWith(b, c, r, inverted)
	} else {
		b = append(b, endNames[r.Role == trace.Sends]...)
	}
	b = w.close(b)
	phase := len(b) + len(",\n"+`{"ph":"`)
	if mark != timeline.Nothing {
		b = w.head(b, row, r.Time, "s", nil)
		putPhase(b[phase:], mark)
		b = append(b, `,"bp":"e","name":"message","cat":"message","id":"0x`...)
		b = append(strconv.AppendUint(b, r.Flow, 16), `"}`...)
	}
	if mark != timeline.Waits {
		w.buf = b
		return
	}
	w.arrows.Hold(b, r.Flow, phase)
	if len(b) > writeSize {
		w.release()
	}
}

// putPhase makes a flow event the finish of its arrow instead of its start.
func putPhase(at []byte, m timeline.Mark) {
	if m == timeline.Finish {
		at[0] = 'f'
	}
}

// endNames has the name of a message's end that stands beside an event that is more, by whether it was sent.
var endNames = map[bool]string{true: `,"name":"send"`, false: `,"name":"receive"`}

// release writes the arrivals that waited.
func (w *Writer) release() { w.buf = w.arrows.Release(w.buf, putPhase) }
