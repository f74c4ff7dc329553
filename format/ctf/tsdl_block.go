package ctf

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// The blocks: trace, env, clock, stream, event.

func (p *tsdlParser) traceBlock(line int) {
	t := traceDecl{there: true, line: line, major: 1, minor: 8}
	p.attributes("trace", attribute{"major", &t.major}, attribute{"minor", &t.minor}, attribute{"uuid", &t.uuid}, attribute{"byte_order", &t.order},
		attribute{"packet.header", &t.header})
	if p.trace.there && p.err == nil {
		p.fail(line, "second trace block (first in line %d)", p.trace.line)
	}
	if p.err == nil {
		p.trace = t
	}
}

// attribute is an attribute of a block and the variable for its value.
type attribute struct {
	name string
	to   any // *string, *bool, *uint8, *uint64, *int64, *order, **fieldClass
}

// attributes reads the entries of a block into the variables of their names.
func (p *tsdlParser) attributes(block string, known ...attribute) {
	p.entries(func(e *entry) { p.assign(block, e, known) })
}

func (p *tsdlParser) assign(block string, e *entry, known []attribute) {
	i := slices.IndexFunc(known, func(a attribute) bool { return a.name == e.name })
	if i < 0 {
		p.unknown(block, e)
		return
	}
	switch to := known[i].to.(type) {
	case *string:
		*to = p.text(e)
	case *bool:
		*to = p.truth(e)
	case *uint8:
		*to = uint8(p.between(e, 0, 255))
	case *uint64:
		*to = p.count(e)
	case *int64:
		*to = p.number(e)
	case *order:
		if *to = p.byteOrder(e); *to == nativeOrder {
			p.fail(e.line, "invalid byte_order of the trace (le, be)")
		}
	case **fieldClass:
		*to = p.root(e)
	}
}

// root returns the type of an entry that must be a structure.
func (p *tsdlParser) root(e *entry) *fieldClass {
	if e.class == nil || e.class.kind != Struct {
		p.fail(e.line, "%s is not a structure", e.name)
		return nil
	}
	return e.class
}

func (p *tsdlParser) byteOrder(e *entry) order {
	switch strings.ToLower(p.text(e)) {
	case "native":
		return nativeOrder
	case "le":
		return littleEndian
	case "be", "network":
		return bigEndian
	}
	p.fail(e.line, "unknown byte_order %.40q (native, network, be, le)", e.value.text)
	return nativeOrder
}

func (p *tsdlParser) envBlock(int) {
	p.entries(func(e *entry) {
		p.allocate(128)
		switch e.value.kind {
		case tokenNumber:
			p.env = append(p.env, Env{Name: e.name, Number: e.value.signed()})
		case tokenText, tokenName:
			p.env = append(p.env, Env{Name: e.name, Text: e.value.text, IsText: true})
		default:
			p.fail(e.line, "value of %s is neither a string nor an integer", e.name)
		}
	})
}

func (p *tsdlParser) clockBlock(line int) {
	c := Clock{Frequency: 1e9, Epoch: true}
	p.attributes("clock", attribute{"name", &c.Name}, attribute{"uuid", &c.UUID}, attribute{"description", &c.Description}, attribute{"freq", &c.Frequency},
		attribute{"precision", &c.Precision}, attribute{"offset_s", &c.OffsetSeconds}, attribute{"offset", &c.Offset}, attribute{"absolute", &c.Absolute})
	if c.Frequency == 0 {
		p.fail(line, "clock frequency is 0")
	}
	if c.Name == "" {
		p.fail(line, "clock without a name")
	}
	for i := range p.clocks {
		if p.clocks[i].Name == c.Name {
			p.fail(line, "duplicate clock %.60q", c.Name)
		}
	}
	if p.allocate(128); p.err == nil {
		p.clocks = append(p.clocks, c)
	}
}

// number returns the value as a signed number.
func (p *tsdlParser) number(e *entry) int64 {
	if e.value.kind != tokenNumber || !e.value.negative && e.value.number > math.MaxInt64 {
		p.fail(e.line, "%s is not a signed 64-bit integer", e.name)
	}
	return e.value.signed()
}

func (p *tsdlParser) streamBlock(line int) {
	s := streamDecl{line: line}
	p.attributes("stream", attribute{"id", &s.id}, attribute{"name", &s.name}, attribute{"packet.context", &s.packetContext},
		attribute{"event.header", &s.eventHeader}, attribute{"event.context", &s.eventContext})
	for i := range p.streams {
		if p.streams[i].id == s.id {
			p.fail(line, "duplicate stream class %d", s.id)
		}
	}
	if p.allocate(128); p.err == nil {
		p.streams = append(p.streams, s)
	}
}

func (p *tsdlParser) eventBlock(line int) {
	d := eventDecl{line: line}
	p.entries(func(e *entry) {
		switch e.name {
		case "name":
			if d.class.Name = e.value.text; e.value.kind == tokenNumber {
				d.class.Name = strconv.FormatUint(e.value.number, 10)
			}
		case "id":
			d.class.ID, d.hasID = p.count(e), true
		case "stream_id":
			d.stream, d.hasStream = p.count(e), true
		case "loglevel":
			if d.class.HasLevel = e.value.kind == tokenNumber; d.class.HasLevel {
				d.class.LogLevel = int(e.value.signed())
			} else {
				p.unknown("event", e)
			}
		case "model.emf.uri":
			d.class.URI = p.text(e)
		case "context":
			d.context = p.root(e)
		case "fields":
			d.payload = p.root(e)
		default:
			p.unknown("event", e)
		}
	})
	if p.allocate(256); p.err == nil {
		p.events = append(p.events, d)
	}
}

// callsiteBlock passes over where in a program an event is: nothing needs it.
func (p *tsdlParser) callsiteBlock(int) {
	p.entries(func(*entry) {})
}
