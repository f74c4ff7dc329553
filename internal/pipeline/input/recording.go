package input

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"path/filepath"
	"runtime"
	"strconv"

	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"meridian/clock"
	"meridian/format"
	"meridian/format/jaeger"
	"meridian/format/otlp"
	"meridian/internal/kernel"
	"meridian/internal/steering"
	"meridian/order"
	"meridian/trace"
)

// Recording is a trace of events: of a kernel, of programs, of spans. Its events are read again for each use, so that
// memory holds none of them.
type Recording struct {
	Trace
	// Capture is the packets that a kernel's events tell of; nil without any.
	Capture *trace.Capture
	// Hosts are in order of appearance.
	Hosts []*RecordedHost
	// Steering is the readings of the host's clocks; nil where the recorder stored none.
	Steering *steering.Recorded
	// Addresses are those that interfaces of each host had, as the recorder states it.
	Addresses map[string][]netip.Addr

	// Lost is what its counters say that it lacks. What a recorder dropped on purpose is no part of it.
	Lost Lost

	events  events
	tagged  bool   // its marks are keyed by tags, which are unique everywhere: sensors wrote it
	classes []bool // by class: there are events of it
	late    int64  // ns that an event came after a later one, at most
}

// Lost counts what was lost of a recording: events that had no room, and packets of a stream, which are many events each.
type Lost struct{ Events, Packets int64 }

// RecordedHost is the events that a recording has of one host.
type RecordedHost struct {
	Name        string // as the file has it; "" stands for the trace's host
	First, Last clock.HostTime
	Events      int64
	// Step is how coarse its timestamps are, ns, at least 1: the step of all, or of the coarsest where events have
	// their own.
	Step int64

	granularity trace.Granularity
}

// CTF reports whether a tracer or a recorder wrote it, which might have recorded packets as well.
func (x *Recording) CTF() bool { return x.kind == format.CTF }

// Spans reports whether it is a file of spans, whose copies can be corrected.
func (x *Recording) Spans() bool { return x.kind == format.OTLP || x.kind == format.Jaeger }

// WholeSpans reads a file of spans with all that it says of them.
func (x *Recording) WholeSpans(w *trace.Warnings) (*tracev1.TracesData, error) {
	if x.kind == format.Jaeger {
		return jaeger.ReadWhole(x.Path, w)
	}
	return otlp.ReadWhole(x.Path, w)
}

// HostOf returns the name that spans of a resource have as their host in a file of spans.
func (x *Recording) HostOf(r *resourcev1.Resource) string {
	return otlp.Options{HostAttributes: x.hostAttributes}.HostOf(r)
}

// Open returns the events from the beginning: as recorded, or with rows as what happens on the rows of a timeline. Only
// what is wrong with the rows is added to w; Read has added what is wrong with the events.
func (x *Recording) Open(rows bool, w *trace.Warnings) (trace.Source, error) {
	s, err := x.events.open(new(trace.Warnings))
	if err != nil || !rows || x.kind != format.CTF {
		return s, err
	}
	return kernel.Rows(s, w), nil
}

// Occurs reports whether there are events of a class, by number.
func (x *Recording) Occurs(class int) bool { return class < len(x.classes) && x.classes[class] }

// Window returns how long its events have to wait for one that belongs before them, as [order.EventSource] has it: as
// long as they had to at the first reading, since they come in the same order each time.
func (x *Recording) Window() int64 {
	if x.late == 0 {
		return order.InOrder
	}
	return min(x.late, order.DefaultWindow)
}

// ReadAhead reports whether a goroutine that reads ahead pays: where events are decoded at each reading.
func (x *Recording) ReadAhead() bool {
	return (x.kind == format.CTF || x.kind == format.GoTrace) && runtime.GOMAXPROCS(0) > 1
}

// Only returns a filter for the events of one host: a source of several hosts is read once for each. It is nil where a
// recording is of one host.
func (x *Recording) Only(host string, s trace.Source) func(*trace.Event) bool {
	if len(x.Hosts) < 2 {
		return nil
	}
	var of []int8 // by stream: 1 of this host, -1 of another, 0 not known yet
	return func(e *trace.Event) bool {
		for len(of) <= e.Stream {
			of = append(of, 0)
		}
		if of[e.Stream] == 0 {
			of[e.Stream] = -1
			if s.Streams()[e.Stream].Host == host {
				of[e.Stream] = 1
			}
		}
		return of[e.Stream] > 0
	}
}

// readRecording reads what alignment needs of a recording.
func readRecording(ctx context.Context, in Trace, m trace.Memory, w *trace.Warnings) (*Recording, *trace.Marks, error) {
	e, err := recordingFormats[in.kind](in.Path, in.reading, w)
	if err != nil {
		return nil, nil, err
	}
	x := &Recording{Trace: in, events: e, tagged: e.tagged}
	source := e.first
	if source == nil {
		if source, err = e.open(w); err != nil {
			return nil, nil, err
		}
	}
	s := &surveySource{Source: source, ctx: ctx, of: x, warnings: w}
	if in.kind == format.CTF {
		s.marks = &trace.Marks{File: in.Path, Hosts: []string{""}}
		x.Capture, err = kernel.Packets(s, in.Host, in.Path, m, w)
	} else {
		err = drain(s)
	}
	if x.Capture != nil {
		x.Capture.Whole = x.Capture.Whole && e.whole != nil && e.whole()
	}
	if e.lost != nil {
		x.Lost = e.lost()
	}
	if closing := source.Close(); err == nil {
		err = closing
	}
	if x.Capture != nil && x.Capture.Packets.Len() == 0 {
		x.Capture = nil
	}
	for _, h := range x.Hosts {
		h.settleStep()
	}
	x.events.first = nil
	marks := e.marks
	if s.marks != nil && len(s.marks.Marks) > 0 {
		marks = s.marks
	}
	if marks != nil && len(marks.Spans) > 0 {
		marks.Marks = nil // the spans say more
	}
	x.events.marks = nil
	return x, marks, err
}

