package ctf

import (
	"fmt"
	"io"
)

// WriteTSDL writes the metadata as CTF 1.8 text, as LTTng writes it: every name that is the trace's own has an underscore
// before it, so that none is a keyword, and what other programs know by its name (id, timestamp, packet_size) has none.
// Characters that no identifier can have become underscores, and names that are then equal get numbers; the names of
// events are texts and keep every character but NUL. What only CTF 2 can say is printed where CTF 1.8 can lay it out
// alike: a boolean is an enumeration, an optional field a variant of absent and present, a blob an array of bytes. Where
// it cannot (integers of variable length, reversed bits, UTF-16) the error names the field.
//
// References are printed as a reader looks for them: by name where the field stands earlier in a structure around, else
// by the whole path from the scope down.
func (m *Metadata) WriteTSDL(w io.Writer) error {
	p := &printer{m: m, names: map[*Type][]string{}, tags: map[int][]tagOption{}, declared: map[string]bool{}}
	p.collectTags()
	header := p.part(func() { p.scope("trace.packet.header", "packet.header", m.PacketHeader) })
	streams := p.part(func() {
		for i := range m.Streams {
			p.stream(&m.Streams[i])
		}
	})
	if p.err != nil {
		return fmt.Errorf("CTF 1.8 metadata: %w", p.err)
	}
	// A type has to be declared before it is used, and a clock before a type that counts its cycles.
	p.add("/* CTF 1.8 */\n\n")
	p.b = append(p.b, p.plain...)
	p.add("\ntrace {\n\tmajor = 1;\n\tminor = 8;\n")
	if m.HasUUID {
		p.add("\tuuid = \"%s\";\n", uuidText(m.UUID))
	}
	p.add("\tbyte_order = %s;\n", byteOrderWord(m.BigEndian))
	p.b = append(p.b, header...)
	p.add("};\n\n")
	p.environment()
	p.clocks()
	p.b = append(p.b, p.clocked...)
	p.b = append(p.b, streams...)
	_, err := w.Write(p.b)
	return err
}

// printer holds the text so far. The first error stays, and the rest goes on to its end without harm.
type printer struct {
	m     *Metadata
	b     []byte
	err   error
	names map[*Type][]string  // of the fields of a structure or variant, as printed
	tags  map[int][]tagOption // by slot: what variants want of the enumeration that selects

	declared       map[string]bool // types that have a name
	plain, clocked []byte          // their declarations: those that need no clock, those that do

	scopes []printedScope // where an absolute path may begin at this point of the text
	frames []printedFrame // the structures around it, outermost first
	where  []string
}

// part returns what print prints, apart from the rest.
func (p *printer) part(print func()) []byte {
	kept := p.b
	p.b = nil
	print()
	text := p.b
	p.b = kept
	return text
}

func (p *printer) add(format string, args ...any) { p.b = fmt.Appendf(p.b, format, args...) }

// fail keeps the first error, with the path of the field that it is about.
func (p *printer) fail(format string, args ...any) {
	if p.err != nil {
		return
	}
	at := ""
	for i, name := range p.where {
		if i > 0 {
			at += "."
		}
		at += name
	}
	p.err = fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...))
}

func (p *printer) within(name string, print func()) {
	p.where = append(p.where, name)
	print()
	p.where = p.where[:len(p.where)-1]
}

func (p *printer) environment() {
	if len(p.m.Env) == 0 {
		return
	}
	p.add("env {\n")
	taken := map[string]bool{}
	for _, e := range p.m.Env {
		name := distinctName(plainIdentifier(e.Name, "entry"), taken)
		if e.IsText {
			p.add("\t%s = %s;\n", name, quoted(e.Text))
		} else {
			p.add("\t%s = %d;\n", name, e.Number)
		}
	}
	p.add("};\n\n")
}

func (p *printer) clocks() {
	for i := range p.m.Clocks {
		c := &p.m.Clocks[i]
		p.add("clock {\n\tname = %s;\n", p.clockName(i))
		if c.UUID != "" {
			p.add("\tuuid = %s;\n", quoted(c.UUID))
		}
		if c.Description != "" {
			p.add("\tdescription = %s;\n", quoted(c.Description))
		}
		frequency := c.Frequency
		if frequency == 0 {
			frequency = 1_000_000_000 // what CTF 1.8 supposes where nothing is said
		}
		p.add("\tfreq = %d;\n", frequency)
		if c.Precision != 0 {
			p.add("\tprecision = %d;\n", c.Precision)
		}
		p.add("\toffset_s = %d;\n\toffset = %d;\n", c.OffsetSeconds, c.Offset)
		// CTF 1.8 has no word for an origin of 1970; readers take it for that where clocks are absolute.
		if c.Absolute || c.Epoch {
			p.add("\tabsolute = true;\n")
		}
		p.add("};\n\n")
	}
}

// clockName returns the identifier of a clock, the same wherever it is named.
func (p *printer) clockName(clock int) string {
	taken := map[string]bool{}
	name := ""
	for i := 0; i <= clock; i++ {
		name = distinctName(plainIdentifier(p.m.Clocks[i].Name, "clock"), taken)
	}
	return name
}

func (p *printer) stream(s *StreamClass) {
	p.within(fmt.Sprintf("stream %d", s.ID), func() {
		p.scopes = []printedScope{{"trace.packet.header", p.m.PacketHeader}}
		p.add("\nstream {\n\tid = %d;\n", s.ID)
		p.scope("stream.packet.context", "packet.context", s.PacketContext)
		p.scope("stream.event.header", "event.header", s.EventHeader)
		p.scope("stream.event.context", "event.context", s.EventContext)
		p.add("};\n")
		around := p.scopes
		for i := range s.Events {
			p.scopes = around[:len(around):len(around)]
			p.event(s, &s.Events[i])
		}
	})
}

func (p *printer) event(s *StreamClass, e *EventClass) {
	p.within("event "+e.Name, func() {
		p.add("\nevent {\n\tname = %s;\n\tid = %d;\n\tstream_id = %d;\n", quoted(e.Name), e.ID, s.ID)
		if e.HasLevel {
			p.add("\tloglevel = %d;\n", e.LogLevel)
		}
		if e.URI != "" {
			p.add("\tmodel.emf.uri = %s;\n", quoted(e.URI))
		}
		p.scope("event.context", "context", e.Context)
		p.scope("event.fields", "fields", e.Payload)
		p.add("};\n")
	})
}

// scope prints the root of a scope, if there is one, under the attribute's name and remembers it for references.
func (p *printer) scope(path, attribute string, root *Type) {
	if root == nil {
		return
	}
	p.within(path, func() {
		if root.Kind != Struct {
			p.fail("a scope must be a structure")
			return
		}
		p.scopes = append(p.scopes, printedScope{path, root})
		p.add("\t%s := ", attribute)
		p.structure(root, 1)
		p.add(";\n")
	})
}

func byteOrderWord(big bool) string {
	if big {
		return "be"
	}
	return "le"
}

func uuidText(u [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
