package publish

import (
	"crypto/rand"
	"encoding/binary"
	"slices"
	"strings"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"meridian/trace"
)

// spans makes spans of a timeline's slices, in the order in which they end.
//
//	row of client   [ call ------------------------- ]      root of a trace
//	                    | sends 7
//	row of server       '--> [ handle [ query ] ]           handle: child of call, query: child of handle
//
// A slice within another of its row is its child. One that begins with the receipt of a message is a child of the slice that sent it;
// a receipt in the midst of a slice is a link to that. Times are those of the timeline. What is open and was sent is bounded: the oldest is forgotten,
// and its end makes no span.
type spans struct {
	to      *Exporter
	session string
	schema  *trace.Schema
	seed    [8]byte
	number  uint64
	rows    map[int][]*openSpan // by stream, the innermost last
	open    int
	sent    map[uint64]parent // by flow: the slice that sent it
	flows   []uint64          // of sent, the oldest first
	dropped uint64            // slices without an end, or without a beginning
}

// parent is what a child has of its parent.
type parent struct{ trace, span []byte }

type openSpan struct {
	slice uint64
	class string
	v1    *v1.Span
}

// Limits of what is remembered.
const (
	maxDepth = 256     // open slices of a row
	maxOpen  = 1 << 16 // of all rows
	maxSent  = 1 << 16 // messages
	maxAttrs = 64
)

func newSpans(to *Exporter, session string, s *trace.Schema) *spans {
	x := &spans{to: to, session: session, schema: s, rows: make(map[int][]*openSpan), sent: make(map[uint64]parent)}
	rand.Read(x.seed[:])
	return x
}

// Write takes an event of the timeline.
func (x *spans) Write(e *trace.TimelineEvent) {
	switch e.Phase {
	case trace.Begin:
		x.begin(e)
	case trace.End:
		x.end(e)
	default:
		x.within(e)
	}
}

func (x *spans) id() []byte {
	x.number++
	b := make([]byte, 8)
	binary.BigEndian.PutUint64(b, binary.BigEndian.Uint64(x.seed[:])+x.number*0x9e3779b97f4a7c15) // odd: all differ
	if binary.BigEndian.Uint64(b) == 0 {
		return x.id() // it stands for none
	}
	return b
}

func (x *spans) begin(e *trace.TimelineEvent) {
	row := x.rows[e.Stream]
	if x.open >= maxOpen || len(row) >= maxDepth {
		x.dropped++
		return
	}
	class := &x.schema.Classes[e.Class]
	s := &v1.Span{SpanId: x.id(), Name: strings.ToValidUTF8(class.Name, "�"), Kind: v1.Span_SPAN_KIND_INTERNAL, StartTimeUnixNano: uint64(max(e.Time, 0))}
	switch sender, known := x.sent[e.Flow]; {
	case e.Role == trace.Receives && e.Flow != 0 && known:
		s.TraceId, s.ParentSpanId, s.Kind = sender.trace, sender.span, v1.Span_SPAN_KIND_SERVER
	case len(row) > 0:
		outer := row[len(row)-1].v1
		s.TraceId, s.ParentSpanId = outer.TraceId, outer.SpanId
	default:
		s.TraceId = append(slices.Clone(x.seed[:]), x.id()...)
	}
	if e.Bounded {
		s.Attributes = append(s.Attributes, number("meridian.begin.low_ns", int64(e.Low)), number("meridian.begin.high_ns", int64(e.High)))
	}
	s.Attributes = x.attributes(s.Attributes, class, e.Values)
	x.rows[e.Stream] = append(row, &openSpan{e.Slice, class.Name, s})
	x.open++
	x.message(e, s)
}

// end ends a slice: the one with its number, or the innermost one.
func (x *spans) end(e *trace.TimelineEvent) {
	row := x.rows[e.Stream]
	i := len(row) - 1
	if e.Slice != 0 {
		for i = len(row) - 1; i >= 0 && row[i].slice != e.Slice; i-- {
		}
		if i < 0 { // another row began it
			x.elsewhere(e)
			return
		}
	}
	if i < 0 {
		x.dropped++
		return
	}
	x.finish(e, e.Stream, i)
}

// elsewhere ends a slice that began on another row of the host.
func (x *spans) elsewhere(e *trace.TimelineEvent) {
	for stream, row := range x.rows {
		if x.schema.Streams[stream].Host != x.schema.Streams[e.Stream].Host {
			continue
		}
		for i, s := range row {
			if s.slice == e.Slice {
				x.finish(e, stream, i)
				return
			}
		}
	}
	x.dropped++
}

func (x *spans) finish(e *trace.TimelineEvent, stream, i int) {
	row := x.rows[stream]
	s := row[i].v1
	x.message(e, s)
	s.EndTimeUnixNano = max(uint64(max(e.Time, 0)), s.StartTimeUnixNano)
	if e.Bounded {
		s.Attributes = append(s.Attributes, number("meridian.end.low_ns", int64(e.Low)), number("meridian.end.high_ns", int64(e.High)))
	}
	if row = slices.Delete(row, i, i+1); len(row) == 0 {
		delete(x.rows, stream)
	} else {
		x.rows[stream] = row
	}
	x.open--
	st := &x.schema.Streams[stream]
	x.to.add(hostSpan{host: st.Host, session: x.session, row: st.Name, span: s})
}

// within takes an instant in a slice.
func (x *spans) within(e *trace.TimelineEvent) {
	if row := x.rows[e.Stream]; len(row) > 0 {
		x.message(e, row[len(row)-1].v1)
	}
}

// message notes the end of a message at a slice.
func (x *spans) message(e *trace.TimelineEvent, s *v1.Span) {
	if e.Flow == 0 {
		return
	}
	switch e.Role {
	case trace.Sends:
		if _, known := x.sent[e.Flow]; !known {
			x.flows = append(x.flows, e.Flow)
		}
		x.sent[e.Flow] = parent{s.TraceId, s.SpanId}
		if len(x.flows) > maxSent {
			delete(x.sent, x.flows[0])
			x.flows = x.flows[1:]
		}
	case trace.Receives:
		if sender, known := x.sent[e.Flow]; known && string(sender.span) != string(s.ParentSpanId) && len(s.Links) < maxAttrs {
			s.Links = append(s.Links, &v1.Span_Link{TraceId: sender.trace, SpanId: sender.span})
		}
	}
}

// attributes appends the fields of an event.
func (x *spans) attributes(to []*common.KeyValue, c *trace.Class, values []trace.Value) []*common.KeyValue {
	for i := range values {
		if i >= len(c.Fields) || i >= maxAttrs {
			break
		}
		v, key := &values[i], strings.ToValidUTF8(c.Fields[i].Name, "�")
		switch v.Kind {
		case trace.None:
		case trace.Int, trace.Uint:
			if v.Kind == trace.Uint && v.Bits > 1<<63-1 {
				to = append(to, textAttribute(key, string(v.Append(nil, &c.Fields[i].Type))))
				continue
			}
			to = append(to, number(key, v.Int()))
		case trace.Float:
			to = append(to, &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v.Float()}}})
		case trace.Bool:
			to = append(to, &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: v.Bool()}}})
		default:
			to = append(to, textAttribute(key, string(c.Fields[i].Append(nil, v))))
		}
	}
	return to
}

func number(key string, n int64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}}
}
