package otlp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"

	"meridian/clock"
	"meridian/format/internal/pull"
	"meridian/format/internal/spans"
	"meridian/trace"
)

// errEnd ends the reading of a stream that ended within something.
var errEnd = errors.New("cut short")

// json reads objects, one behind the other or in an array, each with the spans of some resources.
func (r *reader) json(s io.Reader) error {
	p := pull.NewReader(s)
	for {
		c, err := p.Peek()
		if err != nil {
			return p.Err()
		}
		at := p.Offset()
		if c == '[' {
			err = p.Array(func() error { return r.request(p, false) })
		} else {
			err = r.request(p, false)
		}
		if err == nil {
			continue
		}
		if err == io.ErrUnexpectedEOF || err == errEnd {
			if p.Err() == nil {
				r.skip("cut short, what came before is used", fmt.Sprintf("at offset %d", p.Offset()))
			}
			return p.Err()
		}
		r.skip("broken lines of JSON, of which the rest is left out", fmt.Sprintf("the line at offset %d, broken at %d", at, p.Offset()))
		if p.Line() != nil {
			return p.Err()
		}
	}
}

// request reads one object: an export request, or the answer of a query service. Within is true inside of such an
// answer.
func (r *reader) request(p *pull.Reader, within bool) error {
	return p.Object(func(name string) error {
		switch name {
		case "result", "trace": // wrapped by Jaeger's query service, and by Tempo's second API
			if within {
				return nil
			}
			return r.request(p, true)
		case "status":
			if within {
				return nil
			}
			return r.answerStatus(p)
		case "resourceSpans", "resource_spans", "batches": // Tempo's first API still uses the name of OTLP before 0.2
		default:
			return nil
		}
		return p.Array(func() error {
			at := p.Offset()
			raw, err := p.Value(longest)
			switch {
			case err == pull.ErrLong:
				r.skip("spans of a resource left out: too many bytes", fmt.Sprintf("at offset %d, more than %d", at, longest))
				return nil
			case err == io.ErrUnexpectedEOF:
				r.jsonResource(raw, at) // the sound spans at its beginning
				return errEnd
			case err != nil:
				return err
			}
			if r.jsonResource(raw, at) != nil {
				r.skip("spans of a resource that are broken JSON; those before the break are used", fmt.Sprintf("at offset %d", at))
			}
			return nil
		})
	})
}

// answerStatus reads the status of Tempo's second API, which says whether the trace was too large to be returned whole.
func (r *reader) answerStatus(p *pull.Reader) error {
	const maxLength = 64
	at := p.Offset()
	raw, err := p.Value(maxLength)
	if err == pull.ErrLong {
		return nil // not Tempo's status
	}
	if err != nil {
		return err
	}
	if text := string(raw); text == `"PARTIAL"` || text == "1" {
		r.w.Gap(r.path, "Tempo returned only a part of the trace", fmt.Sprintf("at offset %d", at), 1)
	}
	return nil
}

// jsonResource adds the spans of one resource. The resource may stand behind its spans.
func (r *reader) jsonResource(raw []byte, at int64) error {
	if r.whole != nil {
		r.wholeJSON(raw, at)
		return nil
	}
	of := spans.Resource{HostAttributes: r.HostAttributes}
	pull.Members(raw, func(name, v []byte) bool {
		if string(name) != "resource" {
			return true
		}
		pull.Members(v, func(name, v []byte) bool {
			if string(name) == "attributes" {
				attributes(v, func(name []byte, v trace.Value) { of.Set(string(name), v) })
			}
			return true
		})
		return false
	})
	row := r.set.ProcessOf(&of)
	return pull.Members(raw, func(name, v []byte) bool {
		switch string(name) {
		case "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans":
			pull.Elements(v, func(v []byte) bool { r.jsonScope(v, row, at); return true })
		}
		return true
	})
}

func (r *reader) jsonScope(raw []byte, row spans.Row, at int64) {
	var scope []byte
	pull.Members(raw, func(name, v []byte) bool {
		switch string(name) {
		case "scope", "instrumentationLibrary", "instrumentation_library":
			pull.Members(v, func(name, v []byte) bool {
				if string(name) == "name" {
					scope, _ = pull.Text(nil, v)
				}
				return true
			})
			return false
		}
		return true
	})
	pull.Members(raw, func(name, v []byte) bool {
		if string(name) == "spans" {
			pull.Elements(v, func(v []byte) bool {
				if !r.jsonSpan(v, row, scope) {
					r.skip("spans left out: broken, no time, or one out of range",
						fmt.Sprintf("of the resource at offset %d", at))
				}
				return true
			})
		}
		return true
	})
}

