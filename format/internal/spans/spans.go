// Package spans makes rows and ends of messages of the spans of distributed traces, for every format that holds such.
//
//	format/otlp, format/jaeger --> Span --> Set --> File: Events (a row for each process of a service), Marks
//
// A span is a stretch of work in one process. Where the work of one process asked for that of another there are two: a
// client's and, as its child, a server's. Clocks that agree show the server's within the client's:
//
//	client   |--------------------------|      request: client's start -> server's start
//	server        |--------------|             reply:   server's end   -> client's end
//
// Two messages, four constraints, since no span ends before it starts. A client that failed may have given up before its
// server had finished, and one without an end is unknown: their replies are no messages. A server may go on after its
// reply, and a client may wait for none. That servers end before their clients is a premise, which package match
// judges.
//
// A producer's span and a consumer's are one message, from where the sending began to the consumer's end, where
// something was surely there: consumers may begin when they poll. Spans within a process say nothing of clocks.
//
// Ends are joined by name, since the other one may be in another file: the trace's and the client's (or producer's) number.
package spans

import (
	"encoding/hex"

	"meridian/clock"
	"meridian/format/internal/eventbuffer"
	"meridian/trace"
)

// TraceID names a trace.
type TraceID [16]byte

// ID names a span within its trace; zero is none.
type ID [8]byte

// ParseTrace reads a trace's number in hexadecimal; shorter ones stand for the same with zeros before.
func ParseTrace(b []byte) (id TraceID, ok bool) { return id, parse(id[:], b) }

// ParseID reads a span's number in hexadecimal.
func ParseID(b []byte) (id ID, ok bool) { return id, parse(id[:], b) }

func parse(id, b []byte) bool {
	if len(b) == 0 || len(b) > 2*len(id) {
		return false
	}
	var text [32]byte
	for i := range text {
		text[i] = '0'
	}
	copy(text[2*len(id)-len(b):], b)
	_, err := hex.Decode(id, text[:2*len(id)])
	return err == nil
}

// Kind says which part a span has in a message, numbered as OpenTelemetry does.
type Kind uint8

const (
	Unspecified Kind = iota
	Internal
	Server
	Client
	Producer
	Consumer
)

func (k Kind) String() string {
	if k > Consumer {
		k = Unspecified
	}
	return [...]string{"", "internal", "server", "client", "producer", "consumer"}[k]
}

// Link names another span that this one belongs to.
type Link struct {
	Trace TraceID
	ID    ID
}

// Span is one span.
type Span struct {
	Trace       TraceID
	ID, Parent  ID
	Links       []Link
	Kind        Kind
	Ended       bool // End is known
	Failed      bool
	LocalParent bool // the parent is known to be of the same process
	Start, End  clock.HostTime
	Late        int64 // how much later than End it may have ended for the way in which the format rounds; stamps' own step aside
	Name, Scope []byte
	Operation   string // messaging.operation.type, as far as the span says it
	Row         Row
}

// Row is a row, the host on which it lies, and the resource that a file describes it by.
type Row struct{ Stream, Host, Resource int }

// Set gathers the spans of a file.
type Set struct {
	*eventbuffer.Builder // for fields and classes
	marks                trace.Marks
	hosts                map[string]int
	rows                 map[process]Row
	seen                 map[seen]struct{}
	twice, early         int64
	unnamed              int64
	first                string         // what ended early first
	items                []int32        // the item of each span of the marks
	begin                clock.HostTime // of the span that was added last
}

// process is what has a row of its own.
type process struct {
	host, service, instance string
	pid                     int64
}

type seen struct {
	Link
	kind Kind
}

// NewSet returns an empty set of a file.
func NewSet(file string) *Set {
	return &Set{Builder: eventbuffer.New(), marks: trace.Marks{File: file}, hosts: make(map[string]int),
		rows: make(map[process]Row), seen: make(map[seen]struct{})}
}

// Step says that all stamps are multiples of so many ns because the format has no more, not because a clock has none.
func (s *Set) Step(ns int64) { s.marks.Granularity = ns }

