package otlp

import (
	"encoding/hex"

	"meridian/format/internal/spans"
	"meridian/trace"
)

// The names under which a span's own properties stand among its fields.
var (
	fieldTrace   = []byte("trace_id")
	fieldSpan    = []byte("span_id")
	fieldParent  = []byte("parent_span_id")
	fieldKind    = []byte("kind")
	fieldStatus  = []byte("status")
	fieldMessage = []byte("status_message")
)

// names gives the next span its numbers and its kind as fields.
func (r *reader) names(sp *spans.Span) {
	r.texts = r.texts[:0]
	r.id(fieldTrace, sp.Trace[:])
	r.id(fieldSpan, sp.ID[:])
	if sp.Parent != (spans.ID{}) {
		r.id(fieldParent, sp.Parent[:])
	}
	if k := sp.Kind.String(); k != "" {
		r.set.Field(fieldKind, trace.OfText(k))
	}
}

func (r *reader) id(name, id []byte) {
	from := len(r.texts)
	r.texts = hex.AppendEncode(r.texts, id)
	r.set.Field(name, trace.Value{Kind: trace.Text, Data: r.texts[from:]})
}

func (r *reader) status(code int64, message []byte) {
	switch code {
	case 1:
		r.set.Field(fieldStatus, trace.OfText("ok"))
	case 2:
		r.set.Field(fieldStatus, trace.OfText("error"))
	}
	if len(message) > 0 {
		r.set.Field(fieldMessage, trace.Value{Kind: trace.Text, Data: message})
	}
}

// attribute gives the next span an attribute, and the span what it says of its part in a message.
func (r *reader) attribute(sp *spans.Span, name []byte, v trace.Value) {
	switch string(name) {
	case "messaging.operation.type", "messaging.operation":
		sp.Operation = string(v.Data)
	}
	r.set.Field(name, v)
}
