package ctf

import (
	"errors"
	"fmt"
	"io"
	"math/bits"

	"meridian/trace"
)

// Encoder writes streams of the classes that a Metadata has. The metadata may get more stream and event classes while
// streams are written, but none may change. One Encoder and its streams belong to one goroutine.
type Encoder struct {
	m       *Metadata
	classes []*streamEncoder
	wraps   map[*Type]bool // structures around one value, which is given without them
}

// NewEncoder returns an encoder of the streams of m.
func NewEncoder(m *Metadata) *Encoder { return &Encoder{m: m, wraps: map[*Type]bool{}} }

// streamEncoder is a compiled stream class, shared by its streams.
type streamEncoder struct {
	header, packet, event, context *encodeNode
	events                         []*eventEncoder // nil until one is written
	stamp                          int             // how many bits of a stamp an event can hold; 0 for none
}

type eventEncoder struct {
	id               uint64
	context, payload *encodeNode
}

// StreamOptions says how a stream is written; the zero value is ready.
type StreamOptions struct {
	PacketSize int  // bytes of a packet at most, unless one event needs more; 0 stands for 1 MiB
	Fixed      bool // pad packets to PacketSize, or to a multiple of it where one event needs more
	// Unit, with Fixed, pads a packet that Flush ends early to a multiple of Unit bytes only, so that the next one shares its
	// page of PacketSize bytes. No packet crosses into another page, unless one event needs more. 0 stands for PacketSize.
	Unit      int
	Instance  uint64        // the number of the stream in its class, where packet headers have one
	StepsBack bool          // keep stamps earlier than the previous one if the event header has 64 bits for them
	Context   []trace.Value // values of the packet context's fields without a role, in their order
}

// StreamWriter writes one stream: packets of events. It fills in the fields of packets that have a role (magic, UUID, begin, end, sizes,
// sequence number, events discarded) and the event
// header's id and stamp, in the shortest option where the header is a variant, as LTTng's are.
//
// Values of fields are given as [trace.Source] has them. A length or a selector in the same structure as its sequence or variant
// follows from it and may be omitted; or else all fields of the structure are given. A value that does not fit its type is converted
// as near as possible, and counted.
//
// It allocates nothing per event, and holds one packet in memory.
type StreamWriter struct {
	Events, Packets, Bytes uint64
	Raised                 uint64 // events with a stamp before the last one's, which they got instead: readers would give up
	Misfits                uint64 // values that did not fit their types
	NULs                   uint64 // NULs in texts, each replaced by U+2400

	w         io.Writer
	encoder   encoder
	owner     *Encoder
	class     *streamEncoder
	options   StreamOptions
	id        uint64
	open      bool // a packet has been begun
	body      int  // where its events begin, in bits
	patches   []patch
	last      uint64 // stamp of the last event
	highest   uint64 // greatest stamp
	begun     bool   // there has been one
	discarded uint64
	sequence  uint64
	offset    int // bytes of the page of PacketSize that earlier packets take, with StreamOptions.Unit
}

// patch is a field of the packet's context that is known only when the packet is whole.
type patch struct {
	at   int
	node *encodeNode
}

// maxPacketSize limits StreamOptions.PacketSize and WriterOptions.PacketSize, in bytes.
const maxPacketSize = 1 << 30

// NewStream begins a stream of the class with this index in the metadata. It writes to w once a packet is full.
func (c *Encoder) NewStream(w io.Writer, class int, o StreamOptions) (*StreamWriter, error) {
	if c.m == nil || w == nil {
		return nil, errors.New("ctf: missing metadata or destination")
	}
	if o.PacketSize > maxPacketSize {
		return nil, fmt.Errorf("ctf: packet size of %d bytes exceeds %d", o.PacketSize, maxPacketSize)
	}
	if class < 0 || class >= len(c.m.Streams) {
		return nil, fmt.Errorf("ctf: no stream class with index %d", class)
	}
	for class >= len(c.classes) {
		c.classes = append(c.classes, nil)
	}
	s := &c.m.Streams[class]
	if c.classes[class] == nil {
		e := &streamEncoder{}
		for _, x := range []struct {
			to   **encodeNode
			t    *Type
			name string
		}{
			{&e.header, c.m.PacketHeader, "packet header"}, {&e.packet, s.PacketContext, "packet context"},
			{&e.event, s.EventHeader, "event header"}, {&e.context, s.EventContext, "event context"},
		} {
			var err error
			if *x.to, err = c.rootNode(x.t, x.name); err != nil {
				return nil, fmt.Errorf("ctf: stream class %d: %w", s.ID, err)
			}
		}
		if e.event != nil {
			e.stamp = e.event.widest(Stamp)
		}
		c.classes[class] = e
	}
	if o.PacketSize <= 0 {
		o.PacketSize = 1 << 20
	}
	x := &StreamWriter{w: w, owner: c, class: c.classes[class], options: o, id: uint64(class)}
	x.encoder.usual = o.PacketSize + 4096
	return x, nil
}

// rootNode compiles the root of a scope; nil stays nil.
func (c *Encoder) rootNode(t *Type, name string) (*encodeNode, error) {
	if t == nil {
		return nil, nil
	}
	n, err := c.newEncodeNode(t, name, 0)
	if err != nil {
		return nil, err
	}
	if n.kind != Struct {
		return nil, fmt.Errorf("%s: not a structure", name)
	}
	return &n, nil
}

