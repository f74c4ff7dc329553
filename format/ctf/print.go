package ctf

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"meridian/sensor/tsdl"
)

// WriteTSDL writes the metadata as CTF 1.8 text, as LTTng writes it: every name that is the trace's own has an underscore
// before it, so that it is no keyword, and fields that other programs identify by name (id, timestamp, packet_size) have none.
// Characters that no identifier can have become underscores, and names that are then equal get numbers; the names of
// events are texts and keep every character but NUL. Field classes of CTF 2 are printed where CTF 1.8 can lay them out
// the same way: a boolean is an enumeration, an optional field a variant of absent and present, a blob an array of bytes. Where
// it cannot (variable-length integers, reversed bit order, UTF-16), WriteTSDL returns an error that names the field.
//
// References are printed as readers resolve them: by name where the field is an earlier one of an enclosing structure, else
// by the whole path from the scope down.
func (m *Metadata) WriteTSDL(w io.Writer) error { return newPrinter(m).write(w) }

func newPrinter(m *Metadata) *printer {
	p := &printer{m: m, names: map[*Type][]string{}, declared: map[tsdl.Type]bool{}}
	p.clockNames()
	return p
}

// write prints the whole metadata.
func (p *printer) write(w io.Writer) error {
	m := p.m
	p.collectTags()
	header := p.scope("trace.packet.header", m.PacketHeader)
	// A trace of many programs declares megabytes: each stream has a text of its own, and none is copied.
	streams := make([][]byte, len(m.Streams))
	for i := range m.Streams {
		p.stream(&m.Streams[i])
		streams[i] = p.streams.Bytes()
		p.streams = tsdl.Metadata{}
	}
	if p.err != nil {
		return fmt.Errorf("CTF 1.8 metadata: %w", p.err)
	}
	// A type is declared before it is used, and a clock before a type that counts its cycles.
	var text tsdl.Metadata
	text.Comment("CTF 1.8")
	text.Blank()
	text.Add(p.plain.String())
	text.Blank()
	t := tsdl.Trace{BigEndian: m.BigEndian, PacketHeader: header}
	if m.HasUUID {
		t.UUID = tsdl.UUID(m.UUID)
	}
	text.Trace(t)
	text.Blank()
	if len(m.Env) > 0 {
		text.Env(m.entries()...)
		text.Blank()
	}
	for i := range m.Clocks {
		text.Clock(m.Clocks[i].declaration(p.clocks[i]))
		text.Blank()
	}
	text.Add(p.clocked.String())
	b := bufio.NewWriterSize(w, writeSize)
	_, _ = b.Write(text.Bytes()) // Flush returns the error
	for _, s := range streams {
		_, _ = b.Write(s)
	}
	return b.Flush()
}

// writeSize is how many bytes are written at once.
const writeSize = 64 << 10

// add prints event classes of a stream class, after the metadata without them. What was printed stays as it is.
func (p *printer) add(w io.Writer, s *StreamClass, events []EventClass) error {
	p.plain, p.clocked, p.streams = tsdl.Metadata{}, tsdl.Metadata{}, tsdl.Metadata{}
	p.collectTags()
	around := p.around(s)
	for i := range events {
		p.scopes = slices.Clone(around)
		p.event(s, &events[i])
	}
	if p.err != nil {
		return fmt.Errorf("CTF 1.8 metadata: %w", p.err)
	}
	_, err := io.WriteString(w, p.plain.String()+p.clocked.String()+p.streams.String())
	return err
}

