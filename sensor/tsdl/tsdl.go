// Package tsdl writes the metadata of a trace in TSDL, the language in which CTF 1.8 declares clocks, streams and events.
//
// Declarations go in as Go values, in the order in which they shall stand. The text comes out, which babeltrace2, Trace Compass
// and Meridian read:
//
//	var m tsdl.Metadata
//	m.Comment("CTF 1.8")
//	m.Integers()
//	m.Trace(tsdl.Trace{UUID: tsdl.UUID(id), PacketHeader: tsdl.Struct(1, tsdl.PacketHeader()...)})
//	m.Clock(tsdl.Clock{Name: "monotonic", Frequency: 1e9})
//	m.Stamp("monotonic")
//	m.Stream(tsdl.Stream{EventHeader: tsdl.Struct(1, tsdl.EventHeader(tsdl.Uint16)...)})
//	m.Event(tsdl.Event{Name: "http:request", Fields: tsdl.Struct(1, tsdl.Uint64.Named("_id"))})
//
// The text must begin with the comment "CTF 1.8". A type is declared before it is used, and a clock before a type that is
// mapped to it. The writer keeps the order of the calls and does not check it.
//
// # Types
//
// A [Type] is text: the name of an alias, or what [Integer], [Float], [Enum], [Struct], [Variant] and [Inline] make. The length
// of an array stands behind the name of its field, as in C: Uint8.Named("uuid[16]"), Uint8.Named("_data[__data_length]").
//
// # Names
//
// The writer quotes texts. Identifiers must be valid; [FieldName] and [PlainName] make them so. Readers know some fields by
// their names (timestamp, id, packet_size). All other fields begin with an underscore, which readers take off again, so
// that none is a keyword.
//
// The source is the Common Trace Format 1.8.3, diamon.org/ctf/v1.8.3, section 7 and appendix C.
package tsdl

import (
	"fmt"
	"math"
)

// Metadata is a text that grows. The zero value is an empty one.
type Metadata struct{ b []byte }

// Bytes returns the text so far. It is valid until the next declaration.
func (m *Metadata) Bytes() []byte { return m.b }

// String returns the text so far.
func (m *Metadata) String() string { return string(m.b) }

// Blank adds an empty line.
func (m *Metadata) Blank() { m.b = append(m.b, '\n') }

// Comment adds a comment, which must not contain "*/".
func (m *Metadata) Comment(text string) { m.add("/* %s */\n", text) }

// Add adds TSDL as it is: declarations of another writer, or what has no method of its own, as a named structure.
func (m *Metadata) Add(text string) { m.b = append(m.b, text...) }

// Alias gives a type a name.
func (m *Metadata) Alias(name string, t Type) { m.add("typealias %s := %s;\n", t, name) }

// Trace is what all packets of a trace have in common.
type Trace struct {
	UUID         string // as UUID writes it; "" for none
	BigEndian    bool
	PacketHeader Type // "" for none
}

// Trace adds the declaration of the trace.
func (m *Metadata) Trace(t Trace) {
	m.add("trace {\n\tmajor = 1;\n\tminor = 8;\n")
	if t.UUID != "" {
		m.add("\tuuid = \"%s\";\n", t.UUID)
	}
	m.add("\tbyte_order = %s;\n", byteOrder(t.BigEndian))
	m.scope("packet.header", t.PacketHeader)
	m.add("};\n")
}

// Entry is an entry of the environment.
type Entry struct {
	name, value string
}

// Text returns an entry whose value is a text.
func Text(name, value string) Entry { return Entry{name, Quote(value)} }

// Number returns an entry whose value is an integer.
func Number(name string, value int64) Entry { return Entry{name, fmt.Sprint(value)} }

// Env adds the environment, unless it is empty. Names are those that [PlainName] makes.
func (m *Metadata) Env(entries ...Entry) {
	if len(entries) == 0 {
		return
	}
	m.add("env {\n")
	for _, e := range entries {
		m.add("\t%s = %s;\n", e.name, e.value)
	}
	m.add("};\n")
}

// Clock is a clock that stamps map to. A stamp is OffsetSeconds + (Offset + stamp)/Frequency seconds after the clock's origin.
type Clock struct {
	Name          string // an identifier
	UUID          string // the same text in two traces says that they are stamped by one clock; "" for none
	Description   string // "" for none
	Frequency     uint64 // Hz
	Precision     uint64 // cycles by which a stamp may be off; 0 for unknown
	OffsetSeconds int64
	Offset        int64 // cycles
	Absolute      bool  // the origin is 1970-01-01T00:00:00Z, for all clocks that are absolute
}

// Clock adds the declaration of a clock.
func (m *Metadata) Clock(c Clock) {
	m.add("clock {\n\tname = %s;\n", c.Name)
	if c.UUID != "" {
		m.add("\tuuid = %s;\n", Quote(c.UUID))
	}
	if c.Description != "" {
		m.add("\tdescription = %s;\n", Quote(c.Description))
	}
	m.add("\tfreq = %d;\n", c.Frequency)
	if c.Precision != 0 {
		m.add("\tprecision = %d;\n", c.Precision)
	}
	seconds, cycles := c.OffsetSeconds, c.Offset
	if hz := int64(c.Frequency); cycles < 0 && hz > 0 && seconds > math.MinInt64/2 { // babeltrace2 takes cycles without a sign alone
		whole := cycles / hz
		if cycles %= hz; cycles < 0 {
			whole, cycles = whole-1, cycles+hz
		}
		seconds += whole
	}
	m.add("\toffset_s = %d;\n\toffset = %d;\n", seconds, cycles)
	if c.Absolute {
		m.add("\tabsolute = true;\n")
	}
	m.add("};\n")
}

// Stream is a class of data streams. Its types are structures; "" leaves one out.
type Stream struct {
	ID                                       uint64
	PacketContext, EventHeader, EventContext Type
}

// Stream adds the declaration of a class of streams.
func (m *Metadata) Stream(s Stream) {
	m.add("stream {\n\tid = %d;\n", s.ID)
	m.scope("packet.context", s.PacketContext)
	m.scope("event.header", s.EventHeader)
	m.scope("event.context", s.EventContext)
	m.add("};\n")
}

// Event is a class of events.
type Event struct {
	Name            string
	ID, StreamID    uint64
	HasLevel        bool
	LogLevel        int64  // written if HasLevel
	URI             string // model.emf.uri; "" for none
	Context, Fields Type   // structures; "" leaves one out
}

// Event adds the declaration of a class of events.
func (m *Metadata) Event(e Event) {
	m.add("event {\n\tname = %s;\n\tid = %d;\n\tstream_id = %d;\n", Quote(e.Name), e.ID, e.StreamID)
	if e.HasLevel {
		m.add("\tloglevel = %d;\n", e.LogLevel)
	}
	if e.URI != "" {
		m.add("\t%s;\n", URI(e.URI))
	}
	m.scope("context", e.Context)
	m.scope("fields", e.Fields)
	m.add("};\n")
}

// URI returns the attribute of an event that Meridian and LTTng-UST keep a link in, without its semicolon.
func URI(uri string) string { return "model.emf.uri = " + Quote(uri) }

func (m *Metadata) scope(name string, t Type) {
	if t != "" {
		m.add("\t%s := %s;\n", name, t)
	}
}

func (m *Metadata) add(format string, args ...any) { m.b = fmt.Appendf(m.b, format, args...) }
