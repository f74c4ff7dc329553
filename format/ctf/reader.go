package ctf

import (
	"encoding/binary"
	"fmt"
	"io"

	"meridian/clock"
	"meridian/trace"
)

// Reader reads the events of one stream, one after another. Next finds an event's class, its time and its length;
// Values and Fields decode its fields. Nothing is allocated for an event.
type Reader struct {
	eventDecoder
	Tally
	s         *Stream
	plan      *tracePlan
	w         *trace.Warnings
	window    fileWindow // what is read
	lookahead fileWindow // what is searched
	next      int64      // offset of the next packet
	done      bool

	live *followedFile // of a Follower's reader; nil otherwise

	packet         Packet
	dataAt         int64  // where data stands in the file: at the packet, or within it if it is longer than the buffer
	readable       uint64 // bits of the packet's content from dataAt on
	zeroSizeBefore int64  // zeroSizeLeft before the event
	head           []byte // header and context of a packet that is longer than the buffer
	sp             *streamPlan
	ev             *eventPlan
	packetIndex    int            // packets entered
	packetEvents   int            // events read of the packet
	cyclesBefore   uint64         // cycles before the packet
	start          uint64         // bits of the packet before the event
	afterHeader    uint64         // before what follows the event's header
	pos            uint64         // behind the event
	cycles         uint64         // the last stamp
	now            clock.HostTime // as time
	clock          cycleClock     // of the stream class
	clockOf        *streamPlan    // which that is

	values  []trace.Value
	scratch []trace.Value
	streamCounters
}

// streamCounters are what a stream's packets counted so far.
type streamCounters struct {
	previous  Packet // the one before, for its counters
	sequence  int64  // packets there should be
	firstSeen int64
	discarded int64
	firstStep int64
	noTimes   bool
}

// Next goes to the next event of the stream. It returns io.EOF after the last one. Damaged packets are skipped and
// reported to the trace's warnings.
func (r *Reader) Next() error {
	for {
		if r.end < r.readable {
			r.zeroSizeBefore = r.zeroSizeLeft
		}
		if r.pos < r.end {
			if r.step() {
				return nil
			}
			if !r.fault.atEnd() || !r.readMore() {
				if r.live != nil && r.fault.unknownClass {
					if r.plan != r.s.trace.plan && r.reenter(r.packet.Offset, r.packetEvents, r.cyclesBefore) {
						continue
					}
					if r.live.awaitsClass(r) {
						return io.EOF
					}
				}
				r.abandonPacket()
			}
			continue
		}
		if r.end < r.readable && r.readMore() {
			continue
		}
		if err := r.nextPacket(); err != nil {
			return err
		}
	}
}

// step goes over one event.
func (r *Reader) step() bool {
	sp, data := r.sp, r.data
	h := &sp.layout
	pos, cycles := (r.pos+h.mask)&^h.mask, r.cycles
	var id uint64
	if i := pos >> 3; h.fast && i+h.need <= uint64(len(data)) {
		b := data[i : i+h.need]
		var f *headerForm
		if h.hasID {
			id = h.id.load(b)
			if f = h.form(id); f == nil {
				return r.fail(faultSelector, pos)
			}
			if h.slot >= 0 {
				r.slots[h.slot] = id
			}
			if f.hasID {
				id = f.id.load(b)
			}
		} else {
			f = &h.forms[0]
		}
		if f.hasStamp {
			v := f.stamp.load(b)
			if f.stamp.width < 64 {
				v = extendStamp(cycles, v, f.stamp.width, r.packet.Begin, r.packet.End)
			}
			cycles = v
		}
		r.start = pos
		if pos += f.size; pos > r.end {
			return r.fail(faultEnd, r.start)
		}
	} else {
		r.start = r.pos
		r.has &^= 1<<EventClassID | 1<<Stamp
		next, ok := r.run(sp.header, r.pos)
		if !ok {
			return false
		}
		pos = next
		if v, ok := r.role(EventClassID); ok {
			id = v
		}
		if v, ok := r.role(Stamp); ok {
			cycles = extendStamp(cycles, v, r.width[Stamp], r.packet.Begin, r.packet.End)
		}
	}
	ev := sp.event(id)
	if ev == nil {
		r.fault = fault{kind: fmt.Sprintf("unknown event class %d", id), pos: r.start, unknownClass: true}
		return false
	}
	r.afterHeader = pos
	if ev.fixed {
		pos = (pos+ev.mask)&^ev.mask + ev.size
		if pos > r.end {
			return r.fail(faultEnd, r.start)
		}
	} else {
		next, ok := r.run(ev.program, pos)
		if !ok {
			return false
		}
		pos = next
	}
	if pos == r.pos {
		return r.fail("event of zero size", pos)
	}
	r.ev, r.pos, r.cycles = ev, pos, cycles
	t := r.clock.at(cycles)
	if t < r.now && r.Events > 0 {
		r.stepBack(t)
	}
	r.now = t
	r.Events++
	r.packetEvents++
	return true
}

// stepBack counts a stamp that is earlier than the one before. Real tracers write such: the event stays as it is.
func (r *Reader) stepBack(t clock.HostTime) {
	if r.StepsBack == 0 {
		r.firstStep = r.Offset()
	}
	r.StepsBack++
	r.Largest = max(r.Largest, int64(r.now-t))
}

