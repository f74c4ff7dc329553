package ctf

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"meridian/clock"
	"meridian/trace"
)

// Writer writes a timeline as CTF 1.8, which babeltrace2 and Trace Compass open: a trace for each host.
//
//	DIR/
//	    HOST/            a trace of its own, with a UUID of its own; env names the host, the method, its
//	                     assumption and the component: times of hosts of different components cannot be compared
//	        metadata
//	        ROW          a data stream for each row; from the 257th row on they share one. Events of an aligned timeline that
//	                     nothing bounds are in streams of their own
//
//	packet header    magic, uuid, stream_id, stream_instance_id (the row's index in the schema)
//	packet context   timestamp_begin, timestamp_end, content_size, packet_size, packet_seq_num,
//	                 cpu_id (rows of processors), row, row_kind, row_id, row_parent (rows that have one: its name)
//	event header     id (32 bits), timestamp (64 bits): 12 bytes, which never overflow
//	common context   row, row_kind, row_id, row_parent (where rows share the stream);
//	                 in timelines that were aligned: recorded, the stamp as the host's clock showed it; early and late, how far
//	                 below and above the time the event may lie, in streams of events that have bounds
//	event context    slice, flow, role (of events that have one), the class's context fields
//	event fields     the class's other fields, and _context: a structure of the context fields, if one of these needs a
//	                 length or a selector, which babeltrace2 2.0 cannot read in an event's own context
//
// The clock "timeline" counts nanoseconds since 1970, or since the second of the first record if that is before 1970.
//
// A class becomes one event class for each phase and set of absent fields of its events: the name ends in ":begin", ":end" or
// ":counter" for those phases, and absent fields are omitted (after 32 such sets, and inside
// structures, an absent field becomes a variant of absent and present). Instant events with a name that has such an ending itself keep
// it, and have a model.emf.uri that begins with "meridian:instant:". Types become:
//
//	Bool      enumeration of false and true in a byte       Struct   structure
//	Int, Uint integer of as many bits, aligned to bytes;    Array    array, or _NAME_length (32 bits) and a sequence
//	          an enumeration where it has labels            Variant  _NAME_tag and a variant
//	Float     32 or 64 bits                                 absent   _NAME_present and a variant of absent and present
//	Text      string up to a NUL                            Bytes    _NAME_length and a sequence of bytes in base 16
//
// Elements and options that need such a second field are structures of
// it and of one named value; a [Source] undoes all this. All is little-endian and aligned to bytes. The
// category of a class is its model.emf.uri, after "meridian:category:" or "meridian:instant:".
//
// The metadata needs all classes, so nothing is at DIR before Close: until
// then the output is DIR.partial. The writer buffers at most WriterOptions.Memory bytes of packets, and keeps no file open.
type Writer struct {
	dir, partial string
	schema       *trace.Schema
	options      WriterOptions
	bounds       bool
	hosts        []*hostWriter // by index in the schema; nil until the first event
	plans        []*classPlan  // by class
	names        map[string]bool
	base         int64 // seconds of the clock's offset
	started      bool
	buffered     int // bytes of packets in memory
	stats        WriterStats
	err          error
	closed       bool

	common, eventContext, fields, helper []trace.Value // of the event that is being written
}

// WriterOptions says how a timeline is written; the zero value is ready.
type WriterOptions struct {
	PacketSize int             // bytes; 0 stands for 1 MiB
	Memory     int             // bytes of packets to hold at most; 0 stands for 64 MiB
	Rows       int             // how many rows of a host have streams of their own; 0 stands for 256
	Bounds     Bounds          // whether events carry recorded, early and late
	Replace    bool            // replace a trace of Meridian's at the same path; other files are never replaced
	Warnings   *trace.Warnings // where Close reports changed values and times; may be nil
}

// Bounds says whether events carry their recorded stamps and the bounds of their time.
type Bounds uint8

const (
	BoundsIfKnown Bounds = iota // if the schema has a method
	WithBounds
	WithoutBounds
)

// WriterStats counts what was written.
type WriterStats struct {
	Events, Packets, Bytes uint64
	Moved                  uint64 // events whose time was changed: before the row's last, or out of range
	Misfits                uint64 // values that did not fit their types, converted as near as possible
	NULs                   uint64 // NULs in texts, each replaced by U+2400
}

