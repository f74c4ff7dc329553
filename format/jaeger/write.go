package jaeger

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"strconv"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
)

// WriteJSON writes spans as Jaeger's query service answers with them, a trace on each line, as its user interface opens a file: resources as processes; kind, status,
// scope and state as tags; links as references; events as logs. Stamps are µs, rounded down. The same spans give the same bytes. It does not change data.
func WriteJSON(w io.Writer, data *v1.TracesData) error {
	out := bufio.NewWriter(w)
	out.WriteString(`{"data":[`)
	for i, t := range traces(data) {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		b, err := json.Marshal(t)
		if err != nil {
			return err
		}
		out.Write(b)
	}
	out.WriteString("\n],\"total\":0,\"limit\":0,\"offset\":0,\"errors\":null}\n")
	return out.Flush()
}

// traces gathers the spans by their trace, in the order in which the traces begin in data.
func traces(data *v1.TracesData) []*traceJSON {
	var all []*traceJSON
	of := make(map[string]*traceJSON)
	for i, rs := range data.GetResourceSpans() {
		process := "p" + strconv.Itoa(i+1)
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				t := of[string(s.TraceId)]
				if t == nil {
					t = &traceJSON{TraceID: idText(s.TraceId), Processes: make(map[string]processJSON)}
					of[string(s.TraceId)] = t
					all = append(all, t)
				}
				if _, known := t.Processes[process]; !known {
					t.Processes[process] = processOf(rs.Resource)
				}
				t.Spans = append(t.Spans, spanOf(s, ss.Scope, process))
			}
		}
	}
	return all
}

func processOf(r *resourcev1.Resource) processJSON {
	p := processJSON{Tags: []tagJSON{}}
	for _, kv := range r.GetAttributes() {
		if kv.Key == "service.name" {
			p.ServiceName = kv.Value.GetStringValue()
		} else {
			p.Tags = append(p.Tags, tagOf(kv))
		}
	}
	return p
}

func spanOf(s *v1.Span, scope *common.InstrumentationScope, process string) spanJSON {
	j := spanJSON{TraceID: idText(s.TraceId), SpanID: idText(s.SpanId), Flags: s.Flags & 1, OperationName: s.Name, References: []referenceJSON{},
		StartTime: microsOf(s.StartTimeUnixNano), Duration: "0", Tags: []tagJSON{}, Logs: []logJSON{}, ProcessID: process}
	if s.EndTimeUnixNano > s.StartTimeUnixNano {
		j.Duration = microsOf(s.EndTimeUnixNano/1000*1000 - s.StartTimeUnixNano/1000*1000)
	}
	if len(s.ParentSpanId) > 0 {
		j.References = append(j.References, referenceJSON{childOf, j.TraceID, idText(s.ParentSpanId)})
	}
	for _, l := range s.Links {
		ref := referenceJSON{followsFrom, idText(l.TraceId), idText(l.SpanId)}
		for _, kv := range l.Attributes {
			if kv.Key == tagReference && kv.Value.GetStringValue() == "child_of" {
				ref.RefType = childOf
			}
		}
		j.References = append(j.References, ref)
	}
	for _, kv := range s.Attributes {
		j.Tags = append(j.Tags, tagOf(kv))
	}
	for name, kind := range kinds {
		if s.Kind == kind {
			j.Tags = append(j.Tags, textTag(tagKind, name))
		}
	}
	j.Tags = append(j.Tags, statusTags(s.Status)...)
	for _, t := range [][2]string{{tagScope, scope.GetName()}, {tagScopeVersion, scope.GetVersion()}, {tagState, s.TraceState}} {
		if t[1] != "" {
			j.Tags = append(j.Tags, textTag(t[0], t[1]))
		}
	}
	for _, e := range s.Events {
		l := logJSON{Timestamp: microsOf(e.TimeUnixNano), Fields: []tagJSON{textTag("event", e.Name)}}
		for _, kv := range e.Attributes {
			l.Fields = append(l.Fields, tagOf(kv))
		}
		j.Logs = append(j.Logs, l)
	}
	return j
}

func statusTags(s *v1.Status) (tags []tagJSON) {
	switch s.GetCode() {
	case v1.Status_STATUS_CODE_OK:
		tags = append(tags, textTag(tagStatus, "OK"))
	case v1.Status_STATUS_CODE_ERROR:
		tags = append(tags, textTag(tagStatus, "ERROR"), tagJSON{tagError, "bool", json.RawMessage("true")})
	}
	if m := s.GetMessage(); m != "" {
		tags = append(tags, textTag(tagStatusMessage, m))
	}
	return tags
}

func textTag(key, text string) tagJSON {
	b, err := json.Marshal(text)
	if err != nil { // a text is always JSON
		b = []byte(`""`)
	}
	return tagJSON{key, "string", b}
}

// tagOf returns an attribute as a tag; lists and structures as the text of their JSON.
func tagOf(kv *common.KeyValue) tagJSON {
	switch x := kv.Value.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return textTag(kv.Key, x.StringValue)
	case *common.AnyValue_IntValue:
		return tagJSON{kv.Key, "int64", json.RawMessage(strconv.FormatInt(x.IntValue, 10))}
	case *common.AnyValue_BoolValue:
		return tagJSON{kv.Key, "bool", json.RawMessage(strconv.FormatBool(x.BoolValue))}
	case *common.AnyValue_DoubleValue:
		if b, err := json.Marshal(x.DoubleValue); err == nil {
			return tagJSON{kv.Key, "float64", b}
		}
		return textTag(kv.Key, strconv.FormatFloat(x.DoubleValue, 'g', -1, 64)) // JSON has no infinity
	case *common.AnyValue_BytesValue:
		t := textTag(kv.Key, base64.StdEncoding.EncodeToString(x.BytesValue))
		t.Type = "binary"
		return t
	case nil:
		return tagJSON{kv.Key, "string", json.RawMessage("null")}
	}
	b, err := json.Marshal(plain(kv.Value, 0))
	if err != nil { // a number that JSON does not have
		return textTag(kv.Key, kv.Value.String())
	}
	return textTag(kv.Key, string(b))
}

// maxNesting limits how deep lists and structures of an attribute are followed.
const maxNesting = 32

// plain returns a value as encoding/json takes it.
func plain(v *common.AnyValue, depth int) any {
	if depth > maxNesting {
		return nil
	}
	switch x := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return x.StringValue
	case *common.AnyValue_IntValue:
		return x.IntValue
	case *common.AnyValue_BoolValue:
		return x.BoolValue
	case *common.AnyValue_DoubleValue:
		return x.DoubleValue
	case *common.AnyValue_BytesValue:
		return x.BytesValue // in base64
	case *common.AnyValue_ArrayValue:
		list := []any{}
		for _, e := range x.ArrayValue.GetValues() {
			list = append(list, plain(e, depth+1))
		}
		return list
	case *common.AnyValue_KvlistValue:
		members := make(map[string]any)
		for _, kv := range x.KvlistValue.GetValues() {
			members[kv.GetKey()] = plain(kv.GetValue(), depth+1)
		}
		return members
	}
	return nil
}