// Process returns the row of a service's process on a host, of which no resource is known. Instance tells those apart
// that have no number of a process.
func (s *Set) Process(host, service, instance string, pid int64) Row {
	p := process{host, service, instance, pid}
	if r, known := s.rows[p]; known {
		return r
	}
	h, known := s.hosts[host]
	if !known {
		h = len(s.marks.Hosts)
		s.hosts[host] = h
		s.marks.Hosts = append(s.marks.Hosts, host)
	}
	name := service
	if name == "" {
		name = "unnamed service"
	}
	r := Row{Stream: s.Stream(trace.Stream{Name: name, Host: host, Kind: trace.Process, ID: pid, Parent: -1}), Host: h, Resource: -1}
	s.rows[p] = r
	return r
}

// Add adds a span with the fields that were given to the set since the last.
func (s *Set) Add(sp *Span) {
	me := seen{Link{sp.Trace, sp.ID}, sp.Kind}
	if sp.Trace == (TraceID{}) || sp.ID == (ID{}) {
		s.unnamed++
	} else if _, again := s.seen[me]; again {
		s.twice++
		s.Drop()
		return
	} else {
		s.seen[me] = struct{}{}
	}
	it := eventbuffer.Item{Kind: eventbuffer.Slice, Time: sp.Start, End: sp.End, Stream: int32(sp.Row.Stream), Class: s.Class(sp.Name, sp.Scope)}
	switch {
	case !sp.Ended:
		it.Kind, it.End = eventbuffer.Open, 0
	case sp.End < sp.Start:
		if s.early++; s.early == 1 {
			s.first = "span " + hex.EncodeToString(sp.ID[:]) + " of trace " + hex.EncodeToString(sp.Trace[:])
		}
		it.Kind, it.End = eventbuffer.Instant, 0
	}
	if it.Kind != eventbuffer.Instant && sp.Trace != (TraceID{}) {
		s.ends(sp, &it)
	}
	s.begin = sp.Start
	item := s.Builder.Add(it)
	if it.Kind != eventbuffer.Instant && sp.Trace != (TraceID{}) && sp.ID != (ID{}) {
		s.describe(sp, int32(item))
	}
}

// describe notes what a span says of messages and of other spans.
func (s *Set) describe(sp *Span, item int32) {
	m := trace.SpanMark{
		ID: trace.SpanID{Trace: sp.Trace, Span: sp.ID}, Start: sp.Start, End: sp.End, Name: nameOf(sp.Name),
		Host: int32(sp.Row.Host), Stream: int32(sp.Row.Stream), Resource: int32(sp.Row.Resource), Kind: trace.SpanKind(sp.Kind),
		Ended: sp.Ended, Failed: sp.Failed, LocalParent: sp.LocalParent,
	}
	if sp.Ended && sp.Kind != Server {
		m.End += clock.HostTime(sp.Late)
	}
	if sp.Parent != (ID{}) {
		m.Parent = trace.SpanID{Trace: sp.Trace, Span: sp.Parent}
	}
	s.marks.Spans = append(s.marks.Spans, m)
	s.items = append(s.items, item)
	if sp.Kind != Consumer {
		return
	}
	m.Link, m.LocalParent = true, false
	for i, l := range sp.Links {
		if l != (Link{sp.Trace, sp.Parent}) && l.ID != (ID{}) && !within(sp.Links[:min(i, 64)], l) {
			m.Parent = trace.SpanID{Trace: l.Trace, Span: l.ID}
			s.marks.Spans = append(s.marks.Spans, m)
			s.items = append(s.items, item)
		}
	}
}

// nameOf returns a hash of a name without its digits (FNV-1a): numbers in names tell calls apart, not operations.
func nameOf(name []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range name {
		if c < '0' || c > '9' {
			h = (h ^ uint32(c)) * 16777619
		}
	}
	return h
}