// event returns the compiled event class with an index.
func (s *StreamWriter) event(index int) (*eventEncoder, error) {
	events := s.class.events
	if index >= 0 && index < len(events) && events[index] != nil {
		return events[index], nil
	}
	class := &s.owner.m.Streams[s.id]
	if index < 0 || index >= len(class.Events) {
		return nil, fmt.Errorf("ctf: stream class %d has no event class with index %d", class.ID, index)
	}
	for len(s.class.events) <= index {
		s.class.events = append(s.class.events, nil)
	}
	e := &class.Events[index]
	made := &eventEncoder{id: e.ID}
	var err error
	if made.context, err = s.owner.rootNode(e.Context, "context"); err == nil {
		made.payload, err = s.owner.rootNode(e.Payload, "fields")
	}
	if err != nil {
		return nil, fmt.Errorf("ctf: event class %q: %w", e.Name, err)
	}
	s.class.events[index] = made
	return made, nil
}

// Write adds an event: the index of its class in the stream class, its stamp in cycles of the stream's clock, and the
// values of the stream's event context, of its own context and of its fields.
func (s *StreamWriter) Write(event int, cycles uint64, context, own, fields []trace.Value) error {
	e, err := s.event(event)
	if err != nil {
		return err
	}
	if s.begun && cycles < s.last && !(s.options.StepsBack && s.class.stamp == 64) {
		cycles = s.last
		s.Raised++
	}
	if s.open && s.class.stamp > 0 && s.class.stamp < 64 && (cycles-s.last)>>s.class.stamp != 0 {
		// Too long a silence for the header's stamp: a new packet says anew what time it is.
		if err := s.Flush(); err != nil {
			return err
		}
	}
	if !s.open {
		s.Begin(cycles)
	}
	start, misfits, nuls := s.encoder.at, s.encoder.misfits, s.encoder.nuls
	if err := s.encode(e, cycles, context, own, fields); err != nil {
		s.encoder.at = start
		return err
	}
	if s.encoder.at > 8*s.room() && (start > s.body || s.offset > 0) {
		// It does not fit: the packet ends before it, and the page with it. It is the first of the next.
		s.encoder.at, s.encoder.misfits, s.encoder.nuls = start, misfits, nuls
		if err := s.end(true); err != nil {
			return err
		}
		s.Begin(cycles)
		if err := s.encode(e, cycles, context, own, fields); err != nil {
			return err
		}
	}
	s.last, s.highest, s.begun = cycles, max(s.highest, cycles), true
	s.Events++
	s.Misfits, s.NULs = s.encoder.misfits, s.encoder.nuls
	if s.encoder.at >= 8*s.room() {
		return s.end(true)
	}
	return nil
}

func (s *StreamWriter) encode(e *eventEncoder, cycles uint64, context, own, fields []trace.Value) error {
	x := &s.encoder
	if s.class.event != nil {
		if !s.eventHeader(s.class.event, e.id, cycles) {
			return fmt.Errorf("ctf: event class id %d does not fit the event header", e.id)
		}
	}
	if s.class.context != nil {
		x.structure(s.class.context, context)
	}
	if e.context != nil {
		x.structure(e.context, own)
	}
	if e.payload != nil {
		x.structure(e.payload, fields)
	}
	return nil
}

// eventHeader writes an id and a stamp into the fields that have these roles. Not ok: they do not fit.
func (s *StreamWriter) eventHeader(n *encodeNode, id, cycles uint64) bool {
	x := &s.encoder
	x.align(n.align)
	for i := range n.fields {
		f := &n.fields[i]
		switch {
		case f.kind == Integer && f.role == Stamp:
			x.integer(f, cycles)
		case f.kind == Integer && f.implied && n.fields[f.sourceField].kind == Variant:
			tag, ok := s.alternative(f, &n.fields[f.sourceField], id, cycles)
			if !ok {
				return false
			}
			x.integer(f, tag)
		case f.kind == Integer && f.role == EventClassID:
			if bits.Len64(id) > f.size {
				return false
			}
			x.integer(f, id)
		case f.kind == Struct:
			if !s.eventHeader(f, id, cycles) {
				return false
			}
		case f.kind == Variant:
			option := selectOption(f.selectors, x.load(f.fromSlot), f.tagSigned)
			if option >= 0 && f.fields[option].kind == Struct {
				if !s.eventHeader(&f.fields[option], id, cycles) {
					return false
				}
			} else if option >= 0 {
				x.value(&f.fields[option], &absentValue)
			}
		default:
			x.value(f, &absentValue)
		}
	}
	return true
}

// alternative returns the selector of the header's first alternative that can hold an id and a stamp: LTTng's compact
// one while few bits are enough.
func (s *StreamWriter) alternative(tag, v *encodeNode, id, cycles uint64) (uint64, bool) {
	for i := range v.fields {
		o := &v.fields[i]
		if n := o.widest(Stamp); n > 0 && n < 64 && (cycles-s.last)>>n != 0 {
			continue
		}
		if n := o.widest(EventClassID); n > 0 || tag.role != EventClassID {
			if n > 0 && bits.Len64(id) > n || len(v.selectors[i]) == 0 {
				continue
			}
			return uint64(v.selectors[i][0].Low), true
		}
		if selectOption(v.selectors, id, v.tagSigned) == i {
			return id, true
		}
	}
	return 0, false
}
