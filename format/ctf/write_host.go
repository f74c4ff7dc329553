package ctf

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"meridian/sensor/tsdl"
	"meridian/trace"
)

// hostWriter is the trace of one host.
type hostWriter struct {
	w       *Writer
	index   int
	dir     string
	m       *Metadata
	enc     *Encoder
	classes map[streamKind]int // index of the stream class
	events  []streamEvents     // by stream class
	rows    [2][]*rowWriter    // of events without bounds and with them, by index in the schema; nil until the first event
	files   []*rowWriter       // those that have a file
	shared  [2]*rowWriter
	names   map[string]bool
	slots   int
}

// streamKind is what decides a row's stream class.
type streamKind struct{ cpu, child, shared, bounded bool }

// rowWriter is where the events of a row go.
type rowWriter struct {
	w        *StreamWriter
	class    int
	shared   bool
	buffered int // bytes in memory
}

// host returns the trace of a host, begun if need be.
func (w *Writer) host(index int) (*hostWriter, error) {
	for index >= len(w.hosts) {
		w.hosts = append(w.hosts, nil)
	}
	if h := w.hosts[index]; h != nil {
		return h, nil
	}
	h := newHostWriter(w)
	h.index, h.dir = index, filepath.Join(w.partial, fileName(w.schema.Hosts[index], "host", w.names))
	if err := os.Mkdir(h.dir, 0o777); err != nil {
		return nil, err
	}
	w.hosts[index] = h
	return h, nil
}

// newHostWriter returns a trace without streams.
func newHostWriter(w *Writer) *hostWriter {
	h := &hostWriter{w: w, classes: map[streamKind]int{}, names: map[string]bool{}}
	h.m = &Metadata{Major: 1, Minor: 8, HasUUID: true, UUID: newUUID(), Clocks: []Clock{{}}}
	h.m.PacketHeader = structOfFields(
		Field{"magic", plainInteger(32, PacketMagic)},
		Field{"uuid", &Type{Kind: FixedArray, Align: 1, Length: 16, Elem: plainInteger(8, NoRole), Role: TraceUUID, Clock: -1, Slot: -1, LengthSlot: -1, TagSlot: -1}},
		Field{"stream_id", plainInteger(32, StreamClassID)},
		Field{"stream_instance_id", plainInteger(64, StreamID)})
	h.enc = NewEncoder(h.m)
	return h
}

// newUUID returns a random UUID (version 4). Readers treat traces of one UUID as one trace.
func newUUID() (u [16]byte) {
	rand.Read(u[:])
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return u
}

// row returns where the events of a row go that have bounds or have none.
func (h *hostWriter) row(index int, bounded bool) (*rowWriter, error) {
	which, suffix := 0, ""
	switch {
	case bounded:
		which = 1
	case h.w.bounds:
		suffix = " unbounded"
	}
	for index >= len(h.rows[which]) {
		h.rows[which] = append(h.rows[which], nil)
	}
	if r := h.rows[which][index]; r != nil {
		return r, nil
	}
	if len(h.files) >= h.w.options.Rows {
		if h.shared[which] == nil {
			r, err := h.open(streamKind{shared: true, bounded: bounded}, "other rows"+suffix, math.MaxUint64, nil)
			if err != nil {
				return nil, err
			}
			r.shared, h.shared[which] = true, r
		}
		h.rows[which][index] = h.shared[which]
		return h.shared[which], nil
	}
	s := &h.w.schema.Streams[index]
	kind := streamKind{bounded: bounded, cpu: s.Kind == trace.CPU && s.ID >= 0 && s.ID <= math.MaxUint32, child: h.parent(index) != nil}
	name := s.Name
	if name == "" {
		name = s.Kind.String()
	}
	var context []trace.Value
	if kind.cpu {
		context = append(context, trace.OfUint(uint64(s.ID)))
	}
	context = append(context, h.rowValues(index)...)
	if !kind.child {
		context = context[:len(context)-1]
	}
	r, err := h.open(kind, name+suffix, uint64(index), context)
	if err != nil {
		return nil, err
	}
	h.rows[which][index] = r
	return r, nil
}

// parent returns the parent of a row, or nil.
func (h *hostWriter) parent(index int) *trace.Stream {
	p := h.w.schema.Streams[index].Parent
	if p < 0 || p >= len(h.w.schema.Streams) || p == index {
		return nil
	}
	return &h.w.schema.Streams[p]
}

// rowValues returns row, row_kind, row_id and row_parent.
func (h *hostWriter) rowValues(index int) []trace.Value {
	s := &h.w.schema.Streams[index]
	parent := ""
	if p := h.parent(index); p != nil {
		parent = p.Name
	}
	return []trace.Value{trace.OfText(s.Name), trace.OfText(s.Kind.String()), trace.OfInt(s.ID), trace.OfText(parent)}
}

