package trace

import "meridian/clock"

// SpanKind says which part a span has in a message, numbered as OpenTelemetry does.
type SpanKind uint8

// The kinds of spans.
const (
	UnspecifiedSpan SpanKind = iota
	InternalSpan
	ServerSpan
	ClientSpan
	ProducerSpan
	ConsumerSpan
)

// SpanID names a span: its trace, and its number there. Zero is none.
type SpanID struct {
	Trace [16]byte
	Span  [8]byte
}

// SpanMark is what a span says of the messages of which it is an end, and of other spans.
type SpanMark struct {
	ID     SpanID
	Parent SpanID // of another trace for what a consumer only links to
	Start  clock.HostTime
	End    clock.HostTime // Start or later; only where Ended
	// StartStep and EndStep are the steps of the timestamps in ns: the span began less than StartStep after Start.
	StartStep, EndStep int64
	Name               uint32 // a hash of its name without digits: spans of one operation have the same
	Host               int32  // index into the hosts of its Marks
	Stream             int32  // the row on which it lies
	Resource           int32  // index into the resources of its Marks
	Kind               SpanKind
	Ended              bool // End is known
	Failed             bool
	LocalParent        bool // its source says that the parent is of the same process
	Link               bool // a further message that the span received: the span itself is another mark
}

// ServiceName is the attribute that names a host where no other does. It names a service, which may have several
// processes.
const ServiceName = "service.name"

// SpanResource is the process that a part of a file's spans are of, as the file describes it.
type SpanResource struct {
	Host       int // index into the hosts of its Marks
	Service    string
	NamedBy    string            // the attribute that named the host
	Attributes map[string]string // those that may identify a host
}
