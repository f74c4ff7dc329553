// Package otlp reads spans as OpenTelemetry exports them. In goes a file, plain or compressed, in any of the ways in which
// such are written:
//
//	{"resourceSpans":[...]}                         OTLP JSON: one export request, or as many as there are lines;
//	                                                also within {"result":...}, as Jaeger's query service answers
//	{"batches":[...]}                               Grafana Tempo's /api/traces/ID and Grafana's export of a trace
//	{"trace":{"resourceSpans":[...]},"status":...}  Grafana Tempo's /api/v2/traces/ID
//	0a LEN ResourceSpans  0a LEN ResourceSpans ...  OTLP protobuf: TracesData or ExportTraceServiceRequest, which are one
//	00 00 1f 40 MESSAGE  00 00 02 0c MESSAGE ...    the collector's file exporter: big-endian lengths, then messages in
//	                                                protobuf or JSON, each compressed with zstd where it was told to
//
// Out comes a [File]: a row for each process of a service with its spans as slices and what happened within them as
// instants, attributes as fields; and the ends of requests, replies and messages from producers to consumers, by
// which they become messages between clocks (see format/internal/spans for which and why).
//
// The host of a span is its resource's host.name, else k8s.pod.name, host.id, service.instance.id, and at last
// service.name. JSON names may be in camel or in snake case, numbers in quotes, and numbers of traces and spans in
// hexadecimal or base64. Metrics and logs in the same file are passed over.
//
// The file is read resource by resource, so that a broken one costs itself and what of its line follows. The cost is
// some 200 bytes of memory a span and its attributes. Source: opentelemetry-proto 1.11, OTLP file exporter specification.
package otlp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	v1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"meridian/format/internal/pull"
	"meridian/format/internal/spans"
	"meridian/format/internal/stream"
	"meridian/trace"
)

// File is the content of a file. Its method Marks returns the ends of messages, a *[trace.Marks], Events a [trace.Source] of
// the spans and what happened within them, in order of time.
type File = spans.File

// longest is how many bytes the spans of one resource, or one message of a collector, may have.
const longest = 256 << 20

// Recognises says whether a file that begins so holds spans. It is certain of JSON, where it asks for the name of the only
// member that matters, and as good as certain of protobuf, where it asks for a span with numbers of the right length.
func Recognises(head []byte) bool {
	switch kindOf(head) {
	case asJSON:
		return recognisesJSON(head)
	case asMessage:
		return hasSpan(head, tracesData)
	case asFrames:
		body := head[4:min(len(head), 4+int(min(binary.BigEndian.Uint32(head), longest)))]
		if stream.Compression(body) == "zstd" {
			return true
		}
		return kindOf(body) == asJSON && Recognises(body) || hasSpan(body, tracesData)
	}
	return false
}

// recognisesJSON looks for the member that holds the resources. Only "batches" is a name that other formats use, so
// there the first batch must look like a resource with spans.
func recognisesJSON(head []byte) bool {
	paths := pull.Outline(head, 4)
	for _, within := range []string{"", "[]", ".result", ".trace", "[].result", "[].trace"} {
		batch := within + ".batches[]"
		if paths[within+".resourceSpans"] || paths[within+".resource_spans"] ||
			paths[batch+".resource"] || paths[batch+".scopeSpans"] || paths[batch+".instrumentationLibrarySpans"] {
			return true
		}
	}
	return false
}

type kind int

const (
	asNothing kind = iota
	asJSON
	asMessage
	asFrames
)

// kindOf tells the ways of writing by the first bytes.
func kindOf(head []byte) kind {
	i := 0
	for i < len(head) && (head[i] == ' ' || head[i] == '\n' || head[i] == '\r' || head[i] == '\t') {
		i++
	}
	switch {
	case len(head) > 2 && head[0] == 0x0a && hasSpan(head, tracesData): // before JSON: a length may look like a bracket
		return asMessage
	case i < len(head) && (head[i] == '{' || head[i] == '[' || head[i] == 0xef):
		return asJSON
	case len(head) > 5 && head[0] < 0x10 && framed(head):
		return asFrames
	case len(head) > 2 && head[0] == 0x0a:
		return asMessage
	}
	return asNothing
}

