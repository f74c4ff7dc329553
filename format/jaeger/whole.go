package jaeger

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/protobuf/proto"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"meridian/clock"
	"meridian/format/internal/pull"
	"meridian/format/internal/spans"
	"meridian/format/internal/stream"
	"meridian/trace"
)

// traceJSON, processJSON, spanJSON and the others are Jaeger's own model of its JSON (model/json/model.go there).
type (
	traceJSON struct {
		TraceID   string                 `json:"traceID"`
		Spans     []spanJSON             `json:"spans"`
		Processes map[string]processJSON `json:"processes"`
		Warnings  []string               `json:"warnings"`
	}
	processJSON struct {
		ServiceName string    `json:"serviceName"`
		Tags        []tagJSON `json:"tags"`
	}
	spanJSON struct {
		TraceID       string          `json:"traceID"`
		SpanID        string          `json:"spanID"`
		ParentSpanID  string          `json:"parentSpanID,omitempty"` // before 1.8
		Flags         uint32          `json:"flags,omitempty"`
		OperationName string          `json:"operationName"`
		References    []referenceJSON `json:"references"`
		StartTime     json.Number     `json:"startTime"` // µs since 1970
		Duration      json.Number     `json:"duration"`  // µs
		Tags          []tagJSON       `json:"tags"`
		Logs          []logJSON       `json:"logs"`
		ProcessID     string          `json:"processID"`
		Process       *processJSON    `json:"process,omitempty"`
		Warnings      []string        `json:"warnings"`
	}
	referenceJSON struct {
		RefType string `json:"refType"`
		TraceID string `json:"traceID"`
		SpanID  string `json:"spanID"`
	}
	logJSON struct {
		Timestamp json.Number `json:"timestamp"`
		Fields    []tagJSON   `json:"fields"`
	}
	tagJSON struct {
		Key   string          `json:"key"`
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	}
)

// Tags that stand for members of OTLP (OpenTelemetry specification, transformation to Jaeger).
const (
	tagKind          = "span.kind"
	tagStatus        = "otel.status_code"
	tagStatusMessage = "otel.status_description"
	tagError         = "error"
	tagScope         = "otel.scope.name"
	tagScopeVersion  = "otel.scope.version"
	tagState         = "w3c.tracestate"
	tagReference     = "opentracing.ref_type" // of a link: it was a CHILD_OF beside the parent
	childOf          = "CHILD_OF"
	followsFrom      = "FOLLOWS_FROM"
)

// ReadWhole reads the spans of a file as OTLP has them, to be written again: a process is a resource, tags that OTLP has members for are those, references
// beside the parent are links, logs are events. The caller owns the result. Memory holds all spans, some 1 KB each. What [Read] warns of is not said again;
// w counts traces that are broken JSON and missing here, as damage. Warnings of spans are left out, since they are of the stamps as they were.
func ReadWhole(path string, w *trace.Warnings) (*v1.TracesData, error) {
	x := &wholeReader{data: new(v1.TracesData), of: make(map[string]*v1.ResourceSpans)}
	r := &reader{path: path, w: new(trace.Warnings), set: spans.NewSet(path)}
	r.whole = func(raw []byte, at int64) {
		var t traceJSON
		if err := json.Unmarshal(raw, &t); err != nil {
			w.Gap(path, "traces that cannot be written again, since their JSON is broken", fmt.Sprintf("at offset %d: %v", at, err), 1)
			return
		}
		for i := range t.Spans {
			x.add(&t.Spans[i], t.Processes)
		}
	}
	return stream.ReadFile(path, func(s io.Reader) (*v1.TracesData, error) {
		var damage *stream.Damage
		if err := r.read(s); err != nil && !errors.As(err, &damage) {
			return nil, err
		}
		return x.data, nil
	})
}

// wholeReader gathers spans below their processes.
type wholeReader struct {
	data *v1.TracesData
	of   map[string]*v1.ResourceSpans // by the process, as protobuf writes it
}

// add adds a span; one without a time is none, as Read has warned of.
func (x *wholeReader) add(j *spanJSON, processes map[string]processJSON) {
	start, ok := micros[clock.HostTime](j.StartTime)
	if !ok || start < microsecond {
		return
	}
	lasts, ended := micros[int64](j.Duration)
	s := &v1.Span{Name: j.OperationName, Flags: j.Flags & 1, StartTimeUnixNano: uint64(start)}
	if ended {
		s.EndTimeUnixNano = uint64(max(end(start, lasts), 0))
	}
	trace, _ := spans.ParseTrace([]byte(j.TraceID))
	id, _ := spans.ParseID([]byte(j.SpanID))
	s.TraceId, s.SpanId = trace[:], id[:]
	if parent, ok := spans.ParseID([]byte(j.ParentSpanID)); ok && parent != (spans.ID{}) {
		s.ParentSpanId = parent[:]
	}
	for _, ref := range j.References {
		addReference(s, ref, trace)
	}
	scope := new(common.InstrumentationScope)
	for _, t := range j.Tags {
		addTag(s, scope, t)
	}
	for _, l := range j.Logs {
		if at, ok := micros[clock.HostTime](l.Timestamp); ok && at > 0 {
			s.Events = append(s.Events, eventOf(at, l.Fields))
		}
	}
	process := processes[j.ProcessID]
	if j.Process != nil {
		process = *j.Process
	}
	ss := x.scope(resourceOf(process), scope)
	ss.Spans = append(ss.Spans, s)
}

func micros[T clock.Time](n json.Number) (T, bool) { return nanoseconds[T]([]byte(n.String())) }