// fewEvents is the number of events of a host below which coarse timestamps may be by chance, or by the rhythm of a
// program.
const fewEvents = 8

// settleStep decides how coarse the timestamps are of a host whose events do not say it themselves.
func (h *RecordedHost) settleStep() {
	if h.Step == 0 && h.Events >= fewEvents {
		h.Step = h.granularity.Step()
	}
	h.Step = max(h.Step, 1)
}

// drain reads all events of a source.
func drain(s trace.Source) error {
	var e trace.Event
	for {
		if err := s.Next(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// surveySource notes, while a source is read for the first time, of which hosts its events are, and from when to when.
type surveySource struct {
	trace.Source
	ctx     context.Context
	of      *Recording
	streams []*RecordedHost // by stream; nil: not known yet
	n       int
	latest  clock.HostTime
	marks   *trace.Marks // of events that say of which message they are an endpoint; nil: events do not say it
	// scope is the directory of the traces whose message numbers are unique together; "" if they are unique everywhere.
	scope string

	readings  []readingClass // by class
	addresses InterfaceAddresses
	warnings  *trace.Warnings
}

// readingClass is a class of events, which may be readings of clocks.
type readingClass struct {
	steering.Decoder
	known, is, program bool
}

func (s *surveySource) Next(e *trace.Event) error {
	if s.n++; s.n&0xffff == 0 && s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if err := s.Source.Next(e); err != nil {
		return err
	}
	if s.n == 1 || e.Time > s.latest {
		s.latest = e.Time
	} else {
		s.of.late = max(s.of.late, clock.Sub(s.latest, e.Time))
	}
	for len(s.streams) <= e.Stream {
		s.streams = append(s.streams, nil)
	}
	h := s.streams[e.Stream]
	if h == nil {
		h = s.of.host(s.Source.Streams()[e.Stream].Host)
		s.streams[e.Stream] = h
	}
	for len(s.of.classes) <= e.Class {
		s.of.classes = append(s.of.classes, false)
	}
	s.of.classes[e.Class] = true
	if h.Events == 0 {
		h.First, h.Last = e.Time, e.Time
	}
	h.First, h.Last = min(h.First, e.Time), max(h.Last, e.Time)
	h.Events++
	h.granularity.Add(e.Time)
	h.Step = max(h.Step, int64(e.Step))
	if s.marks != nil && e.Flow != 0 && e.Role != trace.NoRole {
		s.mark(e)
	}
	if s.of.kind == format.CTF {
		s.reading(e)
		s.address(e)
	}
	return nil
}

// reading notes a reading of the clocks, if an event is one.
func (s *surveySource) reading(e *trace.Event) {
	for len(s.readings) <= e.Class {
		s.readings = append(s.readings, readingClass{})
	}
	c := &s.readings[e.Class]
	if !c.known {
		class := &s.Source.Classes()[e.Class]
		if c.Decoder, c.is = steering.NewDecoder(class); !c.is {
			c.Decoder, c.program = steering.NewProgramDecoder(class)
		}
		c.known = true
	}
	if c.program {
		s.programReading(c, e)
	}
	if !c.is {
		return
	}
	x, counter, ok := c.Read(s.Source.Values())
	if !ok {
		return
	}
	if err := s.steering().Add(x, counter, e.Time); err != nil {
		s.warnings.Add(s.of.Path, "its readings of the clocks are not used", err.Error())
	}
}

// steering returns the readings that were found so far.
func (s *surveySource) steering() *steering.Recorded {
	if s.of.Steering == nil {
		s.of.Steering = new(steering.Recorded)
	}
	return s.of.Steering
}

// programReading notes a reading that a program left, not the recorder.
func (s *surveySource) programReading(c *readingClass, e *trace.Event) {
	if s.Source.Streams()[e.Stream].Name == steering.Stream {
		return
	}
	if x, ok := c.ReadProgram(s.Source.Values()); ok {
		s.steering().AddProgram(x)
	}
}

// mark notes a message endpoint. Sensors key it by a tag, which is unique everywhere. Other tracers number messages
// uniquely among the traces that were written together, which lie in one directory.
func (s *surveySource) mark(e *trace.Event) {
	if s.scope == "" && !s.of.tagged {
		s.scope = filepath.Dir(filepath.Clean(s.of.Path))
	}
	key := trace.KeyOf("flow", s.scope, strconv.FormatUint(e.Flow, 10))
	s.marks.Marks = append(s.marks.Marks, trace.Mark{Time: e.Time, Key: key, Stream: e.Stream, Role: e.Role})
}

// host returns what a recording has of a host, which it adds if there is none.
func (x *Recording) host(name string) *RecordedHost {
	for _, h := range x.Hosts {
		if h.Name == name {
			return h
		}
	}
	h := &RecordedHost{Name: name}
	x.Hosts = append(x.Hosts, h)
	return h
}
