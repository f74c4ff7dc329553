package jaeger

import (
	"bytes"
	"encoding/hex"
	"strconv"

	"meridian/clock"
	"meridian/format/internal/pull"
	"meridian/format/internal/spans"
	"meridian/trace"
)

// span adds a span with its logs, or returns false and leaves the set as it was.
func (r *reader) span(raw []byte, rows map[string]spans.Row) bool {
	var sp spans.Span
	var tagList, logs, warnings, process []byte
	var lasts int64
	timed := false
	err := pull.Members(raw, func(name, v []byte) bool {
		switch string(name) {
		case "traceID":
			text, _ := pull.Text(nil, v)
			sp.Trace, _ = spans.ParseTrace(text)
		case "spanID":
			text, _ := pull.Text(nil, v)
			sp.ID, _ = spans.ParseID(text)
		case "parentSpanID": // before 1.8
			text, _ := pull.Text(nil, v)
			sp.Parent, _ = spans.ParseID(text)
		case "operationName":
			sp.Name, _ = pull.Text(nil, v)
		case "startTime":
			sp.Start, timed = nanoseconds[clock.HostTime](v)
		case "duration":
			lasts, sp.Ended = nanoseconds[int64](v)
		case "references":
			pull.Elements(v, func(v []byte) bool { reference(&sp, v); return true })
		case "tags":
			tagList = v
		case "logs":
			logs = v
		case "processID":
			process, _ = pull.Text(nil, v)
		case "process":
			sp.Row = r.process(v)
			process = nil
		case "warnings":
			warnings = v
		}
		return true
	})
	if err != nil || !timed || sp.Start/microsecond == 0 { // Jaeger counts whole ones, and 0 stands for no time
		return false
	}
	sp.End, sp.Late = end(sp.Start, lasts), 1000
	if row, known := rows[string(process)]; known {
		sp.Row = row
	} else if len(r.set.Streams()) == 0 || process != nil {
		sp.Row = r.set.Process("", "", string(process), 0)
	}
	for i := range sp.Links { // references may come before the number of the trace
		if sp.Links[i].Trace == (spans.TraceID{}) {
			sp.Links[i].Trace = sp.Trace
		}
	}
	if moved(warnings) {
		r.w.Add(r.path, "spans with times that Jaeger adjusted; fetch the traces with ?raw=true", hex.EncodeToString(sp.ID[:]))
	}
	r.names(&sp)
	tags(tagList, func(name []byte, v trace.Value) { r.tag(&sp, name, v) })
	r.set.Add(&sp)
	pull.Elements(logs, func(v []byte) bool { r.log(&sp, v); return true })
	return true
}

// reference takes note of another span: the first CHILD_OF is the parent, all others are links.
func reference(sp *spans.Span, raw []byte) {
	var l spans.Link
	child := false
	pull.Members(raw, func(name, v []byte) bool {
		text, _ := pull.Text(nil, v)
		switch string(name) {
		case "refType":
			child = string(text) == "CHILD_OF"
		case "traceID":
			l.Trace, _ = spans.ParseTrace(text)
		case "spanID":
			l.ID, _ = spans.ParseID(text)
		}
		return true
	})
	if child && sp.Parent == (spans.ID{}) {
		sp.Parent = l.ID
	} else {
		sp.Links = append(sp.Links, l)
	}
}

// tag gives the next span a tag, and the span what it says of its part in a message.
func (r *reader) tag(sp *spans.Span, name []byte, v trace.Value) {
	switch string(name) {
	case "span.kind":
		switch string(v.Data) {
		case "client":
			sp.Kind = spans.Client
		case "server":
			sp.Kind = spans.Server
		case "producer":
			sp.Kind = spans.Producer
		case "consumer":
			sp.Kind = spans.Consumer
		case "internal":
			sp.Kind = spans.Internal
		}
	case "error":
		sp.Failed = sp.Failed || v.Kind == trace.Bool && v.Bool() || string(v.Data) == "true"
	case "otel.status_code":
		sp.Failed = sp.Failed || string(v.Data) == "ERROR"
	case "otel.scope.name", "otel.library.name":
		sp.Scope = v.Data
	case "messaging.operation.type", "messaging.operation":
		sp.Operation = string(v.Data)
	}
	r.set.Field(name, v)
}

// names gives the next span its numbers as fields.
func (r *reader) names(sp *spans.Span) {
	text := func(name string, id []byte) {
		r.set.Field([]byte(name), trace.Value{Kind: trace.Text, Data: hex.AppendEncode(nil, id)})
	}
	text("trace_id", sp.Trace[:])
	text("span_id", sp.ID[:])
	if sp.Parent != (spans.ID{}) {
		text("parent_span_id", sp.Parent[:])
	}
}

// log adds something that happened within a span. Its name is its field event, where it has one.
func (r *reader) log(sp *spans.Span, raw []byte) {
	var fields []byte
	var at clock.HostTime
	timed := false
	pull.Members(raw, func(name, v []byte) bool {
		switch string(name) {
		case "timestamp":
			at, timed = nanoseconds[clock.HostTime](v)
		case "fields":
			fields = v
		}
		return true
	})
	if !timed {
		r.w.Gap(r.path, "logs of spans left out: no time, or one out of range", "", 1)
		return
	}
	title := []byte("log")
	tags(fields, func(name []byte, v trace.Value) {
		if string(name) == "event" && v.Kind == trace.Text {
			title = v.Data
			return
		}
		r.set.Field(name, v)
	})
	r.set.Event(sp.Row, at, title, sp.Scope)
}

// tags calls yield with each tag of a list. Its type says more than how its value is written: integers may be in quotes.
func tags(raw []byte, yield func(name []byte, v trace.Value)) {
	pull.Elements(raw, func(raw []byte) bool {
		var key, kind, value []byte
		pull.Members(raw, func(name, v []byte) bool {
			switch string(name) {
			case "key":
				key, _ = pull.Text(nil, v)
			case "type":
				kind, _ = pull.Text(nil, v)
			case "value":
				value = v
			}
			return true
		})
		if key != nil {
			yield(key, tagValue(kind, value))
		}
		return true
	})
}

func tagValue(kind, raw []byte) trace.Value {
	text, isText := pull.Text(nil, raw)
	if !isText {
		text = raw
	}
	switch string(kind) {
	case "int64":
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return trace.OfInt(n)
		}
	case "float64":
		if f, err := strconv.ParseFloat(string(text), 64); err == nil {
			return trace.OfFloat(f)
		}
	case "bool":
		return trace.OfBool(string(text) == "true")
	case "string", "binary":
	default:
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && !isText {
			return trace.OfInt(n)
		}
		if string(raw) == "true" || string(raw) == "false" {
			return trace.OfBool(string(raw) == "true")
		}
	}
	if pull.IsNull(raw) || raw == nil {
		return trace.Value{}
	}
	return trace.Value{Kind: trace.Text, Data: text}
}

// moved says whether a span's warnings tell that Jaeger moved it; most of them tell that it did not.
func moved(warnings []byte) bool {
	found := false
	pull.Elements(warnings, func(v []byte) bool {
		v = bytes.ToLower(v)
		has := func(s string) bool { return bytes.Contains(v, []byte(s)) }
		found = found || (has("skew") || has("timestamps")) && has("adjust") && !has("not applying") && !has("skipping") && !has("disabled")
		return true
	})
	return found
}