// Event adds something that happened within the span that was added last, with the fields that were given to the set
// since the last.
func (s *Set) Event(row Row, at clock.HostTime, name, category []byte) {
	s.Builder.Add(eventbuffer.Item{Time: at, End: s.begin, Stream: int32(row.Stream), Class: s.Class(name, category)})
}

// ends marks the ends of messages that a span is, and gives its item the first of each side.
func (s *Set) ends(sp *Span, it *eventbuffer.Item) {
	switch sp.Kind {
	case Client:
		s.mark(sp, it, Link{sp.Trace, sp.ID}, "request", trace.Sends, false)
		if sp.Ended && !sp.Failed {
			s.mark(sp, it, Link{sp.Trace, sp.ID}, "reply", trace.Receives, true)
		}
	case Server:
		if sp.LocalParent {
			return
		}
		s.mark(sp, it, Link{sp.Trace, sp.Parent}, "request", trace.Receives, false)
		if sp.Ended {
			s.mark(sp, it, Link{sp.Trace, sp.Parent}, "reply", trace.Sends, true)
		}
	case Producer:
		s.mark(sp, it, Link{sp.Trace, sp.ID}, "message", trace.Sends, false)
	case Consumer:
		if !sp.Ended {
			return
		}
		parent := Link{sp.Trace, sp.Parent}
		if !sp.LocalParent {
			s.mark(sp, it, parent, "message", trace.Receives, true)
		}
		for i, l := range sp.Links {
			if l != parent && !within(sp.Links[:min(i, 64)], l) {
				s.mark(sp, it, l, "message", trace.Receives, true)
			}
		}
	}
}

func within(list []Link, l Link) bool {
	for _, x := range list {
		if x == l {
			return true
		}
	}
	return false
}

// mark marks the start or the end of a span as an end of the message that the other span and a word name.
func (s *Set) mark(sp *Span, it *eventbuffer.Item, other Link, what string, role trace.Role, end bool) {
	if other.ID == (ID{}) || other.Trace == (TraceID{}) {
		return
	}
	key := trace.KeyOf("span", string(other.Trace[:]), string(other.ID[:]), what)
	m := trace.Mark{Time: sp.Start, Key: key, Host: sp.Row.Host, Stream: sp.Row.Stream, Role: role}
	flow, side := &it.Flow, &it.Role
	if end {
		m.Time = sp.End
		if role == trace.Receives {
			m.Time += clock.HostTime(sp.Late)
		}
		flow, side = &it.EndFlow, &it.EndRole
	}
	if *side == trace.NoRole {
		*flow, *side = eventbuffer.Flow(key), role
	}
	s.marks.Marks = append(s.marks.Marks, m)
}

// File is the spans of a file.
type File struct {
	marks  trace.Marks
	buffer *eventbuffer.Trace
}

// Marks returns the ends of messages: requests, replies, and what producers sent.
func (f *File) Marks() *trace.Marks { return &f.marks }

// Events brings spans as slices, and what happened within them as instants; an event's Flow is the message of which it is
// an end.
func (f *File) Events() trace.Source { return f.buffer.Events() }

// Done ends the gathering and warns of what was strange.
func (s *Set) Done(w *trace.Warnings) *File {
	file := s.marks.File
	if s.twice > 0 {
		w.AddN(file, "spans written more than once, used once", "", s.twice)
	}
	if s.early > 0 {
		w.AddN(file, "spans that end before they start, shown as instants and no ends of messages", s.first, s.early)
	}
	if s.unnamed > 0 {
		w.AddN(file, "spans without a number or a trace, which belong to no message", "", s.unnamed)
	}
	if s.Dropped > 0 {
		w.AddN(file, "fields left out: more than 256 in one class", "", s.Dropped)
	}
	s.FindSteps(max(s.marks.Granularity, 1))
	for i := range s.marks.Spans {
		m := &s.marks.Spans[i]
		m.StartStep, m.EndStep = s.Steps(int(s.items[i]))
	}
	return &File{marks: s.marks, buffer: s.Builder.Done()}
}

// Len returns how many spans and events there are so far.
func (s *Set) Len() int { return s.Builder.Len() }
