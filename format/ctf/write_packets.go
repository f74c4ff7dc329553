package ctf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"meridian/sensor/tsdl"
	"meridian/trace"
)

// PacketWriter writes a timeline as one stream of CTF 1.8 packets while its events come, for readers that take packets as they are made. The
// metadata grows at its end alone: a packet says how much of it describes its events.
//
//	metadata   text: the trace, its clock and its stream first, then event classes as they come
//	stream     packets, one after the other, of the events of all hosts in the order of Write
//
// A file with that metadata and a file with any of the packets, in their order, are a trace: packets that are not there are missing numbers of
// packet_seq_num. Event classes are those of [Writer], and so is the clock. What differs:
//
//	common context   host, row, row_kind, row_id, row_parent, recorded: each event says where it was recorded
//	event context    slice, flow, role; component; early, late: of events that have bounds; behind: of an event that came after later ones;
//	                 moved: of one that was moved to follow its cause
//
// A stream's stamps never go back. An event that came too late has the stamp of the one before it, and behind says how many ns its time is
// earlier: its time is its stamp less behind, from which early and late count.
//
// It holds one packet in memory, and what is needed of each event class.
type PacketWriter struct {
	w       *Writer // plans and buffers
	h       *hostWriter
	s       *StreamWriter
	p       *printer
	to      func(TimelinePacket)
	text    bytes.Buffer // the metadata so far
	printed int          // how many event classes it has
	events  uint64       // in the packets so far
	moved   int64        // of the next event, ns
	err     error
}

// TimelinePacket is a packet of a [PacketWriter].
type TimelinePacket struct {
	Data     []byte // valid until the function that takes it returns
	Events   uint64
	Metadata int // how many bytes of the metadata describe it
}

// PacketOptions says how packets are written.
type PacketOptions struct {
	PacketSize int                  // bytes at most, unless one event needs more; 0 stands for 32 KiB
	Env        []Env                // what the metadata says of the trace besides the names of its tracer and its domain
	Packet     func(TimelinePacket) // takes each packet; required
}

// usualPacket is PacketOptions.PacketSize where none is given.
const usualPacket = 32 << 10

// NewPacketWriter returns a writer of events that refer to a schema, which may grow while they come.
func NewPacketWriter(l *trace.Schema, o PacketOptions) (*PacketWriter, error) {
	if l == nil || o.Packet == nil {
		return nil, errors.New("ctf: missing schema or destination")
	}
	if o.PacketSize <= 0 {
		o.PacketSize = usualPacket
	}
	w := &Writer{schema: l}
	h := newHostWriter(w)
	h.m.Env = append([]Env{{Name: "tracer_name", Text: "meridian", IsText: true}, {Name: "domain", Text: "timeline", IsText: true}}, o.Env...)
	text := func(name, value string) {
		if value != "" {
			h.m.Env = append(h.m.Env, Env{Name: name, Text: value, IsText: true})
		}
	}
	text("title", l.Title)
	text("method", l.Method)
	text("assumption", l.Assumption)
	class := h.streamClass(0, streamKind{shared: true})
	class.EventContext = structOfFields(slices.Concat([]Field{{"host", plainText()}}, class.EventContext.Fields, []Field{{"recorded", signedInteger(64)}})...)
	class.PacketContext.Fields = append(class.PacketContext.Fields, Field{"events_discarded", plainInteger(64, EventsDiscarded)})
	h.m.Streams, h.events = []StreamClass{class}, []streamEvents{nil}
	p := &PacketWriter{w: w, h: h, to: o.Packet}
	var err error
	p.s, err = h.enc.NewStream(packetTaker{p}, 0, StreamOptions{PacketSize: o.PacketSize})
	return p, err
}

// Annotate says of the event that is written next by how many ns it was moved to follow its cause; 0 for not at all.
func (p *PacketWriter) Annotate(moved int64) { p.moved = moved }

// Write adds an event and keeps nothing of it. After an error it returns that error again.
func (p *PacketWriter) Write(r *trace.TimelineEvent) error {
	if p.err == nil {
		if err := p.write(r); err != nil {
			p.err = fmt.Errorf("packets of a timeline: %w", err)
		}
	}
	return p.err
}

func (p *PacketWriter) write(r *trace.TimelineEvent) error {
	w := p.w
	if err := w.check(r); err != nil {
		return err
	}
	cycles := w.cycles(r.Time)
	plan, key, values := w.classify(r)
	stamp := cycles
	if p.s.begun {
		stamp = max(stamp, p.s.highest)
	}
	add := func(extra uint8, values ...trace.Value) {
		key.extras |= extra
		w.eventContext = append(w.eventContext, values...)
	}
	if n, ok := w.schema.Component(r); ok {
		add(hasComponent, trace.OfUint(uint64(n)))
	}
	if r.Bounded {
		add(hasBounds, trace.OfUint(distance(r.Low, r.Time)), trace.OfUint(distance(r.Time, r.High)))
	}
	if stamp > cycles {
		add(hasBehind, trace.OfUint(stamp-cycles))
	}
	if p.moved > 0 {
		add(hasMoved, trace.OfUint(uint64(p.moved)))
	}
	p.moved = 0
	event := p.h.event(0, r.Class, key, plan)
	w.common = append(w.common[:0], trace.OfText(w.schema.Hosts[r.Host]))
	w.common = append(w.common, p.h.rowValues(r.Stream)...)
	w.common = append(w.common, trace.OfInt(int64(r.Event.Time)))
	fields, own := w.split(plan, key, values)
	if err := p.s.Write(event, stamp, w.common, own, fields); err != nil {
		return err
	}
	return p.err
}

// Discard counts events that are not written. The packet that is being filled, or else the next, reports them as discarded.
func (p *PacketWriter) Discard(n uint64) { p.s.Discard(n) }

// Flush ends the packet. Without events it does nothing.
func (p *PacketWriter) Flush() error {
	if p.err == nil {
		p.err = errors.Join(p.s.Flush(), p.err)
	}
	return p.err
}

// Metadata returns a copy of the metadata from an offset on.
func (p *PacketWriter) Metadata(from int) []byte {
	return bytes.Clone(p.text.Bytes()[min(max(from, 0), p.text.Len()):])
}

// packetTaker takes the packets of a stream.
type packetTaker struct{ p *PacketWriter }

func (t packetTaker) Write(b []byte) (int, error) {
	p := t.p
	if err := p.describe(); err != nil {
		return 0, err
	}
	// Of an event that has made its packet full the stream writer has counted it; one that is the first of the next packet it has not.
	events := p.s.Events - p.events
	p.events = p.s.Events
	p.to(TimelinePacket{Data: b, Events: events, Metadata: p.text.Len()})
	return len(b), nil
}

// describe adds the event classes to the metadata that it lacks.
func (p *PacketWriter) describe() error {
	s := &p.h.m.Streams[0]
	if p.p == nil {
		p.h.m.Clocks[0] = Clock{Name: "timeline", Frequency: 1_000_000_000, OffsetSeconds: p.w.base, Absolute: true, UUID: tsdl.UUID(timelineUUID),
			Description: "the timeline of all hosts; those of different components cannot be compared"}
		p.p = newPrinter(p.h.m)
		events := s.Events
		s.Events = nil
		err := p.p.write(&p.text)
		s.Events = events
		if err != nil {
			return err
		}
	}
	if p.printed == len(s.Events) {
		return nil
	}
	added := s.Events[p.printed:]
	p.printed = len(s.Events)
	return p.p.add(&p.text, s, added)
}

var _ io.Writer = packetTaker{}
