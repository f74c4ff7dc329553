package otlp

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protojson"

	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"meridian/format/internal/pull"
	"meridian/format/internal/spans"
	"meridian/format/internal/stream"
	"meridian/trace"
)

// ReadWhole reads the spans of a file with everything that OTLP says of them, to be written again: all attributes, links, states and flags.
// The caller owns the result. Memory holds all spans, some 1 KB each. What [Read] warns of is not said again. A resource of which Read can use a part, but
// that is no sound JSON as a whole, is missing here: w counts it as damage.
func ReadWhole(path string, w *trace.Warnings) (*v1.TracesData, error) {
	data := new(v1.TracesData)
	r := &reader{path: path, w: new(trace.Warnings), set: spans.NewSet(path)}
	r.whole = func(rs *v1.ResourceSpans) { data.ResourceSpans = append(data.ResourceSpans, rs) }
	r.broken = func(err error, at int64) {
		w.Gap(path, "resources whose spans cannot be written again, since their JSON is broken", fmt.Sprintf("at offset %d: %v", at, err), 1)
	}
	return stream.ReadFile(path, func(s io.Reader) (*v1.TracesData, error) {
		var damage *stream.Damage
		if err := r.read(s); err != nil && !errors.As(err, &damage) {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return data, nil
	})
}

// HostOf returns the name of the host on which a resource ran, as [Read] names it; "" where nothing tells.
func HostOf(r *resourcev1.Resource) string { return Options{}.HostOf(r) }

// HostOf returns the name of the host on which a resource ran, as [Options.Read] names it; "" where nothing tells.
func (o Options) HostOf(r *resourcev1.Resource) string {
	of := spans.Resource{HostAttributes: o.HostAttributes}
	for _, kv := range r.GetAttributes() {
		of.Set(kv.GetKey(), value(kv.GetValue()))
	}
	return of.Host()
}

// wholeJSON hands on all that the JSON of a resource's spans has.
func (r *reader) wholeJSON(raw []byte, at int64) {
	rs := new(v1.ResourceSpans)
	err := protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(currentNames(raw), rs)
	if err != nil {
		r.broken(err, at)
		return
	}
	eachID(rs, func(id []byte) []byte {
		// Base64 of a number that has its length ends with "=", so this takes none of them for hexadecimal.
		if b, err := hex.DecodeString(base64.StdEncoding.EncodeToString(id)); err == nil {
			return b
		}
		return id
	})
	r.whole(rs)
}

// eachID changes all numbers of traces and spans of a resource.
//
// OTLP's JSON writes them in hexadecimal, the JSON of protobuf, which is used here, in base64. A hexadecimal text of 16 or 32 characters is base64 as well, of
// 12 or 24 other bytes. So the text that was read is had back by encoding those bytes, and any text is written by decoding it first.
func eachID(rs *v1.ResourceSpans, change func(id []byte) []byte) {
	for _, ss := range rs.ScopeSpans {
		for _, s := range ss.Spans {
			s.TraceId, s.SpanId, s.ParentSpanId = change(s.TraceId), change(s.SpanId), change(s.ParentSpanId)
			for _, l := range s.Links {
				l.TraceId, l.SpanId = change(l.TraceId), change(l.SpanId)
			}
		}
	}
}

// currentNames returns the JSON of a resource with the names that OTLP gave its members after version 0.15. JSON that is broken stays as it is.
func currentNames(raw []byte) []byte {
	old := false
	_ = pull.Members(raw, func(name, _ []byte) bool { // broken JSON is found again when it is read
		old = old || string(name) == "instrumentationLibrarySpans" || string(name) == "instrumentation_library_spans"
		return true
	})
	if !old {
		return raw
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return raw
	}
	var scopes []map[string]json.RawMessage
	for _, name := range []string{"instrumentationLibrarySpans", "instrumentation_library_spans"} {
		var some []map[string]json.RawMessage
		if m := members[name]; m != nil && json.Unmarshal(m, &some) != nil {
			return raw
		}
		delete(members, name)
		scopes = append(scopes, some...)
	}
	for _, s := range scopes {
		for _, name := range []string{"instrumentationLibrary", "instrumentation_library"} {
			if m := s[name]; m != nil {
				s["scope"] = m
				delete(s, name)
			}
		}
	}
	if members["scopeSpans"] != nil || members["scope_spans"] != nil { // both: the newer one stands for both
		return raw
	}
	renamed, err := json.Marshal(scopes)
	if err != nil {
		return raw
	}
	members["scopeSpans"] = renamed
	if renamed, err = json.Marshal(members); err != nil {
		return raw
	}
	return renamed
}