// open begins a stream in a file of its own.
func (h *hostWriter) open(kind streamKind, name string, instance uint64, context []trace.Value) (*rowWriter, error) {
	class, ok := h.classes[kind]
	if !ok {
		class = len(h.m.Streams)
		h.classes[kind] = class
		h.m.Streams = append(h.m.Streams, h.streamClass(uint64(class), kind))
		h.events = append(h.events, nil)
	}
	file := appendFile{filepath.Join(h.dir, fileName(name, "row", h.names))}
	w, err := h.enc.NewStream(file, class, StreamOptions{PacketSize: h.w.options.PacketSize, Instance: instance, Context: context})
	if err != nil {
		return nil, err
	}
	r := &rowWriter{w: w, class: class}
	h.files = append(h.files, r)
	return r, nil
}

func (h *hostWriter) streamClass(id uint64, kind streamKind) StreamClass {
	stamp := func(r Role) *Type {
		t := plainInteger(64, r)
		t.Clock = 0
		return t
	}
	row := []Field{
		{"row", plainText()}, {"row_kind", plainText()}, {"row_id", signedInteger(64)}, {"row_parent", plainText()},
	}
	packet := []Field{
		{"timestamp_begin", stamp(PacketBegin)}, {"timestamp_end", stamp(PacketEnd)},
		{"content_size", plainInteger(64, PacketContent)}, {"packet_size", plainInteger(64, PacketSize)},
		{"packet_seq_num", plainInteger(64, PacketSequence)},
	}
	var common []Field
	if kind.cpu {
		packet = append(packet, Field{"cpu_id", plainInteger(32, CPU)})
	}
	switch {
	case kind.shared:
		common = row
	case kind.child:
		packet = append(packet, row...)
	default:
		packet = append(packet, row[:3]...)
	}
	if h.w.bounds {
		common = append(common, Field{"recorded", signedInteger(64)})
	}
	if kind.bounded {
		common = append(common, Field{"early", plainInteger(64, NoRole)}, Field{"late", plainInteger(64, NoRole)})
	}
	s := StreamClass{ID: id, Clock: 0, PacketContext: structOfFields(packet...),
		EventHeader: structOfFields(Field{"id", plainInteger(32, EventClassID)}, Field{"timestamp", stamp(Stamp)})}
	if len(common) > 0 {
		s.EventContext = structOfFields(common...)
	}
	return s
}

// known returns where events of a row go; nil if it has none so far.
func (h *hostWriter) known(index int) *rowWriter {
	for _, rows := range [...][]*rowWriter{h.rows[1], h.rows[0]} {
		if index < len(rows) && rows[index] != nil {
			return rows[index]
		}
	}
	return nil
}

// parents gives a stream with an empty packet to each row that is a parent and has no events: readers of the
// trace learn of it.
func (h *hostWriter) parents() error {
	for index := 0; index < max(len(h.rows[0]), len(h.rows[1])); index++ {
		of := h.known(index)
		if of == nil || of.shared {
			continue
		}
		s := &h.w.schema.Streams[index]
		if h.parent(index) == nil || h.known(s.Parent) != nil {
			continue
		}
		r, err := h.row(s.Parent, h.rows[1] != nil && index < len(h.rows[1]) && h.rows[1][index] == of)
		if err != nil {
			return err
		}
		if !r.shared {
			r.w.Begin(of.w.last)
		}
		if s.Parent < index {
			index = s.Parent - 1 // it may have a parent itself
		}
	}
	return nil
}

// metadata writes the host's metadata file.
func (h *hostWriter) metadata() error {
	l := h.w.schema
	text := func(name, value string) {
		if value != "" {
			h.m.Env = append(h.m.Env, Env{Name: name, Text: value, IsText: true})
		}
	}
	h.m.Env = nil
	text("tracer_name", "meridian")
	text("hostname", l.Hosts[h.index])
	text("domain", "timeline")
	text("title", l.Title)
	text("method", l.Method)
	text("assumption", l.Assumption)
	component, aligned := h.component()
	if aligned {
		h.m.Env = append(h.m.Env, Env{Name: "component", Number: int64(component)})
	}
	c := Clock{Name: "timeline", Frequency: 1_000_000_000, OffsetSeconds: h.w.base, Absolute: true,
		UUID: tsdl.UUID(timelineUUID), Description: "time as recorded"}
	switch {
	case l.Method != "" && aligned && l.Components():
		c.Description = fmt.Sprintf("one timeline of the hosts of component %d, by %s", component, l.Method)
	case l.Method != "":
		c.Description = "one timeline of all hosts, by " + l.Method
	}
	h.m.Clocks[0] = c
	f, err := os.OpenFile(filepath.Join(h.dir, "metadata"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(h.m.WriteTSDL(io.Writer(f)), f.Close())
}

// component returns that of the host's first map; false if its times are stamps as they were recorded.
func (h *hostWriter) component() (number int, aligned bool) {
	for _, m := range h.w.schema.Maps {
		if m.Host == h.index {
			return m.Component, true
		}
	}
	return 0, false
}

// timelineUUID is that of the clock: the same in the traces of all hosts, which is what a timeline is.
var timelineUUID = [16]byte{0x6d, 0x65, 0x72, 0x69, 0x64, 0x69, 0x41, 0x6e, 0x80, 0x74, 0x69, 0x6d, 0x65, 0x6c, 0x69, 0x6e}
