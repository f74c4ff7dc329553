package chrome

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"meridian/clock"
	"meridian/format/internal/arrows"
	"meridian/trace"
)

// head begins an event, all but its args; c is nil where it has no class.
func (w *Writer) head(b []byte, row *writtenRow, t clock.TimelineTime, phase string, c *writtenClass) []byte {
	b = append(append(append(b, ",\n"+`{"ph":"`...), phase...), '"')
	if c != nil {
		b = append(b, c.name...)
	}
	b = append(append(b, ','), row.place...)
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

func (w *Writer) begin(row *writtenRow, c *writtenClass, r *trace.TimelineEvent) {
	if r.Slice == 0 {
		row.nested = append(row.nested, r.Class)
		w.buf = w.close(w.args(w.head(w.buf, row, r.Time, "B", c), c, r))
		return
	}
	key := numberedSlice{r.Stream, r.Slice}
	if s, ok := w.open[key]; ok {
		w.tally.Open++
		w.buf = w.close(w.endNumbered(row, s, r.Time))
	}
	w.slices++
	s := openSlice{number: w.slices, class: r.Class}
	w.open[key] = s
	w.buf = w.close(w.args(appendID(w.head(w.buf, row, r.Time, "b", c), s.number), c, r))
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
		key := numberedSlice{r.Stream, r.Slice}
		s, ok := w.open[key]
		if !ok {
			w.tally.LoneEnds++
			return
		}
		delete(w.open, key)
		b = w.endNumbered(row, s, r.Time)
	}
	w.buf = w.close(w.args(b, w.class(r.Class), r))
}

// endNumbered begins the end of a slice with a number: name and category are those of its begin, or readers would not
// see that they belong together.
func (w *Writer) endNumbered(row *writtenRow, s openSlice, t clock.TimelineTime) []byte {
	return appendID(w.head(w.buf, row, t, "e", w.class(s.class)), s.number)
}

// closeSlices ends what is still open at the time of the last record, the innermost first.
func (w *Writer) closeSlices() {
	keys := make([]numberedSlice, 0, len(w.open))
	for key := range w.open {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b numberedSlice) int { return int(w.open[b].number) - int(w.open[a].number) })
	for _, key := range keys {
		w.tally.Open++
		w.buf = w.close(w.endNumbered(&w.rows[key.stream], w.open[key], w.last))
	}
	for i := range w.rows {
		row := &w.rows[i]
		for n := len(row.nested) - 1; n >= 0; n-- {
			w.tally.Open++
			w.buf = w.close(w.head(w.buf, row, w.last, "E", w.class(row.nested[n])))
		}
	}
}

// counter writes the number fields of an event as the series of one counter.
func (w *Writer) counter(row *writtenRow, c *writtenClass, r *trace.TimelineEvent) {
	l := &w.legend.Classes[r.Class]
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
		b = append(append(b, c.fields[i].name...), ':')
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
	name := w.legend.Classes[r.Class].Name
	if w.legend.Streams[r.Stream].Kind != trace.Bounds || name == "" {
		name = strings.TrimSpace(row.name + " " + name)
	}
	if row.counters == nil {
		row.counters = make(map[int][]byte)
	}
	row.counters[r.Class] = appendText([]byte(`,"name":`), name)
	return row.counters[r.Class]
}

// arrival is an end of a message that waits for others of its instant.
type arrival struct {
	flow  uint64
	phase int // where in late the letter is that says whether its arrow starts or ends
}

// messageEnd writes an end of a message; c is nil for one that stands beside an event that is more.
//
// Readers take events of one stamp in the order of the file and know only arrows that start before they end. An arrival
// whose send was not seen yet therefore waits until all records of its stamp are written.
func (w *Writer) messageEnd(row *writtenRow, c *writtenClass, r *trace.TimelineEvent) {
	seen := w.ends.Seen(r.Flow)
	waits := r.Role == trace.Receives && seen == trace.NoRole
	if waits && w.waits[r.Flow] {
		waits, seen = false, trace.Receives // a second arrival has no arrow
	}
	mark, early := arrows.Nothing, false
	if !waits && seen != r.Role {
		mark, early = w.ends.Add(r.Flow, r.Role)
	}
	b := w.buf
	if waits {
		b = w.late
	}
	b = w.head(b, row, r.Time, "X", c)
	b = append(b, `,"dur":0`...)
	if c != nil {
		b = w.argsWith(b, c, r, early)
	} else {
		b = append(b, beside[r.Role == trace.Sends]...)
	}
	b = w.close(b)
	letter := 0
	if waits || mark != arrows.Nothing {
		letter = len(b) + len(",\n"+`{"ph":"`)
		phase := "s"
		if mark == arrows.Finish {
			phase = "f"
		}
		b = w.head(b, row, r.Time, phase, nil)
		b = append(b, `,"bp":"e","name":"message","cat":"message","id":"0x`...)
		b = append(strconv.AppendUint(b, r.Flow, 16), `"}`...)
	}
	if !waits {
		w.buf = b
		return
	}
	w.late = b
	w.waits[r.Flow] = true
	w.wait = append(w.wait, arrival{flow: r.Flow, phase: letter})
	if len(w.late) > writeSize {
		w.release()
	}
}

// beside is the name of a message's end that stands beside an event that is more, by whether it was sent.
var beside = map[bool]string{true: `,"name":"send"`, false: `,"name":"receive"`}

// release writes the arrivals that waited.
func (w *Writer) release() {
	if len(w.wait) == 0 {
		return
	}
	for _, a := range w.wait {
		if mark, _ := w.ends.Add(a.flow, trace.Receives); mark == arrows.Finish {
			w.late[a.phase] = 'f'
		}
	}
	w.buf = append(w.buf, w.late...)
	w.late, w.wait = w.late[:0], w.wait[:0]
	clear(w.waits)
}