// addReference makes the first CHILD_OF the parent, and links of all others.
func addReference(s *v1.Span, ref referenceJSON, own spans.TraceID) {
	trace, ok := spans.ParseTrace([]byte(ref.TraceID))
	if !ok {
		trace = own
	}
	id, _ := spans.ParseID([]byte(ref.SpanID))
	if ref.RefType == childOf && len(s.ParentSpanId) == 0 {
		s.ParentSpanId = id[:]
		return
	}
	l := &v1.Span_Link{TraceId: trace[:], SpanId: id[:]}
	if ref.RefType == childOf {
		l.Attributes = []*common.KeyValue{textAttribute(tagReference, "child_of")}
	}
	s.Links = append(s.Links, l)
}

var kinds = map[string]v1.Span_SpanKind{"internal": v1.Span_SPAN_KIND_INTERNAL, "server": v1.Span_SPAN_KIND_SERVER, "client": v1.Span_SPAN_KIND_CLIENT,
	"producer": v1.Span_SPAN_KIND_PRODUCER, "consumer": v1.Span_SPAN_KIND_CONSUMER}

// addTag gives a span a tag, as the member that OTLP has for it or as an attribute.
func addTag(s *v1.Span, scope *common.InstrumentationScope, t tagJSON) {
	v := anyValue(t)
	text := v.GetStringValue()
	switch {
	case t.Key == tagKind && kinds[text] != 0:
		s.Kind = kinds[text]
	case t.Key == tagStatus && (text == "OK" || text == "ERROR"):
		code := v1.Status_STATUS_CODE_OK
		if text == "ERROR" {
			code = v1.Status_STATUS_CODE_ERROR
		}
		status(s).Code = code
	case t.Key == tagStatusMessage && text != "":
		status(s).Message = text
	case t.Key == tagError && (v.GetBoolValue() || text == "true"):
		status(s).Code = v1.Status_STATUS_CODE_ERROR
	case t.Key == tagScope && text != "":
		scope.Name = text
	case t.Key == tagScopeVersion && text != "":
		scope.Version = text
	case t.Key == tagState && text != "":
		s.TraceState = text
	default:
		s.Attributes = append(s.Attributes, &common.KeyValue{Key: t.Key, Value: v})
	}
}

func status(s *v1.Span) *v1.Status {
	if s.Status == nil {
		s.Status = new(v1.Status)
	}
	return s.Status
}

// eventOf makes an event of a log. Its name is its field event, where it has one.
func eventOf(at clock.HostTime, fields []tagJSON) *v1.Span_Event {
	e := &v1.Span_Event{TimeUnixNano: uint64(at), Name: "log"}
	named := false
	for _, f := range fields {
		if v := anyValue(f); f.Key == "event" && v.GetStringValue() != "" && !named {
			e.Name, named = v.GetStringValue(), true
		} else {
			e.Attributes = append(e.Attributes, &common.KeyValue{Key: f.Key, Value: v})
		}
	}
	return e
}

func resourceOf(p processJSON) *resourcev1.Resource {
	r := new(resourcev1.Resource)
	if p.ServiceName != "" {
		r.Attributes = append(r.Attributes, textAttribute("service.name", p.ServiceName))
	}
	for _, t := range p.Tags {
		if t.Key != "service.name" {
			r.Attributes = append(r.Attributes, &common.KeyValue{Key: t.Key, Value: anyValue(t)})
		}
	}
	return r
}

// scope returns where the spans of a process and a scope stand.
func (x *wholeReader) scope(r *resourcev1.Resource, scope *common.InstrumentationScope) *v1.ScopeSpans {
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
	if err != nil { // text that is no UTF-8, which JSON cannot hold
		key = []byte(r.String())
	}
	rs := x.of[string(key)]
	if rs == nil {
		rs = &v1.ResourceSpans{Resource: r}
		x.of[string(key)] = rs
		x.data.ResourceSpans = append(x.data.ResourceSpans, rs)
	}
	for _, ss := range rs.ScopeSpans {
		if ss.Scope.Name == scope.Name && ss.Scope.Version == scope.Version {
			return ss
		}
	}
	ss := &v1.ScopeSpans{Scope: scope}
	rs.ScopeSpans = append(rs.ScopeSpans, ss)
	return ss
}

func textAttribute(key, text string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: text}}}
}

// anyValue returns the value of a tag; nil for null.
func anyValue(t tagJSON) *common.AnyValue {
	if t.Type == "binary" {
		if text, ok := pull.Text(nil, bytes.TrimSpace(t.Value)); ok {
			if b, err := base64.StdEncoding.DecodeString(string(text)); err == nil {
				return &common.AnyValue{Value: &common.AnyValue_BytesValue{BytesValue: b}}
			}
		}
	}
	switch v := tagValue([]byte(t.Type), bytes.TrimSpace(t.Value)); v.Kind {
	case trace.Int:
		return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: v.Int()}}
	case trace.Float:
		return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v.Float()}}
	case trace.Bool:
		return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: v.Bool()}}
	case trace.Text:
		return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: string(bytes.ToValidUTF8(v.Data, []byte("\uFFFD")))}}
	}
	return nil
}

// idText is a number of a trace or a span in hexadecimal.
func idText(id []byte) string { return hex.EncodeToString(id) }

// microsOf is a stamp in µs, rounded down, so that what lies within something else still does.
func microsOf(ns uint64) json.Number { return json.Number(strconv.FormatUint(ns/1000, 10)) }
