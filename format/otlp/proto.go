package otlp

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"meridian/clock"
	"meridian/format/internal/spans"
	"meridian/trace"
)

func bufferOf(s io.Reader) io.Reader { return bufio.NewReaderSize(s, 64<<10) }

// Flags of a span that tell whether its parent was another process's.
const (
	knowsParent  = 0x100
	remoteParent = 0x200
)

// resource adds the spans of one resource.
func (r *reader) resource(rs *v1.ResourceSpans, at int64) {
	if r.whole != nil {
		r.whole(rs)
		return
	}
	of := spans.Resource{HostAttributes: r.HostAttributes}
	for _, kv := range rs.GetResource().GetAttributes() {
		of.Set(kv.GetKey(), value(kv.GetValue()))
	}
	row := r.set.ProcessOf(&of)
	for _, ss := range rs.GetScopeSpans() {
		scope := []byte(ss.GetScope().GetName())
		for _, s := range ss.GetSpans() {
			r.protoSpan(s, row, scope, at)
		}
	}
}

func (r *reader) protoSpan(s *v1.Span, row spans.Row, scope []byte, at int64) {
	start, end := s.GetStartTimeUnixNano(), s.GetEndTimeUnixNano()
	if start == 0 || start >= uint64(clock.Limit) || end >= uint64(clock.Limit) {
		r.skip("spans left out: no time, or one out of range", fmt.Sprintf("at offset %d", at))
		return
	}
	sp := &r.span
	*sp = spans.Span{Links: sp.Links[:0], Kind: spans.Kind(min(max(s.GetKind(), 0), 5)), Start: clock.HostTime(start), End: clock.HostTime(end), Ended: end != 0,
		Name: []byte(s.GetName()), Scope: scope, Row: row,
		Failed:      s.GetStatus().GetCode() == v1.Status_STATUS_CODE_ERROR,
		LocalParent: s.GetFlags()&knowsParent != 0 && s.GetFlags()&remoteParent == 0}
	copyWhole(sp.Trace[:], s.GetTraceId())
	copyWhole(sp.ID[:], s.GetSpanId())
	copyWhole(sp.Parent[:], s.GetParentSpanId())
	for _, l := range s.GetLinks() {
		var link spans.Link
		copyWhole(link.Trace[:], l.GetTraceId())
		copyWhole(link.ID[:], l.GetSpanId())
		sp.Links = append(sp.Links, link)
	}
	r.names(sp)
	r.status(int64(s.GetStatus().GetCode()), []byte(s.GetStatus().GetMessage()))
	for _, kv := range s.GetAttributes() {
		r.attribute(sp, []byte(kv.GetKey()), value(kv.GetValue()))
	}
	r.dropped += int64(s.GetDroppedAttributesCount()) + int64(s.GetDroppedEventsCount()) + int64(s.GetDroppedLinksCount())
	r.set.Add(sp)
	for _, e := range s.GetEvents() {
		if e.GetTimeUnixNano() == 0 || e.GetTimeUnixNano() >= uint64(clock.Limit) {
			r.skip("events of spans left out: no time, or one out of range", fmt.Sprintf("at offset %d", at))
			continue
		}
		for _, kv := range e.GetAttributes() {
			r.set.Field([]byte(kv.GetKey()), value(kv.GetValue()))
		}
		r.set.Event(row, clock.HostTime(e.GetTimeUnixNano()), []byte(e.GetName()), scope)
	}
}

// copyWhole copies a number of the right length; any other is none.
func copyWhole(id, b []byte) {
	if len(b) == len(id) {
		copy(id, b)
	}
}

// value returns an attribute's value; lists and structures as text.
func value(v *common.AnyValue) trace.Value {
	switch x := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return trace.OfText(x.StringValue)
	case *common.AnyValue_IntValue:
		return trace.OfInt(x.IntValue)
	case *common.AnyValue_DoubleValue:
		return trace.OfFloat(x.DoubleValue)
	case *common.AnyValue_BoolValue:
		return trace.OfBool(x.BoolValue)
	case nil:
		return trace.Value{}
	}
	return trace.Value{Kind: trace.Text, Data: appendValue(nil, v, 0)}
}

// appendValue writes a value as JSON writes it.
func appendValue(b []byte, v *common.AnyValue, depth int) []byte {
	if depth > 20 {
		return append(b, "..."...)
	}
	switch x := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return strconv.AppendQuote(b, x.StringValue)
	case *common.AnyValue_IntValue:
		return strconv.AppendInt(b, x.IntValue, 10)
	case *common.AnyValue_DoubleValue:
		return strconv.AppendFloat(b, x.DoubleValue, 'g', -1, 64)
	case *common.AnyValue_BoolValue:
		return strconv.AppendBool(b, x.BoolValue)
	case *common.AnyValue_BytesValue:
		return strconv.AppendQuote(b, base64.StdEncoding.EncodeToString(x.BytesValue))
	case *common.AnyValue_ArrayValue:
		b = append(b, '[')
		for i, e := range x.ArrayValue.GetValues() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, e, depth+1)
		}
		return append(b, ']')
	case *common.AnyValue_KvlistValue:
		b = append(b, '{')
		for i, e := range x.KvlistValue.GetValues() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(strconv.AppendQuote(b, e.GetKey()), ':')
			b = appendValue(b, e.GetValue(), depth+1)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}
