package chrome

import (
	"bytes"
	"fmt"
	"strconv"

	"meridian/clock"
	"meridian/format/internal/eventbuffer"
	"meridian/format/internal/pull"
	"meridian/trace"
)

// event is one event as it stands in the file; all bytes belong to the reader.
type event struct {
	phase               byte
	name, cat           []byte
	pid, tid            []byte // raw: numbers mostly, but PyTorch has text
	id, scope, instant  []byte
	local               bool   // the id is the process's own
	bind                []byte // the number of a flow that begins or ends at the event itself
	flowOut, flowIn     bool
	args                []byte
	ts                  clock.HostTime
	dur                 int64
	timed, lasts, noted bool
	texts               []byte // what had to be unescaped
}

// asyncKey names slices that may begin and end on different threads.
type asyncKey struct {
	cat, id, more string // more: the process of a local id, the scope, or the name in the old form
}

// text returns the characters of a raw string, or the value itself where it is none.
func (e *event) text(raw []byte) []byte {
	if !pull.IsText(raw) {
		return raw
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	from := len(e.texts)
	e.texts, _ = pull.Text(e.texts, raw)
	return e.texts[from:]
}

// parse takes an event apart.
func (e *event) parse(raw []byte) error {
	*e = event{texts: e.texts[:0]}
	return pull.Members(raw, func(name, v []byte) bool {
		switch string(name) {
		case "ph":
			if text := e.text(v); len(text) == 1 {
				e.phase = text[0]
			}
		case "name":
			e.name = e.text(v)
		case "cat":
			e.cat = e.text(v)
		case "ts":
			e.noted = true
			e.ts, e.timed = pull.Decimal[clock.HostTime](v, 3)
		case "dur":
			e.dur, e.lasts = pull.Decimal[int64](v, 3)
		case "pid":
			e.pid = e.text(v)
		case "tid":
			e.tid = e.text(v)
		case "id":
			e.id = e.text(v)
		case "id2":
			pull.Members(v, func(name, v []byte) bool {
				e.id, e.local = e.text(v), string(name) == "local"
				return false
			})
		case "scope":
			e.scope = e.text(v)
		case "bind_id":
			e.bind = e.text(v)
		case "flow_out":
			e.flowOut = string(v) == "true"
		case "flow_in":
			e.flowIn = string(v) == "true"
		case "s":
			e.instant = e.text(v)
		case "args":
			e.args = v
		}
		return true
	})
}

// add adds an event. The error is one of JSON: others are counted.
func (r *reader) add(raw []byte, at int64) error {
	e := &r.event
	if err := e.parse(raw); err != nil {
		return err
	}
	if e.phase == 'M' {
		r.rows.named(e)
		return nil
	}
	if !e.timed {
		if e.phase == 0 && !e.noted {
			r.w.Gap(r.path, "events left out: without a phase", fmt.Sprintf("at offset %d", at), 1)
		} else {
			r.w.Gap(r.path, "events left out: no time, or one out of range", fmt.Sprintf("at offset %d", at), 1)
		}
		return nil
	}
	first := r.b.Len()
	if err := r.place(at); err != nil {
		return err
	}
	// A slice that only ends here has no item of its own.
	if len(e.bind) > 0 && (e.flowOut || e.flowIn) && r.b.Len() > first && bindable(e.phase) {
		r.flows.bind(r, first)
	}
	return nil
}

// bindable reports whether an event of a phase may be an end of a flow that it names by bind_id: ends of flows are
// themselves, and counters are no events.
func bindable(phase byte) bool { return phase != 's' && phase != 't' && phase != 'f' && phase != 'C' }

// place adds the items of an event that has a time.
func (r *reader) place(at int64) error {
	e := &r.event
	switch e.phase {
	case 'B':
		r.begin()
	case 'E':
		r.end()
	case 'X':
		r.complete(at)
	case 'b', 'S':
		r.asyncBegin()
	case 'e', 'F':
		r.asyncEnd()
	case 'i', 'I':
		row := r.rows.process(e.pid)
		if s := string(e.instant); s != "p" && s != "g" {
			row = r.rows.thread(e.pid, e.tid)
		}
		r.put(eventbuffer.Instant, row)
	case 'n', 'T', 'p', 'v', 'V', 'R', 'c':
		r.put(eventbuffer.Instant, r.rows.process(e.pid))
	case 'P', 'N', 'O', 'D':
		r.put(eventbuffer.Instant, r.rows.thread(e.pid, e.tid))
	case 'C':
		if len(e.id) > 0 {
			e.name = fmt.Appendf(nil, "%s %s", e.name, e.id)
		}
		r.put(eventbuffer.Counter, r.rows.process(e.pid))
	case 's', 't', 'f':
		r.flows.add(r, r.put(eventbuffer.Instant, r.rows.thread(e.pid, e.tid)))
	default:
		r.w.Add(r.path, "events left out: unknown phase (known are B, E, X, b, e, n, i, C, s, t, f, M)", fmt.Sprintf("%q at offset %d", e.phase, at))
	}
	return nil
}

// put adds the event as an item with its args.
func (r *reader) put(kind eventbuffer.Kind, row int) int {
	e := &r.event
	r.fields()
	return r.b.Add(eventbuffer.Item{Kind: kind, Time: e.ts, Stream: int32(row), Class: r.b.Class(e.name, e.cat)})
}

// begin begins a slice that ends with the next E of its thread.
func (r *reader) begin() {
	row := r.rows.thread(r.event.pid, r.event.tid)
	r.rows.open[row] = append(r.rows.open[row], r.put(eventbuffer.Open, row))
}

// end ends the last slice that began on the thread. Its args are joined to those of the beginning.
func (r *reader) end() {
	e := &r.event
	row := r.rows.thread(e.pid, e.tid)
	open := r.rows.open[row]
	if len(open) == 0 {
		r.orphans++
		return
	}
	n := open[len(open)-1]
	r.rows.open[row] = open[:len(open)-1]
	r.fields()
	r.close(n)
}

func (r *reader) close(n int) {
	at := r.event.ts
	if begun := r.b.Item(n).Time; at < begun {
		r.w.Add(r.path, "slices that end before they begin, shown without length", "")
		at = begun
	}
	r.b.Close(n, at)
}

// complete adds a slice that came in one piece.
func (r *reader) complete(at int64) {
	e := &r.event
	row := r.rows.thread(e.pid, e.tid)
	if !e.lasts {
		r.put(eventbuffer.Open, row)
		r.unended++
		return
	}
	if e.dur < 0 {
		r.w.Add(r.path, "slices that end before they begin, shown without length", fmt.Sprintf("at offset %d", at))
		e.dur = 0
	}
	r.fields()
	end := eventbuffer.Add(e.ts, e.dur)
	r.b.Add(eventbuffer.Item{Kind: eventbuffer.Slice, Time: e.ts, End: end, Stream: int32(row), Class: r.b.Class(e.name, e.cat)})
	r.torch.slice(r, int64(end), row)
}

// key names the asynchronous slice of the event: in the old form (S, T, F) by its name too.
func (r *reader) key() asyncKey {
	e := &r.event
	k := asyncKey{cat: string(e.cat), id: string(e.id), more: string(e.scope)}
	if e.local {
		k.more += "\x00" + string(e.pid)
	}
	if e.phase == 'S' || e.phase == 'F' {
		k.more += "\x01" + string(e.name)
	}
	return k
}

func (r *reader) asyncBegin() {
	row := r.rows.process(r.event.pid)
	if len(r.event.tid) > 0 {
		row = r.rows.thread(r.event.pid, r.event.tid)
	}
	n := r.put(eventbuffer.Open, row)
	r.slices++
	r.b.Item(n).Slice = r.slices
	k := r.key()
	r.async[k] = append(r.async[k], n)
}

func (r *reader) asyncEnd() {
	k := r.key()
	open := r.async[k]
	if len(open) == 0 {
		r.orphans++
		return
	}
	n := open[len(open)-1]
	if len(open) == 1 {
		delete(r.async, k)
	} else {
		r.async[k] = open[:len(open)-1]
	}
	r.fields()
	r.close(n)
}

// fields gives the next item the args of the event: texts, numbers and words as such, anything else as its JSON.
func (r *reader) fields() {
	e := &r.event
	if len(e.args) == 0 {
		return
	}
	if e.args[0] != '{' {
		if !pull.IsNull(e.args) {
			r.b.Field([]byte("args"), e.value(e.args))
		}
		return
	}
	pull.Members(e.args, func(name, v []byte) bool {
		if x := e.value(v); x.Kind != trace.None {
			r.b.Field(name, x)
		}
		return true
	})
}

func (e *event) value(raw []byte) trace.Value {
	switch {
	case raw[0] == '"':
		return trace.Value{Kind: trace.Text, Data: e.text(raw)}
	case raw[0] == '{' || raw[0] == '[':
		return trace.Value{Kind: trace.Text, Data: raw}
	case string(raw) == "true" || string(raw) == "false":
		return trace.OfBool(raw[0] == 't')
	case pull.IsNull(raw):
		return trace.Value{}
	}
	if len(raw) < 19 {
		if n, ok := integer(raw); ok {
			return trace.OfInt(n)
		}
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return trace.OfInt(n)
	}
	if n, err := strconv.ParseUint(string(raw), 10, 64); err == nil {
		return trace.OfUint(n)
	}
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil {
		return trace.OfFloat(f)
	}
	return trace.Value{Kind: trace.Text, Data: raw}
}

// integer reads a decimal integer of less than 19 characters.
func integer(raw []byte) (n int64, ok bool) {
	negative := len(raw) > 0 && raw[0] == '-'
	if negative {
		raw = raw[1:]
	}
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, len(raw) > 0
}