// around returns the scopes in which a stream class's events may refer to fields.
func (p *printer) around(s *StreamClass) (scopes []namedScope) {
	for _, scope := range []namedScope{{"trace.packet.header", p.m.PacketHeader}, {"stream.packet.context", s.PacketContext}, {"stream.event.header", s.EventHeader},
		{"stream.event.context", s.EventContext}} {
		if scope.root != nil {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// printer holds the declarations so far. It keeps the first error and goes on to the end.
type printer struct {
	m     *Metadata
	err   error
	names map[*Type][]string  // of the fields of a structure or variant, as printed
	tags  map[int][]tagOption // by slot: the labels that variants need of the enumeration that selects

	clocks         []string // their identifiers
	declared       map[tsdl.Type]bool
	plain, clocked tsdl.Metadata // type aliases: those that need no clock, those that do
	streams        tsdl.Metadata // and their events

	scopes []namedScope // where an absolute path may begin at this point of the text
	frames []openStruct // the structures around it, outermost first
	where  []string
}

// fail keeps the first error, with the path of its field.
func (p *printer) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s: %s", strings.Join(p.where, "."), fmt.Sprintf(format, args...))
	}
}

func (p *printer) within(name string, print func()) {
	p.where = append(p.where, name)
	print()
	p.where = p.where[:len(p.where)-1]
}

// entries returns the environment as TSDL declares it.
func (m *Metadata) entries() []tsdl.Entry {
	entries := make([]tsdl.Entry, len(m.Env))
	taken := tsdl.Names{}
	for i, e := range m.Env {
		name := tsdl.PlainName(e.Name, "entry", taken)
		if entries[i] = tsdl.Number(name, e.Number); e.IsText {
			entries[i] = tsdl.Text(name, e.Text)
		}
	}
	return entries
}

// declaration returns the clock as TSDL declares it.
func (c *Clock) declaration(name string) tsdl.Clock {
	d := tsdl.Clock{Name: name, UUID: c.UUID, Description: c.Description, Frequency: c.Frequency, Precision: c.Precision,
		OffsetSeconds: c.OffsetSeconds, Offset: c.Offset,
		// CTF 1.8 has no attribute for an origin of 1970; readers assume that of absolute clocks.
		Absolute: c.Absolute || c.Epoch}
	if d.Frequency == 0 {
		d.Frequency = 1_000_000_000 // the default of CTF 1.8
	}
	return d
}

// clockNames gives each clock its identifier.
func (p *printer) clockNames() {
	taken := tsdl.Names{}
	for i := range p.m.Clocks {
		p.clocks = append(p.clocks, tsdl.PlainName(p.m.Clocks[i].Name, "clock", taken))
	}
}

func (p *printer) stream(s *StreamClass) {
	p.within(fmt.Sprintf("stream %d", s.ID), func() {
		p.scopes = nil
		if p.m.PacketHeader != nil {
			p.scopes = []namedScope{{"trace.packet.header", p.m.PacketHeader}}
		}
		p.streams.Blank()
		d := tsdl.Stream{ID: s.ID}
		d.PacketContext = p.scope("stream.packet.context", s.PacketContext)
		d.EventHeader = p.scope("stream.event.header", s.EventHeader)
		d.EventContext = p.scope("stream.event.context", s.EventContext)
		p.streams.Stream(d)
		around := p.scopes
		for i := range s.Events {
			p.scopes = around[:len(around):len(around)]
			p.event(s, &s.Events[i])
		}
	})
}

func (p *printer) event(s *StreamClass, e *EventClass) {
	p.within("event "+e.Name, func() {
		p.streams.Blank()
		d := tsdl.Event{Name: e.Name, ID: e.ID, StreamID: s.ID, HasLevel: e.HasLevel, LogLevel: int64(e.LogLevel), URI: e.URI}
		d.Context = p.scope("event.context", e.Context)
		d.Fields = p.scope("event.fields", e.Payload)
		p.streams.Event(d)
	})
}

// scope returns the root of a scope, "" if there is none, and remembers it for references.
func (p *printer) scope(path string, root *Type) (t tsdl.Type) {
	if root == nil {
		return ""
	}
	p.within(path, func() {
		if root.Kind != Struct {
			p.fail("not a structure")
			return
		}
		p.scopes = append(p.scopes, namedScope{path, root})
		t = p.structure(root, 1)
	})
	return t
}