// NewWriter begins a timeline that will be at dir after Close. There must be nothing at dir, or an empty directory, or, with
// Replace, a trace of Meridian's. The schema may grow while the timeline is written; hosts, streams and classes in it must not
// change.
func NewWriter(dir string, l *trace.Schema, o WriterOptions) (*Writer, error) {
	if l == nil {
		return nil, errors.New("ctf: missing schema")
	}
	if o.PacketSize > maxPacketSize {
		return nil, fmt.Errorf("ctf: packet size of %d bytes exceeds %d", o.PacketSize, maxPacketSize)
	}
	dir = filepath.Clean(dir)
	if err := checkTarget(dir, o.Replace); err != nil {
		return nil, err
	}
	partial, err := makeSibling(dir)
	if err != nil {
		return nil, err
	}
	if o.PacketSize <= 0 {
		o.PacketSize = 1 << 20
	}
	if o.Memory <= 0 {
		o.Memory = 64 << 20
	}
	if o.Rows <= 0 {
		o.Rows = 256
	}
	bounds := o.Bounds == WithBounds || o.Bounds == BoundsIfKnown && l.Method != ""
	return &Writer{dir: dir, partial: partial, schema: l, options: o, bounds: bounds, names: map[string]bool{}}, nil
}

// Write adds an event and keeps nothing of it. After an error it returns that error again.
func (w *Writer) Write(r *trace.TimelineEvent) error {
	if w.err != nil {
		return w.err
	}
	if w.closed {
		return fmt.Errorf("%s: write after Close", w.dir)
	}
	if err := w.write(r); err != nil {
		w.err = fmt.Errorf("%s: %w", w.dir, err)
	}
	return w.err
}

func (w *Writer) write(r *trace.TimelineEvent) error {
	if err := w.check(r); err != nil {
		return err
	}
	cycles := w.cycles(r.Time)
	h, err := w.host(r.Host)
	if err != nil {
		return err
	}
	row, err := h.row(r.Stream, w.bounds && r.Bounded)
	if err != nil {
		return err
	}
	p, key, values := w.classify(r)
	event := h.event(row.class, r.Class, key, p)

	w.common = w.common[:0]
	if row.shared {
		w.common = append(w.common, h.rowValues(r.Stream)...)
	}
	if w.bounds {
		w.common = append(w.common, trace.OfInt(int64(r.Event.Time)))
		if r.Bounded {
			w.common = append(w.common, trace.OfUint(distance(r.Low, r.Time)), trace.OfUint(distance(r.Time, r.High)))
		}
	}
	fields, own := w.split(p, key, values)
	s := row.w
	if err := s.Write(event, cycles, w.common, own, fields); err != nil {
		return err
	}
	if n := s.Buffered(); n != row.buffered {
		w.buffered += n - row.buffered
		if row.buffered = n; w.buffered > w.options.Memory {
			return w.flush()
		}
	}
	return nil
}

// check refuses an event that the schema does not describe.
func (w *Writer) check(r *trace.TimelineEvent) error {
	if r.Stream < 0 || r.Stream >= len(w.schema.Streams) || r.Class < 0 || r.Class >= len(w.schema.Classes) || r.Host < 0 || r.Host >= len(w.schema.Hosts) {
		return fmt.Errorf("event of stream %d, class %d and host %d, which the schema lacks", r.Stream, r.Class, r.Host)
	}
	return nil
}

// classify returns what decides the event class of an event, and its values. What the event is to others of its row and to messages begins eventContext.
func (w *Writer) classify(r *trace.TimelineEvent) (p *classPlan, key eventKey, values []trace.Value) {
	p = w.plan(r.Class)
	values = r.Values
	if len(values) > len(p.class.Fields) {
		values = values[:len(p.class.Fields)]
		w.stats.Misfits++
	}
	key = eventKey{missing: p.missing(values), phase: r.Phase}
	w.eventContext = w.eventContext[:0]
	if r.Slice != 0 {
		key.extras |= hasSlice
		w.eventContext = append(w.eventContext, trace.OfUint(r.Slice))
	}
	if r.Flow != 0 {
		key.extras |= hasFlow
		w.eventContext = append(w.eventContext, trace.OfUint(r.Flow))
	}
	if r.Role != trace.NoRole {
		key.extras |= hasRole
		w.eventContext = append(w.eventContext, trace.OfUint(uint64(r.Role)))
	}
	key.version = p.version
	return p, key, values
}