// framed says whether four bytes may be the length of what comes behind them.
func framed(head []byte) bool {
	length, body := binary.BigEndian.Uint32(head), head[4:]
	return length > 1 && length <= longest && (body[0] == 0x0a && (head[0] != 0x0a || hasSpan(body, tracesData)) ||
		body[0] == '{' || stream.Compression(body) == "zstd")
}

// Levels of messages down to the span, by the number of the field that leads on.
const (
	tracesData = iota // 1: ResourceSpans
	resource          // 2: ScopeSpans
	scope             // 2: Span
	span              // 1: number of the trace, 2: of the span
)

// hasSpan looks for a span in a message that may be cut.
func hasSpan(b []byte, level int) bool {
	traced := false
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 || number > 1000 {
			return false
		}
		b = b[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
				return false
			}
			b = b[n:]
			continue
		}
		length, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return false
		}
		b = b[n:]
		part := b[:min(uint64(len(b)), length)]
		switch {
		case level == span && number == 1:
			traced = length == 16
		case level == span && number == 2:
			return traced && length == 8
		case level == tracesData && number == 1, (level == resource || level == scope) && number == 2:
			if hasSpan(part, level+1) {
				return true
			}
		case level == tracesData:
			return false
		}
		b = b[len(part):]
	}
	return false
}

// reader is the reading of one file.
type reader struct {
	path string
	w    *trace.Warnings
	set  *spans.Set
	Options
	// What is used again for every span.
	span    spans.Span
	texts   []byte
	dropped int64 // attributes, events and links that the sender says it left out

	// whole is given each resource instead of the set, broken each that cannot be read as a whole; nil without ReadWhole.
	whole  func(*v1.ResourceSpans)
	broken func(err error, at int64)
}

// Options says how spans are read. The zero value is the default.
type Options struct {
	// HostAttributes are the attributes of a resource that name its host, best first, before those that name it by
	// default.
	HostAttributes []string
}

// Read reads a file of spans.
func Read(path string, w *trace.Warnings) (*File, error) { return Options{}.Read(path, w) }

// Read reads a file of spans.
func (o Options) Read(path string, w *trace.Warnings) (*File, error) {
	return stream.ReadFile(path, func(s io.Reader) (*File, error) { return read(s, path, o, w) })
}

func read(s io.Reader, path string, o Options, w *trace.Warnings) (*File, error) {
	r := &reader{path: path, w: w, set: spans.NewSet(path), Options: o}
	err := r.read(s)
	var damage *stream.Damage
	if errors.As(err, &damage) {
		if damage.Cut() {
			w.Gap(path, "cut short, what came before is used", damage.Error(), 1)
		} else {
			w.Gap(path, "damaged, what came before is used", damage.Error(), 1)
		}
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.set.Len() == 0 {
		return nil, fmt.Errorf("%s: no spans; expected OTLP traces as JSON or protobuf", path)
	}
	if r.dropped > 0 {
		w.AddN(path, "attributes, events or links that the sender left out", "", r.dropped)
	}
	return r.set.Done(w), nil
}

// read reads a stream in any of the ways of writing.
func (r *reader) read(s io.Reader) error {
	head, rest, err := peek(s)
	if err != nil {
		return err
	}
	switch kindOf(head) {
	case asJSON:
		return r.json(rest)
	case asMessage:
		return r.message(rest)
	case asFrames:
		return r.frames(rest)
	}
	return fmt.Errorf("not OpenTelemetry spans (begins with % x)", head[:min(8, len(head))])
}

// skip counts something that could not be used.
func (r *reader) skip(what, place string) { r.w.Gap(r.path, what, place, 1) }