// jsonSpan adds a span, or returns false and leaves the set as it was.
func (r *reader) jsonSpan(raw []byte, row spans.Row, scope []byte) bool {
	sp := &r.span
	*sp = spans.Span{Links: sp.Links[:0], Scope: scope, Row: row}
	var attrs, events, message []byte
	var status, flags int64
	ok := true
	err := pull.Members(raw, func(name, v []byte) bool {
		switch string(name) {
		case "traceId", "trace_id":
			number(sp.Trace[:], v)
		case "spanId", "span_id":
			number(sp.ID[:], v)
		case "parentSpanId", "parent_span_id":
			number(sp.Parent[:], v)
		case "name":
			sp.Name, _ = pull.Text(nil, v)
		case "kind":
			sp.Kind = kindNamed(v)
		case "startTimeUnixNano", "start_time_unix_nano":
			sp.Start, ok = pull.Decimal[clock.HostTime](v, 0)
			ok = ok && sp.Start > 0
		case "endTimeUnixNano", "end_time_unix_nano":
			end, good := pull.Decimal[int64](v, 0)
			sp.End, sp.Ended = clock.HostTime(end), good && end > 0
		case "flags":
			flags, _ = pull.Decimal[int64](v, 0)
		case "attributes":
			attrs = v
		case "events":
			events = v
		case "links":
			pull.Elements(v, func(v []byte) bool { sp.Links = append(sp.Links, link(v)); return true })
		case "status":
			pull.Members(v, func(name, v []byte) bool {
				switch string(name) {
				case "code":
					status = statusNamed(v)
				case "message":
					message, _ = pull.Text(nil, v)
				}
				return true
			})
		case "droppedAttributesCount", "droppedEventsCount", "droppedLinksCount":
			n, _ := pull.Decimal[int64](v, 0)
			r.dropped += min(max(n, 0), 1<<32)
		}
		return ok
	})
	if err != nil || !ok || sp.Start == 0 {
		return false
	}
	sp.Failed = status == 2
	sp.LocalParent = flags&knowsParent != 0 && flags&remoteParent == 0
	r.names(sp)
	r.status(status, message)
	attributes(attrs, func(name []byte, v trace.Value) { r.attribute(sp, name, v) })
	r.set.Add(sp)
	pull.Elements(events, func(v []byte) bool { r.jsonEvent(v, row, scope); return true })
	return true
}

func (r *reader) jsonEvent(raw []byte, row spans.Row, scope []byte) {
	var at clock.HostTime
	var title, attrs []byte
	pull.Members(raw, func(name, v []byte) bool {
		switch string(name) {
		case "timeUnixNano", "time_unix_nano":
			at, _ = pull.Decimal[clock.HostTime](v, 0)
		case "name":
			title, _ = pull.Text(nil, v)
		case "attributes":
			attrs = v
		}
		return true
	})
	if at <= 0 {
		r.skip("events of spans left out: no time, or one out of range", "")
		return
	}
	attributes(attrs, r.set.Field)
	r.set.Event(row, at, title, scope)
}

func link(raw []byte) (l spans.Link) {
	pull.Members(raw, func(name, v []byte) bool {
		switch string(name) {
		case "traceId", "trace_id":
			number(l.Trace[:], v)
		case "spanId", "span_id":
			number(l.ID[:], v)
		}
		return true
	})
	return l
}

// number reads the number of a trace or a span, in hexadecimal as OTLP has it or in base64 as protobuf's own JSON does.
func number(id, raw []byte) {
	text, _ := pull.Text(nil, raw)
	if len(text) == 2*len(id) {
		if len(id) == 16 {
			x, _ := spans.ParseTrace(text)
			copy(id, x[:])
		} else {
			x, _ := spans.ParseID(text)
			copy(id, x[:])
		}
		return
	}
	if b, err := base64.StdEncoding.AppendDecode(nil, text); err == nil {
		copyWhole(id, b)
	}
}

func kindNamed(raw []byte) spans.Kind {
	if n, ok := pull.Decimal[int64](raw, 0); ok {
		return spans.Kind(min(max(n, 0), 5))
	}
	switch string(raw) {
	case `"SPAN_KIND_INTERNAL"`:
		return spans.Internal
	case `"SPAN_KIND_SERVER"`:
		return spans.Server
	case `"SPAN_KIND_CLIENT"`:
		return spans.Client
	case `"SPAN_KIND_PRODUCER"`:
		return spans.Producer
	case `"SPAN_KIND_CONSUMER"`:
		return spans.Consumer
	}
	return spans.Unspecified
}

func statusNamed(raw []byte) int64 {
	switch string(raw) {
	case `"STATUS_CODE_OK"`:
		return 1
	case `"STATUS_CODE_ERROR"`:
		return 2
	}
	n, _ := pull.Decimal[int64](raw, 0)
	return n
}

// attributes calls yield with each attribute of a list.
func attributes(raw []byte, yield func(name []byte, v trace.Value)) {
	pull.Elements(raw, func(raw []byte) bool {
		var key []byte
		var v trace.Value
		pull.Members(raw, func(name, x []byte) bool {
			switch string(name) {
			case "key":
				key, _ = pull.Text(nil, x)
			case "value":
				pull.Members(x, func(name, x []byte) bool { v = jsonValue(name, x); return false })
			}
			return true
		})
		if key != nil {
			yield(key, v)
		}
		return true
	})
}

// jsonValue returns an attribute's value; lists and structures as their JSON.
func jsonValue(kind, raw []byte) trace.Value {
	switch string(kind) {
	case "stringValue", "string_value":
		if text, ok := pull.Text(nil, raw); ok {
			return trace.Value{Kind: trace.Text, Data: text}
		}
	case "intValue", "int_value":
		if n, err := strconv.ParseInt(unquoted(raw), 10, 64); err == nil {
			return trace.OfInt(n)
		}
	case "doubleValue", "double_value":
		if f, err := strconv.ParseFloat(unquoted(raw), 64); err == nil {
			return trace.OfFloat(f)
		}
	case "boolValue", "bool_value":
		return trace.OfBool(string(raw) == "true")
	}
	if pull.IsNull(raw) {
		return trace.Value{}
	}
	return trace.Value{Kind: trace.Text, Data: raw}
}

func unquoted(raw []byte) string {
	if pull.IsText(raw) {
		raw = raw[1 : len(raw)-1]
	}
	return string(raw)
}