// Time returns the event's time, ns since 1970 if the clock's origin is known, and else since that origin.
func (r *Reader) Time() clock.HostTime { return r.now }

// Cycles returns the event's stamp as its clock counted it.
func (r *Reader) Cycles() uint64 { return r.cycles }

// Class returns the event's class in the metadata, and the class of its stream; nil before the first Next and after Close.
func (r *Reader) Class() (*EventClass, *StreamClass) {
	if r.ev == nil {
		return nil, nil
	}
	return r.ev.class, r.sp.class
}

// Packet returns the packet of the event.
func (r *Reader) Packet() *Packet { return &r.packet }

// Offset returns where the event stands in the file, in bytes.
func (r *Reader) Offset() int64 { return r.dataAt + int64(r.start/8) }

// Stream returns what is read.
func (r *Reader) Stream() *Stream { return r.s }

// Values decodes the event's fields, in the order of the class that its [Source] returns for it. They belong to
// the reader until the next Next. They are nil before the first Next and after [Trace.Close].
func (r *Reader) Values() []trace.Value {
	ev, sp := r.ev, r.sp
	if ev == nil {
		return nil
	}
	r.reset()
	if n := ev.total; cap(r.values) < n {
		r.values = make([]trace.Value, 2*n)
	}
	v := r.values[:ev.total]
	payload, rest := v[:len(ev.payload)], v[len(ev.payload):]
	if sp.hasCPU {
		rest[0] = trace.OfUint(r.packet.CPU)
		rest = rest[1:]
	}
	if len(sp.extra) > 0 {
		fields := r.scope(EventHeaderScope)
		for i, k := range sp.extra {
			rest[i] = fields[k]
		}
		rest = rest[len(sp.extra):]
	}
	pos := r.afterHeader
	if sp.commonMask > 0 {
		pos = alignTo(pos, sp.commonMask)
	}
	pos = r.fields(sp.common, rest[:len(sp.common)], pos)
	rest = rest[len(sp.common):]
	pos = alignTo(pos, ev.contextMask)
	pos = r.fields(ev.context, rest[:len(ev.context)], pos)
	pos = alignTo(pos, ev.payloadMask)
	r.fields(ev.payload, payload, pos)
	if len(ev.hidden) > 0 {
		v = ev.visible(v)
	}
	return v
}

// Scope is a group of fields of an event.
type Scope uint8

const (
	PacketHeaderScope Scope = iota
	PacketContextScope
	EventHeaderScope
	CommonContextScope // stream.event.context
	EventContextScope
	PayloadScope
)

// Fields decodes one group of the event's fields, and returns its type: a Struct, or nil where there are none. They
// belong to the reader until the next Next, Fields or Values.
func (r *Reader) Fields(s Scope) (*Type, []trace.Value) {
	if r.sp == nil || r.ev == nil && s > PacketContextScope || s > PayloadScope {
		return nil, nil
	}
	r.reset()
	t := r.typeOf(s)
	if t == nil {
		return nil, nil
	}
	return t, r.scope(s)
}

func (r *Reader) typeOf(s Scope) *Type {
	switch s {
	case PacketHeaderScope:
		return r.plan.m.PacketHeader
	case PacketContextScope:
		return r.sp.class.PacketContext
	case EventHeaderScope:
		return r.sp.class.EventHeader
	case CommonContextScope:
		return r.sp.class.EventContext
	case EventContextScope:
		return r.ev.class.Context
	}
	return r.ev.class.Payload
}

// scope decodes a group of fields and those before it on which it may depend.
func (r *Reader) scope(s Scope) []trace.Value {
	decode := func(t *Type, fields []fieldDecoder, pos uint64) ([]trace.Value, uint64) {
		if cap(r.scratch) < len(fields) {
			r.scratch = make([]trace.Value, 2*len(fields))
		}
		v := r.scratch[:len(fields)]
		if t == nil {
			return v, pos
		}
		return v, r.fields(fields, v, alignTo(pos, r.plan.masks[t]))
	}
	sp, ev := r.sp, r.ev
	if s <= PacketContextScope {
		data, end := r.data, r.end
		if r.dataAt != r.packet.Offset {
			r.data = r.head
		}
		r.end = r.packet.header
		defer func() { r.data, r.end = data, end }()
		v, pos := decode(r.plan.m.PacketHeader, r.plan.headerDecoders, 0)
		if s == PacketContextScope {
			v, _ = decode(sp.class.PacketContext, sp.contextDecoders, pos)
		}
		return v
	}
	if s == EventHeaderScope {
		v, _ := decode(sp.class.EventHeader, sp.headerDecoders, r.start)
		return v
	}
	v, pos := decode(sp.class.EventContext, sp.common, r.afterHeader)
	if s >= EventContextScope {
		v, pos = decode(ev.class.Context, ev.context, pos)
	}
	if s == PayloadScope {
		v, _ = decode(ev.class.Payload, ev.payload, pos)
	}
	return v
}

// load reads an integer at a fixed offset.
func (f *headerField) load(b []byte) uint64 {
	b = b[f.at : f.at+8]
	if f.big {
		return binary.BigEndian.Uint64(b) << f.shift >> (64 - f.width)
	}
	return binary.LittleEndian.Uint64(b) >> f.shift & (^uint64(0) >> (64 - f.width))
}