// split returns the values of the event's fields and of its own context, those apart that are missing.
func (w *Writer) split(p *classPlan, key eventKey, values []trace.Value) (fields, own []trace.Value) {
	n := min(len(p.class.Fields)-p.context, len(values))
	fields, own = values[:n], values[n:]
	if key.missing == 0 && key.extras == 0 && !p.contextInPayload {
		return fields, own
	}
	w.fields, w.helper = w.fields[:0], w.helper[:0]
	for i := range values {
		switch {
		case i < 64 && key.missing>>i&1 != 0:
		case i < n:
			w.fields = append(w.fields, values[i])
		case p.contextInPayload:
			w.helper = append(w.helper, values[i])
		default:
			w.eventContext = append(w.eventContext, values[i])
		}
	}
	if p.contextInPayload {
		w.fields = append(w.fields, trace.Value{Kind: trace.Struct, Items: w.helper})
	}
	return w.fields, w.eventContext
}

// distance returns high - low, or 0 if low is not below high.
func distance(low, high clock.TimelineTime) uint64 {
	if low >= high {
		return 0
	}
	return uint64(high) - uint64(low)
}

// minSecond is the first second whose nanoseconds since 1970 fit an int64, rounded up.
const minSecond = math.MinInt64 / 1_000_000_000

// cycles returns a time as the clock counts it. The first record decides from when it does.
func (w *Writer) cycles(time clock.TimelineTime) uint64 {
	if !w.started {
		w.started = true
		if time < 0 {
			w.base = max(int64(time+1)/1_000_000_000-1, minSecond)
		}
	}
	since := uint64(time) - uint64(w.base*1_000_000_000)
	if time < clock.TimelineTime(w.base*1_000_000_000) {
		w.stats.Moved++
		return 0
	}
	if since >= math.MaxInt64 { // readers count signed nanoseconds, and babeltrace2 reserves the last
		w.stats.Moved++
		return math.MaxInt64 - 1
	}
	return since
}

// flush writes all packets out, as far as they are, and gives up their memory.
func (w *Writer) flush() error {
	for _, h := range w.hosts {
		if h == nil {
			continue
		}
		for _, row := range h.files {
			if err := row.w.Flush(); err != nil {
				return err
			}
			row.w.encoder.b, row.buffered = nil, 0
		}
	}
	w.buffered = 0
	return nil
}

// Close writes the metadata and moves the directory to its final path.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	if w.err == nil {
		if err := w.finish(); err != nil {
			w.err = fmt.Errorf("%s: %w", w.dir, err)
		}
	}
	if w.err != nil {
		os.RemoveAll(w.partial)
	}
	return w.err
}

func (w *Writer) finish() error {
	for i := range w.schema.Hosts {
		h, err := w.host(i)
		if err != nil {
			return err
		}
		if err := h.parents(); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	for _, h := range w.hosts {
		if err := h.metadata(); err != nil {
			return err
		}
		for _, row := range h.files {
			s := row.w
			w.stats.Events += s.Events
			w.stats.Packets += s.Packets
			w.stats.Bytes += s.Bytes
			w.stats.Moved += s.Raised
			w.stats.Misfits += s.Misfits
			w.stats.NULs += s.NULs
		}
	}
	w.warn("event time moved to the nearest one that can be stored", w.stats.Moved)
	w.warn("value converted because it does not fit its type", w.stats.Misfits)
	w.warn("NUL in a string replaced by ␀", w.stats.NULs)
	return publish(w.partial, w.dir, w.options.Replace)
}

func (w *Writer) warn(kind string, n uint64) {
	if n > 0 && w.options.Warnings != nil {
		w.options.Warnings.AddN(w.dir, kind, "", int64(min(n, math.MaxInt64)))
	}
}

// Abort removes the output. After Close it does nothing.
func (w *Writer) Abort() error {
	if w.closed {
		return nil
	}
	w.closed = true
	return os.RemoveAll(w.partial)
}

// Stats returns what was written; it is complete after Close.
func (w *Writer) Stats() WriterStats { return w.stats }

var _ trace.Sink = (*Writer)(nil)
